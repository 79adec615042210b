"""A first handful of calls from all over the API."""

from tests.oracle.cases import Asarray, Case, Draw, Key, Ref

X, N, B = Draw((3, 4)), Draw((3, 4), "int32"), Draw((4,), "bool")

CASES = [
    # Promotion and weak types.
    Case("numpy.add", (1, 1.0)),
    Case("numpy.add", (Asarray(1.0), Draw((2,), "bfloat16"))),
    Case("numpy.multiply", (N, Draw((4,), "uint8"))),
    Case("numpy.true_divide", (N, 2)),
    Case("lax.add", (X, 1.0)),
    Case("lax.add", (Draw((2,)), Draw((2,), "int32"))),
    Case("numpy.asarray", (1.5,), config={"enable_x64": True}),
    # Elementwise, reductions, shapes.
    Case("numpy.tanh", (X,)),
    Case("numpy.floor_divide", (N, 3)),
    Case("numpy.sum", (X,), {"axis": 1, "keepdims": True}),
    Case("numpy.std", (X, 0)),
    Case("numpy.argmax", (X,), {"axis": -1}),
    Case("numpy.cumsum", (N,), {"axis": 0}),
    Case("numpy.concatenate", ([X, N],)),
    Case("numpy.add", (Draw((3,)), Draw((4,)))),
    Case("numpy.sum", (X,), {"axis": 2}),
    Case("lambda x, b: jnp.where(b, x[::-1], x.at[1, 1:3].add(2))", (X, B)),
    # Contractions, sorting, linear algebra.
    Case("numpy.einsum", ("ij,kj->ik", X, X)),
    Case("numpy.sort", (N,)),
    Case("numpy.linalg.matrix_power", (Draw((3, 3)), 3), tolerance=100),
    # Random numbers, bit for bit where no transcendental function is involved.
    Case("random.bits", (Key(7), (5,)), tolerance=0),
    Case("random.uniform", (Key(7, typed=False), (5,)), tolerance=0),
    Case("random.permutation", (Key(7), 10), tolerance=0),
    Case("random.split", (Key(7), 3), tolerance=0),
    # Transformations and control flow.
    Case("lambda x: ev.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(x)", (X,)),
    Case("lambda x: ev.jit(ev.vmap(jnp.dot, in_axes=(0, None)))(x, x[0])", (X,)),
    Case("lambda x: ev.hessian(lambda x: jnp.prod(x))(x)", (Draw((3,)),)),
    Case("lax.scan", (Ref("lambda c, x: (c + x, {'a': c})"), Draw(), Draw((4,)))),
    Case("lax.cond", (True, Ref("lax.sin"), Ref("lax.cos"), X)),
    Case("lambda x: str(ev.make_jaxpr(lambda x: jnp.dot(x + 1, x))(x))", (Draw((3,)),)),
]
