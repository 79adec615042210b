"""What the Python array API standard asks of a namespace: its version, what it can, its dtypes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from evertrace._src import config, dtypes, errors
from evertrace._src.api.devices import devices
from evertrace._src.core import engine
from evertrace._src.support import set_module

API_VERSION = "2024.12"

_BY_KIND = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
_WIDE = ("int64", "uint64", "float64", "complex128")


def namespace_of(x, /, *, api_version=None):
    """Return `evertrace.numpy`, where the functions on an array are: ``x.__array_namespace__()``.

    Args:
      x: array.
      api_version: of the array API standard, "2024.12" or None.

    Raises:
      ValueError: another version.
    """
    if api_version not in (None, API_VERSION):
        raise errors.user_error(
            ValueError,
            f"__array_namespace__: api_version {api_version!r} is not available.",
            fix=f'use "{API_VERSION}", or none.',
        )
    return importlib.import_module("evertrace.numpy")


class ArrayNamespaceInfo:
    """What `evertrace.numpy` can, in the array API standard's terms."""

    def capabilities(self) -> Any:
        """Return what code may rely on everywhere, also where `jit` traces it.

        Outside of `jit`, boolean indexing and results whose shapes depend on values do work.

        Example:
          >>> jnp.__array_namespace_info__().capabilities()["data-dependent shapes"]
          False
        """
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """Return the device that new arrays are put on."""
        return engine.backend().default_device()

    def devices(self) -> Any:
        """Return all devices that arrays can be put on."""
        return devices()

    def default_dtypes(self, *, device: Any = None) -> Any:
        """Return the dtypes of results where none is asked for.

        Args:
          device: they are the same on all devices.

        Example:
          >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
          dtype('float32')
        """
        del device
        integer = dtypes.default_dtype(int)
        return {
            "real floating": dtypes.default_dtype(float),
            "complex floating": dtypes.default_dtype(complex),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Any:
        """Return the standard's dtypes by name; those of 64 bits per part only if x64 is on.

        Args:
          device: they are the same on all devices.
          kind: "bool", "signed integer", "unsigned integer", "integral", "real floating",
            "complex floating", "numeric", a tuple of these, or None for all.

        Example:
          >>> list(jnp.__array_namespace_info__().dtypes(kind="signed integer"))
          ['int8', 'int16', 'int32']
        """
        del device
        kinds = tuple(_BY_KIND) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        simple = [k for given in kinds for k in _UNIONS.get(given, (given,))]
        for k in simple:
            if k not in _BY_KIND:
                raise errors.user_error(
                    ValueError,
                    f"dtypes: no kind of dtypes is called {k!r}.",
                    fix=f"use one of {', '.join(map(repr, (*_BY_KIND, *_UNIONS)))}.",
                    anchor="choice",
                )
        names = dict.fromkeys(name for k in simple for name in _BY_KIND[k])
        return {n: np.dtype(n) for n in names if config.current().enable_x64 or n not in _WIDE}


@set_module("evertrace.numpy")
def array_namespace_info() -> ArrayNamespaceInfo:
    """Return what the namespace can, as the array API standard asks for it."""
    return ArrayNamespaceInfo()
