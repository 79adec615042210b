"""Rules of optimizers: each gives from a gradient and a state the next state of one array.

The first part of a state is the parameter, the rest what the rule remembers. Squares are the
elements' own, not those of absolute values: the rules are for real parameters.
"""

import functools

import numpy as np

from evertrace._src import dtypes
from evertrace._src.example_libraries.containers import optimizer
from evertrace._src.example_libraries.schedules import make_schedule
from evertrace._src.numpy import creation, inspection, reductions, ufuncs
from evertrace._src.numpy import shape as shapes
from evertrace._src.numpy.dtype_names import result_type
from evertrace._src.numpy.elementary import where
from evertrace._src.support import set_module

public = set_module("evertrace.example_libraries.optimizers")


# ---------------------------------------------------------------- their parts


def _same(x):
    return x


def _first(state):
    return state[0]


def _with_zeros(count):
    """Return the init of a rule whose state is the parameter and so many arrays of zeros."""
    return lambda x: (x, *(creation.zeros_like(x) for _ in range(count)))


def _inverse_root(squares):
    """Return ``1 / sqrt(squares)``, and 0 for 0, with finite derivatives."""
    positive = squares > 0
    return where(positive, 1 / ufuncs.sqrt(where(positive, squares, 1)), 0)


def _weight(decay, i, mean):
    """Return the weight of all gradients so far in a mean that decays and began as 0."""
    weight = 1 - creation.asarray(decay, dtypes.wider(result_type(mean), np.dtype(np.float32))) ** (
        i + 1
    )
    return weight.astype(result_type(mean))


# ---------------------------------------------------------------- the rules


@public
@optimizer
def sgd(step_size):
    """Return the optimizer that goes down the gradient.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.

    Example:
      >>> opt = ev.example_libraries.optimizers.sgd(0.5)
      >>> opt.params_fn(opt.update_fn(0, 1.0, opt.init_fn(jnp.float32(2.0))))
      Array(1.5, dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, x):
        return x - step_size(i) * g

    return _same, update, _same


@public
@optimizer
def momentum(step_size, mass):
    """Return the optimizer that goes by a velocity, a decaying sum of gradients.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      mass: how much of the velocity a step keeps.

    Source: B. T. Polyak, "Some methods of speeding up the convergence of iteration methods", USSR
    Computational Mathematics and Mathematical Physics 4 (1964).

    Example:
      >>> opt = ev.example_libraries.optimizers.momentum(0.5, 0.9)
      >>> opt.params_fn(opt.update_fn(0, 1.0, opt.init_fn(jnp.float32(2.0))))
      Array(1.5, dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity

    return _with_zeros(1), update, _first


@public
@optimizer
def nesterov(step_size, mass):
    """Return the optimizer that goes by the velocity of the next step.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      mass: how much of the velocity a step keeps.

    Source: I. Sutskever, J. Martens, G. Dahl and G. Hinton, "On the importance of initialization
    and momentum in deep learning", ICML 2013, after Y. Nesterov.

    Example:
      >>> opt = ev.example_libraries.optimizers.nesterov(0.5, 0.5)
      >>> opt.params_fn(opt.update_fn(0, 1.0, opt.init_fn(jnp.float32(2.0))))
      Array(1.25, dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity

    return _with_zeros(1), update, _first


@public
@optimizer
def adagrad(step_size, momentum=0.9):
    """Return the optimizer that divides gradients by the root of the sum of their squares.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      momentum: how much of the mean of past directions a step keeps.

    Source: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods for online learning and
    stochastic optimization", Journal of Machine Learning Research 12 (2011); momentum added.

    Example:
      >>> opt = ev.example_libraries.optimizers.adagrad(0.5, momentum=0.5)
      >>> opt.params_fn(opt.update_fn(0, 4.0, opt.init_fn(jnp.float32(2.0))))
      Array(1.75, dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, squares, mean = state
        squares = squares + ufuncs.square(g)
        mean = (1 - momentum) * (g * _inverse_root(squares)) + momentum * mean
        return x - step_size(i) * mean, squares, mean

    return _with_zeros(2), update, _first


@public
@optimizer
def rmsprop(step_size, gamma=0.9, eps=1e-8):
    """Return the optimizer that divides gradients by the root of the mean of their squares.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      gamma: how much of the mean of squares a step keeps.
      eps: added to it under the root.

    Source: T. Tieleman and G. Hinton, "Neural networks for machine learning", lecture 6.5, 2012.

    Example:
      >>> opt = ev.example_libraries.optimizers.rmsprop(0.5, gamma=0.75)
      >>> opt.params_fn(opt.update_fn(0, 4.0, opt.init_fn(jnp.float32(2.0))))
      Array(1., dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, squares = state
        squares = squares * gamma + ufuncs.square(g) * (1 - gamma)
        return x - step_size(i) * g / ufuncs.sqrt(squares + eps), squares

    return _with_zeros(1), update, _first


@public
@optimizer
def rmsprop_momentum(step_size, gamma=0.9, eps=1e-8, momentum=0.9):
    """Return the optimizer that goes by a velocity, the decaying sum of the steps of `rmsprop`.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      gamma: how much of the mean of squares a step keeps.
      eps: added to it under the root.
      momentum: how much of the velocity a step keeps.

    Example:
      >>> opt = ev.example_libraries.optimizers.rmsprop_momentum(0.5, gamma=0.75)
      >>> opt.params_fn(opt.update_fn(0, 4.0, opt.init_fn(jnp.float32(2.0))))
      Array(1., dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, squares, velocity = state
        squares = squares * gamma + ufuncs.square(g) * (1 - gamma)
        velocity = momentum * velocity + step_size(i) * g / ufuncs.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return _with_zeros(2), update, _first


@public
@optimizer
def adam(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Return the optimizer that divides the mean of gradients by the root of that of squares.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      b1: how much of the mean of gradients a step keeps.
      b2: how much of the mean of squares a step keeps.
      eps: added to the root.

    Both means start from 0, which ``1 - b ** (step + 1)`` makes up for, computed in float32 at
    least: in JAX parameters of dtype bfloat16 do not move, as 0.999 is 1 there.

    Source: D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.

    Example:
      >>> opt = ev.example_libraries.optimizers.adam(0.5)
      >>> opt.params_fn(opt.update_fn(0, 4.0, opt.init_fn(jnp.float32(2.0)))).round(4)
      Array(1.5, dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, mean, squares = state
        mean = (1 - b1) * g + b1 * mean
        squares = (1 - b2) * ufuncs.square(g) + b2 * squares
        unbiased = mean / _weight(b1, i, mean)
        root = ufuncs.sqrt(squares / _weight(b2, i, squares))
        return x - step_size(i) * unbiased / (root + eps), mean, squares

    return _with_zeros(2), update, _first


@public
@optimizer
def adamax(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Return the optimizer that divides the mean of gradients by their decaying maximum.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      b1: how much of the mean of gradients a step keeps.
      b2: how much of the maximum of absolute values a step keeps.
      eps: added to it.

    Source: D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015,
    section 7.1.

    Example:
      >>> opt = ev.example_libraries.optimizers.adamax(0.5)
      >>> opt.params_fn(opt.update_fn(0, 4.0, opt.init_fn(jnp.float32(2.0)))).round(4)
      Array(1.5, dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, mean, largest = state
        mean = (1 - b1) * g + b1 * mean
        largest = ufuncs.maximum(b2 * largest, ufuncs.abs(g))
        size = step_size(i) / _weight(b1, i, mean)
        return x - size * mean / (largest + eps), mean, largest

    return _with_zeros(2), update, _first


@public
@optimizer
def sm3(step_size, momentum=0.9):
    """Return the optimizer that works as `adagrad` in the memory of one vector per axis.

    Args:
      step_size: positive scalar, or a schedule: a function of the number of the step.
      momentum: how much of the mean of past directions a step keeps.

    An entry's sum of squares is bounded by the least of what is kept for its row, its column and so
    on. In JAX the state of an array holds its shape as well, which `jit` then traces.

    Source: R. Anil, V. Gupta, T. Koren and Y. Singer, "Memory-efficient adaptive optimization",
    NeurIPS 2019, algorithm SM3-II; momentum added.

    Example:
      >>> opt = ev.example_libraries.optimizers.sm3(0.5, momentum=0.5)
      >>> opt.params_fn(opt.update_fn(0, jnp.full((2, 2), 4.0), opt.init_fn(jnp.ones((2, 2)))))
      Array([[0.75, 0.75],
             [0.75, 0.75]], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def init(x):
        kept = [creation.zeros(n, result_type(x)) for n in inspection.shape(x) or (1,)]
        return x, creation.zeros_like(x), kept

    def update(i, g, state):
        x, mean, kept = state
        n = len(kept)
        outer = [v.reshape((1,) * k + (-1,) + (1,) * (n - 1 - k)) for k, v in enumerate(kept)]
        squares = functools.reduce(ufuncs.minimum, outer) + ufuncs.square(g)
        scale = shapes.reshape(_inverse_root(squares), inspection.shape(x))
        mean = (1 - momentum) * (g * scale) + momentum * mean
        others = [tuple(j for j in range(n) if j != k) for k in range(n)]
        return x - step_size(i) * mean, mean, [reductions.max(squares, axis=a) for a in others]

    return init, update, _first
