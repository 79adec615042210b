"""Random sparse arrays."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.creation import random_bcoo as random_bcoo

lazy.refuse_others(__name__)
