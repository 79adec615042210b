"""Small inputs do not ask for endless work: depth and size are looked at first."""

import functools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src.arrays import interop
from evertrace.experimental import pallas
from evertrace.export import symbolic_shape
from evertrace.scipy import interpolate, linalg, special


def cyclic():
    ring = []
    ring.append(ring)
    return ring


def branching():
    ring = [1]
    ring += [ring, ring]
    return ring


def nested(levels):
    value = 1.0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [cyclic(), branching(), nested(65), nested(100_000)])
@pytest.mark.parametrize("make", [jnp.asarray, jnp.array, lambda x: jnp.array([jnp.ones(()), x])])
def test_lists_without_end_are_refused(make, value):
    with pytest.raises(ValueError, match="nested in more than 64 others, or contains itself"):
        make(value)


def test_lists_as_deep_as_arrays_go():
    assert jnp.asarray(nested(64)).shape == (1,) * 64


@pytest.mark.parametrize("reduce", [lax.add, lax.max, lax.min, jnp.logaddexp])
@pytest.mark.parametrize("size", [2**31, 2**62])
def test_windows_larger_than_what_there_is(reduce, size):
    found = lax.reduce_window(jnp.ones(3), 0.0, reduce, (size,), (1,), "VALID")
    assert found.shape == (0,)


def test_gradient_of_windows_larger_than_what_there_is():
    def f(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (2**31,), (1,), "VALID").sum()

    np.testing.assert_array_equal(ev.grad(f)(jnp.ones(3)), np.zeros(3))


def test_inverse_of_a_large_pascal_matrix():
    # Its elements follow from those above, so this takes no longer than writing them down.
    found = np.asarray(linalg.invpascal(255, kind="lower"))
    assert found.shape == (255, 255)
    whole = np.asarray(linalg.invpascal(255))
    assert whole[0, 0] == 255
    assert whole[0, 1] == -255 * 254 / 2
    assert whole[254, 254] == 1


def test_iterations_of_a_polar_decomposition_are_bounded():
    with pytest.raises(ValueError, match=r"qdwh: max_iterations is 2,147,483,648\.\n  at "):
        lax.linalg.qdwh(jnp.eye(4), max_iterations=2**31)


LONG = {
    "letters": lambda: symbolic_shape("a" * 10**6),
    "sizes": lambda: symbolic_shape("a," * 10**6),
    "terms": lambda: symbolic_shape("+".join(f"a{i}" for i in range(10**5))),
    "specs": lambda: ev.export.symbolic_args_specs((jnp.ones(3),), "a," * 10**6),
}


@pytest.mark.parametrize("name", LONG)
def test_texts_of_sizes_are_as_long_as_somebody_writes_them(name):
    with pytest.raises(ValueError, match=r"and so on: it has [\d,]+ characters\.\n  at "):
        LONG[name]()


SIZE, *OTHERS = symbolic_shape("a, b, c, d")
LARGE = {
    "a product of sums": (
        lambda: symbolic_shape("*".join(f"(a{i}+1)" for i in range(30))),
        "2,048 terms or factors",
    ),
    "a power in a text": (lambda: symbolic_shape("(a+b+c+d+e)^16"), "2,475 terms or factors"),
    "a power": (lambda: SIZE**1_000_000, "1,000,000 terms or factors"),
    "a long number": (lambda: SIZE * 10**5000, "multiples beyond 64 bits"),
    "quotients of quotients": (
        lambda: functools.reduce(lambda x, y: x // 2 + y, [SIZE, *OTHERS] * 50),
        "more than 100 functions of functions",
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_sizes_are_no_larger_than_somebody_means(name):
    make, has = LARGE[name]
    with pytest.raises(ValueError, match=f"symbolic sizes: an expression has {has}"):
        make()


@pytest.mark.parametrize("text", ["a + 9223372036854775807", "9000000000000000000*a"])
def test_arrays_that_are_too_large_for_all_sizes_are_refused(text):
    # XLA's reader could make nothing of their types.
    with pytest.raises(ValueError, match=r"2\*\*63 bytes|beyond 64 bits"):
        ev.core.ShapedArray(symbolic_shape(text), "float32")


@pytest.mark.parametrize("text", ["-a", "2 - 2*a - 1", "a - a - 3", "min(a, -1)"])
def test_arrays_of_negative_sizes_are_refused(text):
    with pytest.raises(ValueError, match=r"ShapedArray: no array has a negative size, .*\n  at "):
        ev.core.ShapedArray(symbolic_shape(text), "float32")


def test_constraints_of_sizes_are_as_many_as_somebody_writes():
    with pytest.raises(ValueError, match="SymbolicScope: 10,000 constraints"):
        symbolic_shape("a", constraints=["a >= 1"] * 10_000)


def test_sizes_below_these_limits_are_exact():
    (a, b) = symbolic_shape("a, b")
    assert (a + 1) ** 40 == (a + 1) ** 20 * (a + 1) ** 20
    assert str(a**100 * 2**62) == f"{2**62}*a^100"
    assert functools.reduce(lambda x, y: x // 2 + y, [a, b] * 30) >= 1


@pytest.mark.parametrize(
    ("n", "p"), [(np.inf, 1.0), (np.inf, 0.0), (0.0, -0.0), (5.0, -0.0), (np.inf, np.nan)]
)
def test_numbers_of_events_that_are_certain_are_drawn_at_once(n, p):
    found = random.binomial(random.key(0), n, p)
    assert np.isnan(found) if np.isnan(p) else found == (np.inf if n == np.inf else 0)


def test_counts_of_what_has_no_probabilities():
    n = jnp.array([jnp.inf, -jnp.inf, jnp.nan])
    assert random.multinomial(random.key(0), n, jnp.array([-(2.0**70)])).shape == (3, 1)


SIZES_OF_CONVOLUTIONS = {
    "conv_shape_tuple": lambda x: lax.conv_shape_tuple(x, (3,), (), "SAME"),
    "conv_general_shape_tuple": lambda x: lax.conv_general_shape_tuple(x, (3,), (), "SAME", None),
    "conv_transpose_shape_tuple": lambda x: lax.conv_transpose_shape_tuple(
        x, (3,), (), "SAME", None
    ),
}


@pytest.mark.parametrize("name", SIZES_OF_CONVOLUTIONS)
def test_an_array_that_is_given_as_a_shape_is_not_printed(name):
    with pytest.raises(TypeError, match=r"ndarray float64\[1048576, 3\]") as e:
        SIZES_OF_CONVOLUTIONS[name](np.broadcast_to(1.0, (2**20, 3)))
    assert len(str(e.value)) < 1000


def test_a_matrix_larger_than_memory_is_refused_before_its_columns_are_made(run_python):
    found = run_python(
        """
import resource
import evertrace as ev, evertrace.numpy as jnp
x = jnp.ones(1, "int8")
jnp.diag(x)
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    jnp.diag(x, k=2**31)
except ValueError as error:
    print(error)
"""
    )
    assert "(2147483649, 2147483649) and dtype int32 would take more than" in found


@pytest.mark.parametrize("make", [linalg.pascal, linalg.invpascal])
def test_elements_beyond_floats_are_infinite(make):
    found = np.asarray(make(600, kind="lower"))
    assert found[0, 0] == 1
    assert np.isinf(found[-1, 300])
    assert abs(found[-1, -2]) == 599


@pytest.mark.parametrize("d", [17, 40, 1000])
def test_dimensions_of_a_multivariate_gamma_function_are_no_equations(d):
    jaxpr = ev.make_jaxpr(lambda a: special.multigammaln(a, d))(1e4)
    assert len(jaxpr.eqns) < 20
    j = np.arange(d)
    expected = np.asarray(special.gammaln(1e4 - j / 2)).astype(float).sum()
    expected += d * (d - 1) / 4 * np.log(np.pi)
    np.testing.assert_allclose(special.multigammaln(1e4, d), expected, rtol=1e-6)


def test_many_nested_jits_can_be_shown_and_are_refused_at_the_call():
    f = ev.jit(lambda x: x)
    for _ in range(5000):
        f = ev.jit(f)
    assert repr(f) == "<jitted function <lambda>>"
    with pytest.raises(RecursionError) as caught:
        f(1.0)
    assert "repr" not in [entry.name for entry in caught.traceback]


def test_nested_jits_keep_their_signature():
    def f(x, *, scale=2.0):
        return x * scale

    g = f
    for _ in range(50):
        g = ev.jit(g)
    assert repr(g) == "<jitted function f(x, *, scale=2.0)>"
    assert float(g(2.0)) == 4.0


def test_functions_that_wrap_themselves_have_no_signature():
    def f(x):
        return x

    f.__wrapped__ = f
    assert repr(ev.jit(f)) == "<jitted function f>"
    assert float(ev.jit(f)(2.0)) == 2.0


@pytest.mark.parametrize("grid", [10**10, (2**16, 2**15), (2**31, 0)])
def test_grids_that_would_run_for_hours_are_refused(grid):
    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    x = jnp.ones(4)
    with pytest.raises(ValueError, match=r"pallas_call: a grid of .*; there may be 2,147,483,647"):
        pallas.pallas_call(copy, grid=grid, out_shape=x)(x)


def ring_of_names():
    ring = {}
    ring["x"] = ring
    return ring


@pytest.mark.parametrize("ring", [cyclic(), branching(), ring_of_names()])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, ring: x.all(out=ring), lambda x, ring: np.sum(x, ring), lambda x, ring: x[ring],
        lambda x, ring: x.reshape(ring), lambda x, ring: x.__setitem__(0, ring),
        lambda x, ring: np.concatenate([x, ring]), lambda x, ring: np.add(x, ring),
    ],
)  # fmt: skip
def test_what_contains_itself_is_refused_where_arrays_stand_for_numpys(call, ring):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each of NumPy's has its own
        ev.jit(lambda x: call(x, ring))(np.ones(3))
    assert not isinstance(caught.value, RecursionError)


def test_what_contains_itself_is_printed_as_python_prints_it(capsys):
    ring = cyclic()
    ev.jit(lambda x: (print(ring), x)[1])(1.0)
    assert capsys.readouterr().out == "[[[...]]]\n"


ROWS = np.broadcast_to(1.0, (2**20, 3))
OF_ROWS = {
    "choose": (lambda: jnp.choose(jnp.ones((3, 3), int), ROWS), np.ones((3, 3))),
    "lexsort": (lambda: jnp.lexsort(ROWS), np.arange(3)),
    "ravel_multi_index": (lambda: jnp.ravel_multi_index(ROWS, 1), "1048576 indices and 1 modes"),
    "multi_dot": (lambda: jnp.linalg.multi_dot(ROWS), "multi_dot: takes two or more matrices"),
    "concatenate": (lambda: jnp.concatenate(np.ones(2**20)), "arrays of rank 0 have no axis"),
    "grids": (
        lambda: interpolate.RegularGridInterpolator(ROWS, jnp.ones((3, 3))),
        "do not match values of shape",
    ),
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_a_million_rows_are_no_million_arrays(name, monkeypatch):
    function, expected = OF_ROWS[name]
    made = []
    from_numpy = interop.from_numpy
    monkeypatch.setattr(interop, "from_numpy", lambda *args: made.append(1) or from_numpy(*args))
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            function()
    else:
        np.testing.assert_array_equal(function(), expected)
    assert len(made) < 10


@pytest.mark.parametrize("axis", [0, -1])
def test_many_keys_sort_as_few_do(axis, monkeypatch):
    keys = np.random.default_rng(0).integers(0, 3, (70, 5, 4))
    found = jnp.lexsort(keys, axis)
    np.testing.assert_array_equal(found, np.lexsort(keys, axis))
    np.testing.assert_array_equal(found, jnp.lexsort(list(keys), axis))


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 2, 1), (4, 5, 2, 3)])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choices_may_be_rows_of_an_array(shape, mode):
    index = np.random.default_rng(0).integers(0, 4, (2, 3)) + (0 if mode == "raise" else 2)
    choices = np.arange(np.prod(shape)).reshape(shape)
    expected = np.choose(index, choices, mode=mode)
    np.testing.assert_array_equal(jnp.choose(index, choices, mode=mode), expected)
    np.testing.assert_array_equal(jnp.choose(index, list(choices), mode=mode), expected)
