"""Mistakes that users make, as programs, and the same programs repaired.

The line that is to blame is the last one, or the one that ends in ``# here``. `test_mistakes.py`
runs both; ``python -m tests.errors.mistakes`` prints what is said, also by JAX where
``EVERTRACE_JAX_PYTHON`` names a Python that has it.
"""

import json
import linecache
import os
import re
import statistics
import subprocess
import sys
import traceback

HEADER = """\
import math
import numpy as np
import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn, random, tree
x = jnp.ones((2, 3)); v = jnp.arange(3.0); n = jnp.asarray(3)
"""

TRACING = {
    "if on an array": (
        "def f(x):\n    if x.sum() > 0:  # here\n        return x\n    return -x\ny = ev.jit(f)(x)",
        "y = ev.jit(lambda x: jnp.where(x.sum() > 0, x, -x))(x)",
    ),
    "while on an array": (
        "def f(x):\n    while x < 10:  # here\n        x *= 2\n    return x\ny = ev.jit(f)(v[1])",
        "y = ev.jit(lambda x: lax.while_loop(lambda x: x < 10, lambda x: x * 2, x))(v[1])",
    ),
    "assert on an array": (
        "def f(x):\n    assert (x > 0).all()  # here\n    return x\ny = ev.jit(f)(x)",
        "assert (x > 0).all()\ny = ev.jit(lambda x: x)(x)",
    ),
    "and of arrays": (
        "y = ev.jit(lambda x: (x > 0) and (x < 1))(v[0])",
        "y = ev.jit(lambda x: jnp.logical_and(x > 0, x < 1))(v[0])",
    ),
    "chained comparison": (
        "y = ev.jit(lambda x: jnp.where(0 < x < 1, x, 0))(v[0])",
        "y = ev.jit(lambda x: jnp.where((0 < x) & (x < 1), x, 0))(v[0])",
    ),
    "range of an array": (
        "y = ev.jit(lambda n: [i for i in range(n)])(n)",
        "y = ev.jit(lambda n: lax.fori_loop(0, n, lambda i, s: s + i, 0))(n)",
    ),
    "list at an array": (
        "y = ev.jit(lambda i: [1.0, 2.0, 3.0, 4.0][i])(n)",
        "y = ev.jit(lambda i: jnp.array([1.0, 2.0, 3.0, 4.0])[i])(n)",
    ),
    "float of an array": (
        "y = ev.jit(lambda x: float(x.sum()))(x)", "y = ev.jit(lambda x: x.sum().astype(float))(x)",
    ),
    "int of an array": (
        "y = ev.jit(lambda x: int(x.sum()))(x)", "y = ev.jit(lambda x: x.sum().astype(int))(x)",
    ),
    "item in jit": (
        "y = ev.jit(lambda x: x.sum().item())(x)", "y = ev.jit(lambda x: x.sum())(x).item()",
    ),
    "tolist in jit": (
        "y = ev.jit(lambda x: x.tolist())(x)", "y = ev.jit(lambda x: x)(x).tolist()",
    ),
    "math of an array": (
        "y = ev.jit(lambda x: math.sqrt(x.sum()))(x)", "y = ev.jit(lambda x: jnp.sqrt(x.sum()))(x)",
    ),
    "math in grad": (
        "y = ev.jit(ev.grad(lambda x: math.sin(x)))(v[0])",
        "y = ev.jit(ev.grad(lambda x: jnp.sin(x)))(v[0])",
    ),
    "NumPy of an array": (
        "y = ev.jit(lambda x: np.sqrt(x))(x)", "y = ev.jit(lambda x: jnp.sqrt(x))(x)",
    ),
    "shape of an array": (
        "y = ev.jit(lambda n: jnp.zeros(n))(n)", "y = ev.jit(lambda n: jnp.zeros(n))(3)",
    ),
    "arange of an array": (
        "y = ev.jit(lambda n: jnp.arange(n))(n)", "y = ev.jit(lambda n: jnp.arange(n))(3)",
    ),
    "mask in jit": (
        "y = ev.jit(lambda x: x[x > 0].sum())(x)",
        "y = ev.jit(lambda x: jnp.where(x > 0, x, 0).sum())(x)",
    ),
    "nonzero in jit": (
        "y = ev.jit(lambda x: jnp.nonzero(x))(v)",
        "y = ev.jit(lambda x: jnp.nonzero(x, size=3))(v)",
    ),
    "unique in jit": (
        "y = ev.jit(lambda x: jnp.unique(x))(v)", "y = ev.jit(lambda x: jnp.unique(x, size=3))(v)",
    ),
    "where of one argument": (
        "y = ev.jit(lambda x: jnp.where(x > 1))(v)",
        "y = ev.jit(lambda x: jnp.where(x > 1, size=3))(v)",
    ),
    "reshape to an array": (
        "y = ev.jit(lambda x, n: x.reshape(n, 2))(x, n)",
        "y = ev.jit(lambda x, n: x.reshape(n, 2))(x, 3)",
    ),
    "slice to an array": (
        "y = ev.jit(lambda v, n: v[:n])(v, n)",
        "y = ev.jit(lambda v, n: jnp.where(jnp.arange(3) < n, v, 0))(v, n)",
    ),
    "a dict at an array": (
        "y = ev.jit(lambda n: {3: 1.0}[n])(n)",
        "y = ev.jit(lambda n: jnp.where(n == 3, 1.0, 0.0))(n)",
    ),
    "a generator": (
        "def f(x):\n    yield x\ny = ev.jit(f)(x)", "def f(x):\n    return [x]\ny = ev.jit(f)(x)",
    ),
}  # fmt: skip

SHAPES = {
    "shapes that do not broadcast": (
        "y = jnp.ones((3, 4)) + jnp.ones(3)", "y = jnp.ones((3, 4)) + jnp.ones(3)[:, None]",
    ),
    "product of matrices": ("y = x @ x", "y = x @ x.T"),
    "dot": ("y = jnp.dot(x, jnp.ones(2))", "y = jnp.dot(x, jnp.ones(3))"),
    "axis out of range": ("y = x.sum(axis=2)", "y = x.sum(axis=1)"),
    "axis twice": ("y = x.sum(axis=(0, 0))", "y = x.sum(axis=(0, 1))"),
    "reshape": ("y = x.reshape(4, 2)", "y = x.reshape(3, 2)"),
    "reshape with two unknowns": ("y = x.reshape(-1, -1)", "y = x.reshape(-1, 2)"),
    "concatenate": (
        "y = jnp.concatenate([x, jnp.ones((2, 2, 2))])",
        "y = jnp.concatenate([x, jnp.ones((2, 3))])",
    ),
    "concatenate of arrays": ("y = jnp.concatenate(x, v)", "y = jnp.concatenate([x, v[None]])"),
    "stack": ("y = jnp.stack([x, v])", "y = jnp.stack([x[0], v])"),
    "squeeze": ("y = x.squeeze(0)", "y = x[:1].squeeze(0)"),
    "transpose": ("y = jnp.transpose(x, (0, 2))", "y = jnp.transpose(x, (1, 0))"),
    "split": ("y = jnp.split(v, 2)", "y = jnp.split(v, 3)"),
    "too many indices": ("y = x[0, 0, 0]", "y = x[0, 0]"),
    "an index of floats": ("y = v[1.0]", "y = v[1]"),
    "an index that is a list": ("y = v[[0, 1]]", "y = v[jnp.array([0, 1])]"),
    "sizes one by one": ("y = jnp.zeros(2, 3)", "y = jnp.zeros((2, 3))"),
    "a negative size": ("y = jnp.zeros(-1)", "y = jnp.zeros(1)"),
    "ragged lists": ("y = jnp.array([[1, 2], [3]])", "y = jnp.array([[1, 2], [3, 0]])"),
    "einsum": ("y = jnp.einsum('ij,jk->ik', x, x)", "y = jnp.einsum('ij,kj->ik', x, x)"),
    "a matrix that is not square": ("y = jnp.linalg.inv(x)", "y = jnp.linalg.pinv(x)"),
    "solve": (
        "y = jnp.linalg.solve(jnp.eye(3), jnp.ones(2))", "y = jnp.linalg.solve(jnp.eye(3), v)",
    ),
    "an empty maximum": ("y = jnp.zeros(0).max()", "y = jnp.zeros(0).max(initial=0)"),
    "too large": ("y = jnp.ones((200000, 1000000))", "y = jnp.ones((200, 1000))"),
}  # fmt: skip

VALUES = {
    "an assignment": ("x[0] = 1.0", "y = x.at[0].set(1.0)"),
    "truth of an array": ("y = 1 if v else 0", "y = 1 if v.any() else 0"),
    "float of many": ("y = float(v)", "y = float(v[0])"),
    "a dtype that is misspelt": ("y = jnp.zeros(3, 'flaot32')", "y = jnp.zeros(3, 'float32')"),
    "texts": ("y = jnp.array(['a'])", "y = jnp.array([float('1')])"),
    "a list for an array": ("y = jnp.sin([1.0, 2.0])", "y = jnp.sin(jnp.asarray([1.0, 2.0]))"),
    "None for an array": ("y = jnp.sin(None)", "y = jnp.sin(v)"),
    "a text for an array": ("y = jnp.sin('1')", "y = jnp.sin(float('1'))"),
    "a text as a seed": ("y = random.key('seed')", "y = random.key(0)"),
    "numbers without a key": ("y = random.normal((3,))", "y = random.normal(random.key(0), (3,))"),
    "a module of random numbers": (
        "y = jnp.random.normal(0)", "y = random.normal(random.key(0))",
    ),
    "a name that is misspelt": ("y = jnp.summ(x)", "y = jnp.sum(x)"),
    "a keyword that is misspelt": ("y = jnp.sum(x, axes=0)", "y = jnp.sum(x, axis=0)"),
    "an option that is misspelt": (
        "y = ev.jit(lambda x: x, static_argnum=0)", "y = ev.jit(lambda x: x, static_argnums=0)",
    ),
    "a platform for a device": (
        "y = ev.device_put(x, 'gpu')", "y = ev.device_put(x, ev.devices()[0])",
    ),
    "floats as shifts": ("y = v << 1", "y = v.astype(int) << 1"),
    "out of an integer's range": ("y = jnp.uint8(300)", "y = jnp.uint16(300)"),
}  # fmt: skip

TRANSFORMATIONS = {
    "grad of a vector": (
        "y = ev.grad(lambda x: x * 2)(v)", "y = ev.grad(lambda x: (x * 2).sum())(v)",
    ),
    "grad of integers": ("y = ev.grad(lambda x: x * 2)(3)", "y = ev.grad(lambda x: x * 2)(3.0)"),
    "grad of a value": ("y = ev.grad(jnp.sin(1.0))", "y = ev.grad(jnp.sin)"),
    "argnums out of range": (
        "y = ev.grad(lambda x: x, argnums=1)(1.0)", "y = ev.grad(lambda x: x, argnums=0)(1.0)",
    ),
    "vmap over several sizes": (
        "y = ev.vmap(lambda a, b: a * b.sum())(v, x)",
        "y = ev.vmap(lambda a, b: a * b.sum(), (None, 0))(v, x)",
    ),
    "vmap of a number": (
        "y = ev.vmap(lambda a: a)(1.0)", "y = ev.vmap(lambda a: a)(jnp.ones(1))",
    ),
    "branches that differ": (
        "y = lax.cond(True, lambda x: x, lambda x: x.sum(), x)",
        "y = lax.cond(True, lambda x: x.max(), lambda x: x.sum(), x)",
    ),
    "a carry that changes": (
        "y = lax.scan(lambda c, a: (c + v, a), 0.0, v)",
        "y = lax.scan(lambda c, a: (c + v, a), jnp.zeros(3), v)",
    ),
    "a body with one result": (
        "y = lax.scan(lambda c, a: c + a, 0.0, v)",
        "y = lax.scan(lambda c, a: (c + a, None), 0.0, v)",
    ),
    "trees that differ": (
        "y = tree.map(lambda a, b: a + b, {'w': x}, {'b': x})",
        "y = tree.map(lambda a, b: a + b, {'w': x}, {'w': x})",
    ),
}  # fmt: skip

MISTAKES = {**TRACING, **SHAPES, **VALUES, **TRANSFORMATIONS}

JAX_HEADER = HEADER.replace("evertrace", "jax")

ADVICE = re.compile(
    r"Fix: |did you mean|(?i:consider|instead|\buse\b|\btry\b|should be|pass |must be)"
)
"""What may be taken for the repair, of JAX's texts generously."""


def mistaken_line(code):
    """Return the line that is to blame, without its mark."""
    lines = code.split("\n")
    marked = [line for line in lines if line.endswith("# here")]
    return (marked or lines[-1:])[0].removesuffix("# here").strip()


def run(code, file, header=HEADER):
    """Run a program as if it stood in a file, and return the error that it raises, or None."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    namespace = {"__name__": "__main__"}
    exec(header, namespace)
    try:
        exec(compile(code, file, "exec"), namespace)
    except Exception as error:
        return error
    return None


def seen(error, file, line):
    """Return what a user sees of an error: frames of libraries, lines, line and repair."""
    error.__traceback__ = error.__traceback__.tb_next  # ours, in `run`
    shown = "".join(traceback.format_exception(error))
    return {
        "class": type(error).__name__,
        "frames": sum(x.filename != file for x in traceback.extract_tb(error.__traceback__)),
        "lines": len(shown.splitlines()),
        "line": line in shown,
        "repair": bool(ADVICE.search(str(error))),
        "message": str(error),
    }


def look_at_all(header):
    """Return what is seen of every mistake, None where it is none."""
    found = {}
    for i, (name, (code, _)) in enumerate(MISTAKES.items()):
        file = f"mistake_{i}.py"
        error = run(code, file, header)
        found[name] = error and seen(error, file, mistaken_line(code))
    return found


def _report(who, found):
    errors = [x for x in found.values() if x]
    median = {key: statistics.median(x[key] for x in errors) for key in ("frames", "lines")}
    sums = {key: sum(x[key] for x in errors) for key in ("line", "repair")}
    print(f"{who}: {len(errors)} of {len(found)} raise; medians {median}, named {sums}")
    for name, x in found.items():
        if "-v" in sys.argv:
            print(f"--- {name}: {x and (x['frames'], x['lines'], x['line'], x['repair'])}")
            print(x and x["message"][:1000])


if __name__ == "__main__":
    if "--jax" in sys.argv:
        print(json.dumps(look_at_all(JAX_HEADER)))
    else:
        _report("evertrace", look_at_all(HEADER))
        if python := os.environ.get("EVERTRACE_JAX_PYTHON"):
            ran = subprocess.run(
                [python, __file__, "--jax"], capture_output=True, text=True, check=True
            )
            _report("jax", json.loads(ran.stdout))
