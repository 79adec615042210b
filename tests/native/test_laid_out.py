"""Arrays that are laid out over a mesh, in calls that run no Python.

The Python path says how results are laid out; C++ remembers it by the shardings of the operands.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src.engines.xla import launch, processes
from evertrace.sharding import NamedSharding
from evertrace.sharding import PartitionSpec as P

pytestmark = pytest.mark.usefixtures("needs_native")

WHOLE = np.arange(64, dtype=np.float32).reshape(8, 8)


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(8):
        return ev.make_mesh((4, 2), ("x", "y"))


def put(mesh, *spec):
    return ev.device_put(WHOLE, NamedSharding(mesh, P(*spec)))


def frames(call):
    """Return the result of a call and the names of the Python functions that it ran."""
    names = []

    def note(frame, event, _):
        if event == "call" and frame.f_code is not call.__code__:
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        out = call()
    finally:
        sys.setprofile(None)
    return out, names


def facts(out):
    """Return what there is to know of a tree of arrays."""
    leaves, treedef = ev.tree.flatten(out)
    return treedef, [(x.aval, x.sharding, x.committed, np.asarray(x).tobytes()) for x in leaves]


jitted = ev.jit(lambda a: {"sum": a.sum(0), "same": a, "ones": jnp.ones(8)})
constrained = ev.jit(lambda a, s: lax.with_sharding_constraint(a, s) * 2, static_argnums=1)
mapped = ev.jit(lambda a: jnp.linalg.norm(a @ a.T, axis=1))
by_xla = ev.jit(lambda a: jnp.sin(a).sum(1), engine="xla")
decorated = ev.jit(ev.vmap(lambda a, by=2.0, *, more=1.0: a * by + more))
by_jaxs_rules = ev.jit(lambda a: jnp.tanh(a).T, strict=True)

CASES = {
    "an operator": lambda a, b, y: a + b,
    "a number": lambda a, b, y: 2 * a,
    "one of two": lambda a, b, y: a * WHOLE_ARRAY[0],
    "a comparison": lambda a, b, y: a < b,
    "a function": lambda a, b, y: jnp.sin(a),
    "a reduction": lambda a, b, y: jnp.sum(a, 1),
    "a list": lambda a, b, y: jnp.concatenate([a, b]),
    "several results": lambda a, b, y: jnp.split(a, 2),
    "a reshape": lambda a, b, y: jnp.reshape(a, (2, 4, 8)),
    "roll": lambda a, b, y: jnp.roll(a, 1, 0),
    "itself": lambda a, b, y: jnp.squeeze(a),
    "an element": lambda a, b, y: a[3, 4],
    "a row": lambda a, b, y: a[-1],
    "a column": lambda a, b, y: a[..., 2],
    "half": lambda a, b, y: a[:4],
    "an odd part": lambda a, b, y: a[1:, 1:],
    "every second": lambda a, b, y: a[::2, ::-1],
    "a new dimension": lambda a, b, y: a[:, None],
    "all": lambda a, b, y: a[:],
    "jit": lambda a, b, y: jitted(a),
    "jit with a constraint": lambda a, b, y: constrained(a, y),
    "jit of a product": lambda a, b, y: mapped(a),
    "jit by XLA": lambda a, b, y: by_xla(a),
    "jit of a decorated function": lambda a, b, y: decorated(a),
    "jit by JAX's rules": lambda a, b, y: by_jaxs_rules(a),
}
# jaxlib is asked for buffers; a static sharding is compared by its own `__eq__`.
IN_PYTHON = {"jit by XLA", "jit with a constraint"}
WHOLE_ARRAY = jnp.asarray(WHOLE)


@pytest.mark.parametrize("name", CASES)
def test_what_is_laid_out_is_computed_without_python(mesh, name):
    operands = put(mesh, "x", "y"), put(mesh, "x", "y"), NamedSharding(mesh, P("y"))
    call = CASES[name]
    wanted = facts(call(*operands))
    for _ in range(3):
        assert facts(call(*operands)) == wanted
    out, names = frames(lambda: call(*operands))
    assert facts(out) == wanted
    if name in IN_PYTHON:
        assert {"__call__", "run", "_run"}.isdisjoint(names)
    else:
        assert names in ([], [call.__name__])


@pytest.mark.parametrize("name", CASES)
def test_each_way_to_lie_has_results_of_its_own(mesh, name):
    """One call site sees arrays that lie in several ways, again and again."""
    specs, y = [("x", "y"), ("y",), (None, "x"), ()], NamedSharding(mesh, P("y"))
    call = CASES[name]
    arrays = [put(mesh, *spec) for spec in specs]
    plain = ev.tree.map(np.asarray, call(WHOLE_ARRAY, WHOLE_ARRAY, y))
    seen = [[facts(call(a, a, y)) for a in arrays] for _ in range(4)]
    assert seen[1:] == [seen[0]] * 3
    for a in arrays:
        ev.tree.map(np.testing.assert_array_equal, call(a, a, y), plain)


def test_shardings_that_are_made_anew_share_programs(mesh):
    f = ev.jit(lambda a: jnp.cos(a) + 1)
    for _ in range(12):
        assert f(put(mesh, "x")).sharding.spec == P("x")
    assert f.cache_info().misses == 1
    first, second = put(mesh, "x"), put(mesh, "x")
    f(first)
    out, names = frames(lambda: f(second))
    assert (names, out.sharding is second.sharding) == ([], True)


def test_what_lies_in_two_places_is_refused_at_every_call(mesh):
    a, row = put(mesh, "x"), ev.device_put(jnp.ones(8), mesh.devices.flat[0])
    other = put(ev.sharding.Mesh(mesh.devices[::-1], ("x", "y")), "x")
    f = ev.jit(lambda a, b: a * b)
    f(a, a)
    f(a, jnp.ones(8))
    for b in (row, other):
        for _ in range(3):
            with pytest.raises(ValueError, match=r"jit\(<lambda>\): a is committed to 8"):
                f(a, b)
            with pytest.raises(ValueError, match=r"^mul\w*: operand 0"):
                _ = a * b
    np.testing.assert_array_equal(f(a, a), WHOLE * WHOLE)


def test_a_donated_array_is_given_up(mesh):
    f = ev.jit(lambda a: a + 1, donate_argnums=0)
    for _ in range(4):
        a = put(mesh, "x", "y")
        out = f(a)
        assert a.is_deleted()
        assert out.sharding.spec == P("x", "y")
        np.testing.assert_array_equal(out, WHOLE + 1)


def test_state_that_is_written_back_stays_where_it_is(mesh):
    class Model:
        def __init__(self):
            self.w = put(mesh, "x", "y")

        @ev.jit
        def step(self, rate):
            self.w = self.w - rate * self.w

    model = Model()
    for _ in range(5):
        model.step(0.5)
    assert model.w.sharding == NamedSharding(mesh, P("x", "y"))
    np.testing.assert_array_equal(model.w, WHOLE / 32)
    assert Model.step.cache_info().misses == 1


def test_random_bits_are_those_of_any_sharding(mesh):
    keys = random.split(random.key(0), 8)
    laid_out = ev.device_put(keys, NamedSharding(mesh, P("x")))
    draw = ev.jit(ev.vmap(lambda key: random.normal(key, (3,))))
    wanted = np.asarray(draw(keys))
    for _ in range(4):
        out = draw(laid_out)
        assert out.sharding.spec == P("x")
        np.testing.assert_array_equal(out, wanted)


def test_parts_that_were_computed_on_devices_are_read(mesh):
    """Results of a divided program are put together when the host needs them."""
    divided = ev.jit(lambda a: a * 3, engine="spmd")
    with ev.simulate_devices(8):
        for _ in range(3):
            out = divided(put(mesh, "x", "y"))
            for y in (out + 1, ev.jit(lambda x: x + 1)(out)):
                np.testing.assert_array_equal(y, 3 * WHOLE + 1)
                assert y.sharding.spec == P("x", "y")
            np.testing.assert_array_equal(out[1], 3 * WHOLE[1])


divided = ev.jit(lambda a, b: {"sum": a + b, "total": (a * b).sum(), "a": a}, engine="spmd")
spent = ev.jit(lambda a, b: a * 2 + b, engine="spmd", donate_argnums=0)


def test_a_divided_program_is_started_without_python(mesh):
    a, b = put(mesh, "x", "y"), put(mesh, "x", "y")
    wanted = facts(divided(a, b))
    divided(a, b)
    out, names = frames(lambda: divided(a, b))
    assert facts(out) == wanted
    assert names == ["__init__"] * 2  # of the parts of the results that are computed
    assert out["a"] is a


def test_each_way_to_lie_has_a_divided_program_of_its_own(mesh):
    ways = [put(mesh, *spec) for spec in (("x", "y"), ("y",), (None, "x"), ())]
    pairs = [pair for a in ways for pair in ((a, a), (a, ways[-1]), (ways[-1], a))]
    seen = [[facts(divided(*pair)) for pair in pairs] for _ in range(3)]
    assert seen[1:] == [seen[0]] * 2
    for a, b in pairs:
        np.testing.assert_array_equal(divided(a, b)["sum"], WHOLE + WHOLE)


def test_what_a_divided_program_is_given_in_another_form_is_laid_out_first(mesh):
    a = put(mesh, "x", "y")
    for b in (a, WHOLE, a, WHOLE_ARRAY, put(mesh), a):
        for _ in range(3):
            np.testing.assert_array_equal(divided(a, b)["sum"], 2 * WHOLE)


def test_what_a_divided_program_may_not_start_with_is_said_at_every_call(mesh):
    a, b = put(mesh, "x", "y"), put(mesh, "x", "y")
    for _ in range(3):
        a = spent(a, b)
    np.testing.assert_array_equal(a, 15 * WHOLE)
    gone = put(mesh, "x", "y")
    spent(gone, b)
    for _ in range(2):
        with pytest.raises(ev.errors.DeletedArrayError, match=r"has been deleted or donated"):
            spent(gone, b)
        odd = put(mesh, "x", "y")
        divided(odd, b)
        odd._buffer.raw.delete()  # by somebody who knows jaxlib
        with pytest.raises(ev.errors.DeletedArrayError, match=r"argument 0, f32\[8,8\], has been"):
            divided(odd, b)


def test_an_array_that_is_donated_and_passed_again_is_copied(mesh):
    for _ in range(3):
        a = put(mesh, "x", "y")
        np.testing.assert_array_equal(spent(a, a), 3 * WHOLE)


def test_a_divided_program_is_agreed_on_once_there_are_other_processes(mesh, monkeypatch):
    a, b = put(mesh, "x", "y"), put(mesh, "x", "y")
    for _ in range(3):
        divided(a, b)
    started = []
    run = launch.Partition.run

    def alone(partition, args):
        started.append(partition)
        with monkeypatch.context() as m:
            m.setattr(launch, "membership", lambda: None)
            return run(partition, args)

    monkeypatch.setattr(launch.Partition, "run", alone)
    divided(a, b)
    assert not started
    processes.joined.append(None)
    try:
        divided(a, b)
    finally:
        processes.joined.clear()
    assert len(started) == 1


def test_threads_start_divided_programs_one_after_the_other(mesh):
    a, b = put(mesh, "x", "y"), put(mesh, "x", "y")

    def work(_):
        return all([float(divided(a, b)["total"]) == (WHOLE * WHOLE).sum() for _ in range(20)])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
