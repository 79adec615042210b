"""Sparse formats beside `BCOO`."""

import itertools

from tests.oracle.cases import Case
from tests.oracle.differences import CLASS, LENIENT

MATRIX = "jnp.array([[0., 1., 0., 2.], [0., 0., 0., 0.], [3., 0., 4., 5.]])"


def using(text, tolerance=8.0):
    """Write a program in which s is the module, x a matrix, and b a batch of three."""
    module = "__import__('importlib').import_module(ev.__name__ + '.experimental.sparse')"
    batch = "jnp.arange(36.).reshape(3, 3, 4) * (jnp.arange(36).reshape(3, 3, 4) % 3 == 0)"
    function = f"lambda: (lambda s, x, b: ({text}))({module}, {MATRIX}, {batch})"
    return Case(function, (), {}, {}, tolerance, note=f"sparse: {text}")


def of_format(text, cls):
    """Write a program of C, a format, and m, a matrix in it."""
    return using(f"(lambda C, m: ({text}))(s.{cls}, s.{cls}.fromdense(x))")


CLASSES = ("BCSR", "COO", "CSR", "CSC")
EVERYWHERE = [
    "m.todense()", "m.nse, m.shape, m.ndim, m.size, str(m.dtype), len(m)", "C.fromdense(x, nse=8).todense()",
    "m @ jnp.arange(4.)", "m @ jnp.arange(8.).reshape(4, 2)", "m @ np.arange(4)",
    "m @ jnp.arange(4.).astype('bfloat16')", "C.fromdense(x.astype(int)) @ jnp.arange(4.)", "C.fromdense(x[:0]).todense()",
    "C.fromdense(x[:, :0]).todense()", "C.fromdense(x * 0).todense()",
    "C.fromdense(x * 1j) @ jnp.ones(4)", "ev.jit(lambda m: m @ jnp.ones(4))(m)", "ev.jit(lambda x: C.fromdense(x, nse=7).todense())(x)",
    "ev.grad(lambda v: (m @ v).sum())(jnp.ones(4))", "ev.jvp(lambda v: m @ v, (jnp.ones(4),), (jnp.arange(4.),))",
    "ev.vmap(lambda v: m @ v)(jnp.ones((2, 4)))",
    "s.value_and_grad(lambda m: (m @ jnp.arange(4.)).sum())(m)[0]", "s.todense(m)",
    "s.sparsify(lambda m, v: m @ v)(m, jnp.ones(4))", "m @ jnp.ones(5)",
]  # fmt: skip

CASES = [
    *[of_format(text, cls) for text, cls in itertools.product(EVERYWHERE, CLASSES)],
]

MATRICES = ("COO", "CSR", "CSC")
DIFFERENCES = {
    str(of_format(text, cls)): reason
    for text, reason in (
        ("ev.vmap(lambda v: m @ v)(jnp.ones((2, 4)))", LENIENT), ("m @ jnp.ones(5)", CLASS),
    )
    for cls in MATRICES
}  # fmt: skip
