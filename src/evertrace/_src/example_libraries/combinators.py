"""Layers made of layers, which split keys among them, and layers of several inputs or outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evertrace._src import errors
from evertrace._src.doors import doors_for_results
from evertrace._src.numpy import inspection
from evertrace._src.numpy.joining import concatenate
from evertrace._src.random.keys import split
from evertrace._src.support import set_module, unzip2

public = set_module("evertrace.example_libraries.stax")


@public
@doors_for_results
def FanOut(num: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer that gives its input several times, for `parallel`.

    Args:
      num: how many times.

    Example:
      >>> ev.example_libraries.stax.FanOut(2)[0](random.key(0), (-1, 3))
      ([(-1, 3), (-1, 3)], ())
    """

    def init_fun(rng, input_shape):
        return [input_shape] * num, ()

    def apply_fun(params, inputs, **kwargs):
        return [inputs] * num

    return init_fun, apply_fun


@doors_for_results
def _fan_in_sum():
    def init_fun(rng, input_shape):
        return input_shape[0], ()

    def apply_fun(params, inputs, **kwargs):
        return sum(inputs)

    return init_fun, apply_fun


FanInSum: Any = _fan_in_sum()
"""The layer that adds its inputs up."""


@public
@doors_for_results
def FanInConcat(axis: Any = -1) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer that concatenates several inputs.

    Args:
      axis: dimension along which they are joined.

    Example:
      >>> ev.example_libraries.stax.FanInConcat()[0](random.key(0), [(-1, 3), (-1, 4)])
      ((-1, 7), ())
    """

    def init_fun(rng, input_shape):
        joined = list(input_shape[0])
        joined[axis] = sum(sizes[axis] for sizes in input_shape)
        return tuple(joined), ()

    def apply_fun(params, inputs, **kwargs):
        return concatenate(inputs, axis)

    return init_fun, apply_fun


# ---------------------------------------------------------------- layers of layers


@public
@doors_for_results
def serial(*layers: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer that applies layers one after the other.

    Args:
      *layers: pairs ``(init_fun, apply_fun)``; of none, the layer that returns its input.

    The parameters are the list of those of the layers.

    Raises:
      TypeError: one of them is no pair.

    Example:
      >>> from evertrace.example_libraries import stax
      >>> init, apply = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(2), stax.LogSoftmax)
      >>> shape, params = init(random.key(0), (-1, 4))
      >>> shape, apply(params, jnp.ones((3, 4))).shape
      ((-1, 2), (3, 2))
    """
    inits, applies = unzip2(_pairs("serial", layers))

    def init_fun(rng, input_shape):
        params = []
        for init in inits:
            rng, layer_rng = split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params, inputs, **kwargs):
        _check_count("serial", "parameters", params, layers, _PARAMETERS)
        keys = _keys(kwargs.pop("rng", None), len(applies))
        for apply, param, key in zip(applies, params, keys, strict=True):
            inputs = apply(param, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


@public
@doors_for_results
def parallel(*layers: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer that applies layers side by side, each to an input of its own.

    Args:
      *layers: pairs ``(init_fun, apply_fun)``.

    Input shapes and inputs are sequences with one for each layer. Output shapes and parameters are
    tuples, outputs a list.

    Raises:
      TypeError: one of the layers is no pair.
      ValueError: by both functions of the layer, where there are not as many inputs as layers (in
        JAX the rest is left out).

    Example:
      >>> from evertrace.example_libraries import stax
      >>> two = stax.parallel(stax.Dense(3), stax.Identity)
      >>> init, apply = stax.serial(stax.FanOut(2), two, stax.FanInConcat())
      >>> init(random.key(0), (-1, 4))[0]
      (-1, 7)
    """
    inits, applies = unzip2(_pairs("parallel", layers))

    def check(inputs):
        fix = "put FanOut with the number of layers before it."
        _check_count("parallel", "inputs", inputs, layers, fix)

    def init_fun(rng, input_shape):
        check(input_shape)
        made = zip(inits, _keys(rng, len(inits)), input_shape, strict=True)
        shapes, params = unzip2(init(key, sizes) for init, key, sizes in made)
        return tuple(shapes), tuple(params)

    def apply_fun(params, inputs, **kwargs):
        check(inputs)
        _check_count("parallel", "parameters", params, layers, _PARAMETERS)
        keys = _keys(kwargs.pop("rng", None), len(applies))
        parts = zip(applies, params, inputs, keys, strict=True)
        return [apply(param, x, rng=key, **kwargs) for apply, param, x, key in parts]

    return init_fun, apply_fun


def _pairs(name, layers):
    """Return the layers, all of which have to be pairs."""
    for position, layer in enumerate(layers):
        if not isinstance(layer, tuple | list) or len(layer) != 2:
            raise errors.user_error(
                TypeError,
                f"{name}: layer {position} must be a pair (init_fun, apply_fun), got {layer!r}.",
                fix="call what makes the layer, as in `Dense(10)`; `Relu` and the like are layers.",
                anchor="not-callable",
            )
    return layers


_PARAMETERS = "pass the parameters that the layer's `init_fun` returned."


def _check_count(name, what, found, layers, fix):
    """Raise unless there is one for each layer."""
    if len(found) != len(layers):
        raise errors.user_error(
            ValueError,
            f"{name}: got {len(found)} {what} for {len(layers)} layers.",
            fix=fix,
            anchor="tree-structure",
        )


def _keys(rng, count):
    """Return a key for each of so many layers, or None for each."""
    return [None] * count if rng is None else list(split(rng, count))


@public
@doors_for_results
def shape_dependent(make_layer: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer that is made when the shape of the input is known.

    Args:
      make_layer: function from the shape of the input to a layer.

    Example:
      >>> from evertrace.example_libraries import stax
      >>> init, apply = stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1]))
      >>> init(random.key(0), (-1, 3))[0]
      (-1, 6)
    """

    def init_fun(rng, input_shape):
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params, inputs, **kwargs):
        return make_layer(inspection.shape(inputs))[1](params, inputs, **kwargs)

    return init_fun, apply_fun
