"""What fails in the middle of a call: files, callbacks, the compiler. The next call is right."""

import contextlib
import errno
import hashlib
import io
import itertools
import os
import warnings

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import config
from evertrace._src.engines import cache, cache_folder
from evertrace._src.engines.xla import compat
from tests.robust.interrupts import what_is_left

KEY = hashlib.sha256(b"a program").digest()
CODE = b"machine code" * 1000

# ------------------------------------------------------------------------ files

CALLS = [
    "access", "close", "fstat", "lstat", "mkdir", "open", "replace", "scandir", "unlink", "urandom",
    "utime",
]  # fmt: skip
ERRORS = [errno.EACCES, errno.EIO, errno.EMFILE, errno.ENOSPC]


class Failures:
    """Operations on files, of which the n-th fails.

    Attributes:
      made: how many operations there were.
    """

    def __init__(self, patch, n, number):
        self.n, self.number, self.made = n, number, 0
        for name in CALLS:
            if name != "access":  # which raises nothing
                patch.setattr(os, name, self.failing(getattr(os, name)))
        patch.setattr(cache_folder, "open", self.opening(open), raising=False)

    def count(self):
        self.made += 1
        if self.made == self.n:
            raise OSError(self.number, os.strerror(self.number))

    def failing(self, function):
        def call(*args, **kwargs):
            if function is os_close:  # what is to be closed is closed even then
                function(*args, **kwargs)
                return self.count()
            self.count()
            return function(*args, **kwargs)

        return call

    def opening(self, function):
        def call(*args, **kwargs):
            return File(function(*args, **kwargs), self)

        return call


os_close = os.close


class File(io.RawIOBase):
    """A file whose operations may fail."""

    def __init__(self, file, failures):
        self.file, self.failures = file, failures

    def read(self, *args):
        self.failures.count()
        return self.file.read(*args)

    def write(self, data):
        self.failures.count()
        return self.file.write(data)

    def close(self):
        if not self.closed:
            super().close()
            self.file.close()
            self.failures.count()


def load():
    return cache.load(KEY)


def store():
    cache.store(KEY, CODE, 1.0)


@pytest.fixture
def folder(tmp_path):
    """An empty cache folder, which the options name; there is room for one entry in it."""
    cache.reset()
    with config.override(
        compilation_cache_dir=str(tmp_path / "programs"), compilation_cache_max_bytes=240
    ):
        yield tmp_path / "programs"
    cache.reset()


@pytest.mark.skipif(os.name != "posix", reason="POSIX files and permissions")
@pytest.mark.parametrize("number", ERRORS, ids=[errno.errorcode[e] for e in ERRORS])
@pytest.mark.parametrize("act", [load, store])
def test_each_operation_on_files_of_the_cache_may_fail(folder, act, number):
    store()
    store_another = hashlib.sha256(b"another").digest()
    for n in itertools.count(1):
        cache.reset()
        open_before = len(os.listdir("/dev/fd"))
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            failures = Failures(patch, n, number)
            assert act() in (None, CODE)  # and raises nothing
        assert len(os.listdir("/dev/fd")) == open_before, n
        if failures.made < n:
            break
        cache.store(store_another, CODE, 1.0)
        cache.store(KEY, CODE, 1.0)
        assert cache.load(KEY) == CODE, n
    assert n > 10


# ------------------------------------------------------------------------ callbacks


class Model:
    def __init__(self):
        self.n, self.w = 1, jnp.ones(3)


def host(x):
    return np.asarray(x) * 2


KIND = ev.ShapeDtypeStruct((3,), np.float32)
CALLBACKS = {
    "pure": lambda called, x: ev.pure_callback(called, KIND, x),
    "ordered": lambda called, x: ev.experimental.io_callback(called, KIND, x, ordered=True),
    "debug": lambda called, x: ev.debug.callback(called, x) or x * 2,
    "vmap": lambda called, x: ev.vmap(
        lambda y: ev.pure_callback(called, KIND, y, vmap_method="sequential")
    )(x[None])[0],
    "loop": lambda called, x: ev.lax.fori_loop(
        0, 2, lambda i, y: ev.pure_callback(called, KIND, y) / 2, x * 2
    ),
}


class OfTheUserError(Exception):
    pass


@pytest.mark.parametrize("error", [OfTheUserError, KeyboardInterrupt, MemoryError, StopIteration])
@pytest.mark.parametrize("name", CALLBACKS)
def test_each_callback_may_raise(name, error):
    model, fail = Model(), [False]

    def called(x):
        if fail[0]:
            raise error("from the callback")
        return host(x)

    @ev.jit
    def f(x):
        model.n += 1
        model.w = model.w + x
        return CALLBACKS[name](called, x) + model.n

    np.testing.assert_array_equal(f(jnp.ones(3)), np.full(3, 4))
    ev.effects_barrier()
    fail[0] = True
    before = model.n, model.w
    with pytest.raises(error):  # noqa: PT012 (a debug callback raises where it is waited for)
        f(jnp.ones(3)).block_until_ready()
        before = model.n, model.w
        ev.effects_barrier()
    assert (model.n, model.w) == before
    assert what_is_left() == {}
    fail[0] = False
    np.testing.assert_array_equal(f(jnp.ones(3)), np.full(3, 2 + before[0] + 1))
    ev.effects_barrier()


# ------------------------------------------------------------------------ the compiler


@pytest.mark.parametrize("error", [compat.BackendError("INTERNAL: out of luck"), MemoryError()])
def test_compilation_may_fail(monkeypatch, error):
    ev.clear_caches()
    model = Model()

    @ev.jit(engine="xla")
    def f(x):
        model.n += 1
        model.w = model.w * x
        return jnp.sin(x) * model.n

    def fails(*_):
        raise error

    before = model.n, model.w
    with monkeypatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(compat, "compile_program", fails)
        patch.setattr(compat, "deserialize_executable", fails)
        stack.enter_context(config.override(enable_compilation_cache=False))
        for _ in range(2):
            with pytest.raises((ev.errors.JaxRuntimeError, MemoryError)):
                f(jnp.ones(3))
            assert (model.n, model.w) == before
    assert what_is_left() == {}
    np.testing.assert_allclose(f(jnp.ones(3)), np.sin(np.ones(3)) * 2, rtol=1e-6)
    assert model.n == 2
