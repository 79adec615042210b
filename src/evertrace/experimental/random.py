"""A random generator that moves on as it is drawn from."""

from evertrace._src.experimental.generator import StatefulPRNG as StatefulPRNG
from evertrace._src.experimental.generator import stateful_rng as stateful_rng

__all__ = ["StatefulPRNG", "stateful_rng"]
