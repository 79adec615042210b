"""Threads that mix everything: each piece of work knows what it has to give."""

import os
import random
import sys
import threading
import time

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export, lax


class Stepper:
    """An object whose method is jitted."""

    def __init__(self):
        self.n, self.w, self.log = 0, jnp.zeros(8), []
        self.raw, self.table = np.zeros(8, np.float32), {"last": 0.0}

    def step(self, x):
        self.n += 1
        self.w = self.w * 0.5 + x
        self.raw[1:3] += 1
        self.table["last"] = self.n * 2.0
        self.log.append(self.n)
        del self.log[:-5]
        return self.w.sum() + self.n


def step(rng, objects):
    """A method that changes state of each kind, and is traced anew at times."""
    thing = objects.setdefault("stepper", (Stepper(), Stepper()))
    x = jnp.full(8, rng.randrange(5), np.float32)
    jitted, plain = ev.jit(thing[0].step)(x), thing[1].step(x)
    assert np.allclose(jitted, plain)
    assert (thing[0].n, thing[0].log) == (thing[1].n, thing[1].log)
    assert thing[0].table == thing[1].table
    assert np.allclose(thing[0].w, thing[1].w)
    assert np.array_equal(thing[0].raw, thing[1].raw)
    if rng.random() < 0.01:
        objects.pop("stepper")


def eager(rng, objects):
    """Operations at once, of many sizes: plans are made and given up."""
    size = rng.randrange(1, 200)
    x = np.arange(size, dtype=np.float32)
    assert np.array_equal(jnp.sort(jnp.asarray(x)[::-1]), x)
    assert float(jnp.sum(jnp.asarray(x))) == size * (size - 1) / 2
    y = jnp.asarray(x).at[size // 2].set(-1.0)
    assert float(y.min()) == -1.0
    assert int(jnp.argmin(y)) == size // 2
    q, r = jnp.linalg.qr(jnp.eye(3) * (size + 1.0))
    assert np.allclose(q @ r, np.eye(3) * (size + 1))


def large(rng, objects):
    """Kernels that share their loops among threads."""
    x = np.random.default_rng(rng.randrange(1 << 30)).standard_normal(150_000).astype(np.float32)
    assert np.array_equal(jnp.sort(jnp.asarray(x)), np.sort(x))
    assert np.allclose(jnp.sum(jnp.asarray(x)), x.sum(dtype=np.float64), atol=1e-2)
    f = objects.setdefault("large", ev.jit(lambda x: (x * 2 + 1).sum(), engine="native"))
    assert np.allclose(f(x), (x * 2.0 + 1).sum(dtype=np.float64), rtol=1e-4, atol=1)


def new_code(rng, objects):
    """Functions of code that is made and dies."""
    names = {"jnp": jnp, "k": rng.randrange(100)}
    exec("def f(x): return jnp.sin(x) * 0 + x * k", names)
    engine = rng.choice(["native"] * 50 + ["xla"])
    assert ev.jit(names["f"], engine=engine)(jnp.ones(3)).tolist() == [names["k"]] * 3


def cube(x):
    """What is differentiated."""
    return x * x * x


CUBE = ev.jit(ev.vmap(ev.grad(cube)))  # one that all threads share
SCALED = ev.jit(lambda x, n: jnp.cumsum(x) * n, engine="xla")


def derivative(rng, objects):
    """Derivatives in batches, of functions that all threads share."""
    x = np.arange(rng.randrange(1, 9), dtype=np.float32)
    assert np.allclose(CUBE(x), 3 * x * x)
    _, tangent = ev.jvp(ev.checkpoint(cube), (2.0,), (1.0,))
    assert float(tangent) == 12.0


def compiled(rng, objects):
    """Programs of XLA."""
    n = rng.randrange(100)
    assert np.allclose(SCALED(jnp.ones(50), n), np.arange(1, 51) * n)


def loops(rng, objects):
    """Loops and branches, of which the bodies change what they close over."""
    n, seen = rng.randrange(1, 6), {"n": 0.0}

    def body(carry, x):
        seen["n"] = seen["n"] + x
        return lax.cond(x > 2, lambda c: c + x, lambda c: c - x, carry), x * 2

    xs = np.arange(n, dtype=np.float32)
    f = ev.jit(lambda xs: lax.scan(body, jnp.float32(0), xs), engine="native")
    carry, doubled = f(jnp.asarray(xs))
    assert np.allclose(carry, sum(x if x > 2 else -x for x in xs))
    assert np.array_equal(doubled, xs * 2)
    assert float(seen["n"]) == xs.sum()


def draws(rng, objects):
    """Random numbers are those of their key."""
    seed = rng.randrange(3)
    found = np.asarray(ev.random.normal(ev.random.key(seed), (5,)))
    first = objects.setdefault(("draw", seed), found)
    assert np.array_equal(found, first)


def callbacks(rng, objects):
    """Callbacks find the objects of their call."""
    state = {"k": rng.randrange(100)}
    kind = ev.ShapeDtypeStruct((2,), np.float32)
    called = objects.setdefault(
        "callback",
        ev.jit(lambda x, s: ev.pure_callback(lambda y: np.asarray(y) + s["k"], kind, x)),
    )
    assert called(jnp.ones(2), state).tolist() == [1 + state["k"]] * 2


def exported(rng, objects):
    """Programs that were written down."""
    if "exported" not in objects:
        made = export.export(ev.jit(lambda x: x * 2 + 1))(ev.ShapeDtypeStruct((4,), np.float32))
        objects["exported"] = bytes(made.serialize())
    read = export.deserialize(objects["exported"])
    if rng.random() < 0.05:  # which compiles
        assert np.array_equal(read.call(jnp.arange(4.0)), np.arange(4) * 2 + 1)


def options(rng, objects):
    """Options of one thread."""
    with ev.enable_x64():
        assert ev.jit(lambda x: jnp.sin(x))(np.arange(3.0)).dtype == np.float64
    assert ev.jit(lambda x: jnp.sin(x))(np.arange(3.0)).dtype == np.float32


def donated(rng, objects):
    """Results that are written to the memory of arguments."""
    f = objects.setdefault("donated", ev.jit(lambda x: x + 1, donate_argnums=0))
    x = jnp.zeros(100)
    for _ in range(5):
        x = f(x)
    assert x.tolist() == [5.0] * 100


def failing(rng, objects):
    """Errors that leave a trace, and those of ours."""

    def f(x):
        raise ZeroDivisionError

    def g(x):
        return 1 if x > 0 else 2

    for function, kind in ((f, ZeroDivisionError), (g, ev.errors.TracerBoolConversionError)):
        try:
            objects.setdefault(function.__name__, ev.jit(function))(1.0 + jnp.zeros(()))
        except kind:
            continue
        raise AssertionError("nothing was raised")


def forgotten(rng, objects):
    """All that was traced is forgotten now and then."""
    if rng.random() < 0.01:
        ev.clear_caches()


WORK = (
    *(step, eager, new_code, derivative) * 2,
    *(large, compiled, loops, draws, callbacks, exported, options, donated, failing, forgotten),
)


def run(minutes, seed, progress, threads=8):
    """Mix everything on threads; returns what was wrong, among it memory that grows.

    Args:
      minutes: for how long.
      seed: what the threads choose their work by.
      progress: called with the seconds that have passed.
      threads: how many there are.
    """
    wrong, done, begun = [], [0] * threads, time.monotonic()
    end = begun + minutes * 60

    def work(i):
        rng, objects = random.Random(seed * threads + i), {}
        while time.monotonic() < end and len(wrong) < 20:
            piece = rng.choice(WORK)
            try:
                piece(rng, objects)
            except BaseException as error:
                wrong.append(f"thread {i}, {piece.__name__}: {type(error).__name__}: {error}")
            done[i] += 1

    running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    sizes = []
    while any(thread.is_alive() for thread in running):
        sizes.append(resident())
        progress(int(time.monotonic() - begun))
        time.sleep(min(1.0, minutes))
    for thread in running:
        thread.join()
    return wrong + grown(sizes, sum(done))


def grown(sizes, calls):
    """Print the memory over time; returns what is wrong with it."""
    tenths = [sizes[len(sizes) * i // 10] >> 20 for i in range(10)] + [sizes[-1] >> 20]
    print(f"\n{calls} pieces of work; MiB at each tenth: {tenths}", file=sys.stderr)
    settled = sizes[len(sizes) // 5 :]  # the bounded caches are full by then
    quarter = max(len(settled) // 4, 1)
    first, last = max(settled[:quarter]), max(settled[-quarter:])
    if last > first * 1.05 + (16 << 20):
        return [f"memory has grown from {first >> 20} to {last >> 20} MiB"]
    return []


def resident():
    """Return the bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
