"""Train a small convolutional network on 1,797 handwritten digits and draw what it learnt.

    python train.py [--epochs 30] [--seed 0] [--out digits.png]

Everything is a pure function of its arguments: `train_step` maps a state and a batch to the next
state, `lax.scan` strings the steps of an epoch together, and `jit` compiles the epoch as one
program. Randomness (initial parameters, order of the images, small shifts) comes from explicit
keys, so that a seed always gives the same network.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn, random

import model
from figure import draw_report

BATCH_SIZE = 64
PEAK_LEARNING_RATE = 4e-3


class State(NamedTuple):
    """What training changes: the parameters, and Adam's running moments of their gradients."""

    params: dict
    mean: dict
    variance: dict
    step: jnp.ndarray


def load_data():
    """Return ``(train images, train labels), (test images, test labels)``, a fifth for testing."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)
    labels = digits.target.astype(np.int32)
    x_train, x_test, y_train, y_test = train_test_split(
        images, labels, test_size=0.2, random_state=0, stratify=labels
    )
    return (x_train, y_train), (x_test, y_test)


def shift(key, image):
    """Move one image by up to one pixel up or down and left or right, filling with black."""
    row, column = random.randint(key, (2,), 0, 3)
    return lax.dynamic_slice(jnp.pad(image, 1), (row, column), image.shape)


def loss_fn(params, images, labels):
    """Return the mean cross-entropy of a batch."""
    log_probabilities = nn.log_softmax(model.predict(params, images))
    return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))


def adam(state, grads, learning_rate, b1=0.9, b2=0.99, eps=1e-8):
    """Return the next state by Adam (Kingma and Ba, 2015, algorithm 1)."""
    step = state.step + 1
    mean = ev.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, grads)
    variance = ev.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, state.variance, grads)

    def update(p, m, v):
        return p - learning_rate * (m / (1 - b1**step)) / (jnp.sqrt(v / (1 - b2**step)) + eps)

    return State(ev.tree.map(update, state.params, mean, variance), mean, variance, step)


def train_step(state, batch, total_steps):
    """Take one step on a batch ``(keys, images, labels)``; return the next state and the loss."""
    keys, images, labels = batch
    images = ev.vmap(shift)(keys, images)
    loss, grads = ev.value_and_grad(loss_fn)(state.params, images, labels)
    # Half a cosine: from the peak rate down to zero at the last step.
    learning_rate = PEAK_LEARNING_RATE * 0.5 * (1 + jnp.cos(jnp.pi * state.step / total_steps))
    return adam(state, grads, learning_rate), loss


@partial(ev.jit, static_argnames="total_steps")
def train_epoch(state, key, images, labels, total_steps):
    """Visit every full batch of the shuffled images once; return the state and each step's loss."""
    order_key, shift_key = random.split(key)
    num_batches = len(images) // BATCH_SIZE
    order = random.permutation(order_key, len(images))[: num_batches * BATCH_SIZE]
    order = order.reshape(num_batches, BATCH_SIZE)
    keys = random.split(shift_key, order.shape)
    return lax.scan(
        lambda state, batch: train_step(state, batch, total_steps),
        state,
        (keys, images[order], labels[order]),
    )


@ev.jit
def evaluate(params, images, labels):
    """Return the class probabilities of each image, and the share of images read right."""
    scores = model.predict(params, images)
    return nn.softmax(scores), jnp.mean(jnp.argmax(scores, axis=1) == labels)


def train(data, test_data, epochs, seed):
    """Train; return the parameters, and the losses, test accuracy and seconds of each epoch."""
    init_key, train_key = random.split(random.key(seed))
    params = model.init(init_key)
    zeros = ev.tree.map(jnp.zeros_like, params)
    state = State(params, zeros, zeros, jnp.zeros((), jnp.int32))
    total_steps = epochs * (len(data[0]) // BATCH_SIZE)

    losses, accuracies, seconds = [], [], []
    progress = tqdm(random.split(train_key, epochs), unit="epoch", ncols=88)
    for key in progress:
        start = time.perf_counter()
        state, epoch_losses = train_epoch(state, key, *data, total_steps=total_steps)
        losses.append(np.asarray(epoch_losses))  # waits until the epoch has run
        seconds.append(time.perf_counter() - start)
        accuracies.append(float(evaluate(state.params, *test_data)[1]))
        progress.set_postfix_str(f"loss {losses[-1].mean():.4f}, test {accuracies[-1]:.1%}")
    return state.params, np.array(losses), np.array(accuracies), np.array(seconds)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30, help="passes over the images (30)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same network (0)")
    parser.add_argument("--out", type=Path, default=Path("digits.png"), help="picture to write")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error(f"--epochs is {options.epochs}; it takes at least one to learn anything")
    return options


def main():
    """Train, report and draw."""
    options = parse_arguments()
    data, test_data = ev.device_put(load_data())
    print(f"evertrace {ev.__version__} on {', '.join(map(str, ev.devices()))}")
    print(f"{len(data[0])} images to train on, {len(test_data[0])} to test")

    params, losses, accuracies, seconds = train(data, test_data, options.epochs, options.seed)
    probabilities, accuracy = evaluate(params, *test_data)

    steps = losses.shape[1]
    num_params = sum(p.size for p in ev.tree.leaves(params))
    print(f"first epoch  {seconds[0]:6.2f} s, tracing and compiling included")
    if options.epochs > 1:
        later = np.median(seconds[1:])
        print(f"later epochs {later:6.2f} s each: {steps} steps of {1e3 * later / steps:.2f} ms")
    print(f"test accuracy {accuracy:.2%} with {num_params:,} parameters")

    draw_report(options.out, losses, accuracies, *map(np.asarray, (*test_data, probabilities)))
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
