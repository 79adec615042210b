"""A small convolutional classifier, written for one image.

A model is two plain functions and a tree of arrays: `init` makes the parameters, `apply` maps one
image to its class scores. `vmap` makes batches of it; nothing here knows about batch dimensions.
"""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn, random

NUM_CLASSES = 10
WIDTHS = (16, 32, 32)


def init(key):
    """Make the parameters from a random key: three convolutions and a linear layer."""
    keys = random.split(key, len(WIDTHS) + 1)
    he_normal = nn.initializers.he_normal()
    convolutions = [
        {"kernel": he_normal(k, (3, 3, n_in, n_out)), "bias": jnp.zeros(n_out)}
        for k, n_in, n_out in zip(keys[:-1], (1, *WIDTHS[:-1]), WIDTHS, strict=True)
    ]
    # Two halvings turn 8 x 8 pixels into 2 x 2.
    kernel = 0.01 * random.normal(keys[-1], (2 * 2 * WIDTHS[-1], NUM_CLASSES))
    return {
        "convolutions": convolutions,
        "linear": {"kernel": kernel, "bias": jnp.zeros(NUM_CLASSES)},
    }


def convolve(layer, x, stride):
    """Apply one 3 x 3 convolution to an image `x` of shape ``[height, width, channels]``."""
    y = lax.conv_general_dilated(
        x[None],
        layer["kernel"],
        window_strides=(stride, stride),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return y[0] + layer["bias"]


def apply(params, image):
    """Return the 10 scores (logits) of one image of shape ``[8, 8]`` with values in 0 .. 1."""
    x = image[:, :, None]
    for layer, stride in zip(params["convolutions"], (1, 2, 2), strict=True):
        x = nn.relu(convolve(layer, x, stride))
    return x.ravel() @ params["linear"]["kernel"] + params["linear"]["bias"]


def predict(params, images):
    """Return the scores of a batch of images, ``[batch, 10]``."""
    return ev.vmap(apply, in_axes=(None, 0))(params, images)
