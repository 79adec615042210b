"""A random generator that moves on as it is drawn from."""

from evertrace._src import lazy
from evertrace._src.experimental.generator import StatefulPRNG as StatefulPRNG
from evertrace._src.experimental.generator import stateful_rng as stateful_rng

lazy.refuse_others(__name__)

__all__ = ["StatefulPRNG", "stateful_rng"]
