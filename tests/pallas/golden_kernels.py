"""Kernels whose texts in Triton's language, and PTX, are held to golden files."""

import os
from pathlib import Path

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental import kernels as ek
from evertrace.experimental import pallas as pl
from evertrace.experimental.pallas import triton

FOLDER = Path(__file__).parent / "golden"


def lowered(fun, *args):
    """Return a function lowered for a GPU."""
    return ev.jit(fun).trace(*args).lower(lowering_platforms=("cuda",))


def text_of(fun, *args):
    """Return the text in Triton's language of the kernels that a function calls."""
    return lowered(fun, *args).as_text("triton")


def modules(text):
    """Return the modules that a text holds one after the other."""
    return ["module {" + part for part in text.split("module {")[1:]]


def compare(name, text):
    """Hold a text to the golden file of a name, or write the file if that is asked for."""
    path = FOLDER / name
    if os.environ.get("EVERTRACE_TEST_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def f32(*shape):
    """Return the type of an array of floats."""
    return ev.ShapeDtypeStruct(shape, "float32")


def i32(*shape):
    """Return the type of an array of integers."""
    return ev.ShapeDtypeStruct(shape, "int32")


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
        out_shape=f32(64, 64),
    )(x, y)


HALF = ev.ShapeDtypeStruct((64, 128), "float16"), ev.ShapeDtypeStruct((128, 64), "float16")
GOLDEN = {
    "softmax": lambda: text_of(softmax, f32(10, 6)),
    "matmul": lambda: text_of(matmul, *HALF),
}
"""Kernels whose texts are in files."""


def products(x_ref, y_ref, v_ref, o_ref):
    """Multiply matrices, and batches of small ones."""
    small = jnp.einsum("bki,bkj->bij", v_ref[...], v_ref[...])
    o_ref[...] = x_ref[...] @ y_ref[...] + small.sum((1, 2))[:, None, None]


def by_index(x_ref, i_ref, o_ref):
    """Read and write at arrays of indices."""
    x = jnp.sin(x_ref[...])[i_ref[...]] + x_ref[i_ref[...]]
    sums = jnp.zeros((20, 6)).at[i_ref[...]].add(x).at[i_ref[...], 0].max(x[:, 1])
    o_ref[...] = sums.at[i_ref[...]].set(x)
    triton.atomic_add(o_ref, i_ref[...], x, mask=x > 0)
    triton.atomic_xchg(o_ref.at[:, 0], i_ref[...], 2.0)


def attention(*x):
    return ek.flash_attention(*x, causal=True)


def backward(*x):
    return ev.grad(lambda *x: attention(*x).sum(), argnums=(0, 1, 2))(*x)


HEADS = f32(2, 128, 64), f32(2, 128, 64), f32(2, 128, 64)
COMPILED = {
    "matmul": lambda: text_of(matmul, *HALF),
    "products": lambda: text_of(
        pl.pallas_call(products, f32(3, 32, 20)), f32(3, 32, 64), f32(3, 64, 20), f32(3, 7, 5)
    ),
    "by_index": lambda: text_of(pl.pallas_call(by_index, f32(20, 6)), f32(20, 6), i32(9)),
    "softmax": lambda: text_of(ek.softmax, f32(100, 50)),
    "layer_norm": lambda: text_of(ek.layer_norm, f32(100, 50)),
    "rms_norm": lambda: text_of(ek.rms_norm, f32(100, 50)),
    "rotary": lambda: text_of(ek.rotary_embedding, f32(2, 70, 12)),
    "attention": lambda: text_of(attention, *HEADS),
    "backward": lambda: text_of(backward, *HEADS),
    "cross_entropy": lambda: text_of(ek.cross_entropy, f32(64, 32), f32(32, 400), i32(64)),
    "segment_sum": lambda: text_of(lambda x, s: ek.segment_sum(x, s, 5), f32(70, 3), i32(70)),
    "segment_max": lambda: text_of(lambda x, s: ek.segment_max(x, s, 5), f32(70, 3), i32(70)),
    "scatter_add": lambda: text_of(ek.scatter_add, f32(20, 3), i32(70), f32(70, 3)),
    "n_body": lambda: text_of(ek.n_body, f32(100, 3), f32(100)),
    "quantized": lambda: text_of(
        ek.quantized_matmul, f32(64, 64), ev.ShapeDtypeStruct((64, 64), "int8"), f32(64)
    ),
    "paged": lambda: text_of(
        ek.paged_attention, f32(2, 4, 8), f32(2, 6, 4, 8), f32(2, 6, 4, 8), i32(2), i32(2, 2)
    ),
}
"""Kernels of which a file says what the compiler makes: those of the library, and three more."""
