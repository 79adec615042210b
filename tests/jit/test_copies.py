"""Copies and pickles of jitted functions: they are what those of plain functions are."""

import copy
import functools
import pickle

import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("rules")]


@functools.partial(ev.jit, static_argnames="n")
def power(x, n):
    return x**n


def plain(x, n):
    return x**n


class Scaled:
    """A model that holds a jitted method of its own."""

    def __init__(self, scale):
        self.scale = scale
        self.run = ev.jit(self.times)

    def times(self, x):
        return self.scale * x


both = pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])


@both
def test_a_copy_computes_the_same_and_shares_programs(copier):
    f = ev.jit(lambda x, n: x**n, static_argnames="n")
    f.note = "mine"
    f(jnp.arange(3.0), n=2)
    copied = copier(f)
    assert copied is not f
    assert copied.note == "mine"
    assert copied(jnp.arange(3.0), n=2).tolist() == [0, 1, 4]
    assert copied.cache_info()[:2] == (1, 1)
    assert f.cache_info() == copied.cache_info()


@both
def test_what_a_module_has_under_its_name_is_its_own_copy(copier):
    power(2.0, n=3)
    assert copier(power) is power


def test_a_deep_copy_of_a_model_has_methods_of_its_own():
    model = Scaled(2.0)
    assert model.run(3.0) == 6
    copied = copy.deepcopy(model)
    copied.scale = 5.0
    assert copied.run._fun.__self__ is copied
    assert model.run(3.0) == 6


def test_pickled_by_name_where_it_is_found_there():
    power(2.0, n=3)
    assert pickle.loads(pickle.dumps(power)) is power


def test_pickled_as_what_it_wraps_where_that_is_found():
    f = ev.jit(plain, static_argnums=1, donate_argnames="x", max_traces=3)
    f(jnp.arange(3.0), 2)
    loaded = pickle.loads(pickle.dumps(f))
    assert loaded is not f
    assert loaded._fun is plain
    assert loaded._signature.roles == ({1}, {"n"}, {0}, {"x"})
    assert loaded._options.max_traces == 3
    assert loaded(jnp.arange(3.0), 3).tolist() == [0, 1, 8]


def test_a_function_that_no_module_has_is_pickles_error():
    f = ev.jit(lambda x: x)
    f(1.0)
    with pytest.raises((pickle.PicklingError, AttributeError), match=r"<lambda>"):
        pickle.dumps(f)


def test_a_traced_array_cannot_be_pickled():
    said = r"pickle: a traced array f32\[3\] has no value while tracing"
    for trace in (ev.jit, lambda f: functools.partial(ev.eval_shape, f)):
        with pytest.raises(ev.errors.ConcretizationTypeError, match=said):
            trace(lambda x: pickle.dumps({"x": x}))(jnp.ones(3))
    with pytest.raises(ev.errors.ConcretizationTypeError, match="pickle: a traced array"):
        ev.grad(pickle.dumps)(1.0)
