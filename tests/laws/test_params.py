"""Params that are True or False, or dtypes, are nothing else, whichever engine reads them.

Found by binding each primitive with values of other kinds: `left=1e-7` is true in Python, and 0
where C++ takes a bool.
"""

import functools

import numpy as np
import pytest

import evertrace as ev
from tests.laws.rows import ROWS, main_dtype, rng_of
from tests.laws.test_completeness import PRIMITIVES
from tests.support.runtime import array, to_numpy

FLAGS = [(prim, flag) for prim in PRIMITIVES for flag in prim.flags]

HINTS = {"indices_are_sorted", "unique_indices", "assume_unique", "enable_eigvec_derivs"}
"""Promises of the caller's, and what decides about rules that are made in Python: true or not."""

AS_PYTHON_TAKES_IT = {
    "convert_element_type", "searchsorted", "sort", "random_bits", "random_split", "dce_sink",
    "coo_matmat", "coo_matvec", "csr_matmat", "csr_matvec", "lu_solve",
}  # fmt: skip
"""Primitives whose flags Python code reads before any engine does, which take them alike then."""


@functools.cache
def equations():
    """Return an equation of each primitive that the rows of the tables bind, by name."""
    found = {}
    for spec in ROWS:
        dtype = main_dtype(spec)
        for case in spec.cases:
            operands = [array(x) for x in spec.operands(case, dtype, rng_of(spec, dtype))]
            fun = functools.partial(spec.fun, **case.kwargs)
            for eqn in ev.make_jaxpr(fun)(*operands).jaxpr.eqns:
                found.setdefault(eqn.primitive.name, eqn)
    return found


def test_all_flags_are_stated():
    for name, eqn in equations().items():
        flags = {key for key, value in eqn.params.items() if type(value) is bool} - HINTS
        if name not in AS_PYTHON_TAKES_IT:
            assert flags <= set(eqn.primitive.flags), name


@pytest.mark.parametrize("value", [1e-7, 2**70, -1, None, "x", np.float32(0.5), np.ones(1)])
@pytest.mark.parametrize(("prim", "flag"), FLAGS, ids=[f"{p.name}-{f}" for p, f in FLAGS])
def test_a_flag_is_true_or_false(prim, flag, value):
    eqn = equations()[prim.name]
    operands = [ev.numpy.ones(x.aval.shape, x.aval.dtype) for x in eqn.invars]

    def bound(*operands):
        return prim.bind(*operands, **{**eqn.params, flag: value})

    for call in (bound, ev.jit(bound)):
        with pytest.raises(TypeError, match=f"{prim.name}: `{flag}` is True or False, not ") as got:
            call(*operands)
        assert "Fix: pass `bool(...)` of it." in str(got.value)


@pytest.mark.parametrize(("prim", "flag"), FLAGS, ids=[f"{p.name}-{f}" for p, f in FLAGS])
def test_ones_and_numpys_booleans_are_flags(prim, flag):
    # `1 is True` does not hold: the native engine took a system for one that is not transposed.
    eqn = equations()[prim.name]
    rng = np.random.default_rng(1)
    operands = [array(rng.standard_normal(x.aval.shape).astype(x.aval.dtype)) for x in eqn.invars]

    def bound(value, *operands):
        return ev.tree.leaves(prim.bind(*operands, **{**eqn.params, flag: value}))

    for value in (1, np.bool_(True), 0):
        try:
            want = bound(bool(value), *operands)
        except (NotImplementedError, ValueError):  # other params go with some
            continue
        for engine in ("auto", "xla"):
            got = ev.jit(functools.partial(bound, value), engine=engine)(*operands)
            for x, y in zip(got, want, strict=True):
                np.testing.assert_allclose(np.abs(to_numpy(x)), np.abs(to_numpy(y)), 1e-3, 1e-3)


# ------------------------------------------------------------------------ dtypes

DTYPES = [(prim, name) for prim in PRIMITIVES for name in prim.dtypes]

MADE_OF_OTHERS = {
    "bcoo_dot_general", "bcoo_fromdense", "bcoo_spdot_general", "bcsr_dot_general",
    "bcsr_fromdense", "coo_fromdense", "csr_fromdense",
}  # fmt: skip
"""Sparse operations, which hand a dtype on to the primitives that they are made of."""


def test_all_dtypes_are_stated():
    for name, eqn in equations().items():
        found = {key for key, value in eqn.params.items() if isinstance(value, np.dtype)}
        if name not in MADE_OF_OTHERS:
            assert found <= set(eqn.primitive.dtypes), name


@pytest.mark.parametrize(("prim", "param"), DTYPES, ids=[f"{p.name}-{d}" for p, d in DTYPES])
def test_names_of_dtypes_are_dtypes(prim, param):
    # As programs written for JAX bind them: found beside JAX, which takes them.
    eqn = equations()[prim.name]
    operands = [ev.numpy.ones(x.aval.shape, x.aval.dtype) for x in eqn.invars]
    dtype = np.dtype(eqn.params[param] or np.float32)

    def bound(value, *operands):
        return ev.tree.leaves(prim.bind(*operands, **{**eqn.params, param: value}))

    want = bound(dtype, *operands)
    for value in (dtype.name, dtype.type, getattr(ev.numpy, dtype.name)):
        call = functools.partial(bound, value)
        jaxpr = ev.make_jaxpr(call)(*operands).jaxpr
        assert isinstance(jaxpr.eqns[0].params[param], np.dtype)
        for run in (call, ev.jit(call), ev.jit(call, engine="xla")):
            for x, y in zip(run(*operands), want, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_allclose(to_numpy(x), to_numpy(y), 1e-5)
    for value in (1e-7, "flaot32", np.ones(1)):
        with pytest.raises(TypeError, match=f"{prim.name}: `{param}` is a dtype, not "):
            bound(value, *operands)


@pytest.mark.parametrize("value", [2**70, 2, None, "x", 0.5, np.ones(1)])
def test_a_rounding_method_is_one(value):
    def bound(x):
        return ev.lax.round_p.bind(x, rounding_method=value)

    for call in (bound, ev.jit(bound)):
        with pytest.raises(TypeError, match=r"round: `rounding_method` is one of lax\.Rounding"):
            call(ev.numpy.ones(3))
    assert ev.lax.round_p.bind(ev.numpy.ones(3), rounding_method=True).shape == (3,)
