"""Dtypes that NumPy does not have: their scalar types, and those of random keys."""

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from evertrace._src.errors import user_error
from evertrace._src.support import close_matches, set_module


@set_module("evertrace.dtypes")
class extended(np.generic):
    """Scalar type above all dtypes that NumPy does not have; for `issubdtype`.

    Example:
      >>> ev.dtypes.issubdtype(random.key(0).dtype, ev.dtypes.extended)
      True
      >>> ev.dtypes.issubdtype("float32", ev.dtypes.extended)
      False
    """


@set_module("evertrace.dtypes")
class prng_key(extended):
    """Scalar type of random keys; for `issubdtype`.

    Example:
      >>> jnp.issubdtype(random.key(0).dtype, ev.dtypes.prng_key)
      True
      >>> jnp.issubdtype(random.PRNGKey(0).dtype, ev.dtypes.prng_key)
      False
    """


class ExtendedDType:
    """A dtype whose elements are small arrays of a `physical_dtype`.

    An array of shape ``s`` is stored as one of shape ``s + physical_suffix``.
    """

    __slots__ = ()

    type: ClassVar[Any] = extended

    @property
    def name(self) -> str:
        """The name that is printed."""
        raise NotImplementedError

    @property
    def physical_dtype(self) -> np.dtype:
        """Dtype of the stored array."""
        raise NotImplementedError

    @property
    def physical_suffix(self) -> tuple[int, ...]:
        """Trailing axes of the stored array that one element takes."""
        raise NotImplementedError

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.physical_dtype.itemsize * math.prod(self.physical_suffix)

    def __repr__(self) -> str:
        """Show the name."""
        return self.name


_key_layouts: dict[str, tuple[str, tuple[int, ...]]] = {
    "threefry2x32": ("fry", (2,)),
    "rbg": ("rbg", (4,)),
    "unsafe_rbg": ("urbg", (4,)),
}


_key_types: "dict[str, KeyType]" = {}


def register_key_type(impl: str, tag: str, shape: tuple[int, ...]) -> None:
    """Make ``KeyType(impl)`` known: keys are uint32 arrays of `shape`, printed ``key<tag>``."""
    _key_layouts[impl] = (tag, shape)


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class KeyType(ExtendedDType):
    """Dtype of the keys of one random generator, e.g. ``KeyType("threefry2x32")``."""

    impl: str

    type: ClassVar[Any] = prng_key

    def __new__(cls, impl: str) -> "KeyType":
        """Return the one object of a generator, as NumPy has one of each dtype."""
        return _key_types.get(impl) or object.__new__(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled and copied by name."""
        return KeyType, (self.impl,)

    def __post_init__(self) -> None:
        """Refuse a generator that nobody registered."""
        if self.impl not in _key_layouts:
            close = close_matches(self.impl, _key_layouts) or _key_layouts
            raise user_error(
                ValueError,
                f"key: there is no random generator {self.impl!r}.",
                fix=f"use {' or '.join(map(repr, close))}.",
                anchor="prng-impl",
            )
        _key_types[self.impl] = self

    @property
    def name(self) -> str:
        """The name that is printed, e.g. ``key<fry>``."""
        return f"key<{_key_layouts[self.impl][0]}>"

    @property
    def physical_dtype(self) -> np.dtype:
        """Keys are stored as uint32."""
        return np.dtype(np.uint32)

    @property
    def physical_suffix(self) -> tuple[int, ...]:
        """Number of words of one key, ``(2,)`` for threefry."""
        return _key_layouts[self.impl][1]
