"""Plain objects as arguments, carries and results of transformations, loops and branches.

Each case is run as it is and jitted, and says what plain Python would give.
"""

import dataclasses
import itertools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

X = jnp.arange(3.0)


class State:
    made = 0

    def __init__(self, x, n=0, tag="a"):
        self.x, self.n, self.tag = x, n, tag

    def shown(self):
        return [jnp.ravel(self.x).tolist(), int(self.n), self.tag]


@dataclasses.dataclass
class Affine:
    w: object
    b: object
    name: str = "affine"

    def __call__(self, x):
        return self.w * x + self.b


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Ring:
    """Goes round in a circle, and has containers."""

    def __init__(self, x):
        self.x, self.me, self.kids = x, self, [X, {"a": X}]


@pytest.fixture(params=["eager", "jit"])
def run(request):
    return (lambda f: f()) if request.param == "eager" else (lambda f: ev.jit(f)())


def counted(s):
    return State(s.x * 2, s.n + 1, s.tag)


# ------------------------------------------------------------------ results


CASES = {
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, s: State(s.x + i, s.n), State(X, 5)),
    "fori_loop, number changes": lambda: lax.fori_loop(0, 3, lambda i, s: counted(s), State(X)),
    "fori_loop by while": lambda: lax.fori_loop(
        0, jnp.sum(X).astype(int), lambda i, s: counted(s), State(X)
    ),
    "while_loop": lambda: lax.while_loop(lambda s: s.n < 3, counted, State(X)),
    "while_loop, bounded": lambda: lax.while_loop(
        lambda s: s.x.sum() < 9, counted, State(X), max_steps=5
    ),
    "scan, carry": lambda: lax.scan(lambda s, x: (State(s.x + x, s.n), None), State(X), X)[0],
    "scan, slices": lambda: State(lax.scan(lambda c, s: (c + s.x, c), 0.0, State(X))[0]),
    "scan, stacked": lambda: lax.scan(lambda c, x: (c, State(x + c, 7)), 1.0, X)[1],
    "map": lambda: lax.map(lambda s: State(s.x + 1, s.n), State(X, 2)),
    "map in batches": lambda: lax.map(lambda s: State(s.x + 1, s.n), State(X, 2), batch_size=2),
    "associative_scan": lambda: lax.associative_scan(lambda a, b: State(a.x + b.x), State(X)),
    "cond": lambda: lax.cond(X[1] > 0, lambda s: State(s.x + 1, s.n), lambda s: s, State(X, 4)),
    "cond, numbers differ": lambda: lax.cond(X[1] > 0, lambda: State(X, 1), lambda: State(X, 2)),
    "switch": lambda: lax.switch(X[2].astype(int), [counted, counted, lambda s: s], State(X, 4)),
    "vmap": lambda: ev.vmap(lambda s: State(s.x * 2, s.n))(State(X, 2)),
    "vmap, by name": lambda: ev.vmap(lambda *, s: State(s.x * 2))(s=State(X)),
    "vmap, not mapped": lambda: ev.vmap(lambda s, x: State(s.x[1] * x), in_axes=(None, 0))(
        State(X), X
    ),
    "vmap in vmap": lambda: ev.vmap(ev.vmap(lambda s: State(s.x + 1)))(State(X[None])),
    "vmap of a loop": lambda: ev.vmap(
        lambda s: lax.fori_loop(0, 2, lambda i, s: State(s.x * 2, s.n), s)
    )(State(X)),
    "grad": lambda: ev.grad(lambda s: (s.x**2).sum())(State(X, 3)),
    "grad of a loop": lambda: ev.grad(
        lambda s: lax.fori_loop(0, 2, lambda i, s: counted(s), s).x.sum()
    )(State(X)),
    "vjp": lambda: ev.vjp(lambda s: State(s.x * 2), State(X))[1](State(X))[0],
    "jvp": lambda: ev.jvp(lambda s: State(s.x * 2), (State(X),), (State(X),))[1],
    "hessian": lambda: ev.hessian(lambda s: (s.x**3).sum())(State(X[:1] + 1, 4)).x,
    "jacrev": lambda: ev.jacrev(lambda s: State(s.x * 2))(State(X[2:])).x,
    "tree.map": lambda: ev.tree.map(lambda x: x + 1, State(X, 3)),
    "tree.map of two": lambda: ev.tree.map(lambda a, b: a - b, State(X, 3), State(X[::-1], 4)),
    "tree.unflatten": lambda: (lambda xs, d: ev.tree.unflatten(d, xs))(
        *ev.tree.flatten(State(X, 3))
    ),
}
WANTED = {
    "fori_loop": [[3, 4, 5], 5, "a"],
    "fori_loop, number changes": [[0, 8, 16], 3, "a"],
    "fori_loop by while": [[0, 8, 16], 3, "a"],
    "while_loop": [[0, 8, 16], 3, "a"],
    "while_loop, bounded": [[0, 4, 8], 2, "a"],
    "scan, carry": [[3, 4, 5], 0, "a"],
    "scan, slices": [[3], 0, "a"],
    "scan, stacked": [[1, 2, 3], 7, "a"],
    "map": [[1, 2, 3], 2, "a"],
    "map in batches": [[1, 2, 3], 2, "a"],
    "associative_scan": [[0, 1, 3], 0, "a"],
    "cond": [[1, 2, 3], 4, "a"],
    "cond, numbers differ": [[0, 1, 2], 1, "a"],
    "switch": [[0, 1, 2], 4, "a"],
    "vmap": [[0, 2, 4], 2, "a"],
    "vmap, by name": [[0, 2, 4], 0, "a"],
    "vmap, not mapped": [[0, 1, 2], 0, "a"],
    "vmap in vmap": [[1, 2, 3], 0, "a"],
    "vmap of a loop": [[0, 4, 8], 0, "a"],
    "grad": [[0, 2, 4], 3, "a"],
    "grad of a loop": [[4, 4, 4], 0, "a"],
    "vjp": [[0, 2, 4], 0, "a"],
    "jvp": [[0, 2, 4], 0, "a"],
    "hessian": [[6], 4, "a"],
    "jacrev": [[2], 0, "a"],
    "tree.map": [[1, 2, 3], 3, "a"],
    "tree.map of two": [[-2, 0, 2], 3, "a"],
    "tree.unflatten": [[0, 1, 2], 3, "a"],
}


@pytest.mark.parametrize("name", CASES)
def test_objects_come_and_go(name, run):
    found = run(CASES[name])
    assert type(found) is State
    assert found.shown() == WANTED[name]


def test_init_is_not_called_and_all_kinds_of_objects_are_taken(run):
    class Counted:
        made = 0

        def __init__(self, x):
            type(self).made += 1
            self.x = x

    given = Counted(X)
    assert ev.vmap(lambda c: c)(given).x.tolist() == [0, 1, 2]
    assert Counted.made == 1
    made = run(lambda: ev.vmap(lambda s: Slotted(s.x + 1))(Slotted(X)))
    assert made.x.tolist() == [1, 2, 3]
    layer = run(lambda: lax.fori_loop(0, 2, lambda i, f: Affine(f(f.w), f.b), Affine(X, X)))
    assert (layer.w.tolist(), layer.name) == ([0, 5, 38], "affine")


def test_objects_that_go_round_in_a_circle():
    ring = lax.fori_loop(0, 2, lambda i, r: Ring(r.x + r.kids[1]["a"]), Ring(X))
    assert ring.me is ring
    assert (ring.x.tolist(), ring.kids[0].tolist()) == ([0, 3, 6], [0, 1, 2])


# ------------------------------------------------------------------ what is left behind


def test_a_carry_that_is_returned_itself_is_changed_in_place(run):
    def step(i, s):
        s.x, s.n = s.x * 2, s.n + 1
        return s

    def program():
        given = State(X)
        made = lax.fori_loop(0, 3, step, given)
        return made is given, given.x, given.n

    same, x, n = run(program)
    assert (bool(same), x.tolist(), int(n)) == (True, [0, 8, 16], 3)


def test_a_jitted_function_changes_the_carry_of_its_caller():
    given = State(X + 0)

    @ev.jit
    def train(s):
        def step(s, x):
            s.x = s.x + x
            return s, s.x.sum()

        return lax.scan(step, s, X)

    made, sums = train(given)
    assert made is given
    assert (given.x.tolist(), sums.tolist(), given.n) == ([3, 4, 5], [3, 6, 12], 0)
    train(given)
    assert given.x.tolist() == [6, 7, 8]
    assert train.cache_info().misses == 1


def test_branches_change_their_operands_in_place(run):
    def changed(s):
        s.x = s.x + 1
        return s

    def program():
        given = State(X)
        made = lax.cond(X[1] > 0, changed, lambda s: s, given)
        return made is given, given.x

    same, x = run(program)
    assert (bool(same), x.tolist()) == (True, [1, 2, 3])


def test_vmap_leaves_the_mapped_object_and_returns_the_changed_one(run):
    def changed(s):
        s.x = s.x * 2
        return s

    def program():
        given = State(X)
        return ev.vmap(changed)(given).x, given.x

    made, given = run(program)
    assert (made.tolist(), given.tolist()) == ([0, 2, 4], [0, 1, 2])


def _change_slice(c, s):
    s.x = s.x + 1
    return c + s.x, None


def _change_and_replace(i, s):
    s.n = 7
    return State(s.x + 1, s.n)


def _change_only(s):
    s.x = s.x * 2
    return s.x


@pytest.mark.parametrize(
    ("program", "place"),
    [
        (lambda: lax.scan(_change_slice, 0.0, State(X)), "scan: the function changes State.x"),
        (lambda: lax.fori_loop(0, 2, _change_and_replace, State(X)), "changes State.n"),
        (lambda: ev.vmap(_change_only)(State(X)), "vmap(_change_only): the function changes"),
    ],
)
def test_a_change_that_nobody_would_see_is_refused(program, place, run):
    with pytest.raises(TypeError) as caught:
        run(program)
    text = str(caught.value)
    assert place in text
    assert "does not return that object: the change would be lost" in text
    assert "Fix: return the object, too" in text


# ------------------------------------------------------------------ axes, structures, strict rules


def test_axes_of_an_object_are_one_or_an_object_of_them(run):
    rows = Affine(jnp.arange(6.0).reshape(2, 3), X)
    out = run(lambda: ev.vmap(lambda f: f(2.0), in_axes=(Affine(0, None),))(rows))
    assert out.tolist() == [[0, 3, 6], [6, 9, 12]]
    out = run(lambda: ev.vmap(lambda f: f.w.sum() + f.b, in_axes=(Affine(1, 0),))(rows))
    assert out.tolist() == [3, 6, 9]


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            lambda: ev.vmap(lambda f: f.w)(Affine(X, jnp.ones(2))),
            "argument 0.w of type f32[3] has size 3 along axis 0; argument 0.b",
        ),
        (
            lambda: ev.vmap(lambda f: f.w, in_axes=(State(0),))(Affine(X, X)),
            "its attributes have a value of type State at State, not Affine",
        ),
        (
            lambda: lax.fori_loop(0, 2, lambda i, s: State(s.x, s.n, "b"), State(X)),
            "it has the object State(tag='a') of 2 arrays on input and the object State(tag='b')",
        ),
        (
            lambda: lax.fori_loop(0, 2, lambda i, s: State(X[:2], s.n), State(X)),
            "the carry component s.x has type f32[3] on input but f32[2] on output",
        ),
        (
            lambda: lax.cond(X[1] > 0, lambda: State(X), lambda: Affine(X, X)),
            "false_fun has the object Affine(name='affine') of 2 arrays",
        ),
        (
            lambda: ev.tree.map(lambda a, b: a, Affine(X, X), State(X)),
            "tree 2 differs in structure from the first: have a value of type State at State",
        ),
    ],
)
def test_texts(program, text, run):
    with pytest.raises((TypeError, ValueError)) as caught:
        run(program)
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["vmap", "fori_loop", "scan, stacked", "cond"])
def test_under_strict_rules_objects_are_no_arrays(name):
    with ev.strict(), pytest.raises(TypeError, match="State"):
        CASES[name]()


def test_functions_of_trees():
    ring, state = Ring(X), State(X, 3)
    paths = [ev.tree_util.keystr(path) for path, _ in ev.tree.leaves_with_path({"r": ring})]
    assert paths == ["['r'].x", "['r'].kids[0]", "['r'].kids[1]['a']"]
    assert [x.tolist() for x in ev.tree.leaves([state, 4])[:1]] == [[0, 1, 2]]
    assert ev.tree.map(jnp.shape, state).x == (3,)
    assert ev.tree.structure(state) == ev.tree.structure(State(X + 1, 3))
    assert ev.tree.structure(state) != ev.tree.structure(State(X, 4))
    stopped = ev.tree.map(lambda s: s.n, [state], is_leaf=lambda x: isinstance(x, State))
    assert stopped == [3]
    assert ev.tree.reduce(lambda a, b: a + b, ring, 0).tolist() == [0, 3, 6]
    assert ev.tree.reduce(lambda a, b: a + b, ring, jnp.ones(3)).tolist() == [1, 4, 7]
    with_paths = ev.tree.flatten_with_path(state, lambda path, x: False, True)[0]
    assert [ev.tree_util.keystr(path) for path, _ in with_paths] == [".x"]
    assert ev.tree.leaves(state, lambda x: True) == [state]
    holds_none = State("nothing")
    assert ev.tree.leaves([holds_none]) == [holds_none]
    with ev.strict():
        assert ev.tree.leaves([state]) == [state]


def double(state):
    return State(state.x * 2, state.n, state.tag)


def test_eval_shape_takes_and_returns_objects():
    shapes = ev.eval_shape(double, State(X, 3))
    assert (type(shapes), shapes.n, shapes.tag) == (State, 3, "a")
    assert shapes.x == ev.ShapeDtypeStruct((3,), "float32")
    assert ev.eval_shape(double, shapes).x == shapes.x  # what it returns, it takes
    assert ev.eval_shape(lambda model: model(X), Affine(shapes.x, 1.0)) == shapes.x


def test_eval_shape_changes_no_object():
    def grow(state):
        state.x = jnp.stack([state.x, state.x])
        return state.x

    state = State(X)
    assert ev.eval_shape(grow, state).shape == (2, 3)
    assert state.x.shape == (3,)


def test_the_jaxpr_of_objects_has_their_arrays():
    assert str(ev.make_jaxpr(double)(State(X, 3))) == str(ev.make_jaxpr(lambda x: x * 2)(X))
    _, shapes = ev.make_jaxpr(double, return_shape=True)(State(X, 3))
    assert (shapes.n, shapes.x.shape) == (3, (3,))
    static = ev.make_jaxpr(lambda x, state: x * state.n, static_argnums=1)(X, State(X, 3))
    assert len(static.jaxpr.invars) == 1


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["plain", "jit"])
def test_checkpoint_takes_and_returns_objects(wrap):
    def loss(model):
        return ev.checkpoint(double)(State(model.w * model.b, 3)).x.sum()

    got = wrap(ev.grad(loss))(Affine(X, jnp.float32(2)))
    assert got.w.tolist() == [4, 4, 4]
    assert float(got.b) == 6
    assert ev.checkpoint(double)(State(X, 3)).shown() == [[0, 2, 4], 3, "a"]


def test_checkpoint_loses_no_change():
    def grow(state):
        state.x = state.x + 1
        return state.x

    text = r"^checkpoint\(grow\): the function changes State.x of an object that was made for this"
    with pytest.raises(TypeError, match=text):
        ev.checkpoint(grow)(State(X))


def test_device_put_moves_what_objects_hold():
    device = ev.devices()[0]
    moved = ev.device_put({"state": State(np.arange(3.0, dtype="float32"), 3)}, device)["state"]
    assert moved.shown() == [[0, 1, 2], 3, "a"]
    assert moved.x.sharding.device_set == {device}


def test_jaxs_rules_refuse_objects():
    with ev.strict():
        for call in (
            lambda: ev.eval_shape(double, State(X)),
            lambda: ev.make_jaxpr(double)(State(X)),
            lambda: ev.checkpoint(double)(State(X)),
            lambda: ev.device_put(State(X)),
        ):
            with pytest.raises(TypeError, match=r"State.* is not an array"):
                call()


class Counting(itertools.count):
    """Made by C, with attributes, as the blocks of a DataFrame are."""


@pytest.mark.parametrize("transform", [ev.grad, ev.vmap])
def test_objects_that_only_c_can_make_are_refused_in_words(transform):
    counting = Counting(3)
    counting.x = X
    message = r"an object of .*Counting is made by C[\s\S]*pass in the arrays that it holds"
    with pytest.raises(TypeError, match=message):
        transform(lambda c: c.x.sum())(counting)
