"""What says something to compilers and profilers leaves values alone."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import profiler, random
from evertrace._src.engines.xla import compat
from evertrace.experimental import key_reuse
from evertrace.experimental.profiler import get_profiled_instructions_proto
from evertrace.experimental.shard_alike import shard_alike


def test_arrays_are_placed_alike():
    x, y = {"a": jnp.ones(2)}, {"a": jnp.arange(2)}
    for run in (shard_alike, ev.jit(shard_alike)):
        assert ev.tree.map(lambda v: v.tolist(), run(x, y)) == ({"a": [1, 1]}, {"a": [0, 1]})
    assert ev.grad(lambda x: shard_alike(x, 2 * x)[1].sum())(jnp.ones(2)).tolist() == [2, 2]
    assert ev.vmap(shard_alike)(jnp.ones(2), jnp.ones(2))[0].shape == (2,)


@pytest.mark.parametrize("y", [[1.0], {"a": jnp.ones(3)}])
def test_what_cannot_be_placed_alike(y):
    with pytest.raises(ValueError, match="one structure and arrays of the same shapes"):
        shard_alike({"a": jnp.ones(2)}, y)


def test_a_process_that_has_no_server_is_not_registered(monkeypatch):
    error = ev.errors.JaxRuntimeError
    monkeypatch.setattr(compat, "register_profiled_process", _no_server)
    with pytest.raises(error, match="process 7 was not registered: DEADLINE_EXCEEDED"):
        profiler.register_subprocess(7, 1)


def _no_server(pid, port):
    raise compat.BackendError("DEADLINE_EXCEEDED: no server")


def test_there_is_no_profile(tmp_path):
    with pytest.raises(ev.errors.JaxRuntimeError, match="NOT_FOUND"):
        get_profiled_instructions_proto(tmp_path / "nothing")


def test_the_check_of_keys_by_its_module():
    key = random.key(0)
    with key_reuse.debug_key_reuse():
        random.normal(key)
        with pytest.raises(key_reuse.KeyReuseError):
            random.split(key)
