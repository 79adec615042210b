"""The full text of the messages that users meet most: what, where, how to fix it, where to read."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, lax

pytestmark = pytest.mark.quotes_lines

X = np.float32([1, 2, 3])


def message(error, fun, *args):
    """Return the message of the error, the file's path left out."""
    with pytest.raises(error) as caught:
        fun(*args)
    return re.sub(r"\S*test_messages\.py:\d+", "FILE:N", str(caught.value)).split("\n")


@pytest.mark.usefixtures("rules")
def test_branch_on_a_traced_value():
    def relu(x, slope):
        y = x * slope
        if y > 0:
            return x
        return y

    x = jnp.float32(1)
    assert message(errors.TracerBoolConversionError, ev.jit(relu), x, 2.0) == [
        "bool (an array as the condition of if, while, and, or, not): a traced array bool[] has no "
        "value while tracing; it depends on x, slope.",
        "  at FILE:N in relu, called from jit(relu):  if y > 0:",
        "  Fix: choose with `jnp.where` or `lax.cond`, loop with `lax.while_loop`.",
        "  See `python -m evertrace docs TracerBoolConversionError`",
    ]


@pytest.mark.usefixtures("rules")
def test_traced_shape():
    def ramp(n):
        return jnp.zeros(n)

    what, where, fix, see = message(errors.ConcretizationTypeError, ev.jit(ramp), jnp.int32(3))
    assert "must be known while tracing, but it is a traced value i32[]" in what
    assert where == "  at FILE:N in ramp, called from jit(ramp):  return jnp.zeros(n)"
    assert "static" in fix
    assert see == "  See `python -m evertrace docs ConcretizationTypeError`"


def test_shapes():
    def layer(w, x):
        return w @ x

    what, where, fix, see = message(
        errors.ShapeError,
        ev.grad(lambda w: ev.vmap(layer, (None, 0))(w, np.ones((5, 4))).sum()),
        np.ones((2, 3)),
    )
    assert "(2, 3)" in what
    assert "(4,)" in what
    assert where == ("  at FILE:N in layer, called from vmap(layer), grad(<lambda>):  return w @ x")
    assert fix.startswith("  Fix: ")
    assert see == "  See `python -m evertrace docs shape-dot`"


def test_broadcast():
    assert message(errors.ShapeError, lambda: jnp.ones((3, 4)) + jnp.ones(3))[0] == (
        "add: shapes (3, 4) and (3,) do not broadcast."
    )


@pytest.mark.parametrize("builtin", [TypeError, ValueError])
def test_shape_errors_are_both_builtins(builtin):
    with pytest.raises(builtin, match="do not broadcast"):
        jnp.ones((3, 4)) + jnp.ones(3)


def test_dtypes():
    what, where, fix, see = message(
        errors.DTypeError, lambda: lax.add(jnp.ones(2, "int32"), jnp.ones(2, "float32"))
    )
    assert what == "add: operands must have the same dtype, got int32, float32."
    assert where.startswith("  at FILE:N in <lambda>:  ")
    assert fix.startswith("  Fix: ")
    assert see == "  See `python -m evertrace docs dtype`"


@pytest.mark.parametrize("builtin", [ValueError, IndexError])
def test_axes(builtin):
    with pytest.raises(builtin) as caught:
        jnp.ones((3, 4)).sum(axis=2)
    assert type(caught.value) is errors.AxisError
    assert "axis 2 is out of" in str(caught.value)
    assert "test_messages.py" in str(caught.value)


def test_tree_prefix():
    what, where, fix, see = message(
        ValueError, ev.vmap(lambda p: p["w"], in_axes=({"v": 0},)), {"w": X}
    )
    assert "in_axes is not a tree prefix of the value at [0][0]" in what
    assert where == "  at FILE:N in message:  fun(*args)"
    assert fix.startswith("  Fix: give one leaf for the whole subtree")
    assert see == "  See `python -m evertrace docs tree-prefix`"


def test_deleted_array():
    x = jnp.asarray(X)
    x.delete()

    def use():
        return x + 1

    assert message(errors.DeletedArrayError, use) == [
        "Array: the array of type f32[3] has been deleted or donated to a call.",
        "  at FILE:N in use:  return x + 1",
        "  Fix: use the result of that call instead, or drop it from `donate_argnums`.",
        "  See `python -m evertrace docs DeletedArrayError`",
    ]


@pytest.mark.usefixtures("strict_rules")
def test_leaked_tracer():
    kept = []

    @ev.jit
    def step(x):
        kept.append(x * 2)
        return x

    step(1.0)

    def use():
        return jnp.sin(kept[0])

    assert message(errors.UnexpectedTracerError, use) == [
        "sin: a traced value f32[] of jit(step) is used outside of the call that made it.",
        "  at FILE:N in use:  return jnp.sin(kept[0])",
        "  Fix: return the value from the transformed function instead of storing it in a global, "
        "an attribute or a list.",
        "  See `python -m evertrace docs unexpected-tracer`",
    ]


@pytest.mark.usefixtures("strict_rules")
def test_argument_that_is_no_array():
    @ev.jit
    def step(params, way):
        return params

    assert message(TypeError, step, {"w": X}, "up") == [
        "jit(step): argument way of type str is not an array.",
        "  at FILE:N in message:  fun(*args)",
        "  Fix: pass arrays or trees of them, or mark the argument as static with "
        "`static_argnames`.",
        "  See `python -m evertrace docs not-an-array`",
    ]


def test_errors_inside_a_trace_name_the_innermost_line(rules):
    """The line is that of the operation, the stack names the transformations around it."""

    def inner(x):
        return x + jnp.ones(2)

    def outer(x):
        return ev.jit(inner)(x)

    where = message(errors.ShapeError, ev.jit(outer), X)[1]
    calls = {"strict": "jit(inner), jit(outer)", "contract": "jit(outer)"}[rules]  # inlined
    assert where == f"  at FILE:N in inner, called from {calls}:  return x + jnp.ones(2)"


def test_no_frame_of_the_package_is_named():
    lines = message(errors.ShapeError, lambda: jnp.concatenate([X, X[None]]))
    assert "evertrace/_src" not in lines[1]
