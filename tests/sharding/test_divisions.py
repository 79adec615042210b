"""How results of operations are divided over a mesh, by the factors of their dimensions."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.core.divisions import Unreduced, Zeros
from evertrace._src.core.factors import split_alike
from evertrace._src.core.propagation import Inside, divide_jaxpr

SIZES = {"x": 4, "y": 2}
F = jnp.float32


def spec(text):
    """Return the division that a text says: one word a dimension, "-" for an open one."""
    return tuple([() if word == "-" else tuple(word) for word in text.split()])


def divided(fun, *operands):
    """Return the divisions of the results of a function, as texts."""
    shapes = [ev.ShapeDtypeStruct(shape, dtype) for shape, _, dtype in operands]
    jaxpr = ev.make_jaxpr(fun)(*shapes).jaxpr
    found = divide_jaxpr(jaxpr, [spec(text) for _, text, _ in operands], SIZES)
    return [" ".join(["".join(axes) or "-" for axes in division]) for division in found]


A = (8, 8), "x y", F
B = (8, 8), "- x", F
C = (8, 8), "x -", F
D = (8, 8), "y x", F
V = (8,), "x", F
W = (8,), "xy", F
E = (8, 4, 6), "x - y", F
I8 = (8,), "x", jnp.int32

# What JAX 0.10.2 says of the same programs on eight devices.
CASES = {
    "elementwise": (lambda a: jnp.sin(a) + 1, [A], "x y"),
    "operands that disagree about one dimension": (jnp.add, [A, B], "x -"),
    "operands that disagree about both": (jnp.add, [A, D], "- -"),
    "one operand says more": (jnp.add, [C, A], "x y"),
    "sum of rows": (lambda a: a.sum(0), [A], "y"),
    "sum of all": (lambda a: a.sum(), [A], ""),
    "argmax": (lambda a: jnp.argmax(a, 1), [A], "x"),
    "max that keeps": (lambda a: a.max(0, keepdims=True), [A], "- y"),
    "transpose": (lambda e: e.transpose(2, 0, 1), [E], "y x -"),
    "dimensions merged": (lambda a: a.reshape(64), [A], "x"),
    "dimensions merged before one": (lambda e: e.reshape(32, 6), [E], "x y"),
    "dimensions merged after one": (lambda e: e.reshape(8, 24), [E], "x -"),
    "a dimension split": (lambda w: w.reshape(4, 2), [W], "x y"),
    "a dimension split where the axis does not fit": (lambda v: v.reshape(2, 4), [V], "- -"),
    "a new dimension": (lambda a: a[:, None], [A], "x - y"),
    "one row": (lambda a: a[0], [A], "y"),
    "some rows": (lambda a: a[2:4], [A], "- y"),
    "rows backwards": (lambda a: a[::-1], [A], "x y"),
    "concatenate": (lambda a: jnp.concatenate([a, a]), [A], "x y"),
    "stack": (lambda a: jnp.stack([a, a]), [A], "- x y"),
    "unstack": (lambda a: jnp.unstack(a)[0], [A], "y"),
    "split": (lambda a: jnp.split(a, 2)[0], [A], "x y"),
    "pad": (lambda a: jnp.pad(a, ((1, 1), (0, 0))), [A], "- y"),
    "tile": (lambda a: jnp.tile(a, (2, 1)), [A], "- y"),
    "repeat": (lambda a: jnp.repeat(a, 2, 0), [A], "x y"),
    "product": (jnp.matmul, [A, A], "x y"),
    "product with an axis on both sides": (jnp.matmul, [A, B], "x -"),
    "inner product": (jnp.matmul, [V, V], ""),
    "outer product": (jnp.outer, [V, V], "x -"),
    "einsum": (lambda e, a: jnp.einsum("abc,ad->abcd", e, a), [E, A], "x - y -"),
    "where": (lambda a: jnp.where(a > 3, a, 0.0), [A], "x y"),
    "cumsum": (lambda a: jnp.cumsum(a, 0), [A], "x y"),
    "sort": (lambda a: jnp.sort(a, 0), [A], "x y"),
    "rows by index": (lambda a, i: jnp.take(a, i, axis=0, mode="clip"), [A, I8], "x y"),
    "columns by index": (lambda a, i: jnp.take(a, i, axis=1, mode="clip"), [A, I8], "x -"),
    "update of a row": (lambda a: a.at[0].set(1.0), [A], "x y"),
    "sums by index": (lambda a, i: a.at[i].add(1.0), [A, I8], "x y"),
    "dynamic_slice": (lambda a: lax.dynamic_slice(a, (0, 0), (4, 8)), [A], "- y"),
    "dynamic_update_slice": (
        lambda a: lax.dynamic_update_slice(a, jnp.ones((2, 8)), (0, 0)),
        [A],
        "x y",
    ),
    "softmax": (lambda a: ev.nn.softmax(a, 1), [A], "x y"),
    "fft": (lambda c: jnp.fft.fft(c), [C], "x -"),
    "factors of many matrices": (jnp.linalg.cholesky, [((8, 3, 3), "x - -", F)], "x - -"),
    "convolution": (
        lambda x, k: lax.conv(x, k, (1, 1), "VALID"),
        [((8, 4, 9, 9), "x y - -", F), ((6, 4, 3, 3), "y - - -", F)],
        "x y - -",
    ),
    "scan": (
        lambda a: lax.scan(lambda c, x: (c + x, c * 2), jnp.zeros(8), a),
        [A],
        ("y", "- y"),
    ),
    "while": (
        lambda a: lax.while_loop(lambda a: a.sum() < 1e5, lambda a: a * 2, a),
        [A],
        "x y",
    ),
    "cond": (lambda a: lax.cond(a.sum() > 0, jnp.sin, lambda a: a.T, a), [A], "- -"),
    "jit": (lambda a: ev.jit(jnp.sin)(a), [A], "x y"),
    "gradient": (ev.grad(lambda a: (a**2).sum()), [A], "x y"),
    "remat": (ev.checkpoint(jnp.sin), [A], "x y"),
    "no factors": (lambda a: jnp.arange(8.0), [A], "-"),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_divided_as_their_operands(name):
    fun, operands, want = CASES[name]
    assert divided(fun, *operands) == ([want] if type(want) is str else list(want))


@pytest.mark.parametrize(
    ("shape", "new_shape", "want"),
    [
        ((8, 8), (64,), ([(0,), (1,)], [(0, 1)])),
        ((64,), (8, 8), ([(0, 1)], [(0,), (1,)])),
        ((4, 3), (2, 6), ([(0, 1), (2,)], [(0,), (1, 2)])),
        ((6, 4), (4, 6), ([(), ()], [(), ()])),
        ((8, 1, 3), (8, 3), ([(0,), (), (1,)], [(0,), (1,)])),
        ((), (1,), ([], [()])),
        ((0, 3), (3, 0), ([(), ()], [(), ()])),
    ],
)
def test_dimensions_of_a_reshape_are_made_of_the_same_factors(shape, new_shape, want):
    old, new, sizes = split_alike(shape, new_shape)
    assert (old, new) == want
    sizes = dict(sizes)
    for side, dims in ((old, shape), (new, new_shape)):
        for parts, n in zip(side, dims, strict=True):
            assert not parts or np.prod([sizes[f] for f in parts]) == n


INSIDE = Inside(lax.cond_p, SIZES, None)


def test_divisions_join_as_far_as_they_agree():
    joined = INSIDE.joined
    assert joined(spec("x -"), spec("- y")) == spec("x y")
    assert joined(spec("xy"), spec("x")) == spec("xy")
    assert joined(spec("x"), spec("y")) == spec("-")
    assert joined(spec("- x"), spec("x -")) == spec("x -")  # an axis divides one dimension


def test_a_carry_that_never_settles_is_open():
    turns = iter([spec("x"), spec("y")] * 9)
    assert INSIDE.settled(lambda carry: [next(turns)], [spec("-")]) == [spec("-")]


def test_what_is_a_sum_on_one_way_only_is_an_error():
    sums = Unreduced(spec("x -"), {"y"})
    assert INSIDE.joined(sums, Unreduced(spec("- -"), {"y"})) == Unreduced(spec("x -"), {"y"})
    assert INSIDE.joined(Zeros(spec("- -")), sums) == sums
    with pytest.raises(ev.errors.ShardingTypeError, match="cond: one value is yet to be summed al"):
        INSIDE.joined(sums, spec("x -"))
