"""Partition and merge are inverse, caches are bounded and counted."""

import sys

import pytest

from evertrace._src.support import (
    Cache,
    WeakKeys,
    all_caches,
    clear_all,
    listed,
    merge,
    partition,
    unzip2,
)


def test_unzip2():
    assert unzip2([(1, "a"), (2, "b")]) == ([1, 2], ["a", "b"])
    assert unzip2([]) == ([], [])


def test_merge_undoes_partition():
    mask, values = [True, False, False, True], ["a", "b", "c", "d"]
    unchosen, chosen = partition(mask, values)
    assert (unchosen, chosen) == (["b", "c"], ["a", "d"])
    assert merge(mask, unchosen, chosen) == values
    with pytest.raises(AssertionError, match="more values"):
        merge([True], [], [1, 2])


def test_cache_counts_and_drops_the_oldest():
    cache = Cache("test", max_size=2)
    assert cache.get("a") is None
    assert cache.put("a", 1) == 1
    cache.put("b", 2)
    cache.put("b", 3)
    assert (cache.get("a"), cache.get("b")) == (1, 3)
    cache.put("c", 4)
    assert (cache.get("a", "gone"), len(cache)) == ("gone", 2)
    assert repr(cache) == "Cache(test: 2/2 entries, 2 hits, 2 misses)"


def test_clear_all_empties_every_cache():
    cache = Cache("test of clear_all")
    cache.put("a", 1)
    assert cache in all_caches()
    clear_all()
    assert (len(cache), cache.hits, cache.misses) == (0, 0, 0)


class _Key:
    """Equal to all others."""

    def __eq__(self, other):
        return True

    __hash__ = None


def test_weak_keys_are_told_apart_by_identity_and_die():
    table, a, b = WeakKeys(), _Key(), _Key()
    table[a] = 1
    assert table.setdefault(b, 2) == 2
    assert table.setdefault(a, 3) == 1
    assert (table.get(a), table.get(_Key(), 4)) == (1, 4)
    table[a] = 5
    assert table.values() == [5, 2]
    del a
    assert table.values() == [2]


def test_no_python_code_runs_where_a_weak_key_dies():
    table, key, seen = WeakKeys(), _Key(), []
    table[key] = 1
    sys.setprofile(lambda frame, event, argument: seen.append((event, frame.f_code.co_name)))
    try:
        del key
    finally:
        sys.setprofile(None)
    assert [name for event, name in seen if event == "call"] == []
    assert table.values() == []


def test_of_long_tuples_the_first_entries_are_shown():
    assert listed([2, 3]) == "(2, 3)"
    assert listed(range(10**9)).endswith("62, 63, ...)")
