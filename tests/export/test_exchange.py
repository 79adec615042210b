"""Programs of JAX run here, and evertrace's run in JAX: recorded bytes, and asked anew."""

import base64

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export
from evertrace._src import dims
from evertrace._src.export import jax_format
from tests.export import exchange, exchanged
from tests.export.exchange import EXCHANGED

exchange.register(ev)
RECORDED = exchanged.recorded()
RUN_HERE = [name for name in EXCHANGED if RECORDED[name]["error"] is None]
WRITTEN = [name for name in RUN_HERE if EXCHANGED[name].only_by != "jax"]


def assert_results(found, name):
    want = RECORDED[name]["results"]
    for got, wanted in zip(found, want, strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        if got.dtype.kind in "biu" or "int" in got.dtype.name:
            np.testing.assert_array_equal(got, wanted)
        else:
            wide = got.astype("complex64"), wanted.astype("complex64")
            np.testing.assert_allclose(*wide, rtol=2e-5, atol=2e-5)


def test_all_programs_are_recorded():
    assert list(RECORDED) == list(EXCHANGED)


@pytest.mark.parametrize("name", RUN_HERE)
def test_programs_of_jax_compute_here_what_they_compute_there(name):
    again = export.deserialize(RECORDED[name]["jax"])
    assert_results(exchange.results(ev, again, EXCHANGED[name]), name)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_jax_has_read_is_read_here(name):
    again = export.deserialize(RECORDED[name]["ours"])
    assert_results(exchange.results(ev, again, EXCHANGED[name]), name)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_now_says_what_jax_has_read(name):
    program = EXCHANGED[name]
    blob = exchange.exported(ev, program).serialize(vjp_order=program.vjp, format="jax")
    now, then = jax_format.unpack(bytes(blob))[0], jax_format.unpack(RECORDED[name]["ours"])[0]
    assert now == then
    theirs = jax_format.unpack(RECORDED[name]["jax"])[0]
    for order, (ours, jax) in enumerate(zip(now, theirs, strict=True)):
        if order == 0:
            assert (ours["in_tree"], ours["name"]) == (jax["in_tree"], jax["name"])
        assert ours["platforms"] == jax["platforms"]
        assert ours["jax"]["ins"] == jax["jax"]["ins"]
        assert _parsed(ours["jax"]["outs"]) == _parsed(jax["jax"]["outs"])


def _parsed(avals):
    """Types with sizes as they are for some numbers: `- floordiv(- b, 2)` is another text."""
    scope, known = export.SymbolicScope(), {"b": 7, "c": 11}
    return [
        [[dims.evaluate(scope.parsed(str(n)), known) for n in shape], *rest]
        for shape, *rest in avals
    ]


def test_jax_exports_what_is_recorded_and_runs_what_is_written_now():
    blobs = {
        name: bytes(exchange.exported(ev, p).serialize(vjp_order=p.vjp, format="jax"))
        for name, p in EXCHANGED.items()
        if name in WRITTEN
    }
    answer = exchanged.ask_jax(list(RUN_HERE), blobs)
    if answer is None:
        pytest.skip("JAX with flatbuffers is not installed; see tests/oracle/requirements.txt")
    for name, found in answer["run"].items():
        assert not isinstance(found, str), f"{name}: {found}"
        assert_results(found, name)
    for name, (blob, found) in answer["export"].items():
        assert_results(found, name)
        assert jax_format.unpack(blob)[0] == jax_format.unpack(RECORDED[name]["jax"])[0]


def again(name):
    return export.deserialize(RECORDED[name]["jax"])


X = np.linspace(-1, 1, 4, dtype="float32")
M = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


def test_what_an_exported_function_of_jax_knows():
    found = again("integers")
    assert found.platforms == ("cpu",)
    assert found.calling_convention_version in jax_format.CALLING_CONVENTIONS
    assert [a.str_short() for a in found.in_avals] == ["f32[4]", "i32[3]"]
    assert found.in_tree == ev.tree.structure(((0, 0), {}))
    assert "stablehlo.sine" in found.mlir_module()
    assert (found.nr_devices, found.module_kept_var_idx) == (1, (0, 1))
    assert [a.str_short() for a in found.vjp().in_avals] == ["f32[4]", "i32[3]", "f32[4]"]
    assert [a.str_short() for a in found.vjp().out_avals] == ["f32[4]"]
    assert again("unused").module_kept_var_idx == (1,)
    assert str(again("sizes").in_avals) == "(ShapedArray(float32[b,4]), ShapedArray(float32[4,c]))"
    assert again("sizes").uses_global_constants
    assert again("two devices").nr_devices == 2
    assert "Written" in again("ordered effect").ordered_effects[0]


@pytest.mark.parametrize("name", ["integers", "product", "platforms", "nodes"])
def test_programs_of_jax_are_written_again_in_both_formats(name):
    program, found = EXCHANGED[name], again(name)
    for kind in ("evertrace", "jax"):
        blob = found.serialize(vjp_order=program.vjp, format=kind)
        assert_results(exchange.results(ev, export.deserialize(blob), program), name)
    blob = found.serialize(vjp_order=program.vjp, format="jax")
    assert jax_format.unpack(bytes(blob)) == jax_format.unpack(RECORDED[name]["jax"])


def test_calls_under_jit_of_several_sizes():
    found = again("product")
    f = ev.jit(lambda x: found.call(x).sum())
    for n in (2, 3, 5):
        x = np.ones((n, 4), "float32")
        np.testing.assert_allclose(f(x), (np.cumsum(x @ x.T, 0) + 1).sum())
    loop = ev.jit(lambda x: ev.lax.fori_loop(0, 3, lambda i, x: again("sin").call(x), x))
    np.testing.assert_allclose(loop(X), np.sin(np.sin(np.sin(X))), rtol=1e-6)


def test_derivatives_are_those_of_the_bytes():
    with pytest.raises(ValueError, match="was serialized without its derivative of this order"):
        ev.grad(lambda x: again("fft").call(x).sum())(X)
    with pytest.raises(TypeError, match="forward-mode"):
        ev.jvp(again("sin").call, (X,), (X,))
    with pytest.raises(NotImplementedError, match="cannot be batched by `vmap`"):
        ev.vmap(again("sin").call)(M)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        (
            "sin",
            (X[:3],),
            r"leaf 0 of the arguments of sin was exported as f32\[4\], and is called",
        ),
        ("sin", (X, X), "is called with PyTreeDef"),
        (
            "twice",
            (np.ones((3, 4), "float32"),),
            r"exported as 2\*b, which is 2 where b is 1 by dim",
        ),
        (
            "size",
            (np.ones((0, 4), "float32"),),
            "b is 0 by dimension 0 .* exported for sizes from 1",
        ),
        (
            "product",
            (M[:1],),
            r"a program of JAX's, cannot be made for these arguments: .* constraint b >= 2",
        ),
        ("tpu", (X,), "sin was exported for tpu, and is called on cpu"),
        ("unknown target", (X,), "<lambda> calls mine, which nobody has registered here for cpu"),
    ],
)
def test_calls_that_do_not_fit(name, args, message):
    with pytest.raises(ValueError, match=message):
        again(name).call(*args)


def test_shardings_are_those_of_a_mesh_of_as_many_devices():
    found = again("two devices")
    with ev.simulate_devices(2):
        mesh = ev.make_mesh((2,), ("x",), axis_types=(ev.sharding.AxisType.Auto,))
        place = ev.sharding.NamedSharding(mesh, ev.sharding.PartitionSpec("x"))
        assert found.in_shardings_jax(mesh) == (place,)
        x = ev.device_put(jnp.ones((4, 2)), place)
        np.testing.assert_array_equal(ev.jit(found.call)(x), [8, 8])
    with pytest.raises(ValueError, match="was exported for 2 devices, and is called on 1"):
        found.call(jnp.ones((4, 2)))


def test_effects_are_kept_in_their_order():
    found = again("ordered effect")
    closed = ev.make_jaxpr(lambda x: (found.call(x), ev.debug.print("{}", x))[0])(X)
    assert len(closed.effects) == 2
    unread = ev.make_jaxpr(ev.jit(lambda x: (found.call(x), x)[1]))(X)
    assert "call_exported" in str(unread)
    np.testing.assert_allclose(ev.jit(lambda x: found.call(found.call(x)))(X), X * 4)


def test_programs_within_others_of_symbolic_sizes():
    (c,) = export.symbolic_shape("c", constraints=("c >= 3",))
    spec = ev.ShapeDtypeStruct((c, 4), "float32")
    inner, ours = again("product"), export.export(ev.jit(lambda x: x[::-1]))(spec)
    outer = export.export(ev.jit(lambda x: ours.call(inner.call(x) @ x) + 1))(spec)
    want = ((np.cumsum(M @ M.T, 0) + 1) @ M)[::-1] + 1
    for kind in ("evertrace", "jax"):
        blob = outer.serialize(format=kind)
        np.testing.assert_allclose(export.deserialize(blob).call(M), want, rtol=1e-5)
    (b,) = export.symbolic_shape("b")
    with pytest.raises(ev.errors.InconclusiveDimensionOperation, match="b >= 3"):
        export.export(ev.jit(ours.call))(ev.ShapeDtypeStruct((b, 4), "float32"))


def test_what_jax_has_no_words_for():
    exported = export.export(ev.jit(lambda x: jnp.fft.fft(x, axis=0)))(
        ev.ShapeDtypeStruct(export.symbolic_shape("b, 4"), "float32")
    )
    with pytest.raises(
        NotImplementedError, match=r"does not have stablehlo.fft with a symbolic siz"
    ):
        exported.serialize(format="jax")
    exported = export.export(ev.jit(lambda x: x + 1))(ev.ShapeDtypeStruct((2,), "int2"))
    with pytest.raises(ValueError, match="array of dtype int2, which JAX's format does not have"):
        exported.serialize(format="jax")
    with pytest.raises(ValueError, match="format is 'flatbuffer'"):
        exported.serialize(format="flatbuffer")


def test_constraints_are_checked_where_the_program_is_made():
    exported = export.export(ev.jit(lambda x: x * 2))(
        ev.ShapeDtypeStruct(export.symbolic_shape("b, 4", constraints=("mod(b, 4) == 0",)), "int32")
    )
    found = export.deserialize(exported.serialize(format="jax"))
    np.testing.assert_array_equal(found.call(np.ones((8, 4), "int32")), np.full((8, 4), 2))
    with pytest.raises(ValueError, match=r"sizes where mod\(b, 4\) == 0, and is called with 3 and"):
        found.call(np.ones((7, 4), "int32"))


def test_verified_programs():
    assert export.deserialize(RECORDED["product"]["jax"], verify=True).has_vjp()


def test_nodes_that_nobody_has_registered():
    descriptions, programs = jax_format.unpack(RECORDED["nodes"]["jax"])
    point = descriptions[0]["in_tree"]["children"][0]["children"][0]
    assert base64.b64decode(point["aux"]) == b'["x", "y"]'
    for change, message in [
        ({"name": "nobody's"}, "nobody has registered \"?'?nobody"),
        ({"aux": base64.b64encode(b'["x"]').decode()}, r"was written with fields \('x',\)"),
        ({"aux": base64.b64encode(b"x,y").decode()}, "a node has the data b'x,y', which are no n"),
    ]:
        before = dict(point)
        point.update(change)
        blob = jax_format.pack(descriptions, programs)
        with pytest.raises(ValueError, match=message):
            export.deserialize(blob)
        point.update(before)
