"""Edges of functions, each of which differed from JAX once: empty inputs, odd orders, narrow types."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.tables import programs

HALF = Draw((23,), "float16", scale=5.0)
BRAIN = Draw((23,), "bfloat16", scale=5.0)
SHORT = Asarray([1, -2, 0], "int16")
BITS = Asarray([True, False], "bool")
GAPS = Asarray([1.0, 2.0, float("nan"), 4.0], "float32")
EDGES = Asarray([3.0, 2.0, 1.0], "float32")
POINTS = Asarray([0.5, 1.0, 2.0, 3.5, -1.0, 1.5], "float32")
Z = Asarray([1 + 2j, -3 + 4j, 0.5 - 7j], "complex64")
W = Asarray([2 - 1j, -3 + 4j, 0.5 + 3j], "complex64")
SQUARED = Asarray([[3.0, 1.0, 2.0], [5.0, 4.0, 9.0]], "float32")
WEIGHTS = Asarray([[1.0, 2.0, 3.0], [1.0, 1.0, 0.0]], "float32")
COUNTS = Asarray([0, 1, 2, 3, 5], "uint32")
POWERS = Asarray([-3, -1, 0, 1, 7], "int16")

QUANTILES = """
    jnp.quantile(x, jnp.array([0.1, 0.25, 0.33, 0.9]))
    jnp.quantile(x, jnp.array([0.1, 0.25, 0.33, 0.9]), method='midpoint')
    jnp.quantile(x, jnp.array([0.1, 0.25, 0.33, 0.9]), method='lower')
    jnp.percentile(x, np.array([10, 25, 33, 90]))
    jnp.quantile(x, 0.33)
    jnp.nanquantile(x, jnp.array([0.1, 0.33]))
    jnp.median(x)
    """

BY_WEIGHT = """
    jnp.quantile(x, jnp.array([0.0, 0.3, 0.5, 1.0]), axis=1, method='inverted_cdf')
    jnp.quantile(x, jnp.array([0.0, 0.3, 0.5, 1.0]), axis=1, method='inverted_cdf', weights=y)
    jnp.quantile(x, 0.4, weights=y, method='inverted_cdf', keepdims=True)
    jnp.quantile(x, 0.4, axis=0, weights=y, method='inverted_cdf')
    jnp.percentile(x, jnp.array([20.0, 75.0]), weights=y, method='inverted_cdf')
    jnp.nanquantile(x.at[0, 1].set(jnp.nan), 0.5, axis=1, weights=y, method='inverted_cdf')
    jnp.quantile(x.at[0, 1].set(jnp.nan), 0.5, axis=1, weights=y, method='inverted_cdf')
    jnp.quantile(x, 0.5, weights=y)
    """

WIDE = """
    jnp.angle(x)
    jnp.rint(x)
    ev.nn.elu(x)
    ev.nn.celu(x)
    ev.nn.selu(x)
    ev.nn.leaky_relu(x)
    ev.nn.hard_sigmoid(x)
    ev.nn.hard_silu(x)
    ev.nn.sparse_plus(x)
    ev.nn.softplus(x)
    """

PLACES = """
    jnp.searchsorted(y[::-1], x)
    jnp.digitize(x, y[::-1])
    jnp.digitize(x, y)
    jnp.digitize(x, y, right=True)
    jnp.digitize(x, y[:0])
    """

CASES = [
    *programs(QUANTILES, HALF),
    *programs(QUANTILES, BRAIN),
    *programs(BY_WEIGHT, SQUARED, WEIGHTS, tolerance=0),
    *programs(WIDE, SHORT, x64=True),
    *programs(WIDE, SHORT),
    *programs("jnp.angle(x)\njnp.rint(x)\nev.nn.elu(x)", BITS, x64=True),
    *programs("jnp.angle(3)\njnp.rint(3)\nev.nn.elu(-3)", x64=True),
    *programs(PLACES, POINTS, EDGES),
    *programs(PLACES, POINTS, EDGES, x64=True),
    *programs(
        """
        jnp.logaddexp(x, y)
        jnp.logaddexp2(x, y)
        ev.grad(lambda x: jnp.logaddexp(x, y).real.sum())(x)
        """,
        Z,
        W,
        tolerance=32,
    ),
    *programs("jnp.power(x[:, None], y)\nev.jit(jnp.power)(x[:, None], y)", COUNTS, POWERS),
    *programs("jnp.power(x[:, None], y)", COUNTS, POWERS, x64=True),
    *programs(
        """
        jnp.intersect1d(jnp.array([1, 2]), jnp.array([5, 6]), size=3)
        jnp.intersect1d(jnp.array([5, 2]), jnp.array([5, 2]), size=4)
        jnp.intersect1d(jnp.array([5, 2]), jnp.array([5, 2]), size=4, fill_value=-1)
        jnp.intersect1d(jnp.array([1, 2]), jnp.array([5, 6]), size=2, return_indices=True)
        jnp.linspace(0, 25, 6)
        jnp.linspace(0, 1, 11)
        jnp.linspace(-3, 7, 23)
        jnp.histogram(jnp.arange(26.0), bins=5)
        jnp.r_['r', 1, 2, 3]
        jnp.r_['c', 1, 2, 3]
        jnp.r_['r', jnp.arange(3), 4]
        jnp.r_['c', jnp.arange(3), 4]
        jnp.r_['c', jnp.ones((2, 2)), jnp.ones((2, 2))]
        jnp.roots(jnp.array([0.0, 2.0, 3.0]), strip_zeros=False)
        jnp.roots(jnp.array([0.0, 0.0]), strip_zeros=False)
        jnp.isscalar(np.array(1)), jnp.isscalar(np.array([1])), jnp.isscalar(jnp.array(1))
        jnp.einsum_path('ij,jk,kl->il', jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones((4, 5)))[0]
        jnp.einsum_path('ij,jk', jnp.ones((2, 3)), jnp.ones((3, 4)), optimize=False)[0]
        jnp.einsum('ij,jk,kl', jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones((4, 5)), optimize=[(1, 2), (0, 1)])
        jnp.fromfunction(lambda i: jnp.sum(i) + i, (3,))
        jnp.fromfunction(lambda i, j: 1.0, (2, 3))
        jnp.fromfunction(lambda i, j: (i, j), (2, 3), dtype=int)
        jnp.cov(jnp.array([]))
        jnp.cov(jnp.zeros((0, 3)))
        jnp.cov(jnp.zeros((3, 0)))
        jnp.cov(jnp.zeros((0, 3)), rowvar=False)
        jnp.corrcoef(jnp.zeros((0, 3)))
        jnp.expand_dims(jnp.ones(3), range(2))
        lax.cond(True, 3.0, lambda a: a + 1, 4.0, lambda b: b - 1)
        lax.cond(jnp.array(False), (3.0, 2.0), lambda a: a[0] + 1, 4.0, lambda b: b - 1)
        lax.cond(jnp.array(True), lambda a, b: a, lambda a, b: b, 1.0, 2.0)
        ev.eval_shape(lambda: ev.ShapeDtypeStruct((2,), 'float32')).shape
        jnp.squeeze(jnp.ones((1, 1, 3)), range(2))
        jnp.sum(jnp.ones((2, 3)), range(2))
        jnp.roll(jnp.arange(6).reshape(2, 3), 1, range(2))
        """,
    ),
    *programs(
        """
        ev.grad(jnp.nanstd)(x)
        ev.grad(jnp.nanvar)(x)
        ev.grad(lambda x: jnp.nanstd(x[2:3]))(x)
        """,
        GAPS,
    ),
]  # fmt: skip
