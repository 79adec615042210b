"""A small convolutional classifier of plain objects: layers that hold their own arrays.

No base class and no registration. A layer is called like a function; `parameters` names the
attributes that training adjusts. Batch normalisation keeps running statistics besides, and
changes them whenever it sees a training batch.
"""

import evertrace.numpy as jnp
from evertrace import lax, nn, random

NUM_CLASSES = 10
WIDTHS = (16, 32, 32)
STRIDES = (1, 2, 2)  # two halvings turn 8 x 8 pixels into 2 x 2


class Convolution:
    """A 3 x 3 convolution of images ``[batch, height, width, channels]``, without a bias."""

    parameters = ("kernel",)

    def __init__(self, key, n_in, n_out, stride):
        self.kernel = nn.initializers.he_normal()(key, (3, 3, n_in, n_out))
        self.stride = stride

    def __call__(self, x):
        """Return the convolved images, halved in size if the stride is 2."""
        return lax.conv_general_dilated(
            x,
            self.kernel,
            window_strides=(self.stride, self.stride),
            padding="SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )


class BatchNorm:
    """Brings each channel to a learnt mean and spread (Ioffe and Szegedy, 2015).

    In training it uses the statistics of the batch, otherwise their running means.
    """

    parameters = ("scale", "bias")

    def __init__(self, n, momentum=0.9, eps=1e-5):
        self.scale, self.bias = jnp.ones(n), jnp.zeros(n)
        self.mean, self.variance = jnp.zeros(n), jnp.ones(n)
        self.momentum, self.eps = momentum, eps

    def __call__(self, x, training):
        """Return the normalised batch; in training, let the running statistics follow it."""
        if training:
            mean, variance = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
            self.mean += (1 - self.momentum) * (mean - self.mean)
            self.variance += (1 - self.momentum) * (variance - self.variance)
        else:
            mean, variance = self.mean, self.variance
        return (x - mean) * (self.scale * lax.rsqrt(variance + self.eps)) + self.bias


class Linear:
    """A linear map with a bias."""

    parameters = ("kernel", "bias")

    def __init__(self, key, n_in, n_out):
        self.kernel = 0.01 * random.normal(key, (n_in, n_out))
        self.bias = jnp.zeros(n_out)

    def __call__(self, x):
        """Return the mapped vectors ``[batch, n_out]``."""
        return x @ self.kernel + self.bias


class Classifier:
    """Three normalised convolutions and a linear layer."""

    def __init__(self, generator):
        sizes = zip((1, *WIDTHS[:-1]), WIDTHS, STRIDES, strict=True)
        self.convolutions = [Convolution(generator.key(), *size) for size in sizes]
        self.norms = [BatchNorm(width) for width in WIDTHS]
        self.linear = Linear(generator.key(), 2 * 2 * WIDTHS[-1], NUM_CLASSES)

    def layers(self):
        """Return every layer that has parameters, always in the same order."""
        return [*self.convolutions, *self.norms, self.linear]

    def num_parameters(self):
        """Return how many numbers training adjusts."""
        return sum(
            getattr(layer, name).size for layer in self.layers() for name in layer.parameters
        )

    def __call__(self, images, training=False):
        """Return the scores (logits) ``[batch, 10]`` of images ``[batch, 8, 8]`` in 0 .. 1."""
        x = images[..., None]
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = nn.relu(norm(convolution(x), training))
        return self.linear(x.reshape(len(x), -1))

    def loss(self, images, labels):
        """Return the mean cross-entropy of a training batch, and the scores."""
        scores = self(images, training=True)
        log_probabilities = nn.log_softmax(scores)
        chosen = jnp.take_along_axis(log_probabilities, labels[:, None], axis=1)
        return -jnp.mean(chosen), scores
