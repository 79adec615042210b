"""Where evertrace means to differ from JAX: table, case, reason.

`test_tables` checks that each of these still differs, so that the list stays true.
"""

_LENIENT = "JAX raises; evertrace has a meaning for it"
_ACCIDENT = "what JAX raises is an accident of how it fails"
_NUMPY = "evertrace raises what NumPy raises"
_UNSUPPORTED = "evertrace says that it is not implemented, JAX that the argument is wrong"
_CLASS = "the error says what is wrong in its own class"
_INLINED = "JAX wraps these functions in calls of jit; evertrace traces them inline"
_TAPE = "evertrace's tape writes derivatives in the order of the backward pass"
_SETTLED = "evertrace stages the body again with the type that the carry has from then on"
_SIMPLER = "evertrace emits fewer or other operations for the same values"
_KINK = "the derivative of abs at 0 is 0, halfway between both sides; JAX takes that from above"
_WEAK = "evertrace's weak types follow the promotion rules here, JAX's its implementation"


def _jaxpr(body: str, argument: str = "x") -> str:
    return f"str(ev.make_jaxpr(lambda {argument}: ({body}))(x))"


DIFFERENCES = {
    "autodiff": {
        "ev.linear_transpose(lambda x: jnp.sin(x), x)(y)": _CLASS,
        "ev.grad(lambda x: jnp.max(x))(jnp.ones(4)), ev.grad(lambda x: jnp.abs(x))(0.0), "
        "ev.grad(jnp.sqrt)(0.0)": _KINK,
        "ev.grad(jnp.logaddexp)(-jnp.inf, -jnp.inf), ev.grad(nn.softplus)(100.0), "
        "ev.grad(jnp.hypot)(0.0, 0.0)": _KINK,
        "ev.grad(lambda x: jnp.maximum(x, 0.0))(0.0), ev.grad(lambda x: x ** 2.0)(0.0), "
        "ev.grad(lambda x: x ** 0)(0.0)": _WEAK,
        "ev.grad(lambda x, y: x ** y, 1)(0.0, 2.0), "
        "ev.grad(lambda x, y: x ** y, (0, 1))(-2.0, 2.0)": _WEAK,
    },
    "creation": {"jnp.fromiter(range(3), dtype='int32')": _LENIENT},
    "errors": {
        "jnp.sum(x, axis='a')": _ACCIDENT,
        "jnp.reshape(x, (6, 2), order='Z')": _UNSUPPORTED,
        "jnp.concatenate(x[0, 0])": _CLASS,
        "jnp.split(x, 2.5)": _NUMPY,
        "jnp.array_split(x, 0)": _NUMPY,
        "jnp.sort(x, kind='bad')": _UNSUPPORTED,
        "jnp.take(x, 1.5)": _NUMPY,
        "jnp.where(x > 0, x)": _NUMPY,
        "jnp.arange(1j)": _NUMPY,
        "jnp.quantile(x, 0.5, method='bad')": _UNSUPPORTED,
        "jnp.histogram(x, bins='bad')": _UNSUPPORTED,
        "jnp.fill_diagonal(x, 0.0)": "the same class as for `put`, which cannot write either",
        "jnp.insert(x, 10, 1.0, axis=0)": _NUMPY,
        "jnp.delete(x, 10, axis=0)": _NUMPY,
        "jnp.block(((x, x),))": _NUMPY,
        "jnp.float32('a')": _CLASS,
        "lax.gather(x, y, None, (1,))": _ACCIDENT,
        "ev.jit(None)": "`jit` without a function is a decorator, and None stands for that",
    },
    "indexing": {
        "x[y, y[:2]]": _NUMPY,
        "x[(slice(None), [[0], [1, 2]])]": _NUMPY,
        **dict.fromkeys(
            (
                "x.at[y].apply(jnp.exp)",
                "x.at[(y, 0)].apply(jnp.exp)",
                "x.at[(z, z)].apply(jnp.exp)",
            ),
            "evertrace applies the function once where indices repeat, JAX once for each",
        ),
    },
    "jaxprs": {
        **dict.fromkeys(
            (
                _jaxpr("jnp.where(x > 0, x, 0.0)"),
                _jaxpr("jnp.argmax(x), jnp.sort(x), jnp.argsort(x)"),
                _jaxpr("jnp.cumsum(x, axis=1)"),
                _jaxpr("nn.relu(x)"),
                _jaxpr("jnp.mean(x), jnp.var(x)"),
                _jaxpr("x / 2, x // 2, x % 2"),
                _jaxpr("jnp.pad(x, 1)"),
                _jaxpr("jnp.clip(x, 0, 1)"),
                _jaxpr("jnp.round(x), jnp.sign(x), jnp.floor(x)"),
                _jaxpr("jnp.any(x > 0), jnp.all(x > 0), jnp.count_nonzero(x)"),
                _jaxpr("jnp.median(x)"),
                _jaxpr("jnp.linalg.norm(x)"),
                _jaxpr("jnp.outer(x[0], x[1]), jnp.dot(x, x[0])"),
                _jaxpr("random.uniform(k, (2,))", "k"),
                _jaxpr("random.normal(k, (2,))", "k"),
            ),
            _INLINED,
        ),
        _jaxpr("lax.switch(1, [jnp.sin, jnp.cos], x)"): _SIMPLER,
        _jaxpr("nn.softmax(x)"): _SIMPLER,
        _jaxpr("lax.associative_scan(lax.add, x)"): _SIMPLER,
        _jaxpr("ev.vmap(jnp.sum)(x)"): "JAX prints the axis as a NumPy integer",
        _jaxpr("ev.grad(lambda y: (y ** 2).sum())(x)"): _TAPE,
        _jaxpr("ev.grad(lambda y: jnp.sin(y).sum())(x)"): _TAPE,
    },
    "lax": {
        "lax.add(uint8[4], 3)": _LENIENT,
        "lax.mul(uint8[4], 3)": _LENIENT,
        "lax.max(uint8[4], 3)": _LENIENT,
        "lax.pad(x, 0, [(1, 1, 0), (0, 0, 0)])": _LENIENT,
        "lax.conv_general_dilated(x, y, (1, 1), 'VALID', lhs_dilation=(2, 1))": _LENIENT,
        "lax.scan(lambda c, a: (c, a), 0, jnp.zeros((0, 3)))": "a result is always an array",
        "ev.vmap(lambda a: lax.scan(lambda c, b: (c + b, c), 0.0, a))(x)": _SETTLED,
        "lax.scan(lambda c, x: (c + x, {'a': c}), 0.0, float32[4])": _SETTLED,
    },
    "nn": {
        "nn.sigmoid(2)": _LENIENT,
        "nn.sigmoid(int32[3,4])": _LENIENT,
        "nn.silu(2)": _LENIENT,
        "nn.silu(int32[3,4])": _LENIENT,
        "nn.gelu(2)": _WEAK,
        "nn.elu(int32[3,4])": _WEAK,
        "nn.selu(int32[3,4])": _WEAK,
        "nn.glu(x, axis=0)": _CLASS,
    },
    "numpy": {
        "numpy.modf([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5])": (
            "the fraction of infinity is 0, as in NumPy and C"
        ),
        "numpy.power(int32[4], int32[4])": (
            "powers of integers are exact modulo the range; JAX reads six bits of the exponent"
        ),
        "numpy.round(int32[4], -1)": _LENIENT,
    },
}
