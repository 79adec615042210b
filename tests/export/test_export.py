"""Exported functions: values, derivatives, platforms, and what cannot be exported."""

import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export, lax, random
from evertrace._src.export import container

X = np.linspace(-1, 2, 4, dtype=np.float32)
M = np.eye(3, dtype=np.float32) * 2 + 1
CAPTURED = jnp.arange(4.0)


def _export(fun, *args, **options):
    return export.export(ev.jit(fun), **options)(*args)


def _again(fun, *args, vjp_order=0, **options):
    """Export a function, and read it from the bytes."""
    return export.deserialize(_export(fun, *args, **options).serialize(vjp_order))


FUNCTIONS = {
    "captured array": (lambda x: x + CAPTURED, X),
    "captured booleans": (lambda x: jnp.where(CAPTURED > 1, x, 0), X),
    "trees": (lambda t: {"b": [t["a"], None], "c": (), "d": {}}, {"a": X}),
    "argument as it is": (lambda x: x, X),
    "no arguments": (lambda: CAPTURED * 2,),
    "nothing": (lambda x: None, X),
    "integers": (lambda x: x // 3, np.arange(-4, 4, dtype=np.int32)),
    "bfloat16": (lambda x: x.astype(jnp.bfloat16), X),
    "sort": (jnp.sort, X),
    "cumsum": (jnp.cumsum, X),
    "top_k": (lambda x: lax.top_k(x, 2), X),
    "searchsorted": (jnp.searchsorted, np.sort(X), X),
    "fft": (jnp.fft.fft, X),
    "inverse": (jnp.linalg.inv, M),
    "special": (ev.scipy.special.erfinv, X / 3),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2 + i, x), X),
    "branches": (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), X),
    "nested jit": (lambda x: ev.jit(jnp.sin)(x) + ev.jit(jnp.sin)(x + 1), X),
    "raw key": (lambda k: random.normal(k, (3,)), random.PRNGKey(0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bytes_compute_what_the_function_does(name):
    fun, *args = FUNCTIONS[name]
    found, want = _again(fun, *args).call(*args), ev.jit(fun)(*args)
    assert ev.tree.structure(found) == ev.tree.structure(want)
    for have, wanted in zip(ev.tree.leaves(found), ev.tree.leaves(want), strict=True):
        assert (have.dtype, have.shape) == (wanted.dtype, wanted.shape)
        exact = have.dtype.kind in "iub"
        rtol = 0 if exact else 1e-6  # kernels may round in another order than XLA
        np.testing.assert_allclose(
            np.asarray(have).astype(complex), np.asarray(wanted).astype(complex), rtol, rtol
        )


def test_typed_keys_pass():
    key = random.key(3)
    found = _again(random.split, key).call(key)
    np.testing.assert_array_equal(random.key_data(found), random.key_data(random.split(key)))


def test_what_an_exported_function_knows():
    exported = export.export(ev.jit(lambda x, *, n: {"y": x * n}))(X, n=np.int32(2))
    assert repr(exported) == "Exported(fun_name=<lambda>, ...)"
    assert [a.str_short() for a in exported.in_avals] == ["f32[4]", "i32[]"]
    assert [a.str_short() for a in exported.out_avals] == ["f32[4]"]
    assert exported.in_tree == ev.tree.structure(((0,), {"n": 0}))
    assert exported.out_tree == ev.tree.structure({"y": 0})
    assert exported.platforms == (export.default_export_platform(),)
    assert exported.nr_devices == 1
    assert exported.module_kept_var_idx == (0, 1)
    assert exported.in_shardings_jax(None) == (None, None)
    assert exported.out_shardings_jax(None) == (None,)
    assert "stablehlo.multiply" in exported.mlir_module()
    low = export.minimum_supported_calling_convention_version
    high = export.maximum_supported_calling_convention_version
    assert low <= exported.calling_convention_version <= high


def test_static_arguments_are_given_at_export():
    exported = export.export(ev.jit(lambda x, n: x**n, static_argnums=1))(X, 3)
    np.testing.assert_allclose(exported.call(X), X**3, rtol=1e-6)


def test_shapes_are_enough():
    exported = _export(jnp.sin, ev.ShapeDtypeStruct((4,), "float32"))
    np.testing.assert_allclose(exported.call(X), np.sin(X), rtol=1e-6)


def test_python_numbers_are_scalars():
    exported = _export(lambda x, n: x * n, X, np.int32(2))
    np.testing.assert_array_equal(exported.call(X, 2), X * 2)


def test_calls_within_jit_and_within_exports():
    inner = _again(lambda x: jnp.linalg.inv(x) @ x, M)
    outer = _again(lambda x: inner.call(x) + inner.call(2 * x), M)
    np.testing.assert_allclose(outer.call(M), 2 * np.eye(3), atol=1e-5)
    np.testing.assert_allclose(ev.jit(outer.call)(M), 2 * np.eye(3), atol=1e-5)


def test_calls_within_loops():
    step = _again(lambda x: x * 2, X)
    found = ev.jit(lambda x: lax.fori_loop(0, 3, lambda i, x: step.call(x), x))(X)
    np.testing.assert_array_equal(found, X * 8)
    rows = lax.map(step.call, np.stack([X, X + 1]))
    np.testing.assert_array_equal(rows, np.stack([X, X + 1]) * 2)


# -------------------------------------------------------------------------------- derivatives


def _mixed(x, n):
    return {"y": jnp.sin(x) * n, "n": n + 1}


def test_derivatives_come_with_the_bytes():
    again = _again(_mixed, X, np.int32(2), vjp_order=2)

    def loss(x):
        return again.call(x, 2)["y"].sum()

    for transform in (ev.grad(loss), ev.jit(ev.grad(loss))):
        np.testing.assert_allclose(transform(X), 2 * np.cos(X), rtol=1e-6)
    second = ev.grad(lambda x: ev.grad(loss)(x).sum())
    np.testing.assert_allclose(second(X), -2 * np.sin(X), rtol=1e-6)
    # The cotangent depends on the argument, too.
    squares = ev.grad(lambda x: loss(x) + (again.call(x, 2)["y"] ** 2).sum())
    third = ev.grad(lambda x: squares(x).sum())
    np.testing.assert_allclose(third(X), -2 * np.sin(X) + 8 * np.cos(2 * X), rtol=1e-5)
    with pytest.raises(ValueError, match="without its derivative of this order"):
        ev.grad(lambda x: second(x).sum())(X)


def test_derivatives_of_what_was_just_exported():
    exported = _export(_mixed, X, np.int32(2))
    assert exported.has_vjp()
    found = ev.grad(lambda x: exported.call(x, 2)["y"].sum())(X)
    np.testing.assert_allclose(found, 2 * np.cos(X), rtol=1e-6)


def test_vjp_takes_arguments_and_cotangents():
    vjp = _export(_mixed, X, np.int32(2)).vjp()
    assert [a.str_short() for a in vjp.in_avals] == ["f32[4]", "i32[]", "f32[4]"]
    (found,) = vjp.call(X, 2, 3 * np.ones_like(X))
    np.testing.assert_allclose(found, 6 * np.cos(X), rtol=1e-6)


def test_bytes_without_derivatives():
    again = _again(jnp.sin, X)
    assert not again.has_vjp()
    with pytest.raises(ValueError, match="sin was serialized without its derivative"):
        again.vjp()


def test_no_forward_mode_and_no_vmap():
    exported = _export(jnp.sin, X)
    with pytest.raises(TypeError, match="forward-mode"):
        ev.jvp(exported.call, (X,), (X,))
    with pytest.raises(NotImplementedError, match="sin cannot be batched by `vmap`"):
        ev.vmap(exported.call)(np.stack([X, X]))


# -------------------------------------------------------------------------------- platforms


def test_several_platforms():
    again = _again(jnp.sort, X, platforms=["tpu", "cuda", "cpu"])
    assert again.platforms == ("tpu", "cuda", "cpu")
    np.testing.assert_array_equal(again.call(X), np.sort(X))


def test_another_platform():
    with pytest.raises(ValueError, match="sin was exported for tpu, and is called on cpu"):
        _again(jnp.sin, X, platforms=["tpu"]).call(X)
    check = export.DisabledSafetyCheck.platform()
    again = _again(jnp.sin, X, platforms=["tpu"], disabled_checks=[check])
    assert again.disabled_safety_checks == (check,)
    np.testing.assert_allclose(again.call(X), np.sin(X), rtol=1e-6)


def test_safety_checks():
    check = export.DisabledSafetyCheck.custom_call("mine")
    assert check.is_custom_call() == "mine"
    assert export.DisabledSafetyCheck.platform().is_custom_call() is None
    assert check == export.DisabledSafetyCheck.custom_call("mine")

    call = ev.ffi.ffi_call("mine", ev.ShapeDtypeStruct((4,), "float32"))
    with pytest.raises(ValueError, match="calls mine, which other processes need not know"):
        _export(lambda x: call(x), X)
    assert "@mine" in _export(lambda x: call(x), X, disabled_checks=[check]).mlir_module()


def test_another_process():
    """Nothing is left there of this one; LAPACK is found by the program that calls it."""
    blob = _export(lambda x: jnp.sort(jnp.linalg.inv(x), axis=None), M).serialize()
    script = (
        "import sys, numpy as np, evertrace as ev\n"
        "exported = ev.export.deserialize(sys.stdin.buffer.read())\n"
        "sys.stdout.write(repr(np.asarray(exported.call(np.eye(3, dtype='f') * 2 + 1)).tolist()))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script], input=bytes(blob), capture_output=True, env=env, check=True
    )
    np.testing.assert_allclose(
        np.array(eval(done.stdout.decode())), np.sort(np.linalg.inv(M), axis=None), rtol=1e-5
    )


# -------------------------------------------------------------------------------- mistakes

CALLS = {
    "structure": (lambda e: e.call(X, X), "is called with PyTreeDef"),
    "shape": (lambda e: e.call(X[:2]), r"was exported as f32\[4\], and is called with f32\[2\]"),
    "dtype": (lambda e: e.call(np.arange(4)), r"exported as f32\[4\], and is called with i32\[4\]"),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_arguments(name):
    call, message = CALLS[name]
    with pytest.raises(ValueError, match=message):
        call(_export(jnp.sin, X))


@pytest.mark.parametrize("order", [-1, 17, np.uint8(255)])
def test_orders_of_derivatives_that_nobody_waits_for(order):
    with pytest.raises(ValueError, match=rf"serialize: vjp_order is {order}.*\n.*\n.*from 0 to 16"):
        _export(jnp.sin, X).serialize(vjp_order=order)


def test_what_cannot_be_exported():
    with pytest.raises(ValueError, match="is not made by `jit`"):
        export.export(jnp.sin)
    for platforms in (["vax"], "cpu"):
        with pytest.raises(ValueError, match="platforms is"):
            export.export(ev.jit(jnp.sin), platforms=platforms)
    with pytest.raises(NotImplementedError, match="has side effects"):
        _export(lambda x: ev.debug.print("{}", x), X)
    with pytest.raises(NotImplementedError, match="calls back into Python"):
        _export(lambda x: ev.pure_callback(np.sin, x, x), X)
    with pytest.raises(NotImplementedError, match="schur: not built for CUDA"):
        _export(lax.linalg.schur, M, platforms=["cuda"])
    with pytest.raises(ValueError, match="calls cuhybrid_eig_real, which other processes need not"):
        _export(lax.linalg.eig, M, platforms=["cuda"])
    assert _export(jnp.linalg.inv, M, platforms=["cuda"]).platforms == ("cuda",)


# -------------------------------------------------------------------------------- bytes


def _damaged():
    blob = bytes(_export(jnp.sin, X).serialize())
    middle = len(blob) // 2
    return {
        "empty": b"",
        "foreign": b"PK\x03\x04" * 40,
        "cut off": blob[:-1],
        "longer": blob + b"x",
        "one bit": blob[:middle] + bytes([blob[middle] ^ 1]) + blob[middle + 1 :],
        "format": blob[:8] + b"\xff\x00" + blob[10:],
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("empty", "not those of an exported function"),
        ("foreign", "not those of an exported function"),
        ("cut off", "damaged or cut off"),
        ("longer", "damaged or cut off"),
        ("one bit", "damaged or cut off"),
        ("format", "of format 255, and this evertrace reads format 1"),
    ],
)
def test_damaged_bytes(name, message):
    with pytest.raises(ValueError, match=message):
        export.deserialize(_damaged()[name])


def test_programs_that_xla_cannot_read():
    description, (program,) = container.unpack(_export(jnp.sin, X).serialize())
    blob = container.pack(description, [program[: len(program) // 2]])
    with pytest.raises(ValueError, match="the installed XLA cannot read the program of sin"):
        export.deserialize(blob).call(X)


def test_bytes_are_bytes():
    blob = _export(jnp.sin, X).serialize()
    assert type(blob) is bytearray
    for kind in (bytes, memoryview):
        assert export.deserialize(kind(blob)).fun_name == "sin"
    with pytest.raises(TypeError, match="expected bytes, got a value of type str"):
        export.deserialize("sin")


# -------------------------------------------------------------------------------- trees

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")


class Pair:
    """A node with static data."""

    def __init__(self, children, unit):
        self.children, self.unit = children, unit


ev.tree_util.register_pytree_node(
    Pair, lambda p: (p.children, p.unit), lambda unit, children: Pair(tuple(children), unit)
)
export.register_namedtuple_serialization(Point, serialized_name="test.Point")
export.register_pytree_node_serialization(
    Pair,
    serialized_name="test.Pair",
    serialize_auxdata=str.encode,
    deserialize_auxdata=bytes.decode,
)


def test_registered_nodes():
    again = _again(lambda p: Pair((p.x, p.y + 1), "m"), Point(X, X))
    found = again.call(Point(X, X))
    assert type(found) is Pair
    assert found.unit == "m"
    np.testing.assert_array_equal(found.children[1], X + 1)


def test_nodes_that_cannot_be_written():
    with pytest.raises(ValueError, match="nodes of type Other cannot be written"):
        _export(lambda p: p, Other(X, X)).serialize()
    with pytest.raises(ValueError, match="has the key 1; only text can be written"):
        _export(lambda p: p, {1: X}).serialize()


def test_mistakes_of_registration():
    for nodetype, name in ((Point, "test.new"), (Other, "test.Point")):
        with pytest.raises(ValueError, match="is registered already"):
            export.register_namedtuple_serialization(nodetype, serialized_name=name)
    with pytest.raises(ValueError, match="is no type of named tuples"):
        export.register_namedtuple_serialization(Pair, serialized_name="test.new")
    with pytest.raises(ValueError, match="is not registered as a node"):
        export.register_pytree_node_serialization(
            int, serialized_name="test.new", serialize_auxdata=None, deserialize_auxdata=None
        )
