"""Long programs on the CPU are computed after their calls have returned; tests stop the queue."""

import copy
import os
import pickle
import signal
import threading
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import errors, source
from evertrace._src.arrays.array import from_host
from evertrace._src.extension import native

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("needs_native")]

SIZE = 50_000  # elements: a tape of it is long, whatever the machine


def made(k):
    return np.random.default_rng(k).standard_normal(SIZE).astype(np.float32)


@pytest.fixture
def queue():
    """Put all tapes that are long on the queue, which the test stops; it goes on afterwards."""
    before = native.set_queued_from(-1)
    native.stop_queue(True)
    yield native
    native.stop_queue(False)
    native.set_queued_from(before)
    native.drain_queue()


@pytest.fixture
def f():
    """Return a long program that has been compiled."""
    fun = ev.jit(lambda x: jnp.sin(x) * 2 + 1, engine="native")
    fun(made(0)).block_until_ready()
    return fun


def wanted(x, times=1):
    for _ in range(times):
        x = np.asarray(np.sin(x.astype(np.float64)) * 2 + 1, np.float32)
    return x


def agree(y, x, times=1):
    np.testing.assert_allclose(np.asarray(y), wanted(x, times), rtol=1e-5, atol=1e-5)


def interrupted(call):
    """Interrupt this thread in a call that would wait for ever; whether it had not returned."""
    results = []
    thread = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT))

    def wait():
        thread.start()
        results.append(call())
        signal.pause()  # so that the interrupt is not of what comes later

    with pytest.raises(KeyboardInterrupt):
        wait()
    thread.join()
    return not results


def test_a_call_returns_before_its_program_is_run(queue, f):
    y = f(jnp.asarray(made(1)))
    assert (y.shape, y.dtype, y.is_deleted(), y.is_ready()) == ((SIZE,), np.float32, False, False)
    assert queue.queue_length() == 1
    queue.stop_queue(False)
    assert y.block_until_ready() is y
    assert y.is_ready()
    assert queue.queue_length() == 0
    agree(y, made(1))


def test_a_tree_is_waited_for(queue, f):
    ys = [f(jnp.asarray(made(k))) for k in range(3)]
    queue.stop_queue(False)
    assert all(y.is_ready() for y in ev.block_until_ready(ys))


def test_programs_that_need_each_other_are_run_in_order(queue, f):
    y = jnp.asarray(made(2))
    for _ in range(5):
        y = f(y)
    assert queue.queue_length() == 5
    assert not y.is_ready()
    queue.stop_queue(False)
    agree(y, made(2), 5)


def test_operands_are_held_until_they_are_read(queue, f):
    host = made(3)
    host, kept = None, weakref.ref(host)
    assert kept() is None
    host = made(3)
    kept, x = weakref.ref(host), from_host(host)
    y = f(x)
    x.delete()
    del x, host
    assert kept() is not None
    queue.stop_queue(False)
    agree(y, made(3))
    assert kept() is None


def test_results_that_nobody_has_any_more(queue, f):
    x = jnp.asarray(made(4))
    y = f(f(x))
    z = f(y)
    del y
    queue.stop_queue(False)
    agree(z, made(4), 3)
    z = f(x)
    z.delete()
    queue.drain_queue()
    assert z.is_deleted()


def test_donated_arrays_are_gone_at_the_call_and_their_memory_goes_on(queue):
    g = ev.jit(lambda x: jnp.sin(x) * 2 + 1, engine="native", donate_argnums=0)
    g(jnp.asarray(made(0)))
    queue.stop_queue(False)
    queue.drain_queue()
    x = jnp.asarray(made(5)) + 0
    place = x.unsafe_buffer_pointer()
    queue.stop_queue(True)
    y = g(x)
    z = g(y)
    assert x.is_deleted()
    assert y.is_deleted()
    assert queue.queue_length() == 2
    queue.stop_queue(False)
    assert z.unsafe_buffer_pointer() == place
    agree(z, made(5), 2)


def test_memory_that_something_queued_will_read_is_not_given_away(queue, f):
    g = ev.jit(lambda x: x * 0 + 7, engine="native", donate_argnums=0)
    g(jnp.asarray(made(0)))
    x = jnp.asarray(made(6)) + 0
    y = f(x)  # reads what the next call is given
    z = g(x)
    w = f(f(z))
    v = g(z)  # and so for what is pending
    queue.stop_queue(False)
    agree(y, made(6))
    assert (np.asarray(v) == 7).all()
    assert z.is_deleted()
    agree(w, np.full(SIZE, 7, np.float32), 2)


class Model:
    def __init__(self, w):
        self.w, self.steps = w, 0

    def step(self, x):
        self.w = jnp.sin(self.w) * 2 + x
        self.steps += 1
        return self.w * 2


def test_state_that_a_call_writes_may_be_pending(queue):
    def run(model, step):
        x = jnp.asarray(made(8))
        return [step(model, x) for _ in range(4)], model.w

    step = ev.jit(Model.step, engine="native")
    queue.stop_queue(False)
    run(Model(jnp.asarray(made(7))), step)
    queue.stop_queue(True)
    model = Model(jnp.asarray(made(7)))
    found = run(model, step)
    assert not found[1].is_ready()
    assert model.steps == 4
    plain = Model(jnp.asarray(made(7)))
    queue.stop_queue(False)
    for a, b in zip(*[[*r[0], r[1]] for r in (found, run(plain, Model.step))], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_numbers_among_the_arguments(queue):
    g = ev.jit(lambda x, n, a: jnp.sin(x) * n + a, engine="native")
    x = jnp.asarray(made(9))
    queue.stop_queue(False)
    g(x, 1, 0.5)
    queue.stop_queue(True)
    found = [g(x, n, n / 2) for n in range(4)]
    assert queue.queue_length() == 4
    queue.stop_queue(False)
    for n, y in enumerate(found):
        np.testing.assert_allclose(y, np.sin(made(9)) * n + n / 2, rtol=1e-5, atol=1e-5)


def test_arrays_of_the_users_are_read_before_the_call_returns(queue, f):
    x = made(10)
    y = f(x)
    assert y.is_ready()
    assert queue.queue_length() == 0
    x[:] = 0
    agree(y, made(10))


def test_eager_functions_of_large_arrays(queue):
    x = jnp.asarray(made(11))
    fun = jnp.logaddexp
    queue.stop_queue(False)
    for _ in range(3):
        fun(x, x).block_until_ready()
    queue.stop_queue(True)
    y = fun(fun(x, x), x)
    assert queue.queue_length() == 2
    assert not y.is_ready()
    queue.stop_queue(False)
    x = made(11)
    np.testing.assert_allclose(y, np.logaddexp(np.logaddexp(x, x), x), rtol=1e-5, atol=1e-5)


READERS = {
    "numpy.asarray": lambda y: np.asarray(y),
    "__array__ of a dtype": lambda y: np.asarray(y, np.float64),
    "block_until_ready": lambda y: np.asarray(y.block_until_ready()),
    "block_until_ready of a tree": lambda y: np.asarray(ev.block_until_ready([y])[0]),
    "device_get": lambda y: ev.device_get(y),
    "item": lambda y: np.array([y[k].item() for k in range(SIZE // 1000)]),
    "index": lambda y: np.asarray(y[100:]),
    "update": lambda y: np.asarray(y.at[0].set(1)),
    "operator": lambda y: np.asarray(y + 1),
    "small program": lambda y: np.asarray(ev.jit(lambda y: y[:5] * 2, engine="native")(y)),
    "XLA": lambda y: np.asarray(ev.jit(lambda y: y * 2, engine="xla")(y)),
    "function": lambda y: np.asarray(jnp.sort(y)),
    "matrix product": lambda y: np.asarray(y.reshape(100, -1) @ y.reshape(-1, 100)),
    "repr": lambda y: np.array(list(repr(y))),
    "pickle": lambda y: np.asarray(pickle.loads(pickle.dumps(y))),
    "deepcopy": lambda y: np.asarray(copy.deepcopy(y)),
    "dlpack": lambda y: np.from_dlpack(y),
    "address": lambda y: np.array([y.unsafe_buffer_pointer() != 0]),
    "device_put": lambda y: np.asarray(ev.device_put(y, ev.devices()[0])),
    "shards": lambda y: np.asarray(y.addressable_shards[0].data),
    "tolist": lambda y: np.array(y.tolist()),
}


@pytest.mark.parametrize("name", READERS)
def test_whoever_reads_waits_and_can_be_interrupted(queue, f, name):
    read = READERS[name]
    y = f(jnp.asarray(made(12)))
    assert interrupted(lambda: read(y))
    assert not y.is_ready()
    queue.stop_queue(False)
    there = jnp.asarray(np.asarray(y).copy())
    found, expected = read(y), read(there)
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        assert (found == expected).all()


def test_threads_read_what_is_pending(queue, f):
    y = f(jnp.asarray(made(13)))
    found, begun = [], threading.Barrier(9)

    def read():
        begun.wait()
        found.append(np.asarray(y))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    begun.wait()
    assert not found
    queue.stop_queue(False)
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for array in found:
        agree(array, made(13))


def test_a_caller_waits_where_many_programs_are_before_it(queue, f):
    x = jnp.asarray(made(14))

    def interrupt():
        while queue.queue_length() < 32:
            threading.Event().wait(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        list(map(f, [x] * 100))
    thread.join()
    assert queue.queue_length() == 32


def test_it_can_be_turned_off(queue, f):
    x = jnp.asarray(made(15))
    name = "jax_cpu_enable_async_dispatch"
    assert getattr(ev.config, name) is True
    ev.config.update(name, False)
    try:
        for _ in range(2):
            assert f(x).is_ready()
    finally:
        ev.config.update(name, True)
    f(x)
    assert not f(x).is_ready()


def test_short_programs_do_not_go_there(queue):
    g = ev.jit(lambda x: x + 1, engine="native")
    for _ in range(3):
        assert g(jnp.ones(3)).is_ready()


def test_what_is_measured_decides(queue, f):
    x = jnp.asarray(made(16))
    queue.set_queued_from(1 << 60)
    assert f(x).is_ready()
    queue.set_queued_from(0)
    assert not f(x).is_ready()


def test_nans_are_found_at_the_call(queue):
    g = ev.jit(lambda x: jnp.log(x), engine="native")
    below, x = jnp.asarray(-np.ones(SIZE, np.float32)), jnp.asarray(made(0) ** 2)
    assert not g(x).is_ready()
    with ev.debug_nans(), pytest.raises(FloatingPointError):
        g(below)


def test_the_error_of_a_program_that_fails_is_of_the_call():
    error = errors.queued_failed(source.user_source(), "a kernel said so")
    first, place, fix = str(error).splitlines()[:3]
    assert type(error) is ev.errors.JaxRuntimeError
    assert first == (
        "INTERNAL: a compiled program failed after its call had returned: a kernel said so."
    )
    assert "test_queue.py" in place
    assert fix == (
        '  Fix: `config.update("cpu_enable_async_dispatch", False)` has the call itself raise it.'
    )
