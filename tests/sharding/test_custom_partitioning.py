"""Functions of which users say how devices share them, simulated and divided."""

import json
import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)

pytestmark = pytest.mark.engine

PROGRAM = """
import json
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental.custom_partitioning import custom_partitioning
from evertrace.sharding import AxisType, NamedSharding, PartitionSpec as P

ev.config.update("num_cpu_devices", 8)
mesh = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
seen = []

def rows(x, w, power):
    return {"total": x.sum(1) ** power, "y": x @ w}

def partition(power, mesh, arg_shapes, result_shape):
    spec, proposed = arg_shapes[0].sharding.spec, result_shape["y"].sharding.spec
    seen.append([power, str(spec), str(proposed), list(result_shape["y"].shape)])
    row, half = NamedSharding(mesh, P("x")), NamedSharding(mesh, P("x", "y"))
    def lower(x, w):
        seen.append([list(x.shape), list(w.shape)])
        return {"total": lax.psum(x.sum(1), "y") ** power, "y": lax.psum(x @ w, "y")}
    return mesh, lower, {"y": row, "total": row}, (half, NamedSharding(mesh, P("y")))

def put(x, *spec):
    return ev.device_put(np.asarray(x, np.float32), NamedSharding(mesh, P(*spec)))

def infer(power, mesh, arg_shapes, result_shape):
    return {"total": None, "y": P("y")}

whole, w = np.arange(64).reshape(8, 8), np.eye(8)[:, :4]
x, columns = put(whole, "x"), put(w, None, "y")
found = {}
for name, rules in {
    "rule": dict(sharding_rule="i j, j k -> i, i k"),
    "infer": dict(infer_sharding_from_operands=infer),
    "neither": {},
}.items():
    shared = custom_partitioning(rows, static_argnums=2)
    shared.def_partition(partition, **rules)
    calls = {
        "eager": shared,
        "jit": ev.jit(shared, static_argnums=2),
        "xla": ev.jit(shared, static_argnums=2, engine="xla"),
        "spmd": ev.jit(shared, static_argnums=2, engine="spmd"),
        "nested": ev.jit(lambda x, w, n: ev.jit(shared, static_argnums=2)(x * 1, w, n),
                         engine="spmd", static_argnums=2),
    }
    for way, f in calls.items():
        seen.clear()
        out = f(x, columns, 2)
        np.testing.assert_allclose(out["y"], whole @ w)
        np.testing.assert_allclose(out["total"], whole.sum(1) ** 2)
        specs = [str(out[k].sharding.spec) for k in ("total", "y")]
        parts = [s for s in seen if len(s) == 2]
        found[f"{name} {way}"] = [specs, [s for s in seen if len(s) == 4][0], parts]
loops = ev.jit(lambda x, w: lax.scan(lambda c, _: (c + shared(c, w, 1)["total"][:, None], None),
                                     x, None, length=2)[0], engine="spmd")
c = whole.astype(np.float32)
for _ in range(2):
    c = c + c.sum(1)[:, None]
np.testing.assert_allclose(loops(x, columns), c)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def shown():
    """What each way to call it gives: specs of results, what the user was told, the parts."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("rules", "proposed"), [("rule", "P('x', 'y')"), ("infer", "P('y',)"), ("neither", "P()")]
)
@pytest.mark.parametrize("way", ["eager", "jit", "xla", "spmd", "nested"])
def test_devices_share_as_the_user_says(shown, rules, proposed, way):
    specs, told, parts = shown[f"{rules} {way}"]
    assert specs == ["P('x',)", "P('x',)"]
    assert told == [2, "P('x',)", proposed, [8, 4]]
    divided = way in ("spmd", "nested")
    assert parts == ([[[2, 4], [4, 4]]] if divided else [])


@pytest.fixture
def double():
    f = custom_partitioning(lambda x: {"y": 2 * x})

    def partition(mesh, arg_shapes, result_shape):
        return mesh, lambda x: {"y": x + x}, result_shape["y"].sharding, (arg_shapes[0].sharding,)

    f.def_partition(partition, sharding_rule="... -> ...")
    return f


def test_it_has_derivatives_and_batches(double):
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(ev.grad(lambda x: (double(x)["y"] ** 2).sum())(x), 8 * x)
    np.testing.assert_array_equal(
        ev.jit(ev.vmap(double))(jnp.ones((2, 3)))["y"], np.full((2, 3), 2)
    )
    tangent = ev.jvp(double, (x,), (x,))[1]["y"]
    np.testing.assert_array_equal(tangent, 2 * x)


def test_it_captures_arrays_and_numbers():
    scale = jnp.full(3, 2.0)

    @ev.jit
    def f(x, n):
        g = custom_partitioning(lambda x: x * scale * n)
        g.def_partition(lambda mesh, args, out: (mesh, lambda x: x, None, None))
        return g(x)

    for n in (1, 3):
        np.testing.assert_array_equal(f(jnp.ones(3), n), np.full(3, 2.0 * n))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("i j k", "'i j k' has no arrow between operands and results"),
        ("i ? -> i", r"'i \? -> i' cannot be read at '\?'"),
        ("i j, k -> i", "has 2 operands, and there are 1"),
        ("i j k -> i", "has 3 dimensions for an array of 2"),
    ],
)
def test_bad_rules(rule, text):
    f = custom_partitioning(lambda x: x.sum(1))

    def call():
        sharding = ev.NamedSharding(ev.make_mesh((4,), ("x",)), ev.P("x"))
        f.def_partition(lambda mesh, a, r: (mesh, lambda x: x, None, None), sharding_rule=rule)
        f(ev.device_put(np.ones((4, 4), "f"), sharding))

    with ev.simulate_devices(4), pytest.raises(ValueError, match=f"sharding rule {text}"):
        call()


def test_bad_calls(double):
    with pytest.raises(ValueError, match="nothing is known yet of how devices share it"):
        custom_partitioning(jnp.sin)(jnp.ones(3))
    with pytest.raises(NotImplementedError, match="decode_shardings=False is not supported"):
        double.def_partition(lambda *args: None, decode_shardings=False)
    with pytest.raises(TypeError, match="custom_partitioning: expected a function, got"):
        custom_partitioning(3)


def test_rules_are_texts_or_data():
    rule = SdyShardingRule(
        (ArrayMapping(BATCHING, CompoundFactor("i", "j"), None),),
        (ArrayMapping(BATCHING, "i"),),
        j=2,
    )
    assert repr(rule) == (
        "SdyShardingRule((ArrayMapping('...', CompoundFactor('i', 'j'), None),), "
        "(ArrayMapping('...', 'i'),), j=2)"
    )
    assert str(rule.without({"j"}).operand_mappings[0]) == "ArrayMapping('...', None, None)"
    avals = [ev.ShapeDtypeStruct(shape, "float32") for shape in ((5, 6, 2), (5, 3))]
    factors = rule.factors("f", avals[:1], avals[1:])
    assert factors.operands == (((("...", 0),), ("i", "j"), ()),)
    assert factors.results == (((("...", 0),), ("i",)),)
    assert factors.sizes == (("j", 2),)
