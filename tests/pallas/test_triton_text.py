"""Kernels in Triton's language: the text, the call that holds it, its PTX, and what is refused.

`golden` has the text and the PTX of a few kernels. They are written anew by

    EVERTRACE_TEST_GOLDEN=write python -m pytest tests/pallas/test_triton_text.py

The PTX is compared where XLA's plugin for CUDA is installed, see `ptx.py`; no GPU is needed.
"""

import importlib
import os
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import control, ops
from evertrace._src.core.primitive import Primitive
from evertrace._src.pallas.gpu.lowering import RULES
from evertrace.experimental import kernels as ek
from evertrace.experimental import pallas as pl
from evertrace.experimental.pallas import triton
from tests.pallas import ptx

pytestmark = pytest.mark.engine

GOLDEN = Path(__file__).parent / "golden"
CAPABILITIES = ("8.0", "9.0", "10.0")
LIKE = ev.ShapeDtypeStruct


def lowered(fun, *args):
    return ev.jit(fun).trace(*args).lower(lowering_platforms=("cuda",))


def text_of(fun, *args):
    return lowered(fun, *args).as_text("triton")


# ------------------------------------------------------------------------ golden files


def softmax(x):
    def kernel(x_ref, o_ref):
        e = jnp.exp(x_ref[...] - x_ref[...].max(1, keepdims=True))
        o_ref[...] = e / e.sum(1, keepdims=True)

    rows = pl.BlockSpec((4, 6), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=3, in_specs=[rows], out_specs=rows, out_shape=x)(x)


def matmul(x, y):
    def kernel(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def begin():
            o_ref[...] = jnp.zeros((32, 32))

        o_ref[...] += triton.dot(x_ref[...], y_ref[...])

    return pl.pallas_call(
        kernel,
        grid=(2, 2, 4),
        in_specs=[
            pl.BlockSpec((32, 32), lambda i, j, k: (i, k)),
            pl.BlockSpec((32, 32), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((32, 32), lambda i, j, k: (i, j)),
        out_shape=LIKE((64, 64), "float32"),
    )(x, y)


HALF = LIKE((64, 128), "float16"), LIKE((128, 64), "float16")
KERNELS = {
    "softmax": lambda: text_of(softmax, LIKE((10, 6), "float32")),
    "matmul": lambda: text_of(matmul, *HALF),
}


def compare(name, text):
    """Hold a text to the golden file of a name, or write the file if that is asked for."""
    path = GOLDEN / name
    if os.environ.get("EVERTRACE_TEST_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", KERNELS)
def test_text(name):
    compare(f"{name}.ttir", KERNELS[name]())


@pytest.fixture(scope="module")
def compiled():
    """The PTX of each kernel for each capability."""
    if ptx.plugin() is None:
        pytest.skip("XLA's plugin for CUDA is not installed, see tests/pallas/ptx.py")
    pairs = [(name, c) for name in KERNELS for c in CAPABILITIES]
    return dict(zip(pairs, ptx.compile_all([[KERNELS[n](), c] for n, c in pairs]), strict=True))


def normal(asm):
    """Return the instructions of PTX: without comments, versions, and names of registers."""
    names: dict[str, str] = {}

    def rename(match):
        return names.setdefault(match[0], f"%{len(names)}")

    lines = [re.sub(r"//.*", "", line).strip() for line in asm.splitlines()]
    lines = [line for line in lines if line and not line.startswith((".", "$", "{", "}", "(", ")"))]
    return "".join([re.sub(r"%[a-z]+\d+", rename, line) + "\n" for line in lines])


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_ptx(compiled, capability):
    compare(
        f"softmax.sm_{capability.replace('.', '')}.ptx", normal(compiled["softmax", capability])
    )


@pytest.mark.parametrize(
    ("capability", "instruction"), [("8.0", "mma.sync"), ("9.0", "mma"), ("10.0", "mma")]
)
def test_products_of_matrices_take_the_units_for_them(compiled, capability, instruction):
    # Blocks of 32 rows are too small for `wgmma` and `tcgen05`; attention below has larger ones.
    assert instruction in compiled["matmul", capability]


def library():
    """Return the texts of the kernels of the library."""
    f = lambda *shape: LIKE(shape, "float32")  # noqa: E731
    sequences = f(2, 128, 64), f(2, 128, 64), f(2, 128, 64)
    return {
        "softmax": text_of(ek.softmax, f(100, 50)),
        "layer_norm": text_of(ek.layer_norm, f(100, 50)),
        "rms_norm": text_of(ek.rms_norm, f(100, 50)),
        "rotary": text_of(ek.rotary_embedding, f(2, 70, 12)),
        "attention": text_of(lambda *x: ek.flash_attention(*x, causal=True), *sequences),
        "backward": text_of(
            ev.grad(lambda *x: ek.flash_attention(*x, causal=True).sum(), argnums=(0, 1, 2)),
            *sequences,
        ),
        "cross_entropy": text_of(ek.cross_entropy, f(64, 32), f(32, 400), LIKE((64,), "int32")),
        "segment_sum": text_of(
            lambda x, s: ek.segment_sum(x, s, 5), f(70, 3), LIKE((70,), "int32")
        ),
        "segment_max": text_of(
            lambda x, s: ek.segment_max(x, s, 5), f(70, 3), LIKE((70,), "int32")
        ),
        "n_body": text_of(ek.n_body, f(100, 3), f(100)),
        "quantized": text_of(ek.quantized_matmul, f(64, 64), LIKE((64, 64), "int8"), f(64)),
        "paged": text_of(
            ek.paged_attention, f(2, 4, 8), f(2, 6, 4, 8), f(2, 6, 4, 8),
            LIKE((2,), "int32"), LIKE((2, 2), "int32"),
        ),
    }  # fmt: skip


def indexed():
    """Return the texts of kernels with products in batches, and with arrays of indices."""

    def products(x_ref, y_ref, v_ref, o_ref):
        small = jnp.einsum("bki,bkj->bij", v_ref[...], v_ref[...])
        o_ref[...] = x_ref[...] @ y_ref[...] + small.sum((1, 2))[:, None, None]

    def by_index(x_ref, i_ref, o_ref):
        x = jnp.sin(x_ref[...])[i_ref[...]] + x_ref[i_ref[...]]
        sums = jnp.zeros((20, 6)).at[i_ref[...]].add(x).at[i_ref[...], 0].max(x[:, 1])
        o_ref[...] = sums.at[i_ref[...]].set(x)
        triton.atomic_add(o_ref, i_ref[...], x, mask=x > 0)
        triton.atomic_xchg(o_ref.at[:, 0], i_ref[...], 2.0)

    f = lambda *shape: LIKE(shape, "float32")  # noqa: E731
    return {
        "products": text_of(
            pl.pallas_call(products, f(3, 32, 20)), f(3, 32, 64), f(3, 64, 20), f(3, 7, 5)
        ),
        "by_index": text_of(pl.pallas_call(by_index, f(20, 6)), f(20, 6), LIKE((9,), "int32")),
    }


def modules(text):
    """Return the modules that a text holds one after the other."""
    return ["module {" + part for part in text.split("module {")[1:]]


def test_the_library_compiles():
    if ptx.plugin() is None:
        pytest.skip("XLA's plugin for CUDA is not installed, see tests/pallas/ptx.py")
    texts = [*library().values(), *indexed().values()]
    found = [[module, c] for text in texts for module in modules(text) for c in CAPABILITIES]
    assert all(".entry" in asm for asm in ptx.compile_all(found))


def test_attention_is_multiplied_by_units_for_matrices():
    if ptx.plugin() is None:
        pytest.skip("XLA's plugin for CUDA is not installed, see tests/pallas/ptx.py")
    text = library()["attention"]
    found = ptx.compile_all([[text, c] for c in CAPABILITIES])
    for asm, unit in zip(found, ["mma.sync", "wgmma", "tcgen05"], strict=True):
        assert unit in asm


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
