"""Several processes on this machine: their devices work on one program."""

import re

import pytest

from tests.sharding.processes import outcome

LIVE = """
assert ev.process_count() == 2 and ev.process_index() == rank
assert ev.device_count() == 2 and len(ev.local_devices()) == 1
assert a.shape == (8,) and not a.is_fully_addressable and a.sharding == rows
(shard,) = a.addressable_shards
assert shard.index == (slice(4 * rank, 4 * rank + 4),) and len(a.global_shards) == 2
np.testing.assert_array_equal(shard.data, np.arange(4) + 4 * rank)
doubled = ev.jit(lambda a: a * 2 + 1)(a)
assert doubled.sharding.spec == P("i")
np.testing.assert_array_equal(doubled.addressable_data(0), 2 * (np.arange(4) + 4 * rank) + 1)
gathered = ev.jit(lambda a: a * 2, out_shardings=whole)
moved = ev.shard_map(
    lambda a: lax.ppermute(a, "i", [(0, 1), (1, 0)]), mesh=mesh, in_specs=P("i"), out_specs=P("i")
)
np.testing.assert_array_equal(
    ev.jit(moved)(a).addressable_data(0), np.arange(4) + 4 * (1 - rank)
)
w = ev.device_put(jnp.ones((8, 3)), rows)  # which every process has
loss = ev.jit(ev.value_and_grad(lambda w: ((a @ w) ** 2).sum()))
value, gradient = loss(w)
assert float(value) == 3 * 28**2 and gradient.sharding.spec == P("i")
put = ev.device_put(a + 1, whole)  # each operation is a program of both
assert (a * 2).sharding.spec == P("i") and put.tolist() == list(range(1, 9))
assert ev.jit(lambda a: a, out_shardings=whole)(a).tolist() == list(range(8))
from_parts = ev.make_array_from_callback((8,), rows, lambda i: np.arange(8.0)[i])
assert float(ev.jit(lambda x, y: (x * y).sum())(from_parts, a)) == 140
print(repr(a), "|", text_of(lambda: np.asarray(a)), "|", text_of(lambda: (a + 1).tolist()))
"""


@pytest.mark.slow
def test_two_processes_work_on_one_program():
    codes, texts = outcome(LIVE)
    assert codes == [0, 0]
    said = "ValueError: Array: only parts of the array of type f32[8] are in this process."
    assert texts == [f"Array(f32[8], in parts of which others are elsewhere) | {said} | {said}"] * 2


PMAP = """
mine = np.arange(2, dtype=np.float32) + 10 * rank  # in all 0, 1, 10, 11
summed = lambda v: lax.psum(v, "i")
def check(found, want):
    assert found.is_fully_addressable, found
    np.testing.assert_array_equal(found, want)
    return found
first = check(ev.pmap(summed, "i")(mine), [22, 22])
assert first.devices() == set(ev.local_devices())
check(ev.pmap(lambda v: v * 2, "i")(first), [44, 44])
check(ev.pmap(lambda v: lax.axis_index("i"), "i")(mine), [2 * rank, 2 * rank + 1])
check(ev.pmap(summed, "i", out_axes=None)(mine), 22)
check(ev.pmap(lambda v, k: summed(v) * k, "i", in_axes=(0, None))(mine, 3.0), [66, 66])
check(ev.pmap(lambda v, n: v**n, static_broadcasted_argnums=1)(mine, 2), mine**2)
check(ev.pmap(lambda *, v: summed(v), "i")(v=mine), [22, 22])
check(ev.pmap(summed, "i", in_axes=1, out_axes=1)(np.stack([mine] * 3)), np.full((3, 2), 22))
check(ev.pmap(summed, "i", devices=ev.local_devices())(mine), [mine.sum()] * 2)
check(ev.pmap(lambda v: lax.all_gather(v, "i"), "i")(mine), [[0, 1, 10, 11]] * 2)
check(
    ev.pmap(lambda v: lax.ppermute(v, "i", [(n, (n + 1) % 4) for n in range(4)]), "i")(mine),
    [[11, 0], [1, 10]][rank],
)
check(ev.pmap(ev.grad(lambda v: summed(v**2) / 2), "i")(mine), 4 * mine)
keys = ev.random.split(ev.random.key(rank), 2)
drawn = ev.pmap(lambda key: (ev.random.uniform(key), key))(keys)
check(drawn[0], ev.vmap(ev.random.uniform)(keys))
np.testing.assert_array_equal(ev.random.key_data(drawn[1]), ev.random.key_data(keys))
print(text_of(ev.pmap(summed, "i"), a))
print(text_of(ev.pmap(summed, "i"), np.arange(4.0)))
print(text_of(ev.jit(ev.pmap(summed, "i")), mine))
print(text_of(ev.grad(lambda v: ev.pmap(summed, "i")(v).sum()), mine))
"""


@pytest.mark.slow
def test_pmap_is_over_the_devices_of_all_processes():
    codes, texts = outcome(PMAP, devices=2)
    traced = (
        "ValueError: pmap(<lambda>): the mapped axis has size 2 in a program that is traced, and "
        "the 4 devices are of several processes."
    )
    said = [
        "ValueError: pmap(<lambda>): an array of shape (8,) is over several processes, and each "
        "passes the part of its own devices.",
        "ValueError: pmap(<lambda>): an array of shape (4,) is mapped along axis 0, and this "
        "process has 2 of the 4 devices.",
        traced,
        traced,
    ]
    assert codes == [0, 0]
    assert texts == ["\n".join(said)] * 2


THEIRS = """
from evertrace.sharding import Mesh
second = [d for d in ev.devices() if d.process_index == 1]
def assembled(where, **known):
    return ev.make_array_from_callback(
        (4,), where, lambda i: np.arange(4, dtype=np.float32)[i], **known
    )
for spec in (P("i"), P()):
    theirs = NamedSharding(Mesh(np.array(second), ("i",)), spec)
    x = assembled(theirs, dtype=np.float32)
    local = np.zeros(4 * rank, np.float32)
    y = ev.make_array_from_process_local_data(theirs, local, (4,))
    z = ev.make_array_from_single_device_arrays(
        (4,), theirs, [jnp.zeros(4)] * rank, dtype=np.float32
    )
    assert [v.dtype == np.float32 and len(v.addressable_shards) for v in (x, y, z)] == [rank] * 3
    assert str(x) == (str(np.asarray(x)) if x.is_fully_addressable else repr(x))
    print(repr(x), "|", text_of(lambda: x.tolist()), "|", text_of(lambda: assembled(theirs).dtype))
"""


@pytest.mark.slow
def test_a_process_may_hold_no_part_of_an_array():
    codes, (first, second) = outcome(THEIRS)
    assert codes == [0, 0]
    assert (
        first.split("\n")
        == [
            "Array(f32[4], in parts of which others are elsewhere) | "
            "ValueError: Array: only parts of the array of type f32[4] are in this process. | "
            "ValueError: make_array_from_callback: this process has no device of the sharding, "
            "so that the dtype is not known."
        ]
        * 2
    )
    assert (
        second.split("\n")
        == ["Array([0., 1., 2., 3.], dtype=float32) | [0.0, 1.0, 2.0, 3.0] | float32"] * 2
    )


TWICE = """
sum_, max_ = (ev.jit(f, out_shardings=whole) for f in (jnp.sum, jnp.max))
def both(*funs): return [float(f(a)) for f in funs]
assert both(sum_, max_, sum_, max_, max_, max_) == [28, 7, 28, 7, 7, 7]
"""
# name: (what both do, and what each of the two is said to be in)
DIVERGED = {
    "another program": (
        "f = ev.jit(lambda a: a.sum()) if rank == 0 else ev.jit(lambda a: (2 * a).sum())\n"
        "print(text_of(f, a))",
        ["<lambda>(f32[8])", "<lambda>(f32[8])"],
    ),
    "other shapes": (
        "b = ev.make_array_from_process_local_data(rows, np.ones(4 + rank, np.float32))\n"
        "print(text_of(ev.jit(jnp.sum), b))",
        ["sum(f32[8])", "sum(f32[10])"],
    ),
    "known programs in another order": (
        TWICE + "print(text_of(both, *((sum_, max_) if rank == 0 else (max_, sum_))))",
        ["sum(f32[8])", "max(f32[8])"],
    ),
    "one that does more": (
        TWICE + "print(text_of(both, *([max_, sum_] if rank == 0 else [max_] * 10)))",
        ["sum(f32[8])", "max(f32[8])"],
    ),
    "another place": (
        "from evertrace.experimental.array_serialization.pytree_serialization import save\n"
        "print(text_of(save, a, 'nowhere') if rank else text_of(ev.jit(jnp.sum), a))",
        ["sum(f32[8])", "save"],
    ),
}
QUICK = "known programs in another order"


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n != QUICK)) for n in DIVERGED]
)
def test_processes_that_do_not_do_the_same_are_told_what_they_do(name):
    code, steps = DIVERGED[name]
    codes, texts = outcome(code)
    assert codes == [0, 0]
    for rank, text in enumerate(texts):
        assert text.startswith("PeerMismatchError: "), texts
        places = [rf"{re.escape(step)} at <string>:\d+ in <?\w+>?" for step in steps]
        ours = f"process {1 - rank} is in {places[1 - rank]}.*, and this one, process {rank}, "
        assert re.search(f"{ours}in {places[rank]}", text), texts


@pytest.mark.slow
def test_the_third_process_is_told_as_well():
    code = "f = jnp.max if rank == 1 else jnp.sum\nprint(text_of(ev.jit(f), a))\n"
    codes, texts = outcome(code, 3)
    assert codes == [0, 0, 0]
    assert all("Error: " in text for text in texts)
    assert all("PeerMismatchError: " in text for text in texts), texts
    assert all("max(f32[12]) at <string>" in text for text in texts)


@pytest.mark.slow
def test_processes_that_do_the_same_are_not_stopped():
    code = """
pair = ev.make_mesh((2,), ("i",), devices=ev.devices()[:2])
sum_, max_, min_ = (ev.jit(f) for f in (jnp.sum, jnp.max, jnp.min))
b = None
if rank < 2:
    pair_rows = NamedSharding(pair, P("i"))
    b = ev.make_array_from_process_local_data(pair_rows, np.ones(2, np.float32))
for i in range(6):
    sum_(a), sum_(a)
    if i % 2 and b is not None:  # of which the third process knows nothing
        assert float(sum_(b)) == 4 and float(min_(b)) == 1
    sum_(a), max_(a)
    time.sleep(0.1 * (rank == i % 3))
    found = float(sum_(a)), float(max_(a))
assert ev.jit(lambda a: a * (rank + 1))(a).shape == (12,)  # nobody waits for others in it
print(found)
"""
    codes, texts = outcome(code, 3)
    assert (codes, texts) == ([0, 0, 0], ["(66.0, 11.0)"] * 3)
