"""Train a small convolutional network on 1,797 handwritten digits and draw what it learnt.

    python train.py [--epochs 30] [--seed 0] [--out digits.png]

Plain Python objects throughout: a model of layers, an optimiser with its counter and moments, a
schedule, metrics, a generator of random keys, a list of losses. `Trainer.step` reads and changes
all of them as plain Python does, and `@ev.jit` in front of it compiles it as one program. A seed
always gives the same network.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn, random

from figure import draw_report
from model import Classifier
from optimizer import Adam, CosineDecay

BATCH_SIZE = 64
PEAK_LEARNING_RATE = 4e-3


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


class Generator:
    """Hands out random keys; the seed decides which."""

    def __init__(self, seed):
        self.state = random.key(seed)

    def key(self):
        """Return a key that was not handed out before."""
        self.state, key = random.split(self.state)
        return key


class Metrics:
    """Mean loss and accuracy over the batches since the last reset."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget all batches."""
        self.batches = 0
        self.images = 0
        self.loss_sum = jnp.zeros(())
        self.num_right = jnp.zeros((), jnp.int32)

    def update(self, loss, scores, labels):
        """Count one batch."""
        self.batches += 1
        self.images += len(labels)
        self.loss_sum += loss
        self.num_right += jnp.sum(jnp.argmax(scores, axis=1) == labels)

    @property
    def loss(self):
        """The mean loss of a batch."""
        return float(self.loss_sum) / self.batches

    @property
    def accuracy(self):
        """The share of images read right."""
        return int(self.num_right) / self.images


class Trainer:
    """A model and everything that changes while it is trained."""

    def __init__(self, total_steps, seed):
        self.generator = Generator(seed)
        self.model = Classifier(self.generator)
        rate = CosineDecay(PEAK_LEARNING_RATE, total_steps)
        self.optimizer = Adam(self.model.layers(), rate)
        self.metrics = Metrics()
        self.losses = []

    @ev.jit
    def step(self, images, labels):
        """Learn from one batch."""
        images = ev.vmap(shift)(random.split(self.generator.key(), len(images)), images)
        value_and_grad = ev.value_and_grad(lambda model: model.loss(images, labels), has_aux=True)
        (loss, scores), grads = value_and_grad(self.model)
        self.optimizer.update(grads.layers())
        self.metrics.update(loss, scores, labels)
        self.losses.append(loss)

    @ev.jit
    def predict(self, images):
        """Return the class probabilities of each image, ``[batch, 10]``."""
        return nn.softmax(self.model(images))

    def train_epoch(self, images, labels):
        """Visit every full batch of the shuffled images once."""
        self.metrics.reset()
        order = np.asarray(random.permutation(self.generator.key(), len(images)))
        for first in range(0, len(images) - BATCH_SIZE + 1, BATCH_SIZE):
            rows = order[first : first + BATCH_SIZE]
            self.step(images[rows], labels[rows])

    def accuracy(self, images, labels):
        """Return the share of images that are read right."""
        return np.mean(np.argmax(self.predict(images), axis=1) == labels)


def train(data, test_data, epochs, seed):
    """Train; return the trainer, and the test accuracy and the seconds of each epoch."""
    trainer = Trainer(epochs * (len(data[0]) // BATCH_SIZE), seed)
    accuracies, seconds = [], []
    progress = tqdm(range(epochs), unit="epoch", ncols=88)
    for _ in progress:
        start = time.perf_counter()
        trainer.train_epoch(*data)
        loss = trainer.metrics.loss  # waits until the epoch has run
        seconds.append(time.perf_counter() - start)
        accuracies.append(trainer.accuracy(*test_data))
        progress.set_postfix_str(f"loss {loss:.4f}, test {accuracies[-1]:.1%}")
    return trainer, np.array(accuracies), np.array(seconds)


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
    data, test_data = load_data()
    print(f"evertrace {ev.__version__} on {', '.join(map(str, ev.devices()))}")
    print(f"{len(data[0])} images to train on, {len(test_data[0])} to test")

    trainer, accuracies, seconds = train(data, test_data, options.epochs, options.seed)
    losses = np.array(trainer.losses).reshape(options.epochs, -1)

    steps = losses.shape[1]
    print(f"first epoch  {seconds[0]:6.2f} s, tracing and compiling included")
    if options.epochs > 1:
        later = np.median(seconds[1:])
        print(f"later epochs {later:6.2f} s each: {steps} steps of {1e3 * later / steps:.2f} ms")
    num_parameters = trainer.model.num_parameters()
    print(f"test accuracy {accuracies[-1]:.2%} with {num_parameters:,} parameters")

    probabilities = np.asarray(trainer.predict(test_data[0]))
    draw_report(options.out, losses, accuracies, *test_data, probabilities)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
