"""Layers that multiply, convolve, normalise, drop or change each element.

A layer is a pair ``(init_fun, apply_fun)``. ``init_fun(rng, input_shape)`` returns the shape of the
output and the parameters, drawn with the key `rng`; a size of -1 says that the batch may be of any
size. ``apply_fun(params, inputs, **kwargs)`` returns the output; layers that draw random numbers
take a key as ``rng``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from evertrace._src import errors
from evertrace._src.doors import doors_for_results
from evertrace._src.lax import conv as convolutions
from evertrace._src.nn import activations, normalization
from evertrace._src.nn.initializers import glorot_normal, normal, ones, zeros
from evertrace._src.numpy import inspection, products, shape, ufuncs
from evertrace._src.numpy.arguments import distinct_axes
from evertrace._src.numpy.elementary import where
from evertrace._src.random.discrete import bernoulli
from evertrace._src.random.keys import split
from evertrace._src.support import listed, set_module

public = set_module("evertrace.example_libraries.stax")

glorot = glorot_normal
randn = normal
logsoftmax: Any = normalization.log_softmax

DRAW_W = glorot_normal()
DRAW_B = normal()
DRAW_SMALL_B = normal(1e-6)


# ---------------------------------------------------------------- layers with parameters


@public
@doors_for_results
def Dense(
    out_dim: Any, W_init: Any = DRAW_W, b_init: Any = DRAW_B
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer ``inputs @ W + b``.

    Args:
      out_dim: size of the output's last dimension.
      W_init: initializer of W.
      b_init: initializer of b.

    Example:
      >>> init, apply = ev.example_libraries.stax.Dense(3)
      >>> shape, (W, b) = init(random.key(0), (-1, 2))
      >>> shape, W.shape, b.shape
      ((-1, 3), (2, 3), (3,))
    """

    def init_fun(rng, input_shape):
        W_key, b_key = split(rng)
        W = W_init(W_key, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (W, b_init(b_key, (out_dim,)))

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return products.dot(inputs, W) + b

    return init_fun, apply_fun


def _convolution(shape_tuple, convolve, layout, out_chan, filter_shape, strides, padding, inits):
    """Return the layer of a convolution, of which these functions give shape and values."""
    lhs_spec, rhs_spec, out_spec = layout
    if len(filter_shape) != len(rhs_spec) - 2:
        raise errors.user_error(
            errors.ShapeError,
            f"Conv: a kernel {rhs_spec} has {len(rhs_spec) - 2} dimensions in space, got "
            f"filter_shape {listed(filter_shape)}.",
            fix="give one size for each letter besides I and O.",
            anchor="shape-conv",
        )
    strides = strides or (1,) * len(filter_shape)
    W_init, b_init = inits
    W_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng, input_shape):
        sizes = iter(filter_shape)
        channels = {"I": input_shape[lhs_spec.index("C")], "O": out_chan}
        W_shape = tuple(channels[c] if c in channels else next(sizes) for c in rhs_spec)
        b_shape = tuple(out_chan if c == "C" else 1 for c in out_spec)
        output_shape = shape_tuple(input_shape, W_shape, strides, padding, layout)
        W_key, b_key = split(rng)
        return output_shape, (W_init(W_key, W_shape), b_init(b_key, b_shape))

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return convolve(inputs, W, strides, padding, dimension_numbers=layout) + b

    return init_fun, apply_fun


@public
@doors_for_results
def GeneralConv(
    dimension_numbers: Any,
    out_chan: Any,
    filter_shape: Any,
    strides: Any = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = DRAW_SMALL_B,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer of a convolution; `Conv` is the one with channels last, in two dimensions.

    Args:
      dimension_numbers: three strings that name the dimensions of input, kernel and output, such
        as ``("NHWC", "HWIO", "NHWC")``.
      out_chan: number of channels of the output.
      filter_shape: sizes of the kernel in space, in the order of the kernel's letters.
      strides: steps from window to window; by default 1.
      padding: "VALID", "SAME", "SAME_LOWER", or a pair (low, high) per dimension in space.
      W_init: initializer of the kernel, by default Glorot's normal one.
      b_init: initializer of what is added, a number for each channel.

    Raises:
      ShapeError: `filter_shape` has another length than the kernel dimensions in space.

    Example:
      >>> init, apply = ev.example_libraries.stax.Conv(8, (3, 3), padding="SAME")
      >>> shape, (W, b) = init(random.key(0), (-1, 28, 28, 1))
      >>> shape, W.shape, b.shape
      ((-1, 28, 28, 8), (3, 3, 1, 8), (1, 1, 1, 8))
    """
    return _convolution(
        convolutions.conv_general_shape_tuple,
        convolutions.conv_general_dilated,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        (W_init, b_init),
    )


@public
@doors_for_results
def GeneralConvTranspose(
    dimension_numbers: Any,
    out_chan: Any,
    filter_shape: Any,
    strides: Any = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = DRAW_SMALL_B,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer of a transposed convolution; `ConvTranspose` has channels last.

    Args:
      dimension_numbers: as in `GeneralConv`.
      out_chan: number of channels of the output.
      filter_shape: sizes of the kernel in space.
      strides: factors by which the input is stretched; by default 1.
      padding: "VALID", "SAME", or a pair (low, high) per dimension in space.
      W_init: initializer of the kernel, by default Glorot's normal one.
      b_init: initializer of what is added, a number for each channel.

    Raises:
      ShapeError: `filter_shape` has another length than the kernel dimensions in space.

    Example:
      >>> init, apply = ev.example_libraries.stax.ConvTranspose(8, (3, 3), (2, 2), "SAME")
      >>> init(random.key(0), (-1, 14, 14, 1))[0]
      (-1, 28, 28, 8)
    """
    return _convolution(
        convolutions.conv_transpose_shape_tuple,
        convolutions.conv_transpose,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        (W_init, b_init),
    )


Conv: Any = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
"""`GeneralConv` in two dimensions, channels last."""
ConvTranspose: Any = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
"""`GeneralConvTranspose` in two dimensions, channels last."""
Conv1DTranspose: Any = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
"""`GeneralConvTranspose` in one dimension, channels last."""


@public
@doors_for_results
def BatchNorm(
    axis: Any = (0, 1, 2),
    epsilon: Any = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer that shifts and scales its inputs to mean beta and deviation gamma.

    Args:
      axis: axis or axes to normalise over, by default all but the last of four.
      epsilon: added to the variance.
      center: whether there is a beta, otherwise 0.
      scale: whether there is a gamma, otherwise 1.
      beta_init: initializer of beta, which has the sizes of the other axes.
      gamma_init: initializer of gamma, likewise.

    The parameters are ``(beta, gamma)``, with ``()`` for one that there is not. Mean and variance
    are always those of the inputs. Negative axes count from the end; in JAX their parameters have
    other shapes.

    Raises:
      AxisError: there is no such axis, or it is named twice.

    Source: S. Ioffe and C. Szegedy, "Batch normalization: accelerating deep network training by
    reducing internal covariate shift", ICML 2015.

    Example:
      >>> init, apply = ev.example_libraries.stax.BatchNorm(axis=0)
      >>> shape, params = init(random.key(0), (-1, 2))
      >>> apply(params, jnp.array([[0.0, 1.0], [2.0, 5.0]])).round(3)
      Array([[-1., -1.],
             [ 1.,  1.]], dtype=float32)
    """
    named = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng, input_shape):
        axes = distinct_axes("BatchNorm", named, len(input_shape))
        sizes = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        beta_key, gamma_key = split(rng)
        beta = beta_init(beta_key, sizes) if center else ()
        return input_shape, (beta, gamma_init(gamma_key, sizes) if scale else ())

    def apply_fun(params, inputs, **kwargs):
        beta, gamma = params
        axes = distinct_axes("BatchNorm", named, inspection.ndim(inputs))
        out = normalization.standardize(inputs, axes, epsilon=epsilon)
        if scale:
            out = shape.expand_dims(gamma, axes) * out
        if center:
            out = out + shape.expand_dims(beta, axes)
        return out

    return init_fun, apply_fun


# ---------------------------------------------------------------- elementwise layers


@public
@doors_for_results
def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Any:
    """Return the layer that applies a function to each element.

    Args:
      fun: function of an array.
      **fun_kwargs: what else it is called with.

    Example:
      >>> init, apply = ev.example_libraries.stax.elementwise(jnp.clip, max=1.0)
      >>> apply((), jnp.array([0.5, 2.0]))
      Array([0.5, 1. ], dtype=float32)
    """

    def apply_fun(params, inputs, **kwargs):
        return fun(inputs, **fun_kwargs)

    return _keep_shape, apply_fun


def _keep_shape(rng, input_shape):
    """Init of a layer without parameters whose output is like its input."""
    return input_shape, ()


Tanh: Any = elementwise(ufuncs.tanh)
"""The layer of `tanh`."""
Relu: Any = elementwise(activations.relu)
"""The layer of `relu`."""
Exp: Any = elementwise(ufuncs.exp)
"""The layer of `exp`."""
LogSoftmax: Any = elementwise(normalization.log_softmax, axis=-1)
"""The layer of `log_softmax` along the last axis."""
Softmax: Any = elementwise(normalization.softmax, axis=-1)
"""The layer of `softmax` along the last axis."""
Softplus: Any = elementwise(activations.softplus)
"""The layer of `softplus`."""
Sigmoid: Any = elementwise(activations.sigmoid)
"""The layer of `sigmoid`."""
Elu: Any = elementwise(activations.elu)
"""The layer of `elu`."""
LeakyRelu: Any = elementwise(activations.leaky_relu)
"""The layer of `leaky_relu`."""
Selu: Any = elementwise(activations.selu)
"""The layer of `selu`."""
Gelu: Any = elementwise(activations.gelu)
"""The layer of `gelu`."""
Identity: Any = elementwise(lambda x: x)
"""The layer that returns its inputs."""


@public
@doors_for_results
def Dropout(rate: Any, mode: Any = "train") -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer that sets random elements to 0 and scales the others up.

    Args:
      rate: probability that an element is kept (not that it is dropped).
      mode: "train"; any other mode is that of a layer that returns its inputs, and needs no key
        (JAX asks for one).

    ``apply_fun`` takes the key as ``rng``.

    Raises:
      ValueError: by ``apply_fun``, where there is no key.

    Source: N. Srivastava, G. Hinton, A. Krizhevsky, I. Sutskever and R. Salakhutdinov, "Dropout: a
    simple way to prevent neural networks from overfitting", Journal of Machine Learning Research
    15 (2014).

    Example:
      >>> init, apply = ev.example_libraries.stax.Dropout(0.5)
      >>> apply((), jnp.ones(6), rng=random.key(1))
      Array([2., 0., 2., 2., 0., 0.], dtype=float32)
    """

    def apply_fun(params, inputs, rng=None, **kwargs):
        if mode != "train":
            return inputs
        if rng is None:
            raise errors.user_error(
                ValueError,
                "Dropout: apply_fun needs a key to draw what is dropped.",
                fix="call apply_fun(params, inputs, rng=key), or use Dropout(rate, mode='test').",
                anchor="random-key",
            )
        keep = bernoulli(rng, rate, inspection.shape(inputs))
        return where(keep, inputs / rate, 0)

    return _keep_shape, apply_fun
