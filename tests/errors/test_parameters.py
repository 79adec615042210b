"""What is not built, or given twice, or of the wrong kind, is said by name and with what to do."""

import dataclasses
import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import Mesh
from evertrace.sharding import PartitionSpec as P

MESH = ev.make_mesh((1,), ("x",))
FAR = dataclasses.make_dataclass("Device", ("id", "platform"), frozen=True)(999, "cpu")  # afar
STRUCT = ev.ShapeDtypeStruct((2,), "float32")
PAIR = ev.sharding.NamedSharding(ev.sharding.AbstractMesh((2,), ("x",)), P("x"))


def assembled(*parts, **kwargs):
    sharding = ev.NamedSharding(MESH, P("x"))
    return ev.make_array_from_single_device_arrays((2,), sharding, list(parts), **kwargs)


UNSUPPORTED = {
    "vjp: reduce_axes=('i',)": lambda: ev.vjp(jnp.sin, 1.0, reduce_axes=("i",)),
    "value_and_grad: reduce_axes=('i',)": lambda: ev.grad(jnp.sin, reduce_axes=("i",)),
    "linear_transpose: reduce_axes=('i',)": lambda: ev.linear_transpose(
        jnp.sin, 1.0, reduce_axes=("i",)
    ),
    "all_gather: to='reduced'": lambda: ev.vmap(
        lambda x: lax.all_gather(x, "i", to="reduced"), axis_name="i"
    )(jnp.ones(2)),
    "new_ref: memory_space='host'": lambda: ev.new_ref(1.0, memory_space="host"),
}


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_a_parameter_without_a_meaning_is_named(text):
    with pytest.raises(NotImplementedError) as caught:
        UNSUPPORTED[text]()
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{text} is not supported."
    assert "  Fix: leave it out." in lines


REFUSED = {
    "no dtype": (
        lambda: ev.ShapeDtypeStruct((2,), None), ValueError,
        "ShapeDtypeStruct: dtype must not be None.",
    ),
    "unknown fact": (
        lambda: STRUCT.update(rank=2, size=3), TypeError,
        "ShapeDtypeStruct.update: there is no rank, size.",
    ),
    "kind of a Ref": (
        lambda: ev.new_ref(1.0, kind="box"), ValueError, "new_ref: there is no kind 'box'.",
    ),
    "dtype of parts": (
        lambda: assembled(jnp.ones(2), dtype="int32"), ValueError,
        "make_array_from_single_device_arrays: not all arrays are of dtype int32.",
    ),
    "pickled mesh": (
        lambda: pickle.loads(pickle.dumps(Mesh([[FAR]], ("x", "y")))), ValueError,
        "pickle: what is loaded lies on a mesh ('x': 1, 'y': 1) of 1 devices, numbers 999 to 999 "
        f"of platform cpu; here there are {ev.device_count()}.",
    ),
    "complex Jacobian": (
        lambda: ev.jacrev(jnp.sin)(1j), TypeError,
        "jacrev(sin): complex inputs require holomorphic=True.",
    ),
    "argnums": (
        lambda: ev.grad(jnp.sin, argnums="x")(1.0), TypeError,
        "grad(sin): argnums must be an int or a tuple of ints, got 'x'.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_argument_is_named(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error) as caught:
        call()
    lines = str(caught.value).splitlines()
    assert lines[0] == text
    assert any(line.startswith("  Fix: ") for line in lines)


def test_parts_of_different_dtypes():
    dtypes = iter(["float32", "int32"])
    with pytest.raises(ValueError, match="make_array_from_callback: the parts have different dty"):
        ev.make_array_from_callback((2,), PAIR, lambda index: np.ones(1, next(dtypes)))
