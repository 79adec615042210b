"""The spmd engine: programs divided by XLA's partitioner give what the simulated ones give.

All programs run in one process of their own, in which there are eight devices.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sharding import test_divisions, test_maps

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    *[f"shard_map: {name}" for name in test_maps.CASES],
    *[f"division: {name}" for name in test_divisions.CASES],
]


def lines_of(*arguments):
    """Run a process; returns its lines as a dict."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def both():
    """What the programs of `both_ways` give, by name."""
    return lines_of("-m", "tests.sharding.both_ways")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_divided_program_gives_the_simulated_ones_results(both, name):
    found = both[name]
    assert type(found) is dict, found
    assert found["same"]
    assert found["specs"][0] == found["specs"][1]
    where = "cpu:0" if name == "division: no factors" else "8 devices (x: 4, y: 2)"
    assert set(found["places"]) == {where}


PRELUDE = """
import json, sys
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src.engines.xla import spread
from evertrace.sharding import Mesh, NamedSharding, PartitionSpec as P

ev.config.update("num_cpu_devices", 8)
mesh = ev.make_mesh((4, 2), ("x", "y"))
def put(shape, *spec, mesh=mesh):
    whole = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return ev.device_put(whole, NamedSharding(mesh, P(*spec)))
def jit(f, **options):
    return ev.jit(f, engine="spmd", **options)
def program(f):
    return f._contract.variants.all()[0].program
def partition(f):
    (found,) = program(f).executables.values()
    return found
def parts(x):
    return [np.asarray(s.data).tolist() for s in x.addressable_shards]
def text_of(fun, *args):
    try:
        return fun(*args)
    except Exception as error:
        return f"{type(error).__name__}: " + str(error).split("\\n")[0]
def door(*args):
    return text_of(partition(add).run, args)
a, v = put((8, 8), "x", "y"), put((8,), "x")
X, Y = (NamedSharding(mesh, P(name)) for name in "xy")
add = jit(lambda a, b: a + b, donate_argnums=0)
add(put((8,), "x"), put((8,), "x"))
def spreads(*specs, dtype=np.float32, mesh=mesh, shape=(8,)):
    made = [NamedSharding(mesh, P(*spec)) for spec in specs]
    layouts = [spread.layout_of(s, s.division(1)) for s in made]
    host = np.arange(8).astype(dtype).reshape(shape)
    return [spread.put(host, jnp.asarray(host).aval, layout) for layout in layouts]
"""

# name: (program whose last expression is shown, what it shows)
CASES = {
    "the devices compute parts": (
        "f = jit(lambda a: (a @ a.T).sum(0)); f(a); 'all-reduce' in partition(f).text()",
        "True",
    ),
    "what is asked for": (
        "f = jit(jnp.sin); f(v); 'spmd on 8 devices (x: 4, y: 2), for that is asked for' in "
        "str(f.explain())",
        "True",
    ),
    "parts": (
        "f = jit(lambda v: v + 1); parts(f(v))[:4]",
        "[[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]]",
    ),
    "devices in another order": (
        """
turned = Mesh(np.array(ev.devices())[::-1].reshape(4, 2), ("x", "y"))
w = jit(lambda v: lax.with_sharding_constraint(v * 2, NamedSharding(turned, P("y"))))(
    put((8,), "x", mesh=turned))
w.tolist() == [2 * i for i in range(8)], parts(w)[0], str(w.addressable_shards[0].device)""",
        "(True, [0.0, 2.0, 4.0, 6.0], 'cpu:7')",
    ),
    "one program for each division": (
        "f = jit(lambda a: jnp.sin(a) + 1)\nf(a), f(put((8, 8), 'y')), f(a)\n"
        "len(program(f).executables), f.cache_info().misses",
        "(2, 1)",
    ),
    "parts stay on their devices": (
        "f = jit(lambda v: v * 2); w = f(f(v)); type(w._buffer).__name__, w._host, w.tolist()[7]",
        "('Spread', None, 28.0)",
    ),
    "parts go into eager operations and other programs": (
        "w = jit(lambda v: v * 2)(v)\n[x.tolist()[7] for x in (w + 1, ev.jit(lambda w: w + 1)(w), "
        "ev.jit(lambda w: w + 1, engine='xla')(w))], str((w + 1).sharding.spec)",
        "([15.0, 15.0, 15.0], \"P('x',)\")",
    ),
    "without a mesh it is one device's": (
        "f = jit(lambda x: x * 3); f(jnp.ones(3)); list(map(str, program(f).executables))",
        "['cpu:0']",
    ),
    "numbers and NumPy arrays are copied to all": (
        "jit(lambda v, n, k: v * n + k)(v, 2, np.ones(8, np.float32)).tolist()[7]",
        "15.0",
    ),
    "in_shardings and out_shardings": (
        "f = jit(lambda a: a.T * 2, in_shardings=X, out_shardings=Y)\n"
        "w = f(np.ones((8, 8), np.float32)); str(w.sharding.spec), len(w.addressable_shards)",
        "(\"P('y',)\", 8)",
    ),
    "keys and words": (
        """
def words(v):
    return random.bits(random.fold_in(random.key(3), 7), (8, 4)) + v.astype("uint32")[:, None]
np.array_equal(jit(words)(v), ev.jit(words)(v))""",
        "True",
    ),
    "keys that are divided": (
        """
keys = ev.device_put(random.split(random.key(0), 8), X)
f = ev.vmap(lambda k: random.bits(k, (2,)))
np.array_equal(jit(f)(keys), ev.jit(f)(keys)), str(jit(f)(keys).sharding.spec)""",
        "(True, \"P('x',)\")",
    ),
    "gradients": (
        "f = ev.grad(lambda a: (jnp.tanh(a / 64) ** 2).sum())\n"
        "bool(jnp.allclose(jit(f)(a), ev.jit(f)(a), rtol=1e-5)), str(jit(f)(a).sharding.spec)",
        "(True, \"P('x', 'y')\")",
    ),
    "state": (
        """
class Counter: total = jnp.zeros(8)
c = Counter()
@jit
def step(v):
    c.total = c.total + v
    return c.total.sum()
step(v), step(v)
c.total.tolist()[7], float(step(v))""",
        "(14.0, 84.0)",
    ),
    "donated": (
        "x, y = put((8,), 'x'), put((8,), 'x'); z = add(x, y)\n"
        "x.is_deleted(), y.is_deleted(), z.tolist()[7], add(z, y).tolist()[7], z.is_deleted()",
        "(True, False, 14.0, 21.0, True)",
    ),
    "donated and passed twice": (
        "x = put((8,), 'x'); add(x, x).tolist()[7], x.is_deleted()",
        "(14.0, True)",
    ),
    "parts donated and passed twice": (
        "x = jit(lambda v: v + 0)(v); add(x, x).tolist()[7], x.is_deleted()",
        "(14.0, True)",
    ),
    "donated before": (
        "x, y = put((8,), 'x'), put((8,), 'x'); add(x, y); text_of(add, x, y)",
        "DeletedArrayError: Array: the array of type f32[8] has been deleted or donated to a call.",
    ),
    "matrices of a stack are decomposed where they lie": (
        """
m = put((4, 2, 3, 3), "x", "y") % 7 + 9 * np.eye(3, dtype=np.float32)
L = lax.linalg
spd = m @ m.mT
names = "lu eig schur hessenberg cholesky eigh tridiagonal qr svd inv solve".split()
tasks = [(name, getattr(L, name, None) or getattr(jnp.linalg, name)) for name in names]
def gathers(name, f):
    x = (spd,) * (2 if name == "solve" else 1)
    f = jit(f)
    ours, whole = ev.tree.leaves(f(*x)), ev.tree.leaves(ev.jit(f.__wrapped__)(*x))
    same = [np.allclose(p, q, 1e-4, 1e-4) for p, q in zip(ours, whole, strict=True)]
    text = partition(f).text()
    return "custom_call_target" not in text or "all-gather" in text or not all(same)
[name for name, f in tasks if gathers(name, f)]""",
        "[]",
    ),
    "another mesh in a constraint": (
        "other = NamedSharding(ev.make_mesh((8,), ('z',)), P('z'))\n"
        "text_of(jit(lambda v: lax.with_sharding_constraint(v, other)), v)[:77]",
        "ValueError: with_sharding_constraint: NamedSharding(mesh=Mesh('z': 8, axis_ty",
    ),
    "door: right": ("[x.aval.shape for x in door(*spreads(['x'], ['x']))]", "[(8,)]"),
    "door: too few": (
        "door(*spreads(['x']))",
        "ValueError: <lambda>: the program for 1 arrays on several devices cannot be started: "
        "takes 2 arrays, and 1 are passed.",
    ),
    "door: no spread array": (
        "door(v, v).split(': ')[-1]",
        "argument 0 is no array on several devices.",
    ),
    "door: another division": (
        "door(*spreads(['x'], ['y'])).split(': ')[-1]",
        "argument 1 has to be divided as (('x',),), and is as (('y',),).",
    ),
    "door: another order of devices": (
        "turned = Mesh(np.array(ev.devices())[::-1].reshape(4, 2), ('x', 'y'))\n"
        "door(*spreads(['x'], ['x'], mesh=turned)).split(': ')[-1]",
        "argument 0 lies on other devices, or on these in another order.",
    ),
    "door: another dtype of as many bytes": (
        "door(*spreads(['x'], ['x'], dtype=np.int32)).split(': ')[-1]",
        "argument 0 has to be f32[8], and is i32[8].",
    ),
    "door: donated twice": (
        "x, = spreads(['x']); door(x, x).split(': ')[-1]",
        "argument 0 is donated, and passed twice.",
    ),
    "door: donated before": (
        "x, y = spreads(['x'], ['x']); door(x, y); door(x, y)",
        "DeletedArrayError: <lambda>: argument 0, f32[8], has been donated or deleted before.",
    ),
}
RUNNER = """
for name, text in json.loads(sys.argv[1]).items():
    *before, last = text.strip().split("\\n")
    *more, last = last.split("; ")
    try:
        exec("\\n".join([*before, *more]), globals())
        out = str(eval(last, globals()))
    except Exception as error:
        out = "raised " + repr(error)
    print(json.dumps([name, out]))
"""


@pytest.fixture(scope="module")
def shown():
    """What the cases show, by name."""
    texts = {name: text for name, (text, _) in CASES.items()}
    return lines_of("-c", PRELUDE + RUNNER, json.dumps(texts))


@pytest.mark.parametrize("name", CASES)
def test_what_is_divided_among_devices(shown, name):
    assert shown[name] == CASES[name][1]
