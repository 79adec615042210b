"""Functions of sparse arrays are one operation each, in programs and in their derivatives."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental import sparse
from tests.support.gradcheck import check_grads

X = np.array([[0, 2, 0], [1, 0, 3]], np.float32)
DENSE = jnp.ones((3, 2))
NUMBERS = (((1,), (0,)), ((), ()))
AT = np.array([[0, 1], [1, 2]], np.int32)


def of(cls):
    return cls.fromdense(X)


FUNCTIONS = {
    "bcoo_dot_general": (
        lambda m: sparse.bcoo_dot_general(m, DENSE, dimension_numbers=NUMBERS), sparse.BCOO),
    "bcoo_extract": (lambda m: sparse.bcoo_extract(m, jnp.asarray(X)), sparse.BCOO),
    "bcoo_sort_indices": (
        lambda m: sparse.bcoo_sort_indices(sparse.BCOO((m.data, m.indices), shape=m.shape)),
        sparse.BCOO),
    "bcoo_spdot_general": (
        lambda m: sparse.bcoo_dot_general(m, m.T, dimension_numbers=NUMBERS), sparse.BCOO),
    "bcoo_sum_duplicates": (lambda m: sparse.bcoo_sum_duplicates(m, nse=3), sparse.BCOO),
    "bcoo_todense": (sparse.bcoo_todense, sparse.BCOO),
    "bcoo_transpose": (lambda m: m.T, sparse.BCOO),
    "bcsr_dot_general": (
        lambda m: sparse.bcsr_dot_general(m, DENSE, dimension_numbers=NUMBERS), sparse.BCSR),
    "bcsr_extract": (lambda m: sparse.bcsr_extract(m.indices, m.indptr, X), sparse.BCSR),
    "bcsr_todense": (sparse.bcsr_todense, sparse.BCSR),
    "coo_matmat": (lambda m: sparse.coo_matmat(m, DENSE), sparse.COO),
    "coo_matvec": (lambda m: sparse.coo_matvec(m, DENSE[:, 0]), sparse.COO),
    "coo_todense": (sparse.coo_todense, sparse.COO),
    "csr_matmat": (lambda m: sparse.csr_matmat(m, DENSE), sparse.CSR),
    "csr_matvec": (lambda m: sparse.csr_matvec(m, DENSE[:, 0]), sparse.CSR),
    "csr_todense": (sparse.csr_todense, sparse.CSR),
    "todense": (sparse.todense, sparse.BCOO),
    "bcoo_dot_general_sampled": (
        lambda m: sparse.bcoo_dot_general_sampled(X, DENSE, AT, dimension_numbers=NUMBERS),
        sparse.BCOO),
    "bcoo_fromdense": (lambda m: sparse.bcoo_fromdense(X, nse=3), sparse.BCOO),
    "bcsr_fromdense": (lambda m: sparse.bcsr_fromdense(X, nse=3), sparse.BCOO),
    "coo_fromdense": (lambda m: sparse.coo_fromdense(X, nse=3), sparse.BCOO),
    "csr_fromdense": (lambda m: sparse.csr_fromdense(X, nse=3), sparse.BCOO),
}  # fmt: skip


def primitives_of(fun, *args):
    return [eqn.primitive for eqn in ev.make_jaxpr(fun)(*args).eqns]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_binds_its_primitive(name):
    fun, cls = FUNCTIONS[name]
    assert getattr(sparse, f"{name}_p") in primitives_of(fun, of(cls))


def test_what_is_linear_stays_one_operation_in_derivatives():
    m = of(sparse.BCOO)
    tangent = primitives_of(
        lambda d, t: ev.jvp(lambda d: m.with_data(d) @ DENSE, (d,), (t,)), m.data, m.data
    )
    assert tangent.count(sparse.bcoo_dot_general_p) == 2
    gradient = primitives_of(ev.grad(lambda d: (m.with_data(d).todense() ** 2).sum()), m.data)
    assert gradient.count(sparse.bcoo_todense_p) == 1


def test_of_what_is_not_the_formula_is_differentiated():
    weights = jnp.arange(3.0)

    def fun(x):
        return (sparse.bcoo_fromdense(x, nse=3).data * weights).sum()

    assert sparse.bcoo_fromdense_p not in primitives_of(ev.grad(fun), jnp.asarray(X))
    assert ev.grad(fun)(jnp.asarray(X)).tolist() == [[0, 0, 0], [1, 0, 2]]


def test_batches_of_both_operands_and_second_derivatives():
    m = of(sparse.CSR)

    def fun(data, v):
        return sparse.csr_matvec(m.with_data(data), v)

    data, v = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) + 1
    one_by_one = [
        fun(jnp.asarray(d, "float32"), jnp.asarray(x, "float32"))
        for d, x in zip(data, v, strict=True)
    ]
    found = ev.vmap(fun)(jnp.asarray(data, "float32"), jnp.asarray(v, "float32"))
    np.testing.assert_array_equal(found, np.stack(one_by_one))
    check_grads(lambda d, x: fun(d, x) ** 2, [data[1], v[1]])


@pytest.mark.parametrize("cls", [sparse.BCOO, sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC])
def test_booleans_are_true_where_any_element_is(cls):
    found = cls.fromdense(X > 1).todense()
    assert found.dtype == bool
    np.testing.assert_array_equal(found, X > 1)


def test_booleans_at_one_place():
    m = sparse.BCOO((jnp.array([True, False]), jnp.array([[1], [1]])), shape=(3,))
    assert m.todense().tolist() == [False, True, False]
    assert m.sum_duplicates().data.tolist() == [True]
    assert m.update_layout(n_dense=1, on_inefficient=None).todense().tolist() == [
        False,
        True,
        False,
    ]
