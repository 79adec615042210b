"""One call as plain data, and what came of it; the same for evertrace and for JAX.

A `Case` names a function below the package (``"numpy.add"``) or spells out a small program
(``"lambda x: jnp.sort(x)[::2]"``), and says what to call it with. `execute` runs it with a package
and records an `Outcome` that mentions nothing of that package: NumPy values, dtype names, class
names. Cases and outcomes can be pickled, so that JAX can run in another process.

This module is imported in both processes: it needs NumPy and ml_dtypes only.
"""

import contextlib
import functools
import importlib
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

ALIASES = {"jnp": "numpy", "lax": "lax", "random": "random", "nn": "nn", "tree": "tree"}


@dataclass(frozen=True)
class Case:
    """One call: a dotted name or the text of a lambda, its arguments, and how to compare.

    Args:
      function: what to call: a path below the package, or the text of a lambda that may use the
        package as ``ev``, its usual modules as ``jnp lax random nn tree``, and NumPy as ``np``.
      args: positional arguments: plain values, NumPy arrays, or instances of `Spec` at any depth.
      kwargs: keyword arguments, likewise.
      config: options to set while the case runs, such as ``{"enable_x64": True}``.
      tolerance: how far values may be apart, in units of the dtype's spacing relative to the
        largest magnitude of the result. Zero asks for the same bits.
      note: what the case is about, for its name in a report.
      devices: how many devices of the CPU there are.
    """

    function: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 8.0
    note: str = ""
    devices: int = 1

    def __str__(self) -> str:
        """Spell the case as a call, as the name of its test."""
        shown = [*map(str, self.args), *(f"{k}={v}" for k, v in self.kwargs.items())]
        settings = "".join(f" {k}={v}" for k, v in self.config.items())
        return self.note or f"{self.function}({', '.join(shown)}){settings}"


class Spec:
    """An argument that each process makes for itself, from the package it runs."""

    def build(self, package: ModuleType) -> Any:
        """Make the argument."""
        raise NotImplementedError


@dataclass(frozen=True)
class Draw(Spec):
    """An array of the package with drawn values; the same values in every process.

    Floats and complex numbers are standard normal, times `scale`; integers are uniform in
    ``[low, high)``; booleans are fair coins.
    """

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    seed: int = 0
    scale: float = 1.0
    low: int = -10
    high: int = 10

    def build(self, package: ModuleType) -> Any:
        """Draw, and hand the values to the package."""
        return package.numpy.asarray(self.values())

    def values(self) -> np.ndarray:
        """Draw the values, as a NumPy array."""
        text = f"{self.shape} {self.dtype} {self.seed}"
        rng = np.random.default_rng(zlib.crc32(text.encode()))  # the same in every process
        dtype = numpy_dtype(self.dtype)
        if dtype.kind == "b":
            return rng.integers(0, 2, self.shape).astype(dtype)
        if dtype.kind in "iu":
            low = max(self.low, 0) if dtype.kind == "u" else self.low
            return rng.integers(low, self.high, self.shape).astype(dtype)
        values = self.scale * rng.standard_normal(self.shape)
        if dtype.kind == "c":
            values = values + 1j * self.scale * rng.standard_normal(self.shape)
        return np.asarray(values).astype(dtype)

    def __str__(self) -> str:
        """Name the dtype and the shape."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Asarray(Spec):
    """An array of the package from plain values; a Python scalar makes a weakly typed one."""

    values: Any
    dtype: str | None = None

    def build(self, package: ModuleType) -> Any:
        """Hand the values to the package."""
        return package.numpy.asarray(self.values, self.dtype)

    def __str__(self) -> str:
        """Give the values."""
        return str(self.values)


@dataclass(frozen=True)
class Key(Spec):
    """A random key: a typed one, or raw words as `random.PRNGKey` makes them."""

    seed: int = 0
    typed: bool = True

    def build(self, package: ModuleType) -> Any:
        """Make the key."""
        return (package.random.key if self.typed else package.random.PRNGKey)(self.seed)

    def __str__(self) -> str:
        """Spell how it is made."""
        return f"{'key' if self.typed else 'PRNGKey'}({self.seed})"


@dataclass(frozen=True)
class Ref(Spec):
    """Something below the package, or a lambda, as an argument: ``Ref("lax.add")``."""

    function: str

    def build(self, package: ModuleType) -> Any:
        """Look it up."""
        return resolve(package, self.function)

    def __str__(self) -> str:
        """Give the name or the text."""
        return self.function


class BadCaseError(Exception):
    """A case could not even be called: no such function, or no such argument."""


class Leaf(NamedTuple):
    """One array of a result. A leaf that is no array has its text in place of values."""

    value: np.ndarray | str
    dtype: str
    weak_type: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a case: a result, or the class names of the error, most derived first."""

    structure: str = ""
    leaves: tuple[Leaf, ...] = ()
    error: tuple[str, ...] = ()
    message: str = ""


def execute(package: ModuleType, case: Case) -> Outcome:
    """Run a case with a package; an error is an outcome like any other."""
    settings = {name: getattr(package.config, f"jax_{name}") for name in case.config}
    try:
        configure(package, case.config)
        with _devices(package, case.devices):
            function, args, kwargs = _prepare(package, case)
            leaves: list[Leaf] = []
            structure = record(package, function(*args, **kwargs), leaves)
            return Outcome(structure, tuple(leaves))
    except Exception as error:
        names = tuple(c.__name__ for c in type(error).__mro__ if c is not object)
        return Outcome(error=names, message=str(error))
    finally:
        configure(package, settings)


def _devices(package: ModuleType, count: int) -> contextlib.AbstractContextManager[Any]:
    """Return a context in which there are so many devices; JAX's process was started with them."""
    simulate = getattr(package, "simulate_devices", None)
    return contextlib.nullcontext() if count == 1 or simulate is None else simulate(count)


def _prepare(package: ModuleType, case: Case) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    try:
        function = resolve(package, case.function)
        return function, build(package, case.args), build(package, dict(case.kwargs))
    except Exception as error:
        # Else a misspelt case would be an error in both packages, and count as agreement.
        raise BadCaseError(f"{type(error).__name__}: {error}") from error


def configure(package: ModuleType, settings: Mapping[str, Any]) -> None:
    """Set options by their JAX names, which both packages know."""
    for name, value in settings.items():
        package.config.update(f"jax_{name}", value)


def resolve(package: ModuleType, function: str) -> Any:
    """Find a dotted name below the package, importing what has to be, or evaluate a lambda."""
    if function.startswith("lambda"):
        names = {alias: resolve(package, path) for alias, path in ALIASES.items()}
        return eval(function, {"ev": package, "np": np, "ml_dtypes": ml_dtypes, **names})
    return functools.reduce(_member, function.split("."), package)


def _member(owner: Any, name: str) -> Any:
    if not hasattr(owner, name) and isinstance(owner, ModuleType):
        return importlib.import_module(f"{owner.__name__}.{name}")
    return getattr(owner, name)


def build(package: ModuleType, tree: Any) -> Any:
    """Replace each `Spec` in nested tuples, lists and dicts by what it stands for."""
    return _walk(tree, lambda x: x.build(package) if isinstance(x, Spec) else x)


def _walk(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    if type(tree) in (tuple, list):
        return type(tree)(_walk(x, leaf) for x in tree)
    if type(tree) is dict:
        return {k: _walk(x, leaf) for k, x in tree.items()}
    return leaf(tree)


def record(package: ModuleType, tree: Any, leaves: list[Leaf]) -> str:
    """Append the leaves of a result, and return its structure with a star for each."""
    if isinstance(tree, tuple | list):
        inside = ", ".join(record(package, x, leaves) for x in tree)
        return f"{type(tree).__name__}({inside})"
    if isinstance(tree, dict):
        inside = ", ".join(f"{k!r}: {record(package, tree[k], leaves)}" for k in sorted(tree))
        return f"dict({inside})"
    if tree is None:
        return "None"
    leaves.append(_leaf(package, tree))
    return "*"


def _leaf(package: ModuleType, x: Any) -> Leaf:
    if isinstance(x, bool | int | float | complex):
        return Leaf(np.asarray(x), type(x).__name__, weak_type=True)
    if not hasattr(x, "dtype") or isinstance(x, type):
        text = re.sub(r" at 0x[0-9a-f]+", "", str(x))  # where a function lies, each run has it new
        return Leaf(text, "not an array", weak_type=False)
    dtype, weak_type = str(x.dtype), bool(getattr(x, "weak_type", False))
    if dtype.startswith("key<"):
        x = package.random.key_data(x)
    return Leaf(np.asarray(x), dtype, weak_type)


def numpy_dtype(name: str) -> np.dtype:
    """Return the dtype of a name, ml_dtypes' own names included."""
    return np.dtype(getattr(ml_dtypes, name, name))
