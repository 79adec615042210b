"""Dtypes on which XLA ends the process are refused before it sees them, by an error of ours.

What all primitives do with all dtypes is tried in `tests/engines/test_matrix.py`.
"""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.xla.text import NOT_IN_XLA
from evertrace.errors import DTypeError, ShapeError

REFUSED = sorted(NOT_IN_XLA)

# What is written in a program, and the primitive that an error about it names.
PROGRAMS = {
    "operand": ("max", lambda x: lax.max(x, x)),
    "result": ("convert_element_type", lambda x: lax.reshape(x, (1, 2)).astype("float32")),
    "loop": ("min", lambda x: lax.fori_loop(0, 3, lambda i, c: lax.min(c, x), x)),
    "branch": ("max", lambda x: lax.cond(x[0] > x[1], lambda: lax.max(x, x), lambda: x)),
    "call": ("max", lambda x: ev.jit(lambda y: lax.max(y, y))(x)),
    "callback": (
        "pure_callback",
        lambda x: ev.pure_callback(np.array, ev.ShapeDtypeStruct(x.shape, x.dtype), x),
    ),
}


@pytest.mark.engine
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("program", PROGRAMS)
def test_error_names_dtype_primitive_line_and_repair(name, program):
    primitive, fun = PROGRAMS[program]
    x = jnp.ones(2, name)
    first = {"result": "reshape", "branch": "slice"}.get(program, primitive)
    with pytest.raises(DTypeError) as caught:
        ev.jit(fun)(x)
    text = str(caught.value)
    assert f"{first}: programs for XLA cannot have arrays of dtype {name}." in text
    assert "test_refused_dtypes.py:" in text
    assert f'`x.astype("{NOT_IN_XLA[name]}")`' in text
    assert text.endswith(" dtype-compiled`")


@pytest.mark.engine
@pytest.mark.parametrize("name", REFUSED)
def test_lowering_and_export_refuse_too(name):
    jitted, x = ev.jit(lambda x: lax.max(x, x)), jnp.ones(2, name)
    with pytest.raises(DTypeError, match=f"max: programs .* {name}"):
        jitted.lower(x)
    with pytest.raises(DTypeError, match=f"max: programs .* {name}"):
        ev.export.export(jitted)(x)


@pytest.mark.engine
@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_computes_nothing_with_it_is_named(name):
    program = ev.jit(lambda x, y: y + 1, engine="xla", keep_unused=True)
    with pytest.raises(DTypeError, match=rf"jit\(<lambda>\): programs .* {name}"):
        program(jnp.ones(2, name), jnp.ones(2))


@pytest.mark.parametrize("name", REFUSED)
def test_without_jit_operations_run(name):
    x = jnp.ones(2, name)
    assert lax.max(x, x).tolist() == x.tolist()


@pytest.mark.engine
@pytest.mark.parametrize("name", REFUSED)
def test_the_dtype_that_is_recommended_holds_all_numbers_and_compiles(name):
    bits = np.arange(2 ** ev.dtypes.itemsize_bits(name), dtype=np.uint8)
    numbers = jnp.asarray(bits.view(np.dtype(getattr(jnp, name))))
    wider = numbers.astype(NOT_IN_XLA[name])
    assert np.array_equal(np.asarray(wider, np.float32), np.asarray(numbers, np.float32))
    assert ev.jit(lambda x: lax.max(x, x), engine="xla")(wider).tolist() == wider.tolist()


@pytest.mark.engine
def test_rows_without_elements_are_few():
    """XLA's compiler goes through them, for minutes."""
    x = jnp.zeros((2, 0))
    with pytest.raises(ShapeError) as caught:
        ev.jit(lambda x: jnp.tile(x, (2**20, 2**20, 1)) + 1, engine="xla")(x)
    text = str(caught.value)
    assert "programs for XLA cannot have an array of no elements in so many rows" in text
    assert "test_refused_dtypes.py:" in text
    assert (jnp.tile(x, (2**20, 2**20, 1)) + 1).shape == (2**20, 2**21, 0)
    assert ev.jit(lambda x: jnp.tile(x, (2**9, 2**9, 1)), engine="xla")(x).size == 0
