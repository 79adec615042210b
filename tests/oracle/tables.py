"""Short ways to write many cases: calls, programs of one line, and arguments that recur.

Few shapes and dtypes recur on purpose: JAX compiles an operation once for each, and that is
nearly all the time that it takes. `tests.oracle.record` asks it about new cases.
"""

from collections.abc import Iterable
from typing import Any

from tests.oracle.cases import Asarray, Case, Draw

M, V, S = (3, 4), (4,), ()
X, X1, X0 = Draw(M), Draw(V), Draw(S)
Y, Y1 = Draw(M, seed=1), Draw(V, seed=1)
N, N1 = Draw(M, "int32"), Draw(V, "int32")
K, K1 = Draw(M, "int32", seed=1), Draw(V, "int32", seed=1)
B, B1 = Draw(M, "bool"), Draw(V, "bool")
C, C1 = Draw(M, "complex64"), Draw(V, "complex64")
SQUARE = Draw((3, 3))
ODD = Asarray([0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), 0.5], "float32")

NAMES = "xyzwuv"


def call(function: str, *args: Any, tolerance: float = 8.0, x64: bool = False, **kwargs: Any):
    """Write a call of a function below the package."""
    return Case(function, args, kwargs, _config(x64), tolerance)


def program(text: str, *args: Any, tolerance: float = 8.0, x64: bool = False, jit: bool = False):
    """Write a program: an expression in x, y, z, w, u, v, which are the arguments in order."""
    function = f"lambda {', '.join(NAMES[: len(args)])}: ({text})"
    if jit:
        function = f"lambda *a: ev.jit({function})(*a)"
    return Case(function, args, {}, _config(x64), tolerance, note=_note(text, x64, jit))


def programs(text: str, *args: Any, tolerance: float = 8.0, x64: bool = False, jit: bool = False):
    """Write a program for each line of a text, all with the same arguments."""
    lines = (line.strip() for line in text.strip().splitlines())
    return [program(line, *args, tolerance=tolerance, x64=x64, jit=jit) for line in lines if line]


def each(module: str, names: str, *arguments: Iterable[Any], tolerance: float = 8.0):
    """Write a call of each named function of a module with each tuple of arguments."""
    return [
        call(f"{module}.{name}", *args, tolerance=tolerance)
        for name in names.split()
        for args in arguments
    ]


def _note(text: str, x64: bool, jit: bool) -> str:
    return f"{text}{' enable_x64' if x64 else ''}{' jit' if jit else ''}"


def _config(x64: bool) -> dict[str, Any]:
    return {"enable_x64": True} if x64 else {}
