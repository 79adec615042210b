"""Where arrays and results are: what eager operations and `jit` make of eight virtual devices.

All cases run in one process of their own, in which there are eight devices; each gives a text.
"""

import json
import subprocess
import sys

import pytest

PRELUDE = """
import copy, json, pickle, sys
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace import lax, random
from evertrace.sharding import NamedSharding, PartitionSpec as P

ev.config.update("num_cpu_devices", 8)
mesh = ev.make_mesh((4, 2), ("x", "y"))
def put(shape, *spec):
    whole = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return ev.device_put(whole, NamedSharding(mesh, P(*spec)))
XY, X, Y = (NamedSharding(mesh, P(*spec)) for spec in (("x", "y"), ("x",), ("y",)))
a, c, v = put((8, 8), "x", "y"), put((8, 8), "x"), put((8,), "x")
one, two = (ev.device_put(jnp.ones(3), d) for d in ev.devices()[1:3])
whole = np.asarray(a)
def spec_of(x, want=None):
    if want is not None:
        np.testing.assert_allclose(x, want, rtol=1e-5)
    assert len(x.addressable_shards) == 8 and x.committed
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, np.asarray(x)[shard.index])
    return str(x.sharding.spec)
def text_of(fun, *args):
    try:
        return fun(*args)
    except Exception as error:
        return f"{type(error).__name__}: " + str(error).split("\\n")[0]
"""

# name: (program whose last expression is shown, what it shows)
CASES = {
    "eager": ("spec_of(a + 1, whole + 1)", "P('x', 'y')"),
    "the very sharding of the operand": ("(a * 2).sharding is a.sharding", "True"),
    "an uncommitted operand": ("spec_of(a + jnp.ones((8, 8)), whole + 1)", "P('x', 'y')"),
    "a NumPy operand": ("spec_of(a + np.ones(8, np.float32), whole + 1)", "P('x', 'y')"),
    "indexing": ("spec_of(a[0], whole[0])", "P('y',)"),
    "iteration": ("[spec_of(row) for row in a][0]", "P('y',)"),
    "two results": ("[spec_of(x) for x in lax.top_k(a, 2)]", "[\"P('x',)\", \"P('x',)\"]"),
    "like": ("spec_of(jnp.zeros_like(a), 0 * whole)", "P('x', 'y')"),
    "gradient": ("spec_of(ev.grad(lambda a: (a**2).sum())(a), 2 * whole)", "P('x', 'y')"),
    "vmap": ("spec_of(ev.vmap(jnp.sin)(a), np.sin(whole))", "P('x', 'y')"),
    "eager scan": (
        "spec_of(lax.scan(lambda c, x: (c + x, c * 2), jnp.zeros(8), a)[1])",
        "P(None, 'y')",
    ),
    "eager map": ("spec_of(lax.map(jnp.sin, a), np.sin(whole))", "P(None, 'y')"),
    "eager loop, compiled": (
        "spec_of(lax.fori_loop(0, 10**5, lambda i, a: a * 1.0, a), whole)",
        "P('x', 'y')",
    ),
    "eager branches": (
        "spec_of(lax.cond(True, jnp.sin, jnp.cos, a), np.sin(whole))",
        "P('x', 'y')",
    ),
    "eager custom rule": (
        "f = ev.custom_jvp(lambda a: (a * 2, jnp.ones(3)))\n"
        "f.defjvp(lambda p, t: (f(*p), f(*t)))\nspec_of(f(a)[0], 2 * whole)",
        "P('x', 'y')",
    ),
    "gradient of a jitted function": (
        "spec_of(ev.grad(ev.jit(lambda a: (a**2).sum()))(a), 2 * whole)",
        "P('x', 'y')",
    ),
    "jit": ("spec_of(ev.jit(lambda a: jnp.tanh(a @ a.T).sum(1))(c))", "P('x',)"),
    "jit again": ("[spec_of(ev.jit(jnp.sin)(a)) for _ in range(4)][-1]", "P('x', 'y')"),
    "jit by XLA": ("spec_of(ev.jit(jnp.sin, engine='xla')(a), np.sin(whole))", "P('x', 'y')"),
    "jit by JAX's rules": ("spec_of(ev.jit(jnp.sin, strict=True)(a))", "P('x', 'y')"),
    "one program for all layouts": (
        "f = ev.jit(lambda a: a * 2); [spec_of(f(x)) for x in (a, c, a)], f.cache_info().misses",
        """(["P('x', 'y')", "P('x',)", "P('x', 'y')"], 1)""",
    ),
    "constraint": ("spec_of(lax.with_sharding_constraint(a, X), whole)", "P('x',)"),
    "constraint in jit": (
        "spec_of(ev.jit(lambda a: lax.with_sharding_constraint(a, Y) * 2)(a), 2 * whole)",
        "P('y',)",
    ),
    "constraint of what nothing places": (
        "spec_of(ev.jit(lambda a: lax.with_sharding_constraint(a, Y) * 2)(whole), 2 * whole)",
        "P('y',)",
    ),
    "constraint over the axes alone of the mesh in force": (
        """
over = NamedSharding(mesh.abstract_mesh, P("y"))
def laid(fun):
    return [spec_of(g(whole), whole) for g in (fun, ev.jit(fun), ev.jit(fun, strict=True))]
with ev.set_mesh(mesh):
    found = [
        laid(lambda a: lax.with_sharding_constraint(a, over)),
        laid(lambda a: ev.sharding.reshard(a, over)),
        laid(lambda a: ev.device_put(a, over)),
        [spec_of(ev.jit(lambda a: a, **{k + "_shardings": over})(whole)) for k in ("in", "out")],
        ev.ShapeDtypeStruct((8, 8), "float32", sharding=over).sharding is over,
    ]
found
""",
        str([["P('y',)"] * 3] * 3 + [["P('y',)"] * 2, True]),
    ),
    "device_put in jit": ("spec_of(ev.jit(lambda a: ev.device_put(a, Y) + 1)(whole))", "P('y',)"),
    "in_shardings": (
        "spec_of(ev.jit(lambda a: a + 1, in_shardings=XY)(whole), whole + 1)",
        "P('x', 'y')",
    ),
    "in_shardings of one of two": (
        "spec_of(ev.jit(lambda a, b: a + b, in_shardings=(X, None))(whole, a), 2 * whole)",
        "P('x', 'y')",
    ),
    "out_shardings": (
        "[spec_of(x) for x in ev.jit(lambda a: (a, a.sum(0)), out_shardings=(Y, X))(a)]",
        "[\"P('y',)\", \"P('x',)\"]",
    ),
    "in_shardings and out_shardings take no Python where arguments lie so": (
        """
trees = {"in_shardings": ({"w": XY}, None), "out_shardings": {"w": X}}
step = ev.jit(lambda p, s: {"w": p["w"] * s}, **trees)
called = []
def python_of(*args):
    for _ in range(3): step(*args)
    sys.setprofile(lambda frame, event, arg: event == "call" and called.append(frame))
    try: out = step(*args)
    finally: sys.setprofile(None)
    kinds = len(called) > 0, spec_of(out["w"], args[1] * whole)
    called.clear()
    return kinds
from evertrace._src.extension import native
slow = native is None
fast = python_of({"w": a}, 2.0) == (slow, "P('x',)")
fast, python_of({"w": whole}, 2.0), python_of({"w": a}, 3.0) == (slow, "P('x',)")""",
        "(True, (True, \"P('x',)\"), True)",
    ),
    "what is committed elsewhere is refused after calls in C++": (
        """
f = ev.jit(lambda d: d["w"] + 1, in_shardings=({"w": XY},))
for _ in range(3): f({"w": a})
text_of(f, {"w": c})[:39], spec_of(f({"w": whole}), whole + 1), spec_of(f({"w": a}), whole + 1)""",
        """('ValueError: jit(<lambda>) in_shardings:', "P('x', 'y')", "P('x', 'y')")""",
    ),
    "an argument that lies as it should is the caller's, also what is written to it": (
        """
def note(d, x):
    d["seen"] = x.sum()
    return x * 2
f, d = ev.jit(note, in_shardings=(None, XY), out_shardings=X), {}
for _ in range(3): out = f(d, a)
spec_of(out, 2 * whole), float(d["seen"]) == float(whole.sum())""",
        """("P('x',)", True)""",
    ),
    "what is written to arguments whose arrays in_shardings lay out": (
        """
class Box:
    def __init__(self, w): self.w = w
ev.tree_util.register_pytree_node(Box, lambda b: ((b.w,), None), lambda _, c: Box(*c))
def step(d, l, box, x):
    d["seen"], d["w"] = x * 2, d["w"] + x
    l.append(l[0] * 2)
    box.w, box.count = box.w + 1, 7
    return d, d["same"]
f = ev.jit(step, in_shardings=(XY, XY, XY, None))
found = []
for _ in range(3):
    w, ones = jnp.asarray(whole), jnp.ones((8, 8))
    d, l, box = {"w": w, "same": ones}, [ones], Box(w)
    out, same = f(d, l, box, 1.0)
    known = [out is d, spec_of(same), spec_of(d["w"], whole + 1), spec_of(l[1]), spec_of(box.w)]
    found.append(str([*known, float(d["seen"]), box.count, len(l)]))
len(set(found)), found[0]""",
        str((1, str([True, *["P('x', 'y')"] * 4, 2.0, 7, 2]))),
    ),
    "shard_map takes specs of arrays that in_shardings lay out": (
        """
def double(d):
    d["w"] = ev.shard_map(lambda w: w * w.shape[0], mesh=mesh, out_specs=P("x"))(d["w"])
    return d["w"]
f = ev.jit(double, in_shardings=X)
[spec_of(f({"w": w}), 2 * whole) for w in (jnp.asarray(whole), c, jnp.asarray(whole))]""",
        str(["P('x',)"] * 3),
    ),
    "what is written to arguments that in_shardings lay out within a trace": (
        """
def note(d, x):
    d["seen"] = x.sum()
    return x
f = ev.jit(note, in_shardings=(XY, XY))
def outer(x): return f({"w": x}, x)
plain = ev.jit(lambda x: ev.jit(lambda d: d["w"] * 2, in_shardings=XY)({"w": x}))
with ev.disable_jit(): off = text_of(outer, whole)
text_of(ev.jit(outer), jnp.asarray(whole)), off[:31], spec_of(plain(whole))""",
        str(
            (
                "NotImplementedError: jit(note) in_shardings: the function changes argument 0, and "
                "here, where no call of `jit` begins, it is given a copy whose arrays are laid "
                "out: the change would be lost.",
                "NotImplementedError: jit(note) ",
                "P('x', 'y')",
            )
        ),
    ),
    "in_shardings of trees in transformations": (
        """
f = ev.jit(lambda d: (d["w"] ** 2).sum(), in_shardings=XY)
a_grad = ev.grad(lambda w: f({"w": w}))(whole)
with ev.strict(True): strict = float(f({"w": whole}))
spec_of(a_grad, 2 * whole), ev.vmap(lambda w: f({"w": w}))(whole[None]).shape, strict > 0""",
        "(\"P('x', 'y')\", (1,), True)",
    ),
    "one array that in_shardings lay out in two ways": (
        "w = jnp.ones((8, 8)); text_of(ev.jit(lambda d: d, in_shardings=((X, Y),)), (w, w))",
        "ValueError: jit(<lambda>) in_shardings: one array, float32[8, 8], is in two places of the "
        "arguments, and is to be laid out as P('x',) and as P('y',).",
    ),
    "out_shardings of results that are no arrays, or come from outside": (
        """
f = ev.jit(lambda x, n: (x, n * 2, v, 3.0), out_shardings=(X, None, Y, NamedSharding(mesh, P())))
x, n, w, three = f(a, 5)
spec_of(x, whole), int(n), spec_of(w), spec_of(three)""",
        """("P('x',)", 10, "P('y',)", 'P()')""",
    ),
    "out_shardings by every way to call": (
        """
g = ev.jit(lambda x: x.T, out_shardings=X)
ways = [g, ev.jit(lambda x: g(x)), lambda x: ev.vmap(g)(x[None])[0], ev.jit(g, engine="xla")]
with ev.disable_jit(): off = spec_of(g(a))
with ev.strict(True): strict = spec_of(g(a))
[off, strict, *[spec_of(f(a), whole.T) for f in ways], spec_of(g.lower(a).compile()(a))]""",
        str(["P('x',)"] * 7),
    ),
    "out_sharding of whatever takes one, eagerly and compiled": (
        """
e, rows = jnp.ones((8, 8)), jnp.arange(8)
dims = (((1,), (0,)), ((), ()))
takes = [
    lambda s: e.reshape(16, 4, out_sharding=s), lambda s: jnp.reshape(e, (16, 4), out_sharding=s),
    lambda s: e.ravel(out_sharding=s), lambda s: jnp.broadcast_to(e[0], (8, 8), out_sharding=s),
    lambda s: jnp.repeat(e, 2, 0, total_repeat_length=16, out_sharding=s),
    lambda s: jnp.matmul(e, e, out_sharding=s), lambda s: jnp.dot(e, e, out_sharding=s),
    lambda s: jnp.tensordot(e, e, 1, out_sharding=s), lambda s: jnp.arange(8, out_sharding=s),
    lambda s: jnp.einsum("ij,jk", e, e, out_sharding=s), lambda s: lax.dot(e, e, out_sharding=s),
    lambda s: lax.dot_general(e, e, dims, out_sharding=s), lambda s: jnp.ones(8, out_sharding=s),
    lambda s: lax.broadcast(e[0], (8,), out_sharding=s), lambda s: lax.full((8,), 1, sharding=s),
    lambda s: lax.broadcast_in_dim(e[0], (8, 8), (1,), out_sharding=s),
    lambda s: lax.broadcasted_iota("int32", (8, 8), 0, out_sharding=s),
    lambda s: lax.reduce_sum(e, (1,), out_sharding=s), lambda s: lax.full_like(e, 2.0, sharding=s),
    lambda s: lax.reshape(e, (16, 4), out_sharding=s), lambda s: e.at[rows].get(out_sharding=s),
    lambda s: e.at[rows].set(2.0, out_sharding=s), lambda s: e.at[0].add(1.0, out_sharding=s),
    lambda s: random.normal(random.key(0), (8,), out_sharding=s),
]
found = {spec_of(f(X), f(None)) for f in takes}
found |= {spec_of(ev.jit(f, static_argnums=0)(X)) for f in takes}
with ev.set_mesh(mesh): found |= {spec_of(f(P("x"))) for f in takes}
uneven, kind = lambda: jnp.dot(e[:6], e, out_sharding=X), lambda: jnp.ones(8, out_sharding=3)
found, text_of(uneven)[:55], text_of(kind)""",
        "({\"P('x',)\"}, \"ValueError: dot: P('x',) divides dimension 0 of an arra\", "
        "'TypeError: ones: an array is laid out by a sharding, got 3.')",
    ),
    "unreduced": (
        """
S = NamedSharding(mesh, P(unreduced={"x"}))
u = jnp.dot(jnp.ones((4, 8)), jnp.ones((8, 4)), out_sharding=S)
linear = [u + u, u - u, -u, u * 2, u.T, u.sum(0), u[0], u @ jnp.ones((4, 2))]
linear += [ev.jit(lambda u: u * 3)(u), ev.jit(ev.jit(lambda u: u.T))(u)]
whole_u = ev.sharding.reshard(u, Y)
in_jit = ev.jit(lambda a, b: ev.sharding.reshard(jnp.dot(a, b, out_sharding=S) * 2, X))
specs = {str(x.sharding.spec) for x in linear}
done = spec_of(whole_u, np.full((4, 4), 8)), spec_of(in_jit(np.ones((4, 8)), np.ones((8, 4))))
str(ev.typeof(u)), u.sharding.is_fully_replicated, specs, done""",
        "('float32[4,4]{U:x}', False, {\"P(unreduced={'x'})\"}, (\"P('y',)\", \"P('x',)\"))",
    ),
    "unreduced, where it is an error": (
        """
from evertrace.sharding import AxisType
u = ev.device_put(jnp.ones((4, 4)), NamedSharding(mesh, P(None, "y", unreduced={"x"})))
auto = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
bad = [jnp.sin, lambda u: u + 1, lambda u: u * u, ev.jit(jnp.sin),
       lambda u: P("x", unreduced={"x"}),
       lambda u: NamedSharding(mesh, P(unreduced={"z"})),
       lambda u: ev.device_put(u, NamedSharding(auto, P(unreduced={"x"})))]
"\\n".join(text_of(f, u) for f in bad)""",
        """\
ShardingTypeError: sin: operand 0, f32[4,4@y]{U:x}, is yet to be summed along 'x', and the \
operation is not linear in it alone.
ShardingTypeError: add: operand 0, f32[4,4@y]{U:x}, is yet to be summed along 'x', and the \
operation adds what is not.
ShardingTypeError: mul: operand 0, f32[4,4@y]{U:x}, is yet to be summed along 'x', and the \
operation is not linear in it alone.
ShardingTypeError: sin: operand 0, x: f32[4,4@y]{U:x}, is yet to be summed along 'x', and the \
operation is not linear in it alone.
ValueError: PartitionSpec: P('x', unreduced={'x'}) divides a dimension along 'x' and leaves a sum \
along it.
ValueError: NamedSharding: P(unreduced={'z'}) names the axis 'z', which is not among the axes \
('x', 'y') of the mesh.
ValueError: device_put: P(unreduced={'x'}) leaves a sum along the axis 'x', which is not explicit: \
types say nothing of it.""",
    ),
    "specs for the mesh in force": (
        """
with ev.set_mesh(mesh):
    out = ev.jit(lambda a: a.T, in_shardings=P("x"), out_shardings=P("y"))(whole)
spec_of(out, whole.T)""",
        "P('y',)",
    ),
    "a method": (
        """
class Model:
    scale = 2.0
    @ev.jit
    def plain(self, a): return a * self.scale
    placed = ev.jit(lambda self, a: a * self.scale, out_shardings=Y)
m = Model(); first = m.placed(a); m.scale = 3.0
spec_of(first, 2 * whole), spec_of(m.placed(a), 3 * whole), spec_of(m.plain(a), 3 * whole)""",
        """("P('y',)", "P('y',)", "P('x', 'y')")""",
    ),
    "shard_map": (
        "spec_of(ev.shard_map(lambda a: a * 2, mesh=mesh, in_specs=P('x'), out_specs=P('x'))(c))",
        "P('x',)",
    ),
    "shard_map in jit": (
        "f = ev.shard_map(lambda a: a * 2, mesh=mesh, in_specs=P('x'), out_specs=P('x'))\n"
        "spec_of(ev.jit(f)(c), 2 * whole)",
        "P('x',)",
    ),
    "specs that arrays say": (
        """
f = ev.shard_map(lambda v: lax.psum(v.sum(), "x"), mesh=mesh, out_specs=P())
by_jit, whole_v = ev.jit(f), jnp.arange(8.0)
[float(g(x)) for g in (f, by_jit, ev.jit(lambda v: f(2 * v))) for x in (v, whole_v, v)], \
by_jit.cache_info().misses, ev.jit(ev.grad(f))(v).tolist()""",
        "([28.0, 112.0, 28.0, 28.0, 112.0, 28.0, 56.0, 224.0, 56.0], 2, " + str([1.0] * 8) + ")",
    ),
    "what a constraint says": (
        "f = ev.shard_map(lambda v: lax.psum(v.sum(), 'x'), mesh=mesh, out_specs=P())\n"
        "ev.jit(lambda v: f(lax.with_sharding_constraint(v, X)))(np.ones(8, np.float32)).tolist()",
        "8.0",
    ),
    "types": (
        "str(ev.typeof(a)), ev.typeof(c).sharding.spec, "
        "ev.typeof(whole).sharding.spec, ev.typeof(whole).sharding.mesh.empty, "
        "ev.typeof(a) == ev.typeof(a + 1)",
        "('float32[8@x,8@y]', P('x', None), P(None, None), True, True)",
    ),
    "types in jit": (
        """
seen, pad = [], lambda x: str(ev.typeof(x))
@ev.jit
def f(x):
    y = x.T + 1
    seen.append((pad(x), pad(y), pad(y.sum(0))))
    return y
with ev.set_mesh(mesh):
    f(a), f(c)
seen""",
        "[('float32[8@x,8@y]', 'float32[8@y,8@x]', 'float32[8@x]'), "
        "('float32[8@x,8]', 'float32[8,8@x]', 'float32[8@x]')]",
    ),
    "pickled": (
        "[spec_of(pickle.loads(pickle.dumps(a, p)), whole) for p in range(6)]",
        str(["P('x', 'y')"] * 6),
    ),
    "pickled keys": (
        "keys = ev.device_put(random.split(random.key(0), 8), X)\n"
        "str(pickle.loads(pickle.dumps(keys)).sharding.spec)",
        "P('x',)",
    ),
    "pickled specs": (
        "spec = P(('x', 'y'), None, P.UNCONSTRAINED, reduced={'z'}); "
        "pickle.loads(pickle.dumps(spec)) == spec == copy.deepcopy(spec)",
        "True",
    ),
    "copied": (
        "spec_of(copy.deepcopy(a), whole), copy.deepcopy(one).sharding == one.sharding",
        "(\"P('x', 'y')\", True)",
    ),
    "parts of slices": (
        "[spec_of(x) for x in (a[:4], a[::2], a[1:], jnp.pad(a, ((0, 8), (0, 0))))]",
        "[\"P('x', 'y')\", \"P('x', 'y')\", \"P(None, 'y')\", \"P('x', 'y')\"]",
    ),
    "parts that wrap around": (
        "[spec_of(jnp.roll(a, *by), np.roll(whole, *by)) for by in ((1, 0), (-3, 1), (1,))]",
        "[\"P('x', 'y')\", \"P('x', 'y')\", \"P('x',)\"]",
    ),
    "indices that lie elsewhere": (
        "i = ev.device_put(np.argsort(-whole, 1), XY); flipped = whole[:, ::-1]\n"
        "[spec_of(f(a, i, 1), flipped) for f in (jnp.take_along_axis, "
        "ev.jit(jnp.take_along_axis, static_argnums=2))]",
        "[\"P('x', 'y')\", \"P('x', 'y')\"]",
    ),
    "donated twice": (
        "ev.jit(lambda a, b: a + b, donate_argnums=0)(*[put((4,))] * 2).tolist()",
        "[0.0, 2.0, 4.0, 6.0]",
    ),
    "operands divided along different axes": (
        "text_of(lambda: c + put((8, 8), 'y'))",
        "ShardingTypeError: add: operand 0, f32[8@x,8], is divided along 'x' in dimension 0, and "
        "operand 1, f32[8@y,8], along 'y' in dimension 0, which go together.",
    ),
    "operands divided along different axes, in jit": (
        "text_of(ev.jit(lambda a: jnp.sin(a) @ a), a)[:85]",
        "ShardingTypeError: dot_general: operand 0, f32[8@x,8@y], is divided along 'y' in dime",
    ),
    "what the error draws": (
        """
try: out = c + put((8, 8), "y")
except ValueError as error: out = str(error).split("\\n")[1:11]
"\\n".join(out)""",
        """\
    operand 0  operand 1
    +----+     +----+
    | x0 |     | y0 |
    +----+     +----+
    | x1 |     | y1 |
    +----+     +----+
    | x2 |
    +----+
    | x3 |
    +----+""",
    ),
    "two meshes": (
        """
turned = NamedSharding(ev.make_mesh((2, 4), ("x", "y")), P("x"))
[text_of(f, c, ev.device_put(whole, turned)) for f in (jnp.add, ev.jit(jnp.add)) for _ in range(3)]
""",
        str(
            [
                f"ShardingTypeError: {where}: {one} is laid out over Mesh('x': 4, 'y': 2, "
                f"axis_types=(Explicit, Explicit)), {other} over Mesh('x': 2, 'y': 4, "
                "axis_types=(Explicit, Explicit)): axes of two meshes cannot go together."
                for where, one, other in [("add", "operand 0", "operand 1")] * 3
                + [("jit(add)", "x", "y")] * 3
            ]
        ),
    ),
    "two meshes that are left to the compiler": (
        """
auto = (ev.sharding.AxisType.Auto,) * 2
meshes = [ev.make_mesh(n, tuple(names), auto) for n, names in (((4, 2), "xy"), ((2, 4), "ab"))]
b, d = [ev.device_put(whole, NamedSharding(m, P(m.axis_names[0]))) for m in meshes]
add = ev.jit(jnp.add)
[spec_of(f(*pair), 2 * whole) for f in (jnp.add, add, add) for pair in ((b, d), (d, b))]""",
        str(["P('x',)", "P('a',)"] * 3),
    ),
    "another tree": (
        """
trees = {"in_shardings": ({"b": X},)}, {"out_shardings": {"b": X}}
by_jit = [ev.jit(lambda t: t, **given) for given in trees]
[text_of(f, {"a": whole}) for f in (lambda t: ev.device_put(t, {"b": X}), *by_jit)]""",
        str(
            [
                f"ValueError: {where} is not a tree prefix of the value at {place}: it has a node "
                "of type dict with keys ['b'], the value a node of type dict with keys ['a'] "
                "(keys not in both: ['b', 'a'])."
                for where, place in (
                    ("device_put device", "the root"),
                    ("jit(<lambda>) in_shardings", "[0][0]"),
                    ("jit(<lambda>) out_shardings", "the root"),
                )
            ]
        ),
    ),
    "a device that is not there": (
        "text_of(lambda: ev.make_mesh((16,), 'x')), text_of(lambda: ev.devices('tpu'))",
        str(
            (
                "ValueError: make_mesh: axes of sizes (16,) need 16 devices, and there are 8.",
                "RuntimeError: Unknown backend tpu: the available platforms are cpu.",
            )
        ),
    ),
    "axes that are left to the compiler": (
        "auto = ev.make_mesh((4, 2), ('x', 'y'), axis_types=(ev.sharding.AxisType.Auto,) * 2)\n"
        "b = [ev.device_put(whole, NamedSharding(auto, P(s))) for s in 'xy']\n"
        "spec_of(b[0] + b[1], 2 * whole)",
        "P()",
    ),
    "compiled ahead of time": (
        """
s = ev.ShapeDtypeStruct((8, 8), "float32", sharding=X)
def facts(*args, **options):
    f = ev.jit(lambda a, b: (a + b, a.T), **options).lower(*args).compile()
    both = ev.tree.leaves(f.input_shardings), ev.tree.leaves(f.output_shardings)
    ins, outs = ([x.spec for x in side] for side in both)
    assert f.output_formats[0].sharding == f.output_shardings[0]
    return ins + outs + [spec_of(x, w) for x, w in zip(f(c, whole), (2 * whole, whole.T))]
engines = [dict(engine=e) for e in ("auto", "xla", "spmd")]
shown = [facts(*args, **engine) for args in ((c, whole), (s, whole)) for engine in engines]
shown += [facts(whole, whole, in_shardings=(X, None), out_shardings=(Y, None), engine="spmd")]
len({str(x) for x in shown[:-1]}), shown[0], shown[-1]""",
        "(1, [P('x',), P(), P('x',), P(None, 'x'), \"P('x',)\", \"P(None, 'x')\"], "
        "[P('x',), P(), P('y',), P(None, 'x'), \"P('y',)\", \"P(None, 'x')\"])",
    ),
    "compiled for the parts of an array": (
        "ev.jit(jnp.sin, engine='spmd').lower(a).compile().memory_analysis()"
        ".argument_size_in_bytes",
        str(64 * 4 // 8),
    ),
    "compiled for another place": (
        "f = ev.jit(lambda a, b: a + b['c']).lower(a, {'c': a}).compile()\n"
        "there = {'c': ev.device_put(c, ev.devices()[1])}\n"
        "[text_of(f, *args) for args in ((c, {'c': a}), (a, there))]",
        str(
            [
                f"ValueError: jit(<lambda>) compiled: {name} of shape (8, 8) is committed to "
                f"{place}, and P('x', 'y') was asked for."
                for name, place in (
                    ("a", "P('x',)"),
                    (
                        "b['c']",
                        "SingleDeviceSharding(device=CpuDevice(id=1), memory_kind=device)",
                    ),
                )
            ]
        ),
    ),
    "two devices": (
        "text_of(lambda: one + two)",
        "ValueError: add: operand 0 is committed to cpu:1, operand 1 to cpu:2.",
    ),
    "one device and a mesh": (
        "text_of(lambda: v + ev.device_put(jnp.ones(8), ev.devices()[0]))",
        "ValueError: add: operand 0 is committed to 8 devices, cpu:0 to cpu:7, operand 1 to cpu:0.",
    ),
    "two devices in jit": (
        "text_of(ev.jit(jnp.add), v, one[0])",
        "ValueError: jit(add): x is committed to 8 devices, cpu:0 to cpu:7, y to cpu:1.",
    ),
    "another place than in_shardings": (
        "text_of(ev.jit(jnp.sin, in_shardings=Y), a)",
        "ValueError: jit(sin) in_shardings: x of shape (8, 8) is "
        "committed to P('x', 'y'), and P('y',) was asked for.",
    ),
    "a size that does not divide": (
        "text_of(ev.jit(jnp.sin, out_shardings=X), jnp.ones(6))",
        "ValueError: jit(sin) out_shardings: P('x',) divides dimension 0 of an array of shape (6,) "
        "into 4 parts, and its size 6 is no multiple of that.",
    ),
}


@pytest.fixture(scope="module")
def shown():
    """What the cases show, by name."""
    runner = """
for name, text in json.loads(sys.stdin.read()).items():
    *before, last = text.strip().split("\\n")
    *more, last = last.split("; ") if "\\n" not in text else [last]
    exec("\\n".join([*before, *more]), globals())
    try:
        out = str(eval(last, globals()))
    except Exception as error:
        out = "raised " + repr(error)
    print(json.dumps([name, out]))
"""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + runner],
        input=json.dumps({name: text for name, (text, _) in CASES.items()}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_arrays_stay_where_they_are_put(shown, name):
    assert shown[name] == CASES[name][1]
