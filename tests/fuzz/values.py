"""Which texts stand for values of a kind: the grammar of what the fuzzer passes to functions."""

import re

DTYPES = (
    "float32 int32 bool uint8 float16 bfloat16 complex64 int8 uint32 int4 float8_e4m3fn float64 "
    "int64 complex128"
).split()
SHAPES = "() (3,) (2,3) (3,3) (1,) (0,) (2,0) (4,3) (1,3) (2,3,4) (2,2) (8,) (1,1,1) (4,4)".split()
SCALARS = "0 1 2 3 -1 0.5 1.0 -0.0 2.5 True False 1j 7 1e-7".split()
HUGE = (
    "2**31 2**31-1 -2**31 2**32 2**63 2**64 10**30 -10**30 float('nan') float('inf') -float('inf') "
    "1e300 1e-300 5e-324 complex('nan') 2**31+0j np.float64('nan') np.int64(2**62) "
    "np.uint64(2**64-1) np.float16('inf') np.longdouble(1) 10**400"
).split()
OBJECTS = [
    "None", "'x'", "''", "b'bytes'", "'\\x00'", "object()", "object", "...", "[]", "()", "{}", "set()",
    "[None]", "[1, 'x']", "[[1], [2, 3]]", "{'a': 1.0}", "{1: 2}", "range(3)", "slice(None)",
    "slice('x')", "int", "float", "print", "len", "NotImplemented", "iter([1.0])", "memoryview(b'abc')",
    "bytearray(3)", "np", "jnp.float32", "np.dtype('f4')", "type", "lambda: 1", "Exception('x')",
    "v.ring()", "v.ring_dict()", "v.deep()", "v.Raising('array', 'jax_array')", "v.Raising('index')",
    "v.Raising('len', 'iter')", "v.Raising('bool', 'eq')", "v.Raising('hash')", "v.Raising('repr')",
    "v.Raising()", "v.Mutating([1.0])", "v.Lying()", "v.deleted()", "v.donated()", "v.leaked()",
    "v.capsule()", "v.used_capsule()", "frozenset({1})", "fractions.Fraction(1, 3)",
    "decimal.Decimal(1)", "datetime.date(2020, 1, 1)", "collections.deque([1.0])", "array.array('f', [1.0])",
    "np.datetime64(0, 's')", "np.str_('x')", "np.void(b'x')", "float('nan')", "-0.0",
    "ev.ShapeDtypeStruct((2,), 'float32')", "sparse.BCOO.fromdense(jnp.eye(3))",
    "sparse.BCSR.fromdense(jnp.eye(3))", "ev.devices()[0]", "ev.sharding.PartitionSpec('x')",
    "ev.make_mesh((1,), ('x',))", "ev.jit(lambda x: x)", "ev.new_ref(jnp.zeros(3))",
]  # fmt: skip
ODD_ARRAYS = [
    "np.zeros(3, '>f4')", "np.zeros((2, 3), '>i8')", "np.zeros(2, [('a', 'f4'), ('b', 'i4')])",
    "np.array([1, None], object)", "np.array([1.0, 2.0], object)", "np.array(['a', 'b'])",
    "np.array([b'a'])", "np.zeros(2, 'M8[s]')", "np.zeros(2, 'm8[s]')", "np.zeros(3).view(v.Sub)",
    "np.ma.masked_array([1.0, 2.0], [True, False])", "np.matrix([[1.0, 2.0]])", "v.strided(3)",
    "v.strided(2, 3)", "v.unaligned()", "v.read_only()", "np.broadcast_to(1.0, (2**20, 3))",
    "np.zeros((0, 2**31))", "np.zeros((1,) * 32)", "np.zeros((1,) * 40)", "np.zeros(3, 'g')", "np.zeros(3, 'V3')",
    "np.zeros(2, [('a', 'f4')]).view(np.recarray)", "np.zeros(3, 'G')", "np.full(3, np.nan)",
    "np.array([np.inf, -np.inf, np.nan], 'f4')", "np.array([2**62, -1])", "np.array([1e300, 1e-300])",
    "random.key(0)", "random.split(random.key(0), 3)", "random.PRNGKey(0)", "jnp.zeros(3, ev.float0)",
    "np.zeros(3, ev.float0)", "jnp.zeros((0,), 'int32')", "jnp.zeros((2, 0, 3))",
]  # fmt: skip
FUNCTIONS = [
    "v.same", "v.both", "v.fails", "v.nothing", "v.grown", "v.pair", "jnp.sin", "jnp.add", "lax.add",
    "lax.max", "ev.jit(jnp.cos)", "lambda x: x * 2", "lambda *a: a", "lambda x: x > 0", "jnp.sum",
    "ev.grad(jnp.sum)", "lambda i, x: x + 1", "lambda: 1.0",
]  # fmt: skip
AXES = (
    "0 1 -1 2 None (0,) (0,1) (1,0) (0,0) -2 [0] 5 -5 () 0.0 '0' True 2**31 2**70 (None,) ((0,),)"
)
SIZES = "0 1 2 3 4 -1 5 7 16 None 2.0 2.5 '3' True 2**31 2**70 -2**70 (2,) np.int32(3)"
SHAPE_LIKE = (
    "(3,) (2,3) () 3 (0,) (3,1) (1,3) (6,) (-1,) (2,-1) [2,3] (-2,) (3*2**31,) (2**70,) (2.0,) ('x',) "
    "(None,) None 'x' (2**20,2**20,2**20) (1,)*33 np.array([2,3]) 2.0 (-1,-1) (True,)"
)
DTYPE_LIKE = (
    "'float32' 'int32' jnp.bfloat16 float int bool complex 'int4' 'float8_e4m3fn' None 'x' 'O' object "
    "'U3' '>f4' 'M8[s]' [('a','f4')] 'V3' 'float6_e2m3fn' np.floating np.dtype('f8') 'g' 3 str "
    "ev.float0 ev.dtypes.prng_key (float,) 'key<fry>' '' b'f4' 'f4,i4' ('f4',(2,))"
)
MODES = (
    "'fill' 'clip' 'wrap' 'drop' 'promise_in_bounds' 'constant' 'edge' 'reflect' 'same' 'valid' 'full' "
    "'left' 'right' 'linear' 'nearest' 'lower' 'upper' 'reduced' 'ortho' 'ij' 'xy' 'C' 'F' 'K' 'svd' "
    "'stable' 'x' None 3 '' 'lanczos3' 'fro' 'nuc' 'SAME' 'VALID' 'sqrt' 'fan_in' 'CG' 'BFGS' 'scan' "
    "b'fill' ('x',) lax.GatherScatterMode.CLIP lax.Precision.HIGHEST 'highest'"
)
NUMBERS = "dimension_numbers"
DIMENSION_NUMBERS = [
    "(((1,), (0,)), ((), ()))", "(((0,), (0,)), ((), ()))", "(((1,), (1,)), ((0,), (0,)))", "(((5,), (0,)), ((), ()))",
    "((0,), (1,))", "('NCH', 'OIH', 'NCH')", "('NHC', 'HIO', 'NHC')", "('NCHW', 'OIHW', 'NCHW')", "('x', 'y', 'z')",
    "None", "lax.GatherDimensionNumbers((0,), (), (0,))", "lax.GatherDimensionNumbers((1,), (0,), (0,))",
    "lax.GatherDimensionNumbers((9,), (0,), (-1,))", "lax.ScatterDimensionNumbers((), (0,), (0,))",
    "lax.ScatterDimensionNumbers((0,), (), (0,))", "lax.ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))",
    "lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])", "3", "()", "((),)",
]  # fmt: skip
PADDING = "'SAME' 'VALID' ((0,0),) ((1,1),) [(1,1),(0,2)] 'x' ((-1,0),) 0 1 (1,2) None ((2**40,0),) ((0,0,0),) ((1,1,1),)"
KEYS = [
    "random.key(0)", "random.key(1)", "random.PRNGKey(0)", "random.split(random.key(0), 2)", "random.key(0, impl='rbg')",
    "jnp.zeros(2, 'uint32')", "jnp.zeros(3, 'uint32')", "0", "None", "np.array([0, 1], 'u4')", "jnp.ones(2)",
]  # fmt: skip

_POOLS = {
    "axis": AXES.split(), "size": SIZES.split(), "shape": SHAPE_LIKE.split(), "dtype": DTYPE_LIKE.split(),
    "mode": MODES.split(), "numbers": DIMENSION_NUMBERS, "padding": PADDING.split(), "key": KEYS,
    "function": FUNCTIONS, "flag": "True False None 1 0 'x'".split(),
    "precision": "None 'highest' 'default' lax.Precision.HIGH 'x' ('high','high') 3 (None,None)".split(),
    "name": "'i' 'x' ('i',) None 3 ('i','j') '' ()".split(),
    "indices": ["jnp.array([0, 1])", "np.array([[0], [1]])", "jnp.array([5, -7])", "0", "-1", "jnp.zeros((0,), int)",
                "jnp.array([True, False, True])", "jnp.array([0.5])", "[0, 1]", "(0, 1)", "2**40", "(0,)", "()", "(slice(None), 0)",
                "jnp.array(1, 'uint8')", "np.array([], float)", "None", "..."],
    "device": ["None", "ev.devices()[0]", "'cpu'", "ev.devices()[0].platform", "3", "'x'", "ev.sharding.PartitionSpec('x')",
               "ev.NamedSharding(ev.make_mesh((1,), ('x',)), ev.sharding.PartitionSpec('x'))",
               "ev.sharding.SingleDeviceSharding(ev.devices()[0])", "object()", "ev.devices()", "[]"],
    "tree": ["{'a': jnp.ones(2), 'b': [1.0]}", "[1, 2]", "(1.0, (2.0,))", "None", "ev.tree.structure([1, 2])", "v.ring()",
             "v.ring_dict()", "{1: 2, 'a': 3}", "()", "jnp.ones(3)", "[None]"],
    "sparse": ["sparse.BCOO.fromdense(jnp.eye(3))", "sparse.BCSR.fromdense(jnp.eye(3))", "sparse.COO.fromdense(jnp.eye(3))",
               "sparse.CSR.fromdense(jnp.eye(3))", "sparse.CSC.fromdense(jnp.eye(3))", "sparse.empty((3, 3))",
               "sparse.BCOO.fromdense(jnp.zeros((2, 3)))", "sparse.BCOO.fromdense(jnp.ones((2, 2, 3)), n_batch=1)"],
    "subscripts": "'ij,jk->ik' 'i,i' 'ij->ji' '...i' '->' 'x' 'ij,jk->iz' ',' 'ii' '' 'i' '(n),(n)->()'".split(),
    "bytes": ["b''", "b'x'", "export.export(ev.jit(jnp.sin))(jnp.ones(3)).serialize()", "bytearray(9)"],
}  # fmt: skip

KINDS = [
    ("axis", r"(in_|out_|reduce_|batch_|column_)?ax[ei]s\d?|dims?|dimensions?|start_axis|permutation|perm|\w*_dimensions?"
             r"|(source|destination)|argnums|dimension_\w*"),
    ("numbers", r"dimension_numbers|dnums|\w*_dims"),
    ("shape", r"\w*shapes?|newshape|\w*sizes?|\w*strides?|\w*dilation|limit_indices|reps|(global_)?shape|indices_or_sections"),
    ("dtype", r"\w*d?type|preferred_element_type"),
    ("key", r"key|rng|rng_key"),
    ("sparse", r"mat|M|spmat|sp_\w*"),
    ("indices", r"\w*indices|ind|index|idx|item|segment_ids|kth|indptr|start_index"),
    ("padding", r"padding\w*|pad_width"),
    ("precision", r"precision|accuracy|algorithm"),
    ("name", r"axis_name|axis_names|names?|spec\w*|\w*_specs|\w*_name"),
    ("device", r"device\w*|\w*sharding\w*|mesh|backend|platforms?|memory_kind|memory_space|layout|format"),
    ("mode", r"\w*mode|method|kind|side|order|norm|boundary|detrend|window|implementation|impl|trans|UPLO|ord|bitorder"
             r"|distribution|policy|nan_policy|variant|approximation|scaling|casting"),
    ("size", r"[nkNdsmpq]|num\w*|\w*length|count|n_\w*|nse|\w*_count|maxiter|ddof|deg|nperseg|noverlap|nfft|unroll|size|total\w*"
             r"|length|bins|level|levels|max_\w*|order|offset|steps?|times|shift"),
    ("function", r"f|fun\w*|fn|func\w*|\w*_fun|\w*_fn|computation|callback\w*|body\w*|solve|matvec|prim|function|op|is_leaf|init|call|gen"),
    ("tree", r"\w*tree\w*|leaves|pytree|xs|primals|tangents|carry|init_val|series"),
    ("subscripts", r"subscripts|signature|equation"),
    ("bytes", r"blob|serialized|buffer|data_bytes"),
]  # fmt: skip
_MATCHERS = [(kind, re.compile(pattern)) for kind, pattern in KINDS]


def kind_of(name, default):
    """Return the kind of value that a parameter takes, as its name and default tell."""
    if isinstance(default, bool):
        return "flag"
    for kind, pattern in _MATCHERS:
        if pattern.fullmatch(name):
            return kind
    return "mode" if isinstance(default, str) else "array"


def array(rng, shape, dtype):
    """Return the text of an array; `shape` and `dtype` are what this call's others have."""
    draw = rng.random()
    if draw < 0.12:
        return rng.choice(SCALARS)
    if draw < 0.16:
        return rng.choice(ODD_ARRAYS)
    shape = shape if rng.random() < 0.75 else rng.choice(SHAPES)
    dtype = dtype if rng.random() < 0.85 else rng.choice(DTYPES[:11])
    fill = rng.choice(["ones", "zeros", "ramp", "ramp", "ramp", "ramp"])
    if fill == "ramp":
        kind = "np" if rng.random() < 0.2 and dtype in DTYPES[:5] else "jnp"
        size = f"np.prod({shape}, dtype=int)"
        return f"({kind}.arange({size}) - {rng.choice('012')}).reshape({shape}).astype('{dtype}')"
    return f"jnp.{fill}({shape}, '{dtype}')"


def hostile(rng):
    """Return the text of a value that few functions take."""
    draw = rng.random()
    if draw < 0.35:
        return rng.choice(OBJECTS)
    if draw < 0.65:
        return rng.choice(ODD_ARRAYS)
    if draw < 0.8:
        return rng.choice(HUGE)
    return rng.choice(_POOLS[rng.choice(sorted(_POOLS))])


def value(rng, name, default, shape, dtype):
    """Return the text of a value for a parameter: one of its kind, or now and then a hostile one."""
    if rng.random() < 0.1:
        return hostile(rng)
    kind = kind_of(name, default)
    if kind == "array":
        return array(rng, shape, dtype)
    pool = _POOLS[kind]
    # The first ones of a pool are those that most functions take.
    return rng.choice(pool[: max(3, len(pool) // 3)] if rng.random() < 0.6 else pool)
