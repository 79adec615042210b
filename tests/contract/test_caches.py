"""Functions behind caches in C, of modules and of classes: the caches keep no traced value."""

import functools
import threading

import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.engine


@functools.lru_cache
def _successor(n):
    return n + 1


class _Scaled:
    scale = 2

    @functools.lru_cache  # noqa: B019
    def times(self, n):
        return jnp.full(2, n * self.scale)

    @property
    @functools.lru_cache  # noqa: B019
    def ones(self):
        return jnp.ones(2) * self.scale

    @staticmethod
    @functools.cache
    def plain(n):
        return jnp.full(2, n)

    @classmethod
    @functools.cache
    def of_class(cls, n):
        return jnp.full(2, n * cls.scale)

    def all_of_them(self, n):
        return [self.times(n), self.ones, self.plain(n), self.of_class(n)]


class _Derived(_Scaled):
    pass


_scaled, _derived = _Scaled(), _Derived()


@pytest.mark.parametrize(
    "fun",
    [
        lambda n: (_successor(n), type(_successor).__name__),
        lambda n: (_successor(n), repr(_successor), f"{_successor}", str(_successor)),
        lambda n: ({_successor: 7}[_successor] + n, _successor == _successor, _successor),
        lambda n: (_successor.__wrapped__(n), _successor.__name__, callable(_successor)),
        lambda n: (_Scaled.times, _scaled.times.__func__, vars(_Scaled)["plain"], _Scaled.ones),
        lambda n: (list(map(_successor, [n, 2])), functools.partial(_successor, n)()),
    ],
)
def test_a_function_behind_a_cache_shows_itself(fun):
    jitted = ev.jit(fun)
    for n in (3, 3, 4):
        leaves, expected = ev.tree.leaves(jitted(n)), ev.tree.leaves(fun(n))
        assert [int(x) if isinstance(x, ev.Array) else x for x in leaves] == expected


@pytest.mark.parametrize(
    "fun",
    [
        lambda n: [_scaled.times(n), _scaled.times(n)],
        lambda n: _Scaled.times(_scaled, n),
        lambda n: _scaled.ones * n,
        lambda n: [_scaled.plain(n), _Scaled.plain(n)],
        lambda n: [_scaled.of_class(n), _Scaled.of_class(n), _derived.of_class(n)],
        lambda n: _scaled.all_of_them(n),
        lambda n: _derived.all_of_them(n),
        lambda n: _Derived().all_of_them(n),
    ],
)
def test_the_caches_of_a_class_keep_no_traced_value(fun):
    caches = [_Scaled.times, _Scaled.ones.fget, _Scaled.plain, vars(_Scaled)["of_class"].__func__]
    jitted = ev.jit(fun)
    for cache in caches:
        cache.cache_clear()
    for n in (3, 3, 4):
        before = [cache.cache_info() for cache in caches]
        found = jitted(n)
        assert [cache.cache_info() for cache in caches] == before
        assert [x.tolist() for x in ev.tree.leaves(found)] == [
            x.tolist() for x in ev.tree.leaves(fun(n))
        ]
    assert jitted.cache_info().misses == 1


def test_another_thread_calls_functions_behind_caches_during_traces():
    found, done = [], threading.Event()

    def ask():
        while not done.is_set() and found[-1:] in ([], [[5, 5]]):
            found.append(_Scaled.plain(5).tolist())

    other = threading.Thread(target=ask)
    other.start()
    for k in range(20):
        assert ev.jit(lambda n, k=k: _scaled.plain(n + k))(3).tolist() == [3 + k, 3 + k]
    done.set()
    other.join()
    assert found[-1] == [5, 5]
