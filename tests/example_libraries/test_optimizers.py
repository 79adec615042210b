"""Optimizers: what they minimise, by hand-made steps, inside transformations, and their errors."""

import copy
import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.example_libraries import optimizers
from tests.support.gradcheck import check_grads

RULES = {
    "sgd": lambda size: optimizers.sgd(size),
    "momentum": lambda size: optimizers.momentum(size, 0.5),
    "nesterov": lambda size: optimizers.nesterov(size, 0.5),
    "adagrad": lambda size: optimizers.adagrad(size),
    "rmsprop": lambda size: optimizers.rmsprop(size),
    "rmsprop_momentum": lambda size: optimizers.rmsprop_momentum(size, momentum=0.5),
    "adam": lambda size: optimizers.adam(size, 0.5, 0.75),
    "adamax": lambda size: optimizers.adamax(size, 0.5, 0.75),
    "sm3": lambda size: optimizers.sm3(size),
}
START = {"w": np.array([[1.0, -2.0], [0.5, 3.0]], np.float32), "b": [np.float32(0.5)]}
GOAL = {"w": np.array([[0.5, 0.5], [-1.0, 2.0]], np.float32), "b": [np.float32(-0.25)]}


DECAYING = optimizers.exponential_decay(0.3, 100, 0.1)
SIZES = {"adagrad": 1.0, "sm3": 1.0}  # their steps decay by themselves


def distance(params):
    parts = ev.tree.map(lambda x, goal: jnp.sum((x - goal) ** 2), params, GOAL)
    return sum(ev.tree.leaves(parts))


def train(opt, steps):
    """Run steps in a loop that is compiled, its number traced."""

    @ev.jit
    def run(state):
        def step(i, state):
            return opt.update_fn(i, ev.grad(distance)(opt.params_fn(state)), state)

        return ev.lax.fori_loop(0, steps, step, state)

    return opt.params_fn(run(opt.init_fn(START)))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.usefixtures("rules")
def test_each_rule_minimises(name):
    found = train(RULES[name](SIZES.get(name, DECAYING)), 300)
    assert ev.tree.structure(found) == ev.tree.structure(START)
    assert distance(found) < 1e-4 * distance(START)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.usefixtures("rules")
def test_compiled_steps_are_those_of_plain_calls(name):
    opt = RULES[name](0.1)
    state = compiled = opt.init_fn(START)
    update = ev.jit(opt.update_fn)
    for i in range(3):
        state = opt.update_fn(i, ev.grad(distance)(opt.params_fn(state)), state)
        compiled = update(i, ev.grad(distance)(opt.params_fn(compiled)), compiled)
    for x, y in zip(ev.tree.leaves(state), ev.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


# The first step by the papers' formulas, from x = 1 with gradient g = 2 and size 0.1.
FIRST = {
    "sgd": 1 - 0.1 * 2,
    "momentum": 1 - 0.1 * 2,
    "nesterov": 1 - 0.1 * (0.5 * 2 + 2),
    "adagrad": 1 - 0.1 * (1 - 0.9),
    "rmsprop": 1 - 0.1 * 2 / np.sqrt(0.1 * 4),
    "rmsprop_momentum": 1 - 0.1 * 2 / np.sqrt(0.1 * 4),
    "adam": 1 - 0.1,
    "adamax": 1 - 0.1,
    "sm3": 1 - 0.1 * (1 - 0.9),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", RULES)
def test_first_step_by_hand_in_every_precision(name, dtype):
    opt = RULES[name](0.1)
    found = opt.params_fn(opt.update_fn(0, jnp.full(3, 2, dtype), opt.init_fn(jnp.ones(3, dtype))))
    assert found.dtype == dtype
    np.testing.assert_allclose(
        np.asarray(found, np.float64), FIRST[name], rtol=4 * jnp.finfo(dtype).eps
    )


@pytest.mark.parametrize("name", ["adam", "adamax"])
def test_the_usual_decays_work_where_they_round_to_1(name):
    opt = getattr(optimizers, name)(0.25)
    x = jnp.ones(2, "bfloat16")
    np.testing.assert_array_equal(opt.params_fn(opt.update_fn(0, x, opt.init_fn(x))), 0.75)


@pytest.mark.parametrize("name", RULES)
def test_steps_can_be_differentiated_by_where_they_start(name):
    opt = RULES[name](0.1)

    def after_two_steps(x):
        state = opt.init_fn(x)
        for i in range(2):
            state = opt.update_fn(i, 2 * opt.params_fn(state) ** 3, state)
        return opt.params_fn(state)

    check_grads(after_two_steps, [np.array([0.7, -1.2, 2.0])], order=1)


def test_entries_without_gradient_stay_and_have_finite_derivatives():
    for name in ("adagrad", "sm3"):
        opt = RULES[name](0.1)

        def step(g, opt=opt):
            return opt.params_fn(opt.update_fn(0, g, opt.init_fn(jnp.ones(2))))

        np.testing.assert_array_equal(step(jnp.zeros(2)), 1)
        assert np.isfinite(ev.jacobian(step)(jnp.zeros(2))).all()


def test_sm3_keeps_a_vector_per_axis():
    state = optimizers.sm3(0.1).init_fn(jnp.ones((2, 3, 4)))
    _, _, kept = optimizers.unpack_optimizer_state(state).subtree
    assert [v.shape for v in kept] == [(2,), (3,), (4,)]


def test_vmap_trains_one_model_per_step_size():
    def final(size):
        opt = optimizers.momentum(size, 0.5)
        state = opt.init_fn(jnp.float32(1.0))
        for i in range(3):
            state = opt.update_fn(i, 2 * opt.params_fn(state), state)
        return opt.params_fn(state)

    sizes = np.float32([0.05, 0.1, 0.2])
    np.testing.assert_allclose(ev.vmap(final)(sizes), [final(s) for s in sizes], rtol=1e-6)


def test_states_are_stored_and_read_back():
    opt = optimizers.adam(0.1)
    state = opt.update_fn(0, START, opt.init_fn(START))
    marked = optimizers.unpack_optimizer_state(state)
    assert set(marked) == {"w", "b"}
    for stored in (marked, copy.deepcopy(marked), pickle.loads(pickle.dumps(marked))):
        again = optimizers.pack_optimizer_state(stored)
        assert ev.tree.structure(again) == ev.tree.structure(state)
        for x, y in zip(ev.tree.leaves(again), ev.tree.leaves(state), strict=True):
            np.testing.assert_array_equal(x, y)


def test_clipped_gradients_have_the_norm_asked_for():
    grads = {"a": jnp.array([3.0, 4.0]), "b": jnp.array([[12.0]])}
    assert float(optimizers.l2_norm(grads)) == 13
    np.testing.assert_allclose(optimizers.l2_norm(optimizers.clip_grads(grads, 2.0)), 2, rtol=1e-6)
    np.testing.assert_array_equal(optimizers.clip_grads(grads, 20.0)["a"], [3, 4])


@optimizers.optimizer
def forgetful():
    return lambda x: (x, x), lambda i, g, state: state[0], lambda state: state[0]


SGD = optimizers.sgd(0.1)
ERRORS = {
    "gradients of another tree": (
        lambda: SGD.update_fn(0, [1.0, 2.0], SGD.init_fn([1.0])),
        TypeError,
        r"gradients must have the structure of the parameters: expected .*\n.*\n  Fix: different",
    ),
    "an update that loses state": (
        lambda: forgetful().update_fn(0, 1.0, forgetful().init_fn(1.0)),
        TypeError,
        r"must keep the structure of the state: (.*\n)+  Fix: let the update in `forgetful` return",
    ),
    "no step size": (
        lambda: optimizers.adam([0.1]),
        TypeError,
        "a step size must be a scalar or a function of the number of the step, got list",
    ),
    "values for other intervals": (
        lambda: optimizers.piecewise_constant([1, 2], [0.1, 0.2]),
        ValueError,
        r"one of n \+ 1 values, got shapes \(2,\) and \(2,\)",
    ),
    "a tree of something else": (
        lambda: optimizers.pack_optimizer_state({"w": 1.0}),
        TypeError,
        "every leaf must be a JoinPoint, got float",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_mistakes_are_explained(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()
