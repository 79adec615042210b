"""Classes whose metaclass has a `__eq__` and no `__hash__`: Python needs no hash, our tables do."""

import functools

import pytest

import evertrace as ev
from tests.contract.compare import Record, X


class _Unhashable(type):
    def __eq__(cls, other):
        return cls is other


class _Lost(metaclass=_Unhashable):
    k = 2

    def times(self, x):
        return x * self.k


_lost, _holding = _Lost(), Record(kept=_Lost(), kind=_Lost, items=[_Lost()])


def _caught(x):
    try:
        return x * _holding.kind.k
    except TypeError:
        return x


@pytest.mark.parametrize(
    "fun",
    [
        _lost.times,
        lambda x: x * _lost.k,
        lambda x: x * _Lost.k,
        lambda x: x * _holding.kept.k,
        lambda x: x * _holding.items[0].k,
        lambda x: _Lost().times(x),
        lambda x: isinstance(x, _Lost),
        lambda x: setattr(_holding, "made", _Lost()),
        _caught,
    ],
)
def test_a_class_whose_metaclass_lost_its_hash_is_refused(fun):
    with pytest.raises(ev.errors.OpaqueStateError) as refused:
        ev.jit(fun)(X)
    assert "a class of the metaclass _Unhashable cannot be hashed" in str(refused.value)
    assert "at tests/contract/test_unhashable_classes.py:" in str(refused.value)
    assert "Fix: add `__hash__ = type.__hash__` to _Unhashable." in str(refused.value)


def test_python_s_own_error_about_a_hash_is_left():
    cached = functools.lru_cache(len)
    for fun in (lambda x: {[]: x}, lambda x: cached([x])):
        with pytest.raises(TypeError, match="unhashable type: 'list'"):
            ev.jit(fun)(X)
