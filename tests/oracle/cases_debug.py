"""Debugging options, stages, the top level and `debug`: results and classes of errors."""

from dataclasses import dataclass

import numpy as np

from tests.oracle.cases import Case, Key, Spec
from tests.oracle.tables import X1, B, K, X, program, programs


@dataclass(frozen=True)
class Put(Spec):
    """An array that is put on the device by the user's wish, whatever the guard."""

    def build(self, package):
        """Put it there."""
        return package.device_put(np.ones(3, np.float32))


PUT = Put()


def under(texts, *args, **config):
    """Write programs that run, plain and jitted, while options are set."""
    shown = " ".join(f"{name}={value}" for name, value in config.items())
    lines = [line.strip() for line in texts.strip().splitlines() if line.strip()]
    names = "xyz"[: len(args)]
    signature = f"lambda {', '.join(names)}"
    return [
        Case(text, args, {}, config, note=f"{note} {shown}")
        for line in lines
        for text, note in (
            (f"{signature}: ({line})", line),
            (f"lambda *a: ev.jit({signature}: ({line}))(*a)", f"jit {line}"),
        )
    ]


NAN = """
    jnp.log(-x ** 2 - 1)
    jnp.sqrt(x - 100)
    (x - x) / (x - x)
    jnp.sum(x) / 0
    x * np.inf
    jnp.exp(x) + 1
    jnp.where(x > 0, 1.0, 0.0)
    jnp.isnan(x)
    jnp.full((3,), np.nan)
    jnp.argmax(x)
    x / jnp.zeros(4)
    1 / jnp.zeros(4)
    jnp.exp(x * 1000)
    x.astype('int32') // 1
    jnp.log(x ** 2).astype('bfloat16')
    ev.grad(lambda x: jnp.sum(jnp.sqrt(x - x) * 0))(x)
    ev.grad(lambda x: jnp.sum(jnp.abs(x)))(x)
    ev.grad(lambda x: jnp.linalg.norm(x * 0))(x)
    ev.jvp(jnp.sqrt, (x - x,), (x - x,))
    ev.vmap(jnp.log)(-x ** 2 - 1)
    lax.fori_loop(0, 4, lambda i, c: c / (3 - i), x)
    lax.scan(lambda c, a: (jnp.log(c), a), jnp.float32(2), x)
    lax.cond(True, lambda x: jnp.log(-x ** 2 - 1), lambda x: x, x)
    lax.cond(False, lambda x: jnp.log(-x ** 2 - 1), lambda x: x, x)
"""

KEYS = """
    random.normal(x)
    random.normal(x) + random.normal(x)
    random.normal(x) + random.uniform(x)
    (random.split(x), random.normal(x))[1]
    (random.normal(x), random.split(x))[0]
    [random.normal(k) for k in random.split(x)]
    [random.normal(k) for k in random.split(x, 4)[jnp.array([0, 1])]]
    [random.normal(random.fold_in(x, i)) for i in range(3)]
    random.normal(x) + random.normal(random.fold_in(x, 1))
    random.normal(x) + random.normal(random.clone(x))
    ev.vmap(random.normal)(random.split(x, 3))
    ev.vmap(lambda a: random.normal(x) * a)(jnp.arange(3.0))
    random.normal(random.wrap_key_data(random.key_data(x))) + random.normal(x)
    lax.fori_loop(0, 3, lambda i, c: c + random.normal(random.fold_in(x, i)), 0.0)
    lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, random.split(x, 3))[0]
    lax.scan(lambda k, _: (random.split(k)[0], random.key_data(k)), x, None, 3)[1]
    random.key_data(x)
"""

LOOPS = """
    lax.fori_loop(0, 3, lambda i, c: c + random.normal(x), 0.0)
    lax.scan(lambda c, _: (c + random.normal(x), None), 0.0, None, 2)[0]
    ev.jit(random.normal)(x) + ev.jit(random.normal)(x)
"""

RANKS = """
    x + y
    x * jnp.ones((1, 4))
    x + 1
    x[0] + y
    jnp.where(x > 0, x, y)
    jnp.add(x, jnp.float32(1))
    jnp.matmul(x, y)
"""

STAGES = [
    *programs(
        """
    str(ev.jit(jnp.sin).trace(x).out_avals)
    str(ev.jit(lambda a, b: {'c': a + b}).trace(x, 1.0).out_avals)
    ev.jit(jnp.sin).trace(x).fun_name
    [(a.shape, a.dtype.name, a.donated) for a in ev.tree.leaves(ev.jit(lambda a, b: a, donate_argnums=0).lower(x, 1).args_info, is_leaf=lambda a: hasattr(a, 'donated'))]
    ev.jit(lambda a, b: a + b, donate_argnums=(1,)).lower(x, x).donate_argnums
    ev.jit(lambda a: (a, {'b': a.sum()})).lower(x).compile()(x)
    ev.jit(lambda a: a + 1).lower(x).compile()(x, x)
    ev.jit(lambda a: a + 1).lower(x).compile()(x[0])
    ev.jit(lambda a: a + 1).lower(x).compile()(x.astype('int32'))
    ev.grad(ev.jit(lambda a: a.sum()).lower(x).compile())(x)
    ev.jit(lambda a: a + 1).lower(x).as_text('nonsense')
    'stablehlo.add' in ev.jit(lambda a: a + 1).lower(x).as_text()
    'add' in ev.jit(lambda a: a + 1).lower(x).as_text('hlo')
    'loc(' in ev.jit(lambda a: a + 1).lower(x).as_text(debug_info=True)
    'loc(' in ev.jit(lambda a: a + 1).lower(x).as_text()
    type(ev.jit(jnp.sin).lower(x).compiler_ir('hlo')).__name__
    'stablehlo.sine' in str(ev.jit(jnp.sin).lower(x).compiler_ir())
    ev.tree.structure(ev.jit(lambda a, b: a + b['c']).lower(x, {'c': 1}).compile().input_shardings).num_leaves
    ev.jit(lambda a: a + 1, compiler_options={'xla_no_such_flag': 1})(x)
    ev.jit(lambda a: a + 1, compiler_options={'xla_backend_optimization_level': 0})(x)
    ev.jit(lambda a: a + 1).lower(x).compile({'xla_no_such_flag': True})
    ev.ShapeDtypeStruct((2,), 'float32').update(shape=(3, 4)).shape
    ev.ShapeDtypeStruct((2,), 'float32').update(dtype='int32').dtype.name
    ev.ShapeDtypeStruct((2,), 'float32').is_ref
    ev.ShapeDtypeStruct((2,), None)
    ev.ShapeDtypeStruct((2, 3), 'int8').size
    ev.ShapeDtypeStruct((2, 3), 'int8').ndim
    len(ev.ShapeDtypeStruct((), 'int8'))
    ev.ShapeDtypeStruct((2,), 'int8') == ev.ShapeDtypeStruct((2,), 'int8')
    ev.ShapeDtypeStruct((2,), 'int8') == ev.ShapeDtypeStruct((2,), 'int16')
    """,
        X,
    ),
]

TOP = [
    *programs(
        """
    str(ev.typeof(x))
    str(ev.typeof(1.0))
    str(ev.typeof(True))
    str(ev.typeof(2j))
    str(ev.typeof(np.float64(1)))
    ev.typeof('a')
    ev.typeof(None)
    ev.typeof([1])
    ev.named_call(jnp.sin)(x)
    ev.named_call(jnp.sin, name='a')(x)
    ev.named_scope('a')(jnp.sin)(x)
    ev.named_scope(3)
    ev.process_indices()
    ev.host_ids()
    ev.host_id()
    ev.host_count()
    ev.copy_to_host_async({'a': x, 'b': 1})['a']
    any(a is x for a in ev.live_arrays())
    isinstance(ev.devices()[0], ev.Device)
    ev.transfer_guard('never').__enter__()
    ev.config.update('jax_transfer_guard', 'never')
    ev.softmax_custom_jvp(True).__enter__()
    """,
        X,
    ),
    *programs(
        """
    x.byteswap()
    x.astype('int16').byteswap()
    x.astype('int8').byteswap()
    x.astype('bfloat16').byteswap().view('uint16')
    (x > 0).byteswap()
    x[:0].byteswap()
    """,
        K,
    ),
    program("x.astype('complex64').byteswap().byteswap()", X),
    program("ev.jit(lambda a: a.byteswap())(x)", K),
    program("x.byteswap()", B),
]

NUMBERS = programs(
    """
    jnp.int32(2 ** 40)
    jnp.array(2 ** 40)
    jnp.array(2 ** 70)
    jnp.array([1, 2 ** 40])
    jnp.uint8(256)
    jnp.uint8(-1)
    jnp.int8(128)
    jnp.array(300, 'uint8')
    jnp.full((2,), 2 ** 40, 'int32')
    x.astype('int32') + 2 ** 40
    x.astype('int8') + 300
    x + 2 ** 200
    ev.jit(lambda a: a + 1)(2 ** 70)
    jnp.arange(2 ** 70)
    jnp.zeros(-1)
    jnp.ones((2, -3))
    jnp.ones(10 ** 14) * 2
    jnp.arange(10 ** 14) + 1
    ev.jit(lambda: jnp.ones(10 ** 14) * 2)()
    """,
    X1,
)

AS_ARRAYS = programs(
    """
    x + 1
    1 + x
    x * 2.0
    x - x
    -x
    abs(x)
    x < 1
    x == x
    x != x
    float(x)
    int(x)
    bool(x)
    np.asarray(x)
    jnp.sin(x)
    jnp.sum(x)
    jnp.exp(x)
    jnp.dot(x, x)
    jnp.sort(random.split(x))
    jnp.cumsum(random.split(x))
    jnp.arange(3)[x]
    lax.add(x, x)
    lax.convert_element_type(x, 'float32')
    x.astype('float32')
    x.astype('uint32')
    jnp.concatenate([random.split(x), jnp.ones(2)])
    jnp.stack([x, x]).shape
    jnp.where(True, x, 1)
    jnp.where(True, x, x).shape
    jnp.reshape(x, (1, 1)).shape
    ev.grad(lambda k: 1.0)(x)
    ev.grad(lambda w: w * random.normal(x))(2.0)
    random.normal(1)
    random.normal(jnp.ones(2))
    random.normal(random.split(x))
    random.normal('a')
    random.split(x, -1)
    """,
    Key(),
)

DEBUG = programs(
    """
    ev.debug.print('{}', x)
    ev.debug.print('{y}', x)
    ev.debug.print('{}', x, x)
    ev.debug.print(3)
    ev.debug.log('{}', x)
    ev.debug.log('{y}', x)
    ev.debug.callback(3, x)
    ev.debug.callback(lambda a: None, x)
    ev.jit(lambda a: ev.debug.callback(lambda b: None, a))(x)
    ev.debug.inspect_array_sharding(x, callback=lambda s: None)
    isinstance(ev.debug.DebugEffect(), ev.core.Effect)
    ev.make_jaxpr(lambda a: ev.debug.print('{}', a))(x).effects == set()
    """,
    X,
)

GUARDED = [
    Case(f"lambda x: {text}", (PUT,), {}, {f"transfer_guard_{direction}": level},
         note=f"{text} {direction}={level}")
    for direction in ("host_to_device", "device_to_host", "device_to_device")
    for level in ("log", "disallow")
    for text in (
        "x + x", "ev.jit(lambda a: a + 1)(x)", "ev.jit(lambda a: a + 1)(np.ones(3, np.float32))",
        "jnp.asarray(np.ones(3))", "jnp.sin(np.ones(3))", "ev.device_put(np.ones(3))",
        "np.asarray(x)", "ev.device_get(x)",
    )
]  # fmt: skip

CASES = [
    *under(NAN, X1, debug_nans=True),
    # Operations alone: JAX looks at none whose program it had compiled before the option was set.
    *[c for c in under(NAN, X1, debug_infs=True) if str(c).startswith("jit ")],
    *under(KEYS, Key(3), debug_key_reuse=True),
    *under(LOOPS, Key(3), debug_key_reuse=True),
    *under(RANKS, X, X1, numpy_rank_promotion="raise"),
    *under("random.normal(random.PRNGKey(0)) * x", X1, legacy_prng_key="error"),
    *under("x + 1", X, disable_jit=True),
    *GUARDED,
    *STAGES,
    *TOP,
    *NUMBERS,
    *AS_ARRAYS,
    *DEBUG,
]

UNUSED = "what is not computed consumes no key"
WORDS = "keys are known by their words: one made of another's words is the same key"
NUMBERS_ONLY = "keys are no numbers: the class is that of a wrong dtype"
FORMAT = "one class, ValueError, for all that is wrong with a format and its arguments"

DIFFERENCES = {
    "random.normal(random.wrap_key_data(random.key_data(x))) + random.normal(x) debug_key_reuse=True": WORDS,
    "jit random.normal(random.wrap_key_data(random.key_data(x))) + random.normal(x) debug_key_reuse=True": WORDS,
    "jit (random.split(x), random.normal(x))[1] debug_key_reuse=True": UNUSED,
    "jit (random.normal(x), random.split(x))[0] debug_key_reuse=True": UNUSED,
    "jnp.full((2,), 2 ** 40, 'int32')": "a number that does not fit is an error, as for `array`",
    "x + 2 ** 200": "the number becomes a float as it is: infinity",
    "jnp.arange(2 ** 70)": "NumPy's class",
    "jnp.dot(x, x)": NUMBERS_ONLY,
    "x.astype('float32')": NUMBERS_ONLY,
    "x.astype('uint32')": NUMBERS_ONLY,
    "ev.debug.print('{y}', x)": FORMAT,
    "ev.debug.log('{y}', x)": FORMAT,
}
