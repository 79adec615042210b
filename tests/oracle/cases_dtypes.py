"""Dtypes: making, converting and computing with each of them, limits, modes, printing."""

from tests.oracle.cases import Asarray, Case
from tests.oracle.differences import LENIENT
from tests.oracle.tables import programs

SMALL = Asarray([0, 1, 2, 3, 1, 0], "float32")
NUMBERS = Asarray(
    [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 448.0, 65504.0, 1e30, float("inf"), -float("inf"), float("nan")],
    "float32",
)  # fmt: skip
WHOLE = Asarray([0, 1, -1, 3, -4, 7, 100, -100, 255, 2**31 - 1, -(2**31)], "int32")

NARROW_INTS = ("int2", "uint2", "int4", "uint4")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
NARROW_FLOATS = (
    "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
FLOATS = ("bfloat16", "float16", "float32")
OTHERS = ("bool", "complex64")
ALL = (*NARROW_INTS, *INTS, *NARROW_FLOATS, *FLOATS, *OTHERS)


def per_dtype(text, names, *args, **options):
    """Write the lines of a text for each dtype, whose name stands for D."""
    return [
        case
        for name in names
        for case in programs(text.replace("DTYPE", repr(name)), *args, **options)
    ]


# Some of the narrow floats only: JAX compiles each operation for each dtype.
SOME_FLOATS = ("float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
MADE = (*NARROW_INTS, *INTS, *SOME_FLOATS, *FLOATS, *OTHERS)
MAKING = per_dtype(
    """
    x.astype(DTYPE)
    x.astype(DTYPE).astype('float32')
    jnp.zeros(3, DTYPE), jnp.ones((2,), DTYPE)
    jnp.full((2,), 3, DTYPE)
    jnp.arange(3, dtype=DTYPE)
    jnp.asarray([0, 1], DTYPE)
    x.astype(DTYPE)[::-1], x.astype(DTYPE).reshape(2, 3).T, jnp.stack([x.astype(DTYPE)] * 2)
    x.astype(DTYPE) == x.astype(DTYPE)[::-1]
    jnp.where(x > 1, x.astype(DTYPE), x.astype(DTYPE)[::-1])
    x.astype(DTYPE).at[1].set(1)
    str(jnp.dtype(DTYPE)), jnp.dtype(DTYPE).itemsize
    repr(x.astype(DTYPE))
    str(x.astype(DTYPE))
    str(ev.make_jaxpr(lambda a: a)(x.astype(DTYPE)))
    ev.jit(lambda a: a.astype(DTYPE))(x)
    ev.jit(lambda a: a.astype('float32'))(x.astype(DTYPE))
    lax.full((2,), 1, DTYPE)
    lax.iota(DTYPE, 3)
    [jnp.issubdtype(DTYPE, k) for k in (jnp.integer, jnp.signedinteger, jnp.unsignedinteger, jnp.floating, jnp.inexact, jnp.complexfloating, jnp.number, jnp.generic, np.bool_)]
    jnp.promote_types(DTYPE, DTYPE), jnp.result_type(DTYPE)
    ev.dtypes.scalar_type_of(jnp.zeros((), DTYPE)).__name__
    ev.eval_shape(lambda a: a, x.astype(DTYPE)).dtype
    """,
    MADE,
    SMALL,
    tolerance=0,
)

# XLA aborts on a concatenation of integers of 2 bits.
WIDER = tuple(name for name in MADE if not name.endswith("int2"))
MAKING += per_dtype(
    "jnp.concatenate([x.astype(DTYPE), x.astype(DTYPE)])", WIDER, SMALL, tolerance=0
)

ARITHMETIC = per_dtype(
    """
    lax.add(x.astype(DTYPE), x.astype(DTYPE))
    lax.mul(x.astype(DTYPE), x.astype(DTYPE))
    lax.neg(x.astype(DTYPE))
    lax.max(x.astype(DTYPE), x.astype(DTYPE)[::-1])
    lax.lt(x.astype(DTYPE), x.astype(DTYPE)[::-1])
    x.astype(DTYPE) + 1
    x.astype(DTYPE) * 2.5
    x.astype(DTYPE) + jnp.float32(1)
    x.astype(DTYPE) + jnp.bfloat16(1)
    x.astype(DTYPE) + jnp.int8(1)
    x.astype(DTYPE) + jnp.int32(1)
    x.astype(DTYPE) - x.astype(DTYPE)[::-1]
    x.astype(DTYPE) / x.astype(DTYPE)[::-1]
    -x.astype(DTYPE)
    jnp.sum(x.astype(DTYPE))
    jnp.max(x.astype(DTYPE)), jnp.min(x.astype(DTYPE))
    jnp.mean(x.astype(DTYPE))
    jnp.argmax(x.astype(DTYPE))
    jnp.cumsum(x.astype(DTYPE))
    jnp.dot(x.astype(DTYPE), x.astype(DTYPE))
    jnp.sin(x.astype(DTYPE))
    jnp.sqrt(x.astype(DTYPE))
    jnp.abs(x.astype(DTYPE))
    ev.jit(lambda a: a + a)(x.astype(DTYPE))
    ev.jit(lambda a: (a * a).sum())(x.astype(DTYPE))
    ev.vmap(lambda a: a + a)(x.astype(DTYPE))
    """,
    (*NARROW_INTS, "uint8", "int16", *SOME_FLOATS[:3], *FLOATS, *OTHERS),
    SMALL,
    tolerance=4,
)  # fmt: skip

# XLA sorts integers of 2 bits among what lies beside them in memory: other values in each process.
ARITHMETIC += per_dtype(
    "jnp.sort(x.astype(DTYPE))",
    ("int4", "uint4", "uint8", "int16", *SOME_FLOATS[:3], *FLOATS, *OTHERS),
    SMALL,
    tolerance=0,
)

CONVERSIONS = [
    *per_dtype("x.astype(DTYPE)\nev.jit(lambda a: a.astype(DTYPE))(x)", ALL, NUMBERS, tolerance=0),
    *per_dtype("x.astype(DTYPE)\nev.jit(lambda a: a.astype(DTYPE))(x)", ALL, WHOLE, tolerance=0),
    *per_dtype(
        """
        x.astype('float8_e5m2').astype(DTYPE)
        x.astype('int4').astype(DTYPE)
        x.astype('bfloat16').astype(DTYPE)
        x.astype('complex64').astype(DTYPE)
        (x > 0).astype(DTYPE)
        """,
        ALL,
        SMALL,
        tolerance=0,
    ),
]

FLOAT_LIMITS = "bits eps epsneg iexp machep max maxexp min minexp negep nexp nmant resolution smallest_normal smallest_subnormal tiny"
LIMITS = [
    *per_dtype(
        "\n".join(f"jnp.finfo(DTYPE).{name}" for name in FLOAT_LIMITS.split())
        + "\njnp.finfo(DTYPE).dtype\njnp.iinfo(DTYPE)",
        (*NARROW_FLOATS, *FLOATS, "float64", "complex64"),
        tolerance=0,
    ),
    *per_dtype(
        "jnp.iinfo(DTYPE).min\njnp.iinfo(DTYPE).max\njnp.iinfo(DTYPE).bits\njnp.iinfo(DTYPE).dtype\njnp.finfo(DTYPE)",
        (*NARROW_INTS, *INTS, "int64", "uint64", "bool"),
        tolerance=0,
    ),
]

MODES = [
    programs(
        """
        jnp.asarray(1), jnp.asarray(1.0), jnp.asarray(1j), jnp.asarray(True)
        jnp.arange(3), jnp.zeros(2), jnp.linspace(0, 1, 3)
        jnp.asarray(np.arange(3)), jnp.asarray(np.ones(2))
        jnp.zeros(2, 'float64'), jnp.zeros(2, 'int64'), jnp.zeros(2, 'complex128')
        jnp.zeros(2, float), jnp.zeros(2, int), jnp.zeros(2, complex), jnp.zeros(2, bool)
        x.astype('float64'), x.astype('int64'), x.astype('uint64')
        jnp.int64(3), jnp.float64(3)
        x + np.float64(1), x + np.int64(1), x + 1, x + 1.0
        jnp.sum(x.astype('int32')), jnp.sum(x.astype('uint8')), jnp.sum(x > 0)
        jnp.mean(x.astype('int32')), jnp.argmax(x), jnp.sum(x.astype('float16'))
        lax.iota('int64', 3)
        jnp.result_type(int), jnp.result_type(float), jnp.result_type(1, 1.0), jnp.result_type('int64')
        jnp.promote_types('int64', 'float32'), jnp.promote_types('uint32', 'int32')
        ev.dtypes.canonicalize_dtype('float64'), ev.dtypes.canonicalize_dtype('int64')
        ev.jit(lambda a: a * 2 + 1)(x.astype('float64'))
        ev.jit(lambda: jnp.arange(3))()
        ev.grad(lambda a: a * a)(3.0)
        random.uniform(random.key(0), (2,)), random.bits(random.key(0), (2,))
        2**40 + jnp.arange(2)
        jnp.asarray(2**40)
        jnp.asarray(2**70)
        jnp.int32(2**31)
        """,
        SMALL,
        tolerance=8,
        x64=x64,
    )
    for x64 in (False, True)
]
MODES = [case for table in MODES for case in table]

STRICT_BODIES = """
x + 1
x + 1.5
x + 1j
x + True
x + x.astype('int32')
x + x.astype('bfloat16')
x.astype('int32') + 1
x.astype('int32') + 1.5
x.astype('int32') + x.astype('uint8')
x.astype('int8') + x.astype('int4')
x + np.float32(1)
x + np.float64(1)
x + np.ones(6, 'float32')
x + (x > 0)
jnp.where(x > 0, x, 0)
jnp.where(x > 0, x, 1j)
jnp.where(x, x, x)
jnp.add(1, 2)
jnp.add(1, 2.5)
jnp.concatenate([x, x.astype('int32')])
jnp.stack([x, x])
jnp.sum(x.astype('int32') / 2)
jnp.maximum(x, 0)
jnp.sqrt(x.astype('int32'))
jnp.mean(x.astype('int32'))
x @ x.astype('int32')
x == x.astype('int32')
x ** 2
x.astype('int32') ** 2
x << 1
x.at[0].set(1)
x.at[0].set(jnp.int32(1))
jnp.result_type(x, 1)
jnp.result_type('float32', 'int32')
jnp.promote_types('float32', 'int32')
lax.add(x, 1.0)
jnp.arange(3) + 1
jnp.linspace(0, 1, 3) * x[:3]
ev.jit(lambda a: a + 1)(x)
ev.jit(lambda a: a + a.astype('int32'))(x)
random.normal(random.key(0), (6,)).shape
"""

STRICT = [
    Case(
        f"lambda x: ({line})",
        (SMALL,),
        {},
        {"numpy_dtype_promotion": "strict"},
        note=f"{line} strict",
    )
    for line in STRICT_BODIES.strip().splitlines()
]

CASES = [*MAKING, *ARITHMETIC, *CONVERSIONS, *LIMITS, *MODES, *STRICT]

BROKEN = "JAX's result is wrong, or of a dtype that its other narrow integers do not have"
NARROW = ("int2", "uint2", "int4", "uint4")
WRONG = [
    f"{call.replace('D', repr(name))}"
    for name in ("int2", "uint2")
    for call in (
        "x.astype(D) / x.astype(D)[::-1]",
        "jnp.mean(x.astype(D))",
    )
]
MISSING = [
    f"{call.replace('D', repr(name))}"
    for name in NARROW
    for call in ("jnp.sum(x.astype(D))", "ev.jit(lambda a: (a * a).sum())(x.astype(D))")
]
MISSING += [
    f"jnp.{function}(x.astype({name!r}))"
    for name in ("int2", "uint2")
    for function in ("argmax", "sin", "sqrt")
]
MISSING += [f"jnp.abs(x.astype({name!r}))" for name in ("int2", "int4")]

DIFFERENCES = {
    **dict.fromkeys(WRONG, BROKEN),
    **dict.fromkeys(MISSING, LENIENT),
    "jnp.promote_types('int64', 'float32'), jnp.promote_types('uint32', 'int32')": (
        "the lattice does not depend on the mode, only the dtypes of arrays do"
    ),
}
