"""Kernels in Triton's language: the text, the call that holds it, and what is refused.

`golden` has the text of two kernels, which is written anew by

    EVERTRACE_TEST_GOLDEN=write python -m pytest tests/pallas/test_triton_text.py

What becomes of the texts is in `test_ptx.py`.
"""

import importlib
import pkgutil

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import control, ops
from evertrace._src.core.primitive import Primitive
from evertrace._src.pallas.gpu.lowering import RULES
from evertrace.experimental import pallas as pl
from evertrace.experimental.pallas import triton
from tests.pallas.golden_kernels import GOLDEN, compare, lowered, text_of

pytestmark = pytest.mark.engine

LIKE = ev.ShapeDtypeStruct


# ------------------------------------------------------------------------ golden files


@pytest.mark.parametrize("name", GOLDEN)
def test_text(name):
    compare(f"{name}.ttir", GOLDEN[name]())


@pytest.mark.parametrize(
    ("options", "how"),
    [({}, "tf32"), ({"allow_tf32": False}, "ieee"), ({"precision": "high"}, "tf32x3")],
)
def test_precision_of_products(options, how):
    def kernel(x_ref, o_ref):
        o_ref[...] = triton.dot(x_ref[...], x_ref[...], **options)

    square = LIKE((32, 32), "float32")
    text = text_of(pl.pallas_call(kernel, out_shape=square), square)
    assert f"inputPrecision = {how} :" in text


# ------------------------------------------------------------------------ the call


def double(x, **options):
    def kernel(x_ref, o_ref):
        o_ref[...] = 2 * x_ref[...]

    rows = pl.BlockSpec((4,), lambda i: i)
    return pl.pallas_call(
        kernel, grid=3, in_specs=[rows], out_specs=rows, out_shape=x, name="twice", **options
    )(x)


X = jnp.arange(10.0)


def test_the_call_as_xla_takes_it():
    params = triton.CompilerParams(num_warps=8, num_stages=2)
    text = lowered(lambda x: double(x, compiler_params=params), X).as_text()
    assert "stablehlo.custom_call @__gpu$xla.gpu.triton(" in text
    for field in ('name = "twice"', "num_warps = 8 : i32", "num_stages = 2 : i32",
                  "grid_x = 3 : i32", "grid_y = 1 : i32", "debug = false"):  # fmt: skip
        assert field in text
    assert "num_warps = 4 : i32, num_stages" not in lowered(double, X).as_text()
    assert "num_warps = 4 : i32" in lowered(double, X).as_text()


def test_aliases_are_taken_over():
    text = lowered(lambda x: double(x, input_output_aliases={0: 0}), X).as_text()
    assert "output_operand_alias<output_tuple_indices = [], operand_index = 1" in text


def test_interpreted_kernels_are_loops_on_a_gpu():
    text = lowered(lambda x: double(x, interpret=True), X).as_text()
    assert "triton" not in text
    assert "stablehlo.while" in text


def test_a_program_without_kernels_has_no_text():
    def f(x):
        return x + 1

    with pytest.raises(ValueError, match="as_text: f calls no kernel that Triton compiles"):
        text_of(f, X)


def test_a_program_for_another_platform_is_not_run():
    with pytest.raises(ValueError, match="compile: <lambda> was lowered for gpu, but runs on cpu"):
        lowered(lambda x: double(x), X).compile()
    with pytest.raises(ValueError, match="lower: there is no platform 'moon'"):
        ev.jit(double).trace(X).lower(lowering_platforms=("moon",))


# ------------------------------------------------------------------------ what is refused


def primitives():
    """Return the names of all primitives."""
    found = set()
    for package in (ops, control):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            values = vars(importlib.import_module(module.name)).values()
            found |= {x.name for x in values if isinstance(x, Primitive)}
    return found


def test_each_rule_is_of_a_primitive():
    assert set(RULES) <= primitives()


def sort(x_ref, o_ref):
    o_ref[...] = jnp.sort(x_ref[...])


def scattered(x_ref, o_ref):
    o_ref[...] = jnp.zeros(1 << 18).at[x_ref[...].astype(int)].add(1.0)[:10]


def complex_numbers(x_ref, o_ref):
    o_ref[...] = (x_ref[...] * 1j).real


def printed(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    pl.debug_print("{}", x_ref[0])


REFUSED = {
    sort: "`sort`, which Triton has no operation for",
    scattered: "a `scatter-add` of 10 updates into 262144 rows of 1, for each place is compared",
    complex_numbers: "makes c64[10], and a GPU's registers have no such numbers",
    printed: "which Triton has no operation for",
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda k: k.__name__)
def test_what_triton_cannot_do_names_the_line(kernel):
    call = pl.pallas_call(kernel, out_shape=X)
    call(X)
    with pytest.raises(NotImplementedError) as caught:
        lowered(lambda x: call(x), X)
    message = str(caught.value)
    assert message.startswith(
        f"pallas_call: the kernel {kernel.__name__} cannot be compiled for a GPU"
    )
    assert REFUSED[kernel] in message
    line = kernel.__code__.co_firstlineno + (2 if kernel is printed else 1)
    assert f"test_triton_text.py:{line} in {kernel.__name__}" in message
    assert "`interpret=True`" in message


def test_windows_of_what_is_computed_are_refused():
    def kernel(x_ref, o_ref):
        x = jnp.sin(x_ref[...])
        o_ref[...] = ev.vmap(lambda i: lax.dynamic_slice_in_dim(x, i, 2).sum())(jnp.arange(10))

    call = pl.pallas_call(kernel, out_shape=X)
    assert call(X).shape == (10,)
    with pytest.raises(NotImplementedError, match="a `gather` of windows by arrays of indices"):
        lowered(lambda x: call(x), X)


def test_compiler_params_are_numbers():
    with pytest.raises(ValueError, match="num_warps of the compiler's params is 'many'"):
        double(X, compiler_params=triton.CompilerParams(num_warps="many"))
    other = np.testing.assert_array_equal
    other(double(X, compiler_params=object()), 2 * X)
