"""Devices, and moving arrays to and from them."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.engine
X = np.float32([1, 2, 3])


def test_devices_of_this_process():
    devices = ev.devices()
    assert devices == ev.devices(ev.default_backend()) == ev.local_devices()
    assert len(devices) == ev.device_count() == ev.local_device_count()
    assert (ev.process_index(), ev.process_count()) == (0, 1)
    assert all(d.platform == ev.default_backend() for d in devices)
    with pytest.raises(RuntimeError, match="Unknown backend moon"):
        ev.devices("moon")


def test_arrays_are_on_the_default_device():
    x = jnp.asarray(X)
    assert x.device is ev.devices()[0]
    assert x.devices() == {ev.devices()[0]}
    assert not x.committed


def test_device_put_commits():
    cpu = ev.devices("cpu")[0]
    tree = ev.device_put({"a": X, "b": [1, 2.0]}, cpu)
    assert all(leaf.committed and leaf.device is cpu for leaf in ev.tree.leaves(tree))
    np.testing.assert_array_equal(tree["a"], X)
    placed = ev.device_put(X, ev.sharding.SingleDeviceSharding(cpu))
    assert placed.devices() == {cpu}


def test_device_put_without_a_device_only_converts():
    x = jnp.asarray(X)
    assert ev.device_put(x) is x
    assert type(ev.device_put(X)) is ev.Array
    assert not ev.device_put(X).committed


def test_device_put_copies_numpy_arrays():
    x = X.copy()
    for put in (ev.device_put(x), ev.device_put(x, ev.devices()[0])):
        x[:] = 7
        np.testing.assert_array_equal(put, X)
        x[:] = X


def test_device_put_donates():
    x = jnp.asarray(X)
    moved = ev.device_put(x, ev.devices()[0], donate=True)
    assert x.is_deleted()
    np.testing.assert_array_equal(moved, X)


def test_device_put_of_a_tracer():
    np.testing.assert_array_equal(ev.jit(lambda x: ev.device_put(x) * 2)(X), 2 * X)
    assert float(ev.grad(lambda x: ev.device_put(x) * 2)(1.0)) == 2


def test_device_put_refuses_what_is_no_array():
    with pytest.raises(TypeError, match="device_put: str is not an array type"):
        ev.device_put({"a": "text"})


def test_device_get():
    got = ev.device_get({"a": jnp.asarray(X), "b": 2, "c": None})
    assert type(got["a"]) is np.ndarray
    assert (got["b"], got["c"]) == (2, None)


def test_block_until_ready():
    tree = {"a": ev.jit(lambda x: x + 1)(X), "b": 2}
    assert ev.block_until_ready(tree) is tree
    assert tree["a"].is_ready()


def test_clear_caches_leaves_programs_working():
    f = ev.jit(lambda x: x + 1)
    f(X)
    ev.clear_caches()
    np.testing.assert_array_equal(f(X), X + 1)
    np.testing.assert_array_equal(ev.grad(lambda x: (x * x).sum())(X), 2 * X)


class Slotted:
    """What can be neither referred to weakly nor hashed: its jitted function has the variants."""

    __slots__ = ()
    __hash__ = None

    def __call__(self, x):
        return x + 1


def test_clear_caches_forgets_the_variants_of_all_functions(rules):
    functions = [ev.jit(lambda x: x + 1), ev.jit(Slotted())]
    for _ in range(2):
        for f in functions:
            f(X), f(X)
            assert f.cache_info()[:2] == (1, 1)
        ev.clear_caches()
        assert [f.cache_info()[::3] for f in functions] == [(0, 0)] * 2


def test_clear_caches_forgets_what_was_kept_after_the_last_time(rules):
    def clears(x):
        ev.clear_caches()
        return x + 1

    f = ev.jit(clears)
    f(X)
    assert f.cache_info().currsize == 1
    ev.clear_caches()
    assert f.cache_info().currsize == 0
