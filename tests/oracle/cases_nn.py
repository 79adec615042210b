"""evertrace.nn: activations, normalisations, attention, initialisers."""

from tests.oracle.cases import Asarray, Draw, Key
from tests.oracle.differences import CLASS, LENIENT, WEAK
from tests.oracle.tables import ODD, X1, B, N, X, Y, each, programs

BF = Draw((4,), "bfloat16")
ACTIVATIONS = (
    "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid"
    " log_softmax logsumexp mish relu relu6 selu sigmoid silu soft_sign softmax softplus"
    " sparse_plus sparse_sigmoid squareplus standardize swish tanh identity logmeanexp"
)

CASES = [
    *each("nn", ACTIVATIONS, (X,), (ODD,), tolerance=32),
    *each(
        "nn",
        "relu sigmoid silu gelu softmax softplus logsumexp elu selu tanh relu6",
        (BF,),
        (2,),
        (N,),
        tolerance=32,
    ),
    *programs(
        """
        nn.softmax(x, axis=0)
        nn.softmax(x, where=y, axis=1)
        nn.log_softmax(x, axis=(0, 1))
        nn.logsumexp(x, axis=1, keepdims=True)
        nn.logsumexp(x, b=2.0, return_sign=True)
        nn.logsumexp(x, where=y)
        nn.gelu(x, approximate=False)
        nn.standardize(x, axis=0)
        nn.glu(x, axis=1)
        nn.glu(x, axis=0)
        nn.leaky_relu(x, 0.2)
        nn.celu(x, 2.0)
        nn.softmax(x, axis=3)
        nn.log1mexp(jnp.abs(x))
        nn.one_hot(jnp.array([0, 2, 5]), 3)
        nn.one_hot(jnp.array([0, 2]), 3, dtype='int32', axis=0)
        nn.one_hot(1, 3)
        nn.relu(x).sum(), ev.grad(lambda x: nn.relu(x).sum())(x)
        ev.grad(lambda x: nn.gelu(x).sum())(x)
        ev.grad(lambda x: nn.softmax(x)[0, 1])(x)
        ev.grad(lambda x: nn.log_softmax(x)[0, 1])(x)
        ev.grad(lambda x: nn.logsumexp(x))(x)
        ev.grad(lambda x: nn.silu(x).sum())(x)
        ev.grad(lambda x: nn.softplus(x).sum())(x)
        ev.grad(lambda x: nn.relu6(x * 4).sum())(x)
        ev.grad(lambda x: nn.elu(x).sum())(x)
        ev.grad(lambda x: nn.selu(x).sum())(x)
        ev.grad(lambda x: nn.relu(x).sum())(jnp.zeros(3))
        ev.jacobian(nn.softmax)(x[0])
        ev.hessian(nn.logsumexp)(x[0])
        ev.vmap(nn.softmax, in_axes=1)(x)
        """,
        X,
        B,
        tolerance=32,
    ),
    *programs(
        """
        nn.dot_product_attention(x, y, y)
        nn.dot_product_attention(x, y, y, is_causal=True)
        nn.dot_product_attention(x, y, y, scale=0.5)
        nn.dot_product_attention(x, y, y, bias=jnp.ones((1, 3, 2, 2)))
        nn.dot_product_attention(x[0], y[0], y[0])
        nn.dot_product_attention(x, y[:, :, :2], y)
        ev.grad(lambda q: nn.dot_product_attention(q, y, y).sum())(x)
        """,
        Draw((1, 2, 3, 4)),
        Draw((1, 2, 3, 4), seed=1),
        tolerance=64,
    ),
    *programs(
        """
        nn.initializers.zeros(x, (2, 3))
        nn.initializers.ones(x, (2, 3), 'int32')
        nn.initializers.constant(2.5)(x, (2,))
        nn.initializers.uniform()(x, (2, 3))
        nn.initializers.normal(0.1)(x, (2, 3))
        nn.initializers.truncated_normal()(x, (2, 3))
        nn.initializers.glorot_uniform()(x, (4, 3))
        nn.initializers.glorot_normal()(x, (4, 3))
        nn.initializers.he_normal()(x, (4, 3))
        nn.initializers.he_uniform()(x, (4, 3))
        nn.initializers.lecun_normal()(x, (4, 3))
        nn.initializers.lecun_uniform()(x, (4, 3), 'bfloat16')
        nn.initializers.variance_scaling(2.0, 'fan_avg', 'uniform')(x, (3, 3, 4, 2))
        nn.initializers.variance_scaling(2.0, 'bad', 'uniform')(x, (3, 4))
        nn.initializers.he_normal()(x, (4,))
        """,
        Key(3),
        tolerance=64,
    ),
    *programs("nn.sigmoid(x)\nnn.relu(y)\nnn.softmax(x, -1)", X1, Asarray([1, -2]), tolerance=32),
    *programs(
        "ev.jit(nn.gelu)(x)\nev.jit(nn.softmax)(y)\nev.jit(nn.logsumexp)(x)", X, Y, tolerance=32
    ),
]

DIFFERENCES = {
    "nn.sigmoid(2)": LENIENT,
    "nn.sigmoid(int32[3,4])": LENIENT,
    "nn.silu(2)": LENIENT,
    "nn.silu(int32[3,4])": LENIENT,
    "nn.gelu(2)": WEAK,
    "nn.glu(x, axis=0)": CLASS,
}
