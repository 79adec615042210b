"""A random generator that moves on as it is drawn from, like `numpy.random.Generator`."""

from __future__ import annotations

import dataclasses
import operator
import secrets
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.numpy.creation import array, zeros
from evertrace._src.random import continuous, discrete, keys
from evertrace._src.ref.functions import new_ref
from evertrace._src.support import set_module
from evertrace._src.tree.record import register_dataclass

public = set_module("evertrace.experimental.random")


def _shape(size) -> Any:
    """Return the shape that `size` means: None, a number, or a sequence of them."""
    if size is None:
        return ()
    if isinstance(size, int):
        return (operator.index(size),)
    return tuple(map(operator.index, size))


@public
@register_dataclass
@dataclasses.dataclass(frozen=True)
class StatefulPRNG:
    """A generator of random numbers with a state, made by `stateful_rng`.

    Attributes:
      _base_key: the key that all others come from.
      _counter: a `Ref` of how many keys were made, folded into the base for the next one.

    Example:
      >>> from evertrace.experimental.random import StatefulPRNG, stateful_rng
      >>> rng = stateful_rng(0)
      >>> isinstance(rng, StatefulPRNG), bool(rng.uniform() == rng.uniform())
      (True, False)
    """

    _base_key: Any
    _counter: Any

    def key(self, shape: Any = ()) -> Any:
        """Return a new key, or keys of a shape."""
        count = self._counter[...]
        self._counter[...] = count + 1
        key = keys.fold_in(self._base_key, count)
        shape = _shape(shape)
        return keys.split(key, shape) if shape else key

    def random(self, size: Any = None, dtype: Any = float) -> Any:
        """Return floats of ``[0, 1)``.

        Args:
          size: shape of the result.
          dtype: floating.
        """
        return continuous.uniform(self.key(), _shape(size), dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: Any = None, *, dtype: Any = float) -> Any:
        """Return floats of ``[low, high)``.

        Args:
          low: the least value, of the shape of the result or broadcast to it.
          high: the bound above, likewise.
          size: shape of the result; by default that of the bounds.
          dtype: floating.
        """
        return continuous.uniform(self.key(), _joint(size, low, high), dtype, low, high)

    def normal(self, loc: Any = 0, scale: Any = 1, size: Any = None, *, dtype: Any = float) -> Any:
        """Return normally distributed floats.

        Args:
          loc: mean, broadcast to the shape of the result.
          scale: standard deviation, likewise.
          size: shape of the result; by default that of `loc` and `scale`.
          dtype: floating.
        """
        shape = _joint(size, loc, scale)
        return loc + scale * continuous.normal(self.key(), shape, dtype)

    def integers(self, low: Any, high: Any = None, size: Any = None, *, dtype: Any = int) -> Any:
        """Return integers of ``[low, high)``, or of ``[0, low)``.

        Args:
          low: the least value; alone, the bound above.
          high: the bound above.
          size: shape of the result; by default that of the bounds.
          dtype: integer.
        """
        low, high = (0, low) if high is None else (low, high)
        return discrete.randint(self.key(), _joint(size, low, high), low, high, dtype)

    def split(self, num: Any) -> Any:
        """Return one generator of many states, for `vmap`; this one moves on.

        Args:
          num: the shape of the states.
        """
        children = self.key(num)
        return StatefulPRNG(children, new_ref(zeros(children.shape, int)))

    def spawn(self, n_children: Any) -> Any:
        """Return a list of new generators; this one moves on.

        Args:
          n_children: how many.
        """
        if operator.index(n_children) == 0:
            return []
        return [StatefulPRNG(key, new_ref(array(0))) for key in self.key(n_children)]


def _joint(size, *bounds):
    """Return the shape of a result: what `size` says, or the joint one of the bounds."""
    return np.broadcast_shapes(*map(np.shape, bounds)) if size is None else _shape(size)


@public
def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """Return a generator that moves on as it is drawn from.

    Args:
      seed: an integer. None takes one from the system, outside of traced functions.
      impl: name of the random generator behind it, as for `jax.random.key`.

    Raises:
      TypeError: there is no seed, and a function is being traced.

    Functions that are transformed may draw from it as they may use a `Ref`.

    Example:
      >>> from evertrace.experimental.random import stateful_rng
      >>> rng = stateful_rng(42)
      >>> [round(float(rng.uniform()), 3) for _ in range(2)]
      [0.53, 0.728]
      >>> rng.integers(10, size=(2, 3)).shape
      (2, 3)
    """
    if seed is None:
        if state.trace is not EVAL:
            raise errors.user_error(
                TypeError,
                "stateful_rng: without a seed, the one that is drawn while a function is traced "
                "would be part of the program.",
                fix="pass a seed, or make the generator outside of the function.",
                anchor="random-seed",
            )
        seed = secrets.randbits(32)
    return StatefulPRNG(keys.key(seed, impl=impl), new_ref(array(0)))
