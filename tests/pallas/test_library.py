"""The kernels of the library against formulas, and their gradients against the formulas'."""

from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import monitoring
from evertrace.experimental import kernels as ek
from evertrace.extend.core import jaxprs_in_params

pytestmark = pytest.mark.engine


def draw(*shape, seed=0):
    """Return floats from a normal distribution."""
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def agree(got, want, tolerance=2e-6):
    scale = max(1.0, float(jnp.abs(want).max()))
    assert got.shape == want.shape
    assert float(jnp.abs(got - want).max()) <= tolerance * scale


def attention(q, k, v, causal=False, window=None):
    n, m = q.shape[-2], k.shape[-2]
    i, j = np.arange(n)[:, None] + m - n, np.arange(m)[None]
    hidden = np.zeros((n, m), bool)
    if causal or window:
        hidden |= j > i
    if window:
        hidden |= j <= i - window
    scores = q @ jnp.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    weights = ev.nn.softmax(jnp.where(hidden, -1e30, scores))
    return jnp.where(hidden, 0, weights) @ v


def layer_norm(x, scale, bias):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + bias


def rotated(x):
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * jnp.asarray(np.exp(1j * angles), "complex64")
    return jnp.concatenate([turned.real, turned.imag], -1)


def losses(h, w):
    return -ev.nn.log_softmax(h @ w)[jnp.arange(len(h)), LABELS]


def forces(x, masses):
    far = x[None] - x[:, None]
    squares = (far**2).sum(-1) + jnp.eye(len(x))
    pull = masses / squares**1.5 * (1 - jnp.eye(len(x)))
    return (pull[:, :, None] * far).sum(1)


LABELS = jnp.asarray(np.random.default_rng(9).integers(0, 37, 21))
SEGMENTS = jnp.asarray(np.random.default_rng(8).integers(-1, 6, 33))
WEIGHTS = jnp.asarray(np.random.default_rng(7).integers(-127, 128, (20, 13)), "int8")

# Kernel, formula, arguments: lengths that blocks do not divide.
CASES: dict[str, Any] = {
    "softmax": (lambda x: ek.softmax(x, block=4), ev.nn.softmax, [(3, 5, 7)]),
    "layer_norm": (lambda *xs: ek.layer_norm(*xs, block=4), layer_norm, [(2, 9, 6), (6,), (6,)]),
    "layer_norm_plain": (ek.layer_norm, lambda x: layer_norm(x, 1, 0), [(9, 6)]),
    "rms_norm": (
        lambda x, s: ek.rms_norm(x, s, block=2),
        lambda x, s: x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * s,
        [(5, 6), (6,)],
    ),
    "rotary_embedding": (lambda x: ek.rotary_embedding(x, block=4), rotated, [(2, 3, 9, 8)]),
    "cross_entropy": (
        lambda h, w: ek.cross_entropy(h, w, LABELS, block_rows=8, block_words=10),
        losses,
        [(21, 6), (6, 37)],
    ),
    "quantized_matmul": (
        lambda x, s: ek.quantized_matmul(x, WEIGHTS, s, blocks=(4, 5, 6)),
        lambda x, s: x @ (WEIGHTS * s),
        [(3, 3, 20), (13,)],
    ),
    "segment_sum": (
        lambda x: ek.segment_sum(x, SEGMENTS, 5, block=8),
        lambda x: jnp.stack([x[i == SEGMENTS].sum(0) for i in range(5)]),
        [(33, 4)],
    ),
    "segment_max": (
        lambda x: ek.segment_max(x, SEGMENTS, 5, block=8),
        lambda x: jnp.stack(
            [jnp.where(jnp.equal(i, SEGMENTS)[:, None], x, -jnp.inf).max(0) for i in range(5)]
        ),
        [(33, 4)],
    ),
    "scatter_add": (
        lambda x, u: ek.scatter_add(x, SEGMENTS, u, block=8),
        lambda x, u: x.at[jnp.where(SEGMENTS < 0, 9, SEGMENTS)].add(u, mode="drop"),
        [(6, 4), (33, 4)],
    ),
    "n_body": (
        lambda x, m: ek.n_body(x, m, softening=0.0, block=8),
        forces,
        [(19, 3), (19,)],
    ),
}
for _causal, _window, _n, _m in (
    (False, None, 21, 21), (True, None, 21, 21), (True, None, 12, 30), (True, 5, 26, 26),
    (False, None, 8, 40), (True, None, 30, 12),
):  # fmt: skip
    CASES[f"flash_attention {_causal} {_window} {_n} {_m}"] = (
        lambda q, k, v, c=_causal, w=_window: ek.flash_attention(
            q, k, v, causal=c, window=w, block_q=8, block_k=4
        ),
        lambda q, k, v, c=_causal, w=_window: attention(q, k, v, c, w),
        [(2, 3, _n, 8), (2, 3, _m, 8), (2, 3, _m, 6)],
    )


@pytest.mark.parametrize("name", CASES)
def test_kernels_of_the_library_are_the_formulas(name, engine):
    f, formula, shapes = CASES[name]
    xs = [draw(*shape, seed=i) for i, shape in enumerate(shapes)]
    g: Any = ev.jit(f, engine=engine)
    agree(g(*xs), formula(*xs), 4e-6)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_the_library_are_those_of_the_formulas(name):
    f, formula, shapes = CASES[name]
    xs = [draw(*shape, seed=i) for i, shape in enumerate(shapes)]
    weights = draw(*formula(*xs).shape, seed=5)
    arguments = tuple(range(len(xs)))
    got = ev.grad(lambda *xs: (f(*xs) * weights).sum(), arguments)(*xs)
    want = ev.grad(lambda *xs: (formula(*xs) * weights).sum(), arguments)(*xs)
    for a, b in zip(got, want, strict=True):
        agree(a, b, 2e-5)


SHORT = [*[name for name in CASES if "attention" not in name], "grouped_attention"]
CASES["grouped_attention"] = (
    lambda q, k, v: ek.flash_attention(q, k, v, causal=True, block_q=8, block_k=4),
    lambda q, k, v: attention(q, jnp.repeat(k, 3, 1), jnp.repeat(v, 3, 1), True),
    [(2, 6, 9, 8), (2, 2, 11, 8), (2, 2, 11, 5)],
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", SHORT)
def test_short_floats_are_computed_in_float32_and_rounded_once(name, dtype):
    f, formula, shapes = CASES[name]
    xs = [draw(*shape, seed=i).astype(dtype) for i, shape in enumerate(shapes)]
    wide = [x.astype("float32") for x in xs]
    want = formula(*wide)
    weights = draw(*want.shape, seed=5).astype(dtype)
    arguments = tuple(range(len(xs)))
    run = lambda *xs: ((out := f(*xs)) * weights.astype(out.dtype)).sum()  # noqa: E731
    got, grads = ev.jit(lambda *xs: (f(*xs), ev.grad(run, arguments)(*xs)))(*xs)
    wants = ev.grad(lambda *xs: (formula(*xs) * weights.astype("float32")).sum(), arguments)(*wide)
    assert {x.dtype for x in (got, *grads)} == {np.dtype(dtype)}
    eps = float(jnp.finfo(dtype).eps)
    agree(got.astype("float32"), want, 1.1 * eps if name == "scatter_add" else 0.51 * eps)
    for a, b in zip(grads, wants, strict=True):  # attention keeps a result that is rounded
        agree(a.astype("float32"), b, 2 * eps if "attention" in name else 0.51 * eps)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_squares_and_sums_of_short_floats_do_not_overflow(dtype):
    x = (draw(4, 640) * 90 + 600).astype(dtype)
    wide = x.astype("float32")
    eps = float(jnp.finfo(dtype).eps)
    rms = wide / jnp.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6)
    agree(ek.rms_norm(x).astype("float32"), rms, eps)
    agree(ek.layer_norm(x).astype("float32"), layer_norm(wide, 1, 0), eps)
    equal = jnp.zeros((1, 4096), dtype)
    agree(ek.softmax(equal).astype("float32"), jnp.full((1, 4096), 1 / 4096), eps / 4096)
    ones, segments = jnp.ones((5000, 1), dtype), jnp.zeros(5000, int)
    assert ek.segment_sum(ones, segments, 1, block=8)[0, 0] == jnp.asarray(5000, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_far_positions_are_turned_by_their_own_angles(dtype):
    x, places = draw(4, 8).astype(dtype), jnp.array([4095, 4096, 4097, 30001])
    far = ek.rotary_embedding(x.astype("float32"), places)
    agree(ek.rotary_embedding(x, places).astype("float32"), far, float(jnp.finfo(dtype).eps))


def test_dtypes_of_keys_may_differ_from_that_of_queries():
    q, k, v = draw(9, 8), draw(9, 8, seed=1).astype("bfloat16"), draw(9, 8, seed=2)
    agree(ek.flash_attention(q, k, v), attention(q, k.astype("float32"), v), 4e-6)
    grads = ev.grad(lambda *xs: ek.flash_attention(*xs).sum(), (0, 1, 2))(q, k, v)
    assert [x.dtype for x in grads] == [x.dtype for x in (q, k, v)]


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "float32"])
@pytest.mark.parametrize("rest", [(), (3,), (2, 3)])
def test_segments_of_numbers_of_any_rank(dtype, rest):
    x = np.random.default_rng(0).integers(0, 100, (33, *rest)).astype(dtype)
    sums, most = np.zeros((5, *rest), dtype), np.zeros((5, *rest), dtype)
    segments = np.asarray(SEGMENTS)
    is_one = (segments >= 0) & (segments < 5)
    np.add.at(sums, segments[is_one], x[is_one])
    np.maximum.at(most, segments[is_one], x[is_one])
    got = ek.segment_sum(x, SEGMENTS, 5, block=8), ek.segment_max(x, SEGMENTS, 5, block=8)
    assert {found.dtype for found in got} == {np.dtype(dtype)}
    np.testing.assert_array_equal(got[0], sums)
    np.testing.assert_array_equal(got[1], most)
    np.testing.assert_array_equal(ek.scatter_add(sums, SEGMENTS, x), sums + sums)


def test_heads_of_queries_share_heads_of_keys():
    f, formula, shapes = CASES["grouped_attention"]
    xs = [draw(*shape, seed=i) for i, shape in enumerate(shapes)]
    agree(f(*xs), formula(*xs), 4e-6)
    agree(ev.vmap(f)(*[x[None] for x in xs])[0], formula(*xs), 4e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_pages_of_short_floats(dtype):
    k, v = draw(6, 2, 3, 4).astype(dtype), draw(6, 2, 3, 5, seed=1).astype(dtype)
    q, tables = draw(2, 3, 4, seed=2).astype(dtype), jnp.array([[4, 0, 2], [5, 1, 3]])
    lengths = jnp.array([5, 2])
    want = ek.paged_attention(*[x.astype("float32") for x in (q, k, v)], lengths, tables)
    got = ek.paged_attention(q, k, v, lengths, tables)
    assert got.dtype == dtype
    agree(got.astype("float32"), want, 0.51 * float(jnp.finfo(dtype).eps))


X, INTS = jnp.ones((4, 4)), jnp.zeros(4, int)
EAGER: dict[str, Any] = {
    "softmax": lambda x: ek.softmax(x),
    "layer_norm": lambda x: ek.layer_norm(x, eps=1e-3),
    "rms_norm": lambda x: ek.rms_norm(x),
    "rotary_embedding": lambda x: ek.rotary_embedding(x),
    "cross_entropy": lambda x: ek.cross_entropy(x, x, INTS),
    "quantized_matmul": lambda x: ek.quantized_matmul(x, jnp.ones((4, 4), "int8"), jnp.ones(4)),
    "segment_sum": lambda x: ek.segment_sum(x, INTS, 3),
    "segment_max": lambda x: ek.segment_max(x, INTS, 3),
    "scatter_add": lambda x: ek.scatter_add(x, INTS, x),
    "n_body": lambda x: ek.n_body(x[:, :3], x[0]),
    "paged_attention": lambda x: ek.paged_attention(
        x[:, None], x[:, None, None], x[:, None, None], INTS + 1, INTS[:, None]
    ),
    "flash_attention": lambda x: ek.flash_attention(x, x, x, causal=True),
}


@pytest.mark.parametrize("name", EAGER)
def test_what_an_eager_call_has_traced_is_kept(name):
    f = EAGER[name]  # of paged attention there is no reverse mode
    gradient = f if name == "paged_attention" else ev.grad(lambda x: f(x).sum())
    f(X), gradient(X)
    events = []
    listener = lambda event, duration, **kwargs: events.append((event, kwargs))  # noqa: E731
    monitoring.register_event_duration_secs_listener(listener)
    try:
        f(X + 1), gradient(X + 1)
        assert not events
        ev.jit(f)(X)
        assert events
    finally:
        monitoring.unregister_event_duration_listener(listener)


def test_options_of_a_kernel_may_be_traced_numbers():
    f: Any = ev.jit(lambda x, eps, scale: (
        ek.rms_norm(x, eps=eps), ek.flash_attention(x, x, x, scale=scale)
    ))  # fmt: skip
    for eps, scale in ((1.0, 2.0), (3.0, 0.5)):
        norm, attended = f(X, eps, scale)
        agree(norm, ek.rms_norm(X, eps=eps))
        agree(attended, ek.flash_attention(X, X, X, scale=scale))


def test_a_batch_of_attention_is_a_loop():
    q, k, v = draw(4, 9, 8), draw(4, 9, 8, seed=1), draw(4, 9, 8, seed=2)
    f = lambda *xs: ek.flash_attention(*xs, causal=True, block_q=4, block_k=4)  # noqa: E731
    agree(ev.vmap(f)(q, k, v), jnp.stack([f(*xs) for xs in zip(q, k, v, strict=True)]))


@pytest.mark.parametrize("blocks", [1, 3, 4, 5, 8])
def test_all_derivatives_of_attention_are_of_one_kernel(blocks, engine):
    q, k, v = draw(2, 10, 8), draw(2, 4 * blocks, 8), draw(2, 4 * blocks, 8)

    def slopes(attend):
        return ev.grad(lambda *xs: (attend(*xs) ** 2).sum(), (0, 1, 2))

    f = slopes(lambda *xs: ek.flash_attention(*xs, block_q=4, block_k=4))
    assert str(ev.make_jaxpr(f)(q, k, v)).count("pallas_call[") == 2  # forward, and backward
    for got, want in zip(
        ev.jit(f, engine=engine)(q, k, v), slopes(attention)(q, k, v), strict=True
    ):
        agree(got, want, 1e-5)


def test_attention_holds_no_scores():
    q = draw(1, 2048, 16)
    most = lambda f: max(v.aval.size for v in _variables(ev.make_jaxpr(f)(q, q, q).jaxpr))  # noqa: E731
    assert most(lambda *xs: ek.flash_attention(*xs, causal=True)) <= 2048 * 64
    assert most(lambda *xs: attention(*xs, causal=True)) >= 2048 * 2048


def _variables(jaxpr):
    for eqn in jaxpr.eqns:
        yield from eqn.outvars
        for sub in jaxprs_in_params(eqn.params):
            yield from _variables(sub)


def test_a_query_that_sees_no_keys_gets_zeros():
    q, k, v = draw(5, 4), draw(2, 4), draw(2, 3)
    out = ek.flash_attention(q, k, v, causal=True)
    assert not out[:3].any()
    assert out[3:].any(1).all()


def test_segments_without_rows_are_what_nothing_comes_to():
    x = draw(3, 2)
    np.testing.assert_array_equal(ek.segment_max(x, INTS[:3], 2)[1], [-np.inf] * 2)
    np.testing.assert_array_equal(ek.segment_max(x[:0], INTS[:0], 1), [[-np.inf] * 2])
    np.testing.assert_array_equal(ek.segment_sum(x[:0], INTS[:0], 1), [[0, 0]])


@pytest.mark.parametrize("lengths", [(3, 8, 1), (0, 5, 7)])
def test_pages_are_the_rows_that_their_tables_name(lengths, engine):
    pages, size, heads, width = 10, 2, 3, 4
    k, v = draw(pages, size, heads, width), draw(pages, size, heads, 5, seed=1)
    q, tables = draw(3, heads, width, seed=2), np.random.default_rng(3).permutation(pages)[:8]
    tables = jnp.asarray(np.stack([tables[:4], tables[4:], tables[::2]]))
    f: Any = ev.jit(ek.paged_attention, engine=engine)
    got = f(q, k, v, jnp.asarray(lengths), tables)
    for i, n in enumerate(lengths):
        keys = k[tables[i]].reshape(-1, heads, width)[:n].transpose(1, 0, 2)
        values = v[tables[i]].reshape(-1, heads, 5)[:n].transpose(1, 0, 2)
        want: Any = attention(q[i][:, None], keys, values)[:, 0] if n else jnp.zeros((heads, 5))
        agree(got[i], want)


HEADS = jnp.ones((6, 4, 4))
WRONG: list[Any] = [
    (
        lambda: ek.softmax(INTS),
        TypeError,
        "softmax: takes floating point arrays of rank 1 and more",
    ),
    (lambda: ek.rotary_embedding(X[:, :3]), ValueError, "rows of width 3 have no two halves"),
    (
        lambda: ek.flash_attention(X, X[:, :2], X),
        ValueError,
        r"shapes \(4, 4\), \(4, 2\), \(4, 4\)",
    ),
    (
        lambda: ek.flash_attention(HEADS, HEADS[:4], HEADS[:4]),
        ValueError,
        r"shapes \(6, 4, 4\), \(4, 4, 4\), \(4, 4, 4\) do not fit",
    ),
    (lambda: ek.segment_sum(X > 0, INTS, 2), TypeError, "takes arrays of floats or integers of"),
    (lambda: ek.flash_attention(X, X, X, window=0), ValueError, "a window of 0 keys shows nothing"),
    (lambda: ek.cross_entropy(X, X, X[0]), TypeError, "cross_entropy: takes integers, got f32"),
    (
        lambda: ek.cross_entropy(X, X, INTS[:2]),
        ValueError,
        r"cross_entropy: the shapes .* \(2,\) do not",
    ),
    (lambda: ek.quantized_matmul(X, X, X[0]), TypeError, r"weights are f32\[4,4\], not integers"),
    (
        lambda: ek.segment_sum(X, INTS[:2], 2),
        ValueError,
        r"segment_sum: the shapes \(4, 4\), \(2,\)",
    ),
    (
        lambda: ek.segment_max(X, INTS[:2], 2),
        ValueError,
        r"segment_max: the shapes \(4, 4\), \(2,\)",
    ),
    (
        lambda: ek.scatter_add(X, INTS, X[:, :2]),
        ValueError,
        r"scatter_add: the shapes \(4, 4\), \(4, 2\)",
    ),
    (lambda: ek.n_body(X, X[0]), ValueError, r"n_body: the shapes \(4, 4\), \(4,\) do not fit"),
    (
        lambda: ek.paged_attention(X[None], X, X, INTS, INTS),
        ValueError,
        "paged_attention: the shapes",
    ),
    (lambda: ek.layer_norm(X, X[0, :2]), ValueError, "the dimension 'width' has size 2 in input 1"),
]


@pytest.mark.parametrize(("call", "cls", "text"), WRONG)
def test_wrong_arguments_are_named(call, cls, text):
    with pytest.raises(cls, match=text):
        call()
