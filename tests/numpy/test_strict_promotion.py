"""The library's own code mixes neither dtypes nor ranks: what the user does not mix, runs."""

import warnings

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.scipy import stats
from tests.oracle import strict
from tests.oracle.compare import differences

TABLES = [*strict.QUICK, *[pytest.param(t, marks=pytest.mark.slow) for t in strict.SLOW]]


@pytest.fixture
def options():
    with ev.numpy_dtype_promotion("strict"), ev.numpy_rank_promotion("raise"):
        yield


@pytest.mark.oracle
@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize("table", TABLES)
def test_calls_have_the_same_result_unless_the_user_mixes_dtypes_or_ranks(table):
    found, count = {}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is lost and so on: other tests see to warnings
        for case, plain, outcome in strict.outcomes(table):
            count += 1
            if strict.name(table, case) in strict.refused():
                if not outcome.error:
                    found[str(case)] = "runs, and is on the list of what JAX refuses"
                continue
            # To the tolerance of the case: a later call may run on another engine.
            if lines := differences(case, outcome, plain):
                found[str(case)] = lines
    assert found == {}
    assert count > 20


X = jnp.linspace(0.0, 1.0, 12).reshape(3, 4)
N = jnp.arange(12).reshape(3, 4)


MIXING = {
    "cov": (lambda: jnp.cov(N[0], X[0]), "dtype"),
    "polyfit": (lambda: jnp.polyfit(N[0], X[0], 1), "dtype"),
    "isin": (lambda: jnp.isin(N, X), "dtype"),
    "searchsorted": (lambda: jnp.searchsorted(X[0], N[0]), "dtype"),
    "where": (lambda: jnp.where(X > 0, X, N), "dtype"),
    "outer": (lambda: jnp.add.outer(X, N), "dtype"),
    "norm": (lambda: stats.norm.pdf(X, X[0]), "rank"),
    "add": (lambda: X + X[0], "rank"),
    "trapezoid": (lambda: jnp.trapezoid(X, X[0]), "rank"),
}


@pytest.mark.usefixtures("options")
@pytest.mark.parametrize("name", MIXING)
def test_operands_that_the_user_mixes_are_refused(name):
    call, what = MIXING[name]
    found = "have no common dtype in strict" if what == "dtype" else "of different ranks"
    with pytest.raises((TypeError, ValueError), match=found):
        call()


@pytest.mark.usefixtures("options")
def test_a_mask_of_where_may_be_of_another_rank():
    assert jnp.where(X[0] > 0.1, X, 0.0).shape == (3, 4)
    assert [x.shape for x in jnp.broadcast_arrays(X, X[0])] == [(3, 4), (3, 4)]
    assert jnp.broadcast_shapes((2, 1), (3,)) == (2, 3)


PLAIN = {
    "median": lambda: jnp.median(X, axis=1),
    "quantile": lambda: jnp.quantile(X, jnp.float32(0.3)),
    "polyfit": lambda: jnp.polyfit(X[0], X[:, :3].ravel()[:4], 2, w=X[1], full=True),
    "polyfit of columns": lambda: jnp.polyfit(X[:, 0], X, 1, cov="unscaled", w=X[:, 1])[0],
    "cov": lambda: jnp.cov(X, aweights=X[0]),
    "corrcoef": lambda: jnp.corrcoef(X),
    "corrcoef of complex numbers": lambda: jnp.corrcoef(lax.complex(X, X * X)),
    "nanmedian": lambda: jnp.nanmedian(X, axis=0),
    "lu of stacks": lambda: ev.scipy.linalg.lu(jnp.stack([X[:, :3], X[:, 1:]])),
    "std": lambda: jnp.std(X, axis=0),
    "place": lambda: jnp.place(X, X > 0.5, jnp.array([1.0, 2.0]), inplace=False),
}


def settled(fun):
    """Return the second result: by then functions run by their plans, which sum in another order.

    Functions that have had many kinds of operands get a plan when one comes for the second time.
    """
    fun()
    return fun()


@pytest.mark.parametrize("name", PLAIN)
def test_composite_functions_give_the_same_as_without_the_options(name, request):
    plain = settled(PLAIN[name])
    request.getfixturevalue("options")
    again = settled(PLAIN[name])
    assert ev.tree.all(ev.tree.map(lambda a, b: bool(jnp.array_equal(a, b)), again, plain))
