"""Plain objects as differentiated arguments: what is a leaf, what comes back, what stays."""

import collections
import dataclasses
import gc
import types
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

X = np.float32([1, 2, 3])


class Linear:
    """A layer without base class or registration."""

    def __init__(self, scale):
        self.w, self.b = jnp.arange(3.0) * scale, jnp.asarray(0.5)
        self.act, self.size, self.rate = jnp.sin, 3, 0.25

    def __call__(self, x):
        return self.act(self.w * x + self.b) * self.rate


class Net:
    def __init__(self):
        self.layers = [Linear(1.0), Linear(-0.5)]
        self.head = {"k": jnp.ones(3), "n": (2, jnp.asarray(3.0))}
        self.name = "net"

    def loss(self, x):
        for layer in self.layers:
            x = layer(x)
        n, scale = self.head["n"]
        return (self.head["k"] * x).sum() * scale * n


def params_of(net):
    """Return the differentiated arrays of a `Net` as a tree."""
    return {
        "layers": [(layer.w, layer.b) for layer in net.layers],
        "k": net.head["k"],
        "scale": net.head["n"][1],
    }


def pure_loss(params, x):
    for w, b in params["layers"]:
        x = jnp.sin(w * x + b) * 0.25
    return (params["k"] * x).sum() * params["scale"] * 2


def assert_trees_close(found, want):
    assert ev.tree.structure(found) == ev.tree.structure(want)
    for a, b in zip(ev.tree.leaves(found), ev.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.fixture(params=["eager", "jit"])
def run(request):
    """Call a function as it is, or jitted: twice, since the second call is a hit."""
    if request.param == "eager":
        return lambda f, *args: f(*args)

    def jitted(f, *args):
        f = ev.jit(f)
        f(*args)
        result = f(*args)
        assert f.cache_info().misses == 1
        return result

    return jitted


# ------------------------------------------------------------------ gradients


def test_grad_of_an_object_is_an_object_of_gradients(run):
    net = Net()
    grads = run(lambda net, x: ev.grad(Net.loss)(net, x), net, X)
    assert_trees_close(params_of(grads), ev.grad(pure_loss)(params_of(net), X))
    assert type(grads) is Net
    assert [type(layer) for layer in grads.layers] == [Linear, Linear]


def test_what_is_not_floating_is_in_the_gradient_as_it_was(run):
    net = Net()
    grads = run(lambda net: ev.grad(Net.loss)(net, X), net)
    assert grads.name == "net"
    assert grads.layers[0].act is net.layers[0].act
    assert (grads.layers[0].size, grads.layers[0].rate) == (3, 0.25)
    assert type(grads.layers[0].size) is int
    assert type(grads.layers[0].rate) is float
    assert grads.head["n"][0] == 2


def test_the_object_is_as_before(run):
    net = Net()
    arrays, layers, head = params_of(net), net.layers, net.head
    pair = head["n"]
    run(lambda net: ev.grad(Net.loss)(net, X), net)
    before, after = ev.tree.leaves(arrays), ev.tree.leaves(params_of(net))
    assert all(a is b for a, b in zip(before, after, strict=True))
    assert net.layers is layers
    assert net.head is head
    assert head["n"] is pair


def test_the_function_gets_the_object_itself():
    net, seen = Net(), []
    ev.grad(lambda m: seen.append(m is net) or m.loss(X))(net)
    assert seen == [True]


def test_changing_the_gradient_leaves_the_object_alone():
    net = Net()
    grads = ev.grad(Net.loss)(net, X)
    grads.layers.append("more")
    grads.head["k"] = None
    assert len(net.layers) == 2
    assert net.head["k"] is not None


def test_value_and_grad_with_auxiliary_output(run):
    net = Net()

    def loss(net, x):
        y = net.loss(x)
        return y, {"twice": y * 2, "name": 1}

    (value, aux), grads = run(lambda net, x: ev.value_and_grad(loss, has_aux=True)(net, x), net, X)
    want, want_grads = ev.value_and_grad(pure_loss)(params_of(net), X)
    np.testing.assert_allclose(value, want, rtol=1e-6)
    np.testing.assert_allclose(aux["twice"], 2 * want, rtol=1e-6)
    assert_trees_close(params_of(grads), want_grads)


def test_objects_among_other_arguments(run):
    net, scale = Net(), jnp.asarray(2.0)
    grads = run(
        lambda net, s: ev.grad(lambda a, t: a.loss(X) * t["s"], (1, 0))(net, {"s": s}), net, scale
    )
    assert set(grads[0]) == {"s"}
    np.testing.assert_allclose(grads[0]["s"], net.loss(X), rtol=1e-6)
    want = ev.grad(lambda p: pure_loss(p, X) * 2)(params_of(net))
    assert_trees_close(params_of(grads[1]), want)


def test_objects_in_a_tree():
    a, b = Linear(1.0), Linear(2.0)
    grads = ev.grad(lambda t: (t["a"](X) * t["b"][0](X)).sum())({"a": a, "b": [b]})
    want = ev.grad(
        lambda wa, wb: (jnp.sin(wa * X + a.b) * jnp.sin(wb * X + b.b)).sum() * 0.0625, (0, 1)
    )(a.w, b.w)
    np.testing.assert_allclose(grads["a"].w, want[0], rtol=1e-5)
    np.testing.assert_allclose(grads["b"][0].w, want[1], rtol=1e-5)


def test_gradients_nest():
    net = Net()

    def slope(net, x):
        return (ev.grad(Net.loss)(net, x).layers[1].w ** 2).sum()

    def pure_slope(params, x):
        return (ev.grad(pure_loss)(params, x)["layers"][1][0] ** 2).sum()

    found = ev.grad(slope)(net, X)
    assert_trees_close(params_of(found), ev.grad(pure_slope)(params_of(net), X))


# ------------------------------------------------------------------ what objects are made of


def test_shared_arrays_are_one_leaf():
    m = types.SimpleNamespace(a=jnp.ones(3))
    m.b = m.a
    grads = ev.grad(lambda m: (m.a * X + m.b).sum())(m)
    np.testing.assert_array_equal(grads.a, X + 1)
    assert grads.b is grads.a


def test_shared_objects_and_cycles_stay():
    class Node:
        def __init__(self, w):
            self.w, self.peer = jnp.asarray(w), None

    a, b = Node(2.0), Node(3.0)
    a.peer, b.peer, a.also = b, a, b
    grads = ev.grad(lambda n: n.w * n.peer.w * n.peer.peer.w)(a)
    assert grads.peer.peer is grads
    assert grads.also is grads.peer
    assert (float(grads.w), float(grads.peer.w)) == (12.0, 4.0)


def test_one_object_as_two_arguments_is_differentiated_as_one():
    m = Linear(1.0)
    first, second = ev.grad(lambda a, b: (a.w * b.w).sum(), (0, 1))(m, m)
    assert first is second
    np.testing.assert_allclose(first.w, 2 * m.w)


def test_slots_dataclasses_and_inheritance(run):
    class Base:
        __slots__ = ("w",)

    class Slotted(Base):
        __slots__ = ("b", "unset")

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        part: Slotted
        k: jnp.ndarray

        def __post_init__(self):
            raise AssertionError("made without running __init__")

    part, frozen = Slotted(), object.__new__(Frozen)
    part.w, part.b = jnp.asarray(2.0), 5
    object.__setattr__(frozen, "part", part)
    object.__setattr__(frozen, "k", jnp.asarray(3.0))
    grads = run(lambda f: ev.grad(lambda f: f.part.w * f.k * f.part.b)(f), frozen)
    assert (float(grads.part.w), grads.part.b, float(grads.k)) == (15.0, 5, 10.0)
    assert not hasattr(grads.part, "unset")
    assert float(part.w) == 2.0


def test_containers_of_every_kind():
    Pair = collections.namedtuple("Pair", "x y")

    class Stack(list):
        pass

    m = types.SimpleNamespace(
        queue=collections.deque([jnp.asarray(1.0)], maxlen=4),
        ordered=collections.OrderedDict(b=jnp.asarray(2.0), a=1),
        table=collections.defaultdict(list, k=[jnp.asarray(3.0)]),
        pair=Pair(jnp.asarray(4.0), [jnp.asarray(5.0)]),
        stack=Stack([jnp.asarray(6.0)]),
    )
    m.stack.scale = jnp.asarray(7.0)

    def product(m):
        return (
            m.queue[0]
            * m.ordered["b"]
            * m.table["k"][0]
            * m.pair.x
            * m.pair.y[0]
            * m.stack[0]
            * m.stack.scale
        )

    grads, total = ev.grad(product)(m), 5040.0
    assert (type(grads.queue), grads.queue.maxlen) == (collections.deque, 4)
    assert list(grads.ordered) == ["b", "a"]
    assert grads.table.default_factory is list
    assert type(grads.pair) is Pair
    assert type(grads.stack) is Stack
    found = [
        grads.queue[0],
        grads.ordered["b"],
        grads.table["k"][0],
        grads.pair.x,
        grads.pair.y[0],
        grads.stack[0],
        grads.stack.scale,
    ]
    np.testing.assert_allclose(found, [total / k for k in range(1, 8)], rtol=1e-6)
    np.testing.assert_allclose(product(m), total)


def test_numpy_arrays_are_leaves_and_come_back(run):
    class Model:
        def __init__(self, w, n):
            self.w, self.n = w, n

    w, n = np.float32([1, 2]), np.int32([3])
    m = Model(w, n)
    grads = run(lambda m: ev.grad(lambda m: (m.w**2).sum() * m.n[0])(m), m)
    np.testing.assert_allclose(grads.w, [6, 12])
    assert m.w is w
    assert m.n is n


# ------------------------------------------------------------------ the other transformations


def test_vjp(run):
    net = Net()

    def f(net):
        value, pull_back = ev.vjp(Net.loss, net, X)
        return value, pull_back(jnp.ones_like(value))

    value, (grads, dx) = run(f, net)
    want, pull_back = ev.vjp(pure_loss, params_of(net), X)
    want_params, want_x = pull_back(jnp.ones_like(want))
    np.testing.assert_allclose(value, want, rtol=1e-6)
    assert_trees_close(params_of(grads), want_params)
    np.testing.assert_allclose(dx, want_x, rtol=1e-5)


@pytest.mark.parametrize(
    "forward",
    [
        lambda f, x, t: ev.jvp(f, (x,), (t,)),
        lambda f, x, t: ((pair := ev.linearize(f, x))[0], pair[1](t)),
    ],
    ids=["jvp", "linearize"],
)
def test_forward_mode_along_an_object(forward):
    net = Net()
    along = ev.grad(Net.loss)(net, X)  # an object of the same structure
    found = forward(lambda net: net.loss(X), net, along)
    want = ev.jvp(lambda p: pure_loss(p, X), (params_of(net),), (params_of(along),))
    np.testing.assert_allclose(found, want, rtol=1e-5)


@pytest.mark.parametrize("jacobian", [ev.jacfwd, ev.jacrev])
def test_jacobians(jacobian):
    layer = Linear(1.0)
    found = jacobian(lambda m: m(X))(layer)
    want = jacobian(lambda w: jnp.sin(w * X + layer.b) * 0.25)(layer.w)
    np.testing.assert_allclose(found.w, want, rtol=1e-6)
    assert found.size == 3
    assert found.b.shape == (3,)


def test_a_pullback_keeps_no_object_alive():
    layer = Linear(1.0)
    layer.act = None
    _, pull_back = ev.vjp(lambda m: m.w.sum(), layer)
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None
    (grads,) = pull_back(jnp.float32(2))
    np.testing.assert_array_equal(grads.w, [2, 2, 2])


# ------------------------------------------------------------------ state and errors


def test_attributes_that_the_function_changes_stay_changed(run):
    class Model:
        def __init__(self):
            self.w, self.mean, self.calls = jnp.asarray(2.0), jnp.asarray(0.0), 0
            self.old = self.w

        def loss(self, x):
            self.calls += 1
            y = self.w * x
            self.mean = 0.5 * self.mean + 0.5 * y
            self.old = self.w
            return y * y

    m = Model()
    w = m.w
    grads = run(lambda m: ev.grad(Model.loss)(m, 3.0), m)
    calls = m.calls
    assert type(calls) is int
    assert (float(grads.w), grads.calls) == (36.0, calls - 1)
    assert m.w is w
    assert m.old is w
    np.testing.assert_allclose(m.mean, 6 * (1 - 0.5**calls))


def test_weights_that_the_function_changes_are_differentiated_through():
    m = types.SimpleNamespace(w=jnp.asarray(3.0))

    def loss(m):
        m.w = m.w * m.w
        return m.w * 2

    assert float(ev.grad(loss)(m).w) == 12.0
    assert type(m.w) is ev.Array
    assert float(m.w) == 9.0


def test_the_object_is_restored_after_an_error():
    m = Linear(1.0)
    w = m.w

    def loss(m):
        m.seen = m.w * 2
        raise KeyError("no")

    with pytest.raises(KeyError):
        ev.grad(loss)(m)
    assert m.w is w
    np.testing.assert_array_equal(m.seen, w * 2)


@pytest.mark.parametrize(
    "transform", [ev.grad, lambda f: lambda m: ev.vjp(f, m), ev.jacfwd], ids=["grad", "vjp", "jac"]
)
def test_object_without_floating_arrays(transform):
    class Config:
        def __init__(self):
            self.rate, self.n = 0.5, jnp.arange(3)

    pattern = r"argument 0, an object of class Config, holds no arrays of floating-point"
    with pytest.raises(TypeError, match=pattern):
        transform(lambda c: c.rate)(Config())


def test_other_things_are_no_arguments_still():
    with pytest.raises(TypeError, match="argument 0 of type str is not an array"):
        ev.grad(lambda s: 1.0)("text")
    with pytest.raises(TypeError, match=r"argument 0\[1\] of type function is not an array"):
        ev.grad(lambda s: 1.0)([Linear(1.0), test_jacobians])


@pytest.mark.usefixtures("strict_rules")
def test_strict_rules_take_arrays_only():
    with pytest.raises(TypeError, match="argument 0 of type Linear is not an array"):
        ev.grad(lambda m: m.w.sum())(Linear(1.0))


def test_tangents_of_another_structure():
    m, other = Linear(1.0), Linear(1.0)
    del other.w
    with pytest.raises(TypeError, match=r"the tangents have nothing at Linear\.w, as the primals"):
        ev.jvp(lambda m: m.w.sum(), (m,), (other,))
    with pytest.raises(TypeError, match="the tangents have a value of type Net at Net, not Linear"):
        ev.jvp(lambda m: m.w.sum(), (m,), (Net(),))
