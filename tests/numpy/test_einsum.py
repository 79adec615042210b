"""`einsum`, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.numpy import einsum
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    'np.einsum("ij,kj->ik", x, y)',
    'np.einsum("ij->", x)',
    'np.einsum("ii->i", sq)',
    'np.einsum("ii", sq)',
    'np.einsum("bij,bkj->bki", c, c)',
    'np.einsum("ij,jk,kl->il", x, sq, sq)',
    'np.einsum("...j,jk", c, sq)',
    'np.einsum("i,i->i", v, v)',
    'np.einsum("i,j->ij", v, v)',
    'np.einsum("ij->ji", x)',
    'np.einsum("ijk,ijk->", c, c)',
    'np.einsum("aij,ajk->aik", c, c.swapaxes(1, 2))',
    "np.einsum(x, [0, 1], sq, [1, 2], [0, 2])",
    'np.einsum("iij->j", np.ones((2, 2, 3), "float32"))',
    'np.einsum("ij,ij->ij", x, x[:1])',
    'np.einsum("i,i,i->", v, v, v)',
    'np.einsum("ij,k->k", x, v)',
    'np.einsum("iij,j->i", np.ones((2, 2, 3), "float32"), np.ones(3, "float32"))',
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_a_matrix_product_is_one_equation():
    x = jnp.ones((3, 4))
    jaxpr = ev.make_jaxpr(lambda x, y: jnp.einsum("ij,jk->ik", x, y))(x, x.T)
    assert [e.primitive.name for e in jaxpr.eqns] == ["dot_general"]


def test_path_is_that_of_opt_einsum():
    x, y = jnp.ones((2, 50)), jnp.ones((50, 50))
    path, text = jnp.einsum_path("ij,jk,kl->il", y, y, x.T)
    assert path == [(1, 2), (0, 1)]
    assert "FLOP" in str(text)
    found = jnp.einsum("ij,jk,kl->il", y, y, x.T, optimize=path)
    np.testing.assert_allclose(found, np.full((50, 2), 2500.0))


@pytest.mark.parametrize("optimize", [True, False, "optimal", "greedy"])
def test_ways_to_optimize_agree(optimize):
    x = jnp.arange(9.0).reshape(3, 3)
    found = jnp.einsum("ij,jk,kl->il", x, x, x, optimize=optimize)
    np.testing.assert_allclose(found, np.linalg.matrix_power(np.arange(9.0).reshape(3, 3), 3))


def test_subscripts_that_do_not_fit():
    with pytest.raises(ev.errors.ShapeError, match="einsum"):
        jnp.einsum("ij,jk", jnp.ones((2, 3)), jnp.ones((2, 3)))


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("ij->ji", ((2, 3),)),
        ("ii->", ((3, 3),)),
        ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))),
        ("i,->i", ((3,), ())),
        ("ij,k->j", ((2, 3), (4,))),
    ],
)
def test_one_step_is_that_of_opt_einsum(text, shapes, monkeypatch):
    step = einsum._only_step(text, shapes)
    monkeypatch.setattr(einsum, "_only_step", lambda text, shapes: None)
    assert einsum._contractions.__wrapped__(text, shapes, "auto") == (step,)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk", ((2, 3), (3, 4))),
        ("...i->i", ((3,),)),
        ("ij,jk->ik", ((2, 3), (1, 4))),
        ("ij->ii", ((2, 2),)),
        ("i->ij", ((2,),)),
        ("a,b,c->abc", ((1,), (2,), (3,))),
    ],
)
def test_other_subscripts_are_left_to_opt_einsum(text, shapes):
    assert einsum._only_step(text, shapes) is None


@pytest.mark.parametrize("run", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_operands_are_multiplied_by_the_function_that_is_given(run):
    asked = []

    def product(x, y, dims, precision=None, preferred_element_type=None):
        asked.append((dims, np.dtype(preferred_element_type)))
        return 2 * ev.lax.dot_general(x, y, dims, precision, preferred_element_type)

    x, y = np.ones((2, 3, 4), np.float32), np.full((2, 5, 4), 0.5, np.float32)
    got = run(lambda x, y: jnp.einsum("bik,bjk->bji", x, y, _dot_general=product))(x, y)
    np.testing.assert_array_equal(got, np.full((2, 5, 3), 4.0))
    assert len(asked) == 1
    assert asked[0][1] == np.float32
    same = jnp.einsum("bik,bjk->bji", x, y, _dot_general=ev.lax.dot_general)
    np.testing.assert_array_equal(same, np.full((2, 5, 3), 2.0))


@pytest.mark.parametrize(
    ("expression", "shapes", "permutations"),
    [
        ("bqhd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 4, 5)], []),
        ("bkhd,bqhd->bhqk", [(2, 6, 4, 5), (2, 3, 4, 5)], []),
        ("bhqk,bkhd->bqhd", [(2, 4, 3, 6), (2, 6, 4, 5)], [(0, 2, 1, 3)]),
        ("bkhd,bhqk->bqhd", [(2, 6, 4, 5), (2, 4, 3, 6)], [(0, 2, 1, 3)]),
        ("btkgh,bskh->bkgts", [(1, 3, 2, 4, 5), (1, 6, 2, 5)], [(0, 1, 3, 2, 4)]),
    ],
)
def test_the_last_axis_of_a_result_stays_where_it_is(expression, shapes, permutations):
    x, y = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
    jaxpr = ev.make_jaxpr(lambda x, y: jnp.einsum(expression, x, y))(x, y)
    found = [e.params["permutation"] for e in jaxpr.eqns if e.primitive.name == "transpose"]
    assert found == permutations
    np.testing.assert_allclose(jnp.einsum(expression, x, y), np.einsum(expression, x, y), rtol=1e-6)
