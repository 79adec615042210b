"""A number is no key."""

from evertrace import random

x = random.normal(42, (3,))  # wrong
