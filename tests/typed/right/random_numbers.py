"""Keys and draws."""

import evertrace as ev
from evertrace import random

key = random.key(0)
key, inner = random.split(key)
x: ev.Array = random.normal(inner, (3, 4))
y = random.uniform(key, minval=-1.0, maxval=1.0)
i = random.randint(key, (3,), 0, 10)
