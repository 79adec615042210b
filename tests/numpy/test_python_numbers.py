"""Python numbers that reach a function under jit: sizes, axes, offsets and values of operands.

They stand for themselves there (semantics, section 2): what a function gives for one is what it
gives without jit, and its type is that of the number.
"""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn, random
from tests.support.closeness import assert_same

pytestmark = pytest.mark.engine

A = jnp.arange(24.0).reshape(2, 3, 4)
V = jnp.arange(6.0)
M = jnp.arange(9.0).reshape(3, 3) + 5 * jnp.eye(3)
I = jnp.array([1, 0, 2, 2, 1, 0])  # noqa: E741
KEY = random.key(0)

SIZES = {
    "arange": lambda n: jnp.arange(n),
    "arange of mixed types": lambda n: jnp.arange(1, n + 1, 0.5),
    "linspace": lambda n: jnp.linspace(0, 1, n),
    "zeros": lambda n: jnp.zeros((n, 2)),
    "full": lambda n: jnp.full(n, n),
    "eye": lambda n: jnp.eye(3, k=n),
    "tri": lambda n: jnp.tri(3, k=n),
    "tril_indices": lambda n: jnp.tril_indices(n),
    "indices": lambda n: jnp.indices((n, 2)),
    "mgrid": lambda n: jnp.mgrid[0:n, 0:2],
    "reshape": lambda n: A.reshape(n, -1),
    "resize": lambda n: jnp.resize(V, (n, 2)),
    "broadcast_to": lambda n: jnp.broadcast_to(V, (n, 6)),
    "tile": lambda n: jnp.tile(V, n),
    "repeat": lambda n: jnp.repeat(V, n),
    "pad": lambda n: jnp.pad(V, (n, 1), constant_values=n),
    "split": lambda n: jnp.split(V, n),
    "split at": lambda n: jnp.split(V, [n]),
    "vander": lambda n: jnp.vander(V, n),
    "histogram": lambda n: jnp.histogram(V, bins=n),
    "bincount": lambda n: jnp.bincount(I, length=n + 3),
    "unique": lambda n: jnp.unique(I, size=n),
    "nonzero": lambda n: jnp.nonzero(I, size=n, fill_value=n),
    "one_hot": lambda n: nn.one_hot(I, n + 3),
    "iota": lambda n: lax.broadcasted_iota(int, (n, 2), n - 1),
    "dynamic_slice": lambda n: lax.dynamic_slice(V, (n,), (n,)),
    "top_k": lambda n: lax.top_k(V, n),
    "reduce_window": lambda n: lax.reduce_window(V, 0.0, lax.add, (n,), (n,), "VALID"),
    "random shape": lambda n: random.normal(KEY, (n,)),
    "random split": lambda n: random.key_data(random.split(KEY, n)),
    "random seed": lambda n: random.key_data(random.key(n)),
    "random choice": lambda n: random.choice(KEY, n, (2,)),
}
AXES = {
    "sum": lambda n: A.sum(n),
    "sum from the end": lambda n: A.sum(-n),
    "mean over two": lambda n: A.mean((0, n)),
    "var": lambda n: jnp.var(A, axis=n, ddof=n - 1),
    "argmax": lambda n: A.argmax(n),
    "cumsum": lambda n: jnp.cumsum(A, n),
    "sort": lambda n: jnp.sort(-A, n),
    "median": lambda n: jnp.median(A, n),
    "expand_dims": lambda n: jnp.expand_dims(A, n),
    "moveaxis": lambda n: jnp.moveaxis(A, 0, n),
    "transpose": lambda n: A.transpose(n, 0, 3 - n),
    "flip": lambda n: jnp.flip(A, n),
    "concatenate": lambda n: jnp.concatenate([A, A], n),
    "stack": lambda n: jnp.stack([A, A], n),
    "take": lambda n: jnp.take(A, 0, axis=n),
    "diff": lambda n: jnp.diff(A, axis=n),
    "norm": lambda n: jnp.linalg.norm(A, axis=n),
    "softmax": lambda n: nn.softmax(A, axis=n),
    "rev": lambda n: lax.rev(A, (n,)),
    "vmap": lambda n: ev.vmap(jnp.sum, in_axes=n)(A),
    "associative_scan": lambda n: lax.associative_scan(jnp.add, A, axis=n),
}
PLACES = {
    "element": lambda n: V[n],
    "element of an axis": lambda n: A[..., n],
    "slice": lambda n: V[n::n],
    "at": lambda n: V.at[:n].add(n),
    "insert": lambda n: jnp.insert(V, n, 9.0),
    "delete": lambda n: jnp.delete(V, n),
    "roll": lambda n: jnp.roll(A, n, axis=n),
    "diagonal": lambda n: jnp.diagonal(M, n),
    "tril": lambda n: jnp.tril(M, -n),
    "rot90": lambda n: jnp.rot90(M, n),
    "unravel_index": lambda n: jnp.unravel_index(n, (2, 3)),
    "slice_in_dim": lambda n: lax.slice_in_dim(V, n, n + 2),
}
VALUES = {
    "sum of both orders": lambda n: (V + n, n - V),
    "power": lambda n: V**n,
    "power of it": lambda n: n**V,
    "quotient": lambda n: (V / n, I // n, I % n, n / (V + 1)),
    "shift": lambda n: (I << n, n >> I),
    "comparison": lambda n: (n < V, n == V),
    "array of it": lambda n: jnp.array([[n, 1], [2, n]]),
    "array of mixed types": lambda n: jnp.asarray([n, 2.5]),
    "array of a dtype": lambda n: jnp.array(n, dtype="int8"),
    "result_type": lambda n: jnp.zeros(2, jnp.result_type(n)),
    "where": lambda n: jnp.where(n < V, V, n),
    "clip": lambda n: jnp.clip(V, n, 4),
    "round": lambda n: jnp.round(V * 1.2345, n),
    "append": lambda n: jnp.append(V, n),
    "searchsorted": lambda n: jnp.searchsorted(V, n),
    "matrix_power": lambda n: jnp.linalg.matrix_power(M, n),
    "cond": lambda n: lax.cond(V[1] > 0, lambda m: m + n, lambda m: m, n),
    "switch": lambda n: lax.switch(n, [lambda: 1.0, lambda: 2.0, lambda: 3.0]),
    "carry": lambda n: lax.scan(lambda c, x: (c + 1, c * x), n, V),
    "turns": lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0),
    "gradient": lambda n: ev.grad(lambda x: x**n)(3.0),
    "gradient of a loop": lambda n: ev.grad(lambda x: lax.fori_loop(0, n, lambda i, c: c * x, 1.0))(
        2.0
    ),
    "jvp": lambda n: ev.jvp(lambda x: x * n, (2.0,), (1.0,)),
    "a batch": lambda n: ev.vmap(lambda x, y: x * y, (0, None))(V, n),
}
CASES = {**SIZES, **AXES, **PLACES, **VALUES}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("closed_over", [False, True])
def test_a_number_under_jit_is_what_it_is_without(name, closed_over):
    fun = CASES[name]
    for n in (2, 1):
        found = ev.jit(lambda: fun(n))() if closed_over else ev.jit(fun)(n)  # noqa: B023
        _check_same(found, fun(n))


def _check_same(found, wanted):
    assert ev.tree.structure(found) == ev.tree.structure(wanted)
    for x, y in zip(ev.tree.leaves(found), ev.tree.leaves(wanted), strict=True):
        assert jnp.asarray(x).weak_type == jnp.asarray(y).weak_type
        assert_same(jnp.asarray(x), jnp.asarray(y), ulps=16, ulps_of="array")
