"""`example_libraries`: steps of optimizers, schedules, and layers with the parameters drawn."""

from tests.oracle.cases import Case
from tests.oracle.differences import CLASS, LENIENT

HALF = "in JAX bfloat16 rounds 0.999 to 1, so that Adam divides by 0"
NO_KEY = "JAX asks for a key that is not used"
REAL = "a norm is real"
COUNTED = "JAX leaves out what has no partner"
NEGATIVE = "JAX does not know negative axes as axes to reduce"
ANY_BATCH = "JAX makes an unknown batch empty"
SHAPES = "the state in JAX holds the array's shape, too"
SCALAR = "JAX takes a text or None for a scalar"


def using(module, text, tolerance=8.0):
    """Write a program in which m is a module of the libraries, imported by name."""
    imported = f"__import__('importlib').import_module(ev.__name__ + '.example_libraries.{module}')"
    helpers = "key=random.key(7), A=lambda shape: jnp.sin(jnp.arange(np.prod(shape, dtype=int))).reshape(shape)"
    helpers += ", ints=lambda t: tree.map(int, t)"
    function = f"lambda: (lambda m, {helpers}: ({text}))({imported})"
    return Case(function, (), {}, {}, tolerance, note=f"{module}: {text}")


# ---------------------------------------------------------------- optimizers

MAKERS = [
    "sgd(0.1)", "momentum(0.1, 0.9)", "nesterov(0.1, 0.8)", "adagrad(0.1)", "adagrad(0.1, momentum=0.5)",
    "rmsprop(0.1)", "rmsprop(0.1, 0.5, 0.1)", "rmsprop_momentum(0.1)", "rmsprop_momentum(0.1, 0.5, 0.1, 0.2)",
    "adam(0.1)", "adam(0.1, 0.5, 0.6, 0.1)", "adamax(0.1)", "adamax(0.1, 0.5, 0.6, 0.1)", "sm3(0.1)", "sm3(0.1, momentum=0.5)",
]  # fmt: skip
SCHEDULED = [
    "sgd(m.exponential_decay(0.1, 3, 0.5))",
    "adam(lambda i: 0.1 / (i + 1))",
    "momentum(m.piecewise_constant([1], [1.0, 0.1]), 0.9)",
    "rmsprop(m.polynomial_decay(0.1, 3, 0.01))",
]

# Three steps on a tree; the gradient of one entry is always 0.
STEPS = (
    "(lambda o: o.params_fn(__import__('functools').reduce(lambda s, i:"
    " o.update_fn({step}, {{'a': A((2, 3)) * (i + 1), 'b': A((3,))}}, s), range(3),"
    " o.init_fn({{'a': jnp.ones((2, 3), {dtype!r}), 'b': A((3,)).astype({dtype!r})}}))))(m.{maker})"
)
STATE = "(lambda o: [tuple(j.subtree) for j in tree.leaves(m.unpack_optimizer_state(o.update_fn(0, [A((2,)), 1.0], o.init_fn([jnp.ones(2), 2.0]))))])(m.{})"
JITTED = (
    "(lambda o: o.params_fn(ev.jit(o.update_fn)(3, A((2, 3)), o.init_fn(jnp.ones((2, 3))))))(m.{})"
)
SCANNED = "(lambda o: o.params_fn(lax.fori_loop(0, 5, lambda i, s: o.update_fn(i, o.params_fn(s), s), o.init_fn(A((3,))))))(m.{})"
RULES = [maker for maker in MAKERS if not maker.startswith("sm3")]

OPTIMIZERS = [
    *(STEPS.format(step="i", dtype="float32", maker=x) for x in MAKERS + SCHEDULED),
    *(STEPS.format(step="jnp.int32(i)", dtype="float32", maker=x) for x in MAKERS),
    *(STEPS.format(step="i", dtype="float16", maker=x) for x in MAKERS),
    *(STATE.format(x) for x in RULES + SCHEDULED[:2]),
    *(JITTED.format(x) for x in MAKERS + SCHEDULED),
    *(SCANNED.format(x) for x in RULES + SCHEDULED),
]
LOW = [
    f"(lambda o: o.params_fn(o.update_fn(2, A((3,)).astype('{dtype}'), o.init_fn(jnp.ones(3, '{dtype}')))))(m.{x})"
    for x in ("sgd(0.5)", "momentum(0.5, 0.5)", "rmsprop(0.5)", "adagrad(0.5)", "adamax(0.5)")
    for dtype in ("bfloat16", "float16", "int32")
]

SCHEDULES = [
    "constant(0.1)", "exponential_decay(0.1, 10, 0.5)", "inverse_time_decay(0.1, 10, 0.5)",
    "inverse_time_decay(0.1, 10, 0.5, staircase=True)", "polynomial_decay(0.1, 10, 0.01)",
    "polynomial_decay(0.1, 10, 0.01, power=2.0)", "piecewise_constant([2, 5], [1.0, 0.5, 0.1])",
    "piecewise_constant([], [1.0])", "piecewise_constant((2,), np.array([1, 2]))", "make_schedule(0.1)",
    "make_schedule(np.float32(0.1))", "make_schedule(jnp.array(2.0))", "make_schedule(lambda i: i + 1)",
]  # fmt: skip
STEP_NUMBERS = [
    "f(0)",
    "f(3)",
    "f(5)",
    "f(15)",
    "f(jnp.int32(6))",
    "f(np.int32(6))",
    "ev.jit(f)(12)",
    "f(jnp.arange(3.0))[2]",
]
VECTORS = ["f(jnp.arange(3.0))[2]"]  # that not every schedule takes

TREES = [
    "m.l2_norm({'a': jnp.array([3.0]), 'b': 4.0})", "m.l2_norm([])", "m.l2_norm([3, 4])", "m.l2_norm(A((2, 3)))",
    "m.l2_norm([jnp.ones(2, 'bfloat16'), None])", "ev.grad(m.l2_norm)(A((3,)))",
    "m.clip_grads([jnp.array([3.0, 4.0]), 0.0], 1.0)", "m.clip_grads([jnp.array([3.0, 4.0])], 10.0)",
    "m.clip_grads(jnp.zeros(2), 0.0)", "m.clip_grads([jnp.array([1, 2])], 1.0)", "m.clip_grads({}, 1.0)",
    "m.clip_grads(A((2, 2)).astype('float16'), 0.5)", "ev.jit(m.clip_grads)(A((2, 2)), 0.5)",
    "tuple(m.Optimizer._fields), tuple(m.OptimizerState._fields)",
    "(lambda s: (str(s.tree_def), tuple(map(str, s.subtree_defs)), s.packed_state))(m.adam(0.1).init_fn({'w': A((2,)), 'b': 1.0}))",
    "(lambda s: [a for a in tree.leaves(s)])(m.momentum(0.1, 0.9).init_fn((A((2,)), [1.0])))",
    "(lambda o, s: o.params_fn(m.pack_optimizer_state(m.unpack_optimizer_state(s))))(m.adam(0.1), m.adam(0.1).init_fn({'w': A((2,)), 'b': 1.0}))",
    "len(m.pack_optimizer_state({}).packed_state)", "list(m.JoinPoint((1.0, 2.0)))",
    "m.adam.__name__", "m.sgd(0.1).params_fn(m.sgd(0.1).init_fn({'a': [1.0, None]}))",
    "tree.map(lambda x: x * 2, m.momentum(0.1, 0.9).init_fn(A((2,)))).packed_state",
    "(lambda o: ev.vmap(lambda x: o.params_fn(o.update_fn(0, x, o.init_fn(x))))(A((3, 2))))(m.adam(0.1))",
    "(lambda o: ev.grad(lambda x: o.params_fn(o.update_fn(0, x * x, o.init_fn(x))).sum())(A((3,)) + 1))(m.momentum(0.1, 0.9))",
]  # fmt: skip
FAULTS = [
    "m.adam(0.1).update_fn(0, {'a': 1.0}, m.adam(0.1).init_fn({'a': 1.0, 'b': 2.0}))",
    "m.sgd(0.1).update_fn(0, [1.0], m.sgd(0.1).init_fn((1.0,)))",
    "(lambda o: o.update_fn(0, 1.0, o.init_fn(1.0)))(m.optimizer(lambda: (lambda x: (x, x), lambda i, g, s: s[0], lambda s: s[0]))())",
    "m.make_schedule([1.0, 2.0])", "m.make_schedule(np.ones(2))", "m.make_schedule(None)(0)", "m.sgd('fast')",
    "m.piecewise_constant([2, 5], [1.0, 0.5])", "m.piecewise_constant([[2, 5]], [1.0, 0.5, 0.1])",
    "m.piecewise_constant(2, [1.0, 0.5])", "m.pack_optimizer_state({'a': 1.0})", "m.l2_norm(['a'])", "m.momentum(0.1)",
    "m.l2_norm([3j, 4 + 1j])",
    "(lambda o: o.params_fn(o.update_fn(2, A((3,)).astype('bfloat16'), o.init_fn(jnp.ones(3, 'bfloat16')))))(m.adam(0.1))",
    "(lambda o: ev.jit(lambda s: o.params_fn(s))(o.init_fn(jnp.ones((2, 3)))))(m.sm3(0.1))",
    "m.sm3(0.1).params_fn(m.sm3(0.1).init_fn(1.0))",
    "len(tree.leaves(m.sm3(0.1).init_fn(jnp.ones((2, 3)))))",
]  # fmt: skip

# ---------------------------------------------------------------- layers

LAYERS = [
    ("Dense(5)", [(3, 4), (-1, 4), (2, 3, 4)]),
    ("Dense(5, W_init=m.randn(0.1), b_init=m.randn(0.5))", [(3, 4)]),
    ("Dense(2, m.randn(), m.randn(1.0, 'float16'))", [(3, 4)]),
    ("Conv(5, (3, 3))", [(2, 6, 6, 2), (-1, 6, 6, 2)]),
    ("Conv(5, (3, 2), (2, 2), 'SAME')", [(2, 6, 5, 2)]),
    ("Conv(5, (3, 3), (2, 1), [(1, 1), (0, 2)])", [(2, 6, 6, 2)]),
    ("GeneralConv(('NCHW', 'OIHW', 'NCHW'), 5, (3, 2))", [(2, 2, 6, 5)]),
    ("GeneralConv(('NHWC', 'HWIO', 'NCHW'), 5, (3, 2))", [(2, 6, 5, 2)]),
    ("GeneralConv(('NHC', 'HIO', 'NHC'), 3, (2,), padding='SAME')", [(2, 6, 2)]),
    ("ConvTranspose(5, (3, 3), (2, 2), 'SAME')", [(2, 4, 4, 2), (-1, 4, 4, 2)]),
    ("ConvTranspose(5, (3, 2), (2, 1))", [(2, 4, 4, 2)]),
    ("ConvTranspose(5, (3, 3), (2, 2), [(1, 1), (0, 2)])", [(2, 4, 4, 2)]),
    ("Conv1DTranspose(5, (3,), (2,), 'SAME')", [(2, 4, 2)]),
    ("Conv1DTranspose(5, (3,))", [(2, 4, 2)]),
    ("GeneralConvTranspose(('NCHW', 'OIHW', 'NCHW'), 5, (3, 2))", [(2, 2, 4, 4)]),
    ("BatchNorm()", [(2, 4, 4, 2)]), ("BatchNorm(axis=0)", [(6, 4)]), ("BatchNorm(axis=(0, 1))", [(6, 4, 2)]),
    ("BatchNorm(axis=0, epsilon=0.1)", [(6, 4)]), ("BatchNorm(scale=False)", [(2, 4, 4, 2)]),
    ("BatchNorm(center=False)", [(2, 4, 4, 2)]), ("BatchNorm(center=False, scale=False)", [(2, 4, 4, 2)]),
    ("BatchNorm(axis=0, beta_init=m.randn(1.0), gamma_init=m.randn(1.0))", [(6, 4)]),
    *((f"{pool}((2, 2){more})", [(2, 5, 4, 3)]) for pool in ("MaxPool", "SumPool", "AvgPool")
      for more in ("", ", (2, 2)", ", padding='SAME'", ", (2, 1), 'SAME'", ", spec='NCHW'", ", padding='VALID', spec='NHWC'", ", (1, 2), 'SAME', spec='CHWN'")),
    ("MaxPool((2,), spec='NWC')", [(2, 5, 3)]), ("AvgPool((2, 2, 1))", [(2, 4, 4, 3, 2)]), ("SumPool((3,), (2,))", [(2, 5, 3)]),
    ("Flatten", [(2, 3, 4), (3,), (2, 1)]), ("Identity", [(2,)]),
    *((name, [(2, 3)]) for name in ["Tanh", "Relu", "Exp", "LogSoftmax", "Softmax", "Softplus", "Sigmoid", "Elu", "LeakyRelu", "Selu", "Gelu"]),
    ("elementwise(jnp.clip, min=0.1, max=0.5)", [(2, 3)]),
    ("serial(m.Dense(3), m.Relu, m.Dense(2), m.LogSoftmax)", [(2, 4)]),
    ("serial(m.Conv(4, (3, 3), padding='SAME'), m.BatchNorm(), m.Relu, m.MaxPool((2, 2), (2, 2)), m.Flatten, m.Dense(3))", [(2, 4, 4, 1)]),
    ("serial(m.FanOut(2), m.parallel(m.Dense(3), m.Identity), m.FanInConcat())", [(2, 4)]),
    ("serial(m.FanOut(3), m.parallel(m.Dense(3), m.Dense(3), m.Dense(3)), m.FanInSum)", [(2, 4)]),
    ("serial(m.FanOut(2), m.parallel(m.serial(m.Dense(4), m.Tanh, m.Dense(4)), m.Identity), m.FanInSum, m.Dense(2))", [(2, 4)]),
    ("shape_dependent(lambda shape: m.Dense(2 * shape[-1]))", [(2, 4)]),
    ("serial(m.Dense(2), m.serial(m.Dense(3), m.serial(m.Dense(2))))", [(2, 4)]),
    ("FanOut(2)", [(2, 3)]),
]  # fmt: skip


def shown(layer, shape):
    """Write the program of a layer's output shape, its parameters and what it gives."""
    inputs = f"A({tuple(2 if n == -1 else n for n in shape)})"
    return (
        f"(lambda layer: (lambda made: (ints(made[0]), made[1], layer[1](made[1], {inputs})))"
        f"(layer[0](key, {shape})))(m.{layer})"
    )


NETWORK = (
    "m.serial(m.Conv(3, (2, 2)), m.Relu, m.AvgPool((2, 2)), m.Flatten, m.Dense(2), m.LogSoftmax)"
)
DROPPED = [
    "Dropout(0.5)", "Dropout(0.9)", "Dropout(0.0)", "Dropout(1.0)", "Dropout(0.5, 'test')", "Dropout(0.5, mode='eval')",
    "serial(m.Dropout(0.5), m.Identity, m.Dropout(0.5))", "shape_dependent(lambda shape: m.Dropout(0.5))",
    "serial(m.FanOut(2), m.parallel(m.Dropout(0.5), m.Dropout(0.5)), m.FanInConcat())",
]  # fmt: skip
PROGRAMS = [
    *(f"(lambda layer: layer[1](layer[0](key, (4, 5))[1], A((4, 5)), rng=random.key(3)))(m.{x})" for x in DROPPED),
    *(f"m.{x}[1]((), A((4, 5)), rng=random.PRNGKey(3))" for x in DROPPED[:2]),
    f"(lambda layer: ev.grad(lambda p: layer[1](p, A((2, 4, 4, 1))).sum())(layer[0](key, (-1, 4, 4, 1))[1]))({NETWORK})",
    f"(lambda layer: ev.jit(layer[1])(layer[0](key, (-1, 4, 4, 1))[1], A((2, 4, 4, 1))))({NETWORK})",
    f"(lambda layer: ev.jit(lambda k: layer[0](k, (2, 4, 4, 1))[1])(key))({NETWORK})",
    f"(lambda layer: layer[0](random.PRNGKey(7), (2, 4, 4, 1))[1])({NETWORK})",
    "tuple(m.parallel(m.Dense(3), m.Identity)[0](key, [(2, 4), (2, 3)]))",
    "m.parallel(m.Identity, m.Exp)[1](((), ()), (A((2,)), A((2,))))",
    "m.FanInConcat(0)[0](key, [(2, 3), (4, 3)])", "m.FanInConcat(0)[1]((), [A((2, 3)), A((1, 3))])",
    "m.FanInSum[0](key, [(2, 3), (2, 3)])", "m.FanInSum[1]((), [A((2, 3)), A((2, 3)), 1.0])",
    *(f"m.{pool}((2, 2))[1]((), jnp.arange(16).reshape(1, 4, 4, 1))" for pool in ("MaxPool", "SumPool", "AvgPool")),
    *(f"m.{pool}((2, 2))[1]((), A((1, 4, 4, 1)).astype('bfloat16'))" for pool in ("MaxPool", "SumPool", "AvgPool")),
    "ev.grad(lambda x: (m.MaxPool((2, 2))[1]((), x) ** 2).sum())(A((1, 4, 4, 1)))",
    "ev.grad(lambda x: (m.AvgPool((2, 2), padding='SAME')[1]((), x) ** 2).sum())(A((1, 4, 4, 1)))",
    "ev.vmap(lambda k: m.Dense(2)[0](k, (-1, 3))[1])(random.split(key, 3))",
    "m.logsoftmax(A((2, 3)))", "m.glorot()(key, (2, 3))", "m.randn(0.5)(key, (2, 3))",
    # what goes wrong
    "m.Dropout(0.5)[1]((), A((4, 5)))", "m.serial(m.Dropout(0.5))[1]([()], A((4, 5)))",
    "m.Dropout(0.5, 'test')[1]((), A((4, 5)))",
    "m.Dense(2)[1](m.Dense(2)[0](key, (2, 4))[1], A((2, 3)))",
    "m.Conv(5, (3, 3), padding='odd')[0](key, (2, 6, 6, 2))", "m.BatchNorm()[1]((jnp.zeros(3), jnp.ones(3)), A((2, 3)))",
    "m.BatchNorm(axis=(0, -1))[0](key, (2, 4, 4, 3))[1][0].shape", "m.BatchNorm(axis=[0])[1]((jnp.zeros(3), jnp.ones(3)), A((2, 3)))",
    "m.AvgPool((2, 2))[0](key, (-1, 4, 4, 2))[0]", "m.MaxPool((2, 2), padding='odd')[0](key, (1, 4, 4, 2))",
    "m.MaxPool((2,))[1]((), A((1, 4, 4, 1)))", "m.serial()[1]((), A((2,)))",
    "m.parallel(m.Identity, m.Identity)[1](((), ()), [A((2,))])", "tuple(m.parallel(m.Identity, m.Identity)[0](key, [(2,)]))",
    "m.serial(m.Dense)", "m.parallel(m.Relu, m.Dense)",
    "m.Conv(5, (3, 3, 3))[0](key, (2, 6, 6, 2))[0]",
]  # fmt: skip

CASES = [
    *(using("optimizers", text, 16) for text in OPTIMIZERS + LOW + TREES + FAULTS),
    *(
        using("optimizers", f"(lambda f: {x})(m.{f})", 16)
        for f in SCHEDULES
        for x in STEP_NUMBERS
        if not (x in VECTORS and f.startswith("piecewise"))
    ),
    *(using("stax", shown(layer, shape), 32) for layer, shapes in LAYERS for shape in shapes),
    *(using("stax", text, 32) for text in PROGRAMS),
]

DIFFERENCES = {
    "optimizers: m.make_schedule(None)(0)": SCALAR,
    "optimizers: m.sgd('fast')": SCALAR,
    "optimizers: m.pack_optimizer_state({'a': 1.0})": CLASS,
    "optimizers: m.l2_norm([3j, 4 + 1j])": REAL,
    "optimizers: (lambda o: o.params_fn(o.update_fn(2, A((3,)).astype('bfloat16'), o.init_fn(jnp.ones(3, 'bfloat16')))))(m.adam(0.1))": HALF,
    "optimizers: (lambda o: ev.jit(lambda s: o.params_fn(s))(o.init_fn(jnp.ones((2, 3)))))(m.sm3(0.1))": SHAPES,
    "optimizers: m.sm3(0.1).params_fn(m.sm3(0.1).init_fn(1.0))": LENIENT,
    "optimizers: len(tree.leaves(m.sm3(0.1).init_fn(jnp.ones((2, 3)))))": SHAPES,
    "stax: m.Dropout(0.5, 'test')[1]((), A((4, 5)))": NO_KEY,
    "stax: m.Conv(5, (3, 3), padding='odd')[0](key, (2, 6, 6, 2))": CLASS,
    "stax: m.MaxPool((2, 2), padding='odd')[0](key, (1, 4, 4, 2))": CLASS,
    "stax: m.BatchNorm(axis=(0, -1))[0](key, (2, 4, 4, 3))[1][0].shape": NEGATIVE,
    "stax: m.BatchNorm(axis=[0])[1]((jnp.zeros(3), jnp.ones(3)), A((2, 3)))": LENIENT,
    "stax: m.AvgPool((2, 2))[0](key, (-1, 4, 4, 2))[0]": ANY_BATCH,
    "stax: m.serial()[1]((), A((2,)))": LENIENT,
    "stax: m.parallel(m.Identity, m.Identity)[1](((), ()), [A((2,))])": COUNTED,
    "stax: tuple(m.parallel(m.Identity, m.Identity)[0](key, [(2,)]))": COUNTED,
    "stax: m.Conv(5, (3, 3, 3))[0](key, (2, 6, 6, 2))[0]": COUNTED,
}
