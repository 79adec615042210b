"""Indexing and indexed updates, in every form, eager and jitted."""

from tests.oracle.cases import Asarray, Case, Draw
from tests.oracle.differences import NUMPY
from tests.oracle.tables import B, X, program, programs

T = Draw((2, 3, 4))
ROWS = Asarray([2, 0, -1, 1], "int32")
GRID = Asarray([[0, 1], [2, 0]], "int32")
MASK = Asarray([True, False, True])
FAR = Asarray([0, 7, -9], "int32")

INDICES = """
0
-1
(1, 2)
(1, -1)
slice(None)
slice(1, None)
slice(None, None, -1)
slice(None, None, 2)
slice(-2, None)
slice(5, 2)
slice(2, 0, -1)
(slice(None), 1)
(slice(1, 3), slice(None, None, -2))
...
(..., 0)
(0, ...)
None
(None, 0)
(slice(None), None, 1)
(..., None)
()
y
[0, 2]
(y, y)
(slice(None), y)
(y, slice(1, 3))
(0, y)
(y, None, 0)
(z,)
(slice(None), z)
(z, z)
(y[:2, None], y[:2])
(w, 1)
w
(w, slice(None, 2))
np.array([1, 0])
np.array(1)
np.int64(1)
jnp.asarray(2)
(jnp.asarray(1), slice(None))
(jnp.asarray(1), jnp.asarray(2))
np.array([], int)
([True, False, True], 0)
True
False
y[:, None]
(slice(None), jnp.uint8(1))
(slice(0, 10),)
5
-7
(0, 9)
u
(u, 0)
1.0
'a'
(0, 0, 0)
(..., ...)
jnp.asarray([1.0])
[0, 1.5]
[True, False]
[0, 1],
(0, 1), slice(None)
(slice(None), (0, 1))
(slice(None), [])
(slice(None), ())
([jnp.int32(0), 1], 0)
([[0, 1], [1, 0]], 0)
(slice(None), [True, False, True, True])
(slice(None), [True, False, True])
(slice(None), [0.5])
(slice(None), [[0], [1, 2]])
([0], [1])
(..., [0, 1])
(slice(None), [0, -1], None)
np.array([True, False])
(slice(0.5, 2),)
slice(jnp.asarray(1), 3)
""".strip().splitlines()

ARGUMENTS = (X, ROWS, GRID, MASK, FAR)
NAMED = "lambda x, y, z, w, u"

UPDATES = """
set(7.0)
add(1)
subtract(1)
mul(2)
multiply(2)
divide(2)
power(2)
min(0)
max(0)
apply(jnp.exp)
get()
""".strip().splitlines()

PLACES = """
0
(1, 2)
slice(None, None, 2)
(slice(None), -1)
y
(y, 0)
(slice(None), y)
(z, z)
...
u
w
(w, 0)
x > 0
(slice(1, 1),)
5
""".strip().splitlines()

MODES = (
    "clip",
    "drop",
    "fill",
    "wrap",
    "promise_in_bounds",
    "bad",
)


def _case(expression, jit=False):
    function = f"{NAMED}: ({expression})"
    if jit:
        # The mask stays out of the compiled program: its shape depends on values.
        function = f"lambda x, y, z, w, u: ev.jit(lambda x, y, z, u, w=np.asarray(w): ({expression}))(x, y, z, u)"
    return Case(function, ARGUMENTS, note=f"{'jit ' if jit else ''}{expression}")


CASES = [
    *(_case(f"x[{index}]") for index in INDICES),
    *(_case(f"x[{index}]", jit=True) for index in INDICES[:40:2]),
    *(
        _case(f"x.at[{place}].{update}")
        for update in UPDATES
        for place in PLACES[
            : (15 if update in ("set(7.0)", "add(1)", "apply(jnp.exp)", "get()") else 6)
        ]
    ),
    *(
        _case(f"x.at[{place}].{update}", jit=True)
        for update in ("set(7.0)", "add(x[0, 0])")
        for place in PLACES[:10]
    ),
    *(
        _case(f"x.at[u].{what}mode='{mode}')")
        for what in ("get(", "set(9.0, ", "add(1.0, ")
        for mode in MODES
        if mode != "promise_in_bounds"
    ),
    *(_case(f"x.at[u].get(mode='fill', fill_value={v})") for v in ("0", "-1.5", "jnp.nan")),
    *programs(
        """
        x[..., 0]
        x[0, :, 1]
        x[:, y[:2], z[:1]]
        x[y[:1], :, y[:1]]
        x[:, None, 1]
        x[0, y[1:2], None]
        x[..., y, :]
        x[:, z]
        x.at[:, y[1:2]].set(0)
        x.at[:, [0, 2]].set(0)
        x.at[:, [0, 2], [[1], [3]]].add(x[0, 0, 0])
        x.at[:, [True, False, True]].mul(2)
        x.at[[0, 1]].set(0)
        x.at[0, :, y].add(1)
        x.at[..., 0].set(x[..., 1])
        x.at[:, 1:].set(jnp.ones((2, 2, 4)))
        x.at[:, 1:].set(jnp.ones((3, 2, 4)))
        x.at[0].set(jnp.arange(4))
        x.at[0].set(1j)
        x.at[x > 0].set(0)
        x.at[x > 0].set(x[x > 0])
        x.at[1].set(jnp.ones(4, 'bfloat16'))
        x.at[y].set(1.0, unique_indices=True, indices_are_sorted=False)
        x[1][2][3], x[1, 2, 3]
        x[jnp.argmax(x[0, 0])]
        x[y].shape, x[y, y].shape, x[z].shape
        """,
        T,
        Asarray([1, 0, 2], "int32"),
        GRID,
    ),
    *programs(
        """
        x.at[0].set(2.7)
        x.at[0].add(jnp.float32(2.7))
        x.at[jnp.array([0, 0, 1])].add(1)
        x.at[jnp.array([0, 0, 1])].mul(2)
        x.at[jnp.array([0, 0, 1])].min(-100)
        x.at[0].divide(2)
        x.at[0].set(True)
        x.at[9].get()
        x.at[9].get(mode='fill', fill_value=5)
        """,
        Draw((4,), "int32"),
    ),
    *(
        program(f"jnp.zeros(4, '{d}').at[jnp.array([1, 9])].get(mode='fill')")
        for d in ("int8", "uint8", "float16", "bool", "complex64")
    ),
    program("x.__setitem__(0, 1)", X),
    program("x[::0]", X),
    program("x[y, y[:2]]", X, ROWS),
    program("x[y]", X, B),
    program("x[:, y]", X, Draw((3,), "bool")),
    program("np.arange(5)[jnp.asarray(2)]"),
    program("[10, 20, 30][jnp.asarray(2)]"),
    program("[10, 20][jnp.asarray(1.0)]"),
    program("jnp.arange(5)[2:4][::-1]"),
]

DIFFERENCES = {
    "x[y, y[:2]]": NUMPY,
    **dict.fromkeys(
        (
            "x.at[y].apply(jnp.exp)",
            "x.at[(y, 0)].apply(jnp.exp)",
            "x.at[(z, z)].apply(jnp.exp)",
        ),
        "evertrace applies the function once where indices repeat, JAX once for each",
    ),
}
