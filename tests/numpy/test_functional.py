"""Functions that apply functions, and choices, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.select([b, x<-1], [x, y], 5.0)",
    "np.piecewise(x, [x<0, x>=0], [-1, lambda t: t*2])",
    "np.choose(np.array([0, 1, 2, 0]), [v, v*2, v*3])",
    "np.apply_along_axis(lambda t: t.sum(), 1, x)",
    "np.apply_along_axis(lambda t: t*2, 0, c)",
    "np.apply_along_axis(lambda t: t[:2], 1, c)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


# Sizes of these results, or checks on them, need values.
EAGER = ("np.choose",)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled([e for e in EXPRESSIONS if not e.startswith(EAGER)])


def test_vectorize_with_a_signature():
    product = jnp.vectorize(jnp.dot, signature="(m,k),(k)->(m)")
    x, y = jnp.arange(12.0).reshape(2, 1, 2, 3), jnp.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(product(x, y), np.einsum("abmk,ck->acm", x, y))
    with pytest.raises(ev.errors.ShapeError, match="inconsistent sizes"):
        product(jnp.ones((2, 3)), jnp.ones(4))
    with pytest.raises(ValueError, match="signature"):
        jnp.vectorize(jnp.dot, signature="(m")(1, 2)


def test_vectorize_broadcasts_and_excludes():
    @jnp.vectorize
    def larger(x, y):
        assert x.shape == y.shape == ()
        return jnp.maximum(x, y), x

    first, second = larger(jnp.arange(3), jnp.arange(2)[:, None])
    np.testing.assert_array_equal(first, [[0, 1, 2], [1, 1, 2]])
    np.testing.assert_array_equal(second, [[0, 1, 2], [0, 1, 2]])

    def scaled(x, *, factor):
        return x * factor

    assert jnp.vectorize(scaled, excluded={"factor"})(jnp.ones(2), factor=3).tolist() == [3, 3]


def test_choose_modes_under_tracing():
    choices = [jnp.asarray([1, 2, 3]), jnp.asarray([4, 5, 6])]
    with pytest.raises(ValueError, match="index"):
        jnp.choose(jnp.asarray([0, 1, 2]), choices)
    wrapped = ev.jit(lambda i: jnp.choose(i, choices, mode="wrap"))(jnp.asarray([2, 3, -1]))
    assert wrapped.tolist() == [1, 5, 6]
    assert jnp.choose(jnp.asarray([2, 1, -1]), choices, mode="clip").tolist() == [4, 5, 3]


def test_select_needs_a_choice_per_condition():
    with pytest.raises(ValueError, match="select"):
        jnp.select([jnp.ones(2, bool)], [])


MISTAKES = [
    (
        lambda: jnp.vectorize(lambda a: a, signature="(n)->()")(jnp.ones((2, 3))),
        ev.errors.ShapeError,
        r"the function returned shape \(3,\), the signature has axes \(\)",
    ),
    (
        lambda: jnp.vectorize(lambda a, b: a, excluded={-1}),
        ValueError,
        "excluded must not contain negative numbers",
    ),
    (lambda: jnp.piecewise(jnp.ones(2), [], [1]), ValueError, "there are no conditions"),
]


@pytest.mark.parametrize(("call", "kind", "match"), MISTAKES)
def test_mistakes(call, kind, match):
    with pytest.raises(kind, match=match):
        call()
