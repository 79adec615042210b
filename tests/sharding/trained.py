"""The demo's network in training, laid out over devices in several ways; for `test_training.py`."""

import sys
from pathlib import Path

import numpy as np

import evertrace as ev
from evertrace import random
from evertrace.experimental.array_serialization.pytree_serialization import load, save
from evertrace.sharding import AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P

sys.path.append(str(Path(__file__).parents[2] / "examples" / "digits"))
from model import Classifier
from optimizer import Adam, CosineDecay

STEPS, BATCH = 6, 16

# How each parameter is divided: by its name, for layers of each kind. Others are copied to all.
BY_MODEL = {
    "Convolution": {"kernel": P(None, None, None, "d")},
    "BatchNorm": dict.fromkeys(("scale", "bias", "mean", "variance"), P("d")),
    "Linear": {"kernel": P("d"), "bias": P()},
}
WAYS = {"data": ({}, P("d")), "model": (BY_MODEL, P())}  # of parameters, and of batches


class Generator:
    """Hands out random keys."""

    def __init__(self):
        self.state = random.key(0)

    def key(self):
        self.state, key = random.split(self.state)
        return key


class Trainer:
    """The demo's model and optimiser, and one step of their training.

    Args:
      way: "data" or "model", what is divided; None for nothing.
      engine: of the step.
    """

    def __init__(self, way=None, engine=None):
        self.model = Classifier(Generator())
        self.optimizer = Adam(self.model.layers(), CosineDecay(4e-3, STEPS))
        self.way, self.losses = way, []
        self.mesh = None
        if way is not None:
            n = ev.device_count()
            self.mesh = ev.make_mesh((n,), ("d",), axis_types=(AxisType.Auto,))
            self.put(self.state())
        self.step = ev.jit(self.learn, engine=engine)

    def learn(self, images, labels):
        """Learn from one batch."""
        value_and_grad = ev.value_and_grad(lambda model: model.loss(images, labels), has_aux=True)
        (loss, _), grads = value_and_grad(self.model)
        self.optimizer.update(grads.layers())
        self.losses.append(loss)

    def batch(self, number):
        """Return images and labels, laid out; every process has all of them."""
        rng = np.random.default_rng(number)
        images = rng.normal(size=(BATCH, 8, 8)).astype(np.float32)
        labels = rng.integers(0, 10, size=BATCH).astype(np.int32)
        if self.way is None:
            return images, labels
        rows = NamedSharding(self.mesh, WAYS[self.way][1])
        return [
            ev.make_array_from_callback(x.shape, rows, lambda i, x=x: x[i])
            for x in (images, labels)
        ]

    def train(self, first=0, after=lambda step: None):
        """Take the steps from the first one on."""
        for i in range(first, STEPS):
            self.step(*self.batch(i))
            after(i + 1)
        return self

    # ------------------------------------------------------------ all arrays, by name

    def places(self):
        """Yield (name, object, attribute, spec) for each array."""
        kinds = {} if self.way is None else WAYS[self.way][0]
        moments = self.optimizer.moments
        for i, (layer, moved) in enumerate(zip(self.model.layers(), moments, strict=True)):
            kind = type(layer).__name__
            specs = kinds.get(kind, {})
            statistics = ("mean", "variance") if kind == "BatchNorm" else ()
            for name in (*layer.parameters, *statistics):
                yield f"{i}.{kind}.{name}", layer, name, specs.get(name, P())
            for name, moment in moved.items():
                for part in ("mean", "variance"):
                    where = f"{i}.{kind}.{name}.{part}"
                    yield where, moment, part, specs.get(name, P())

    def state(self):
        """Return all arrays."""
        return {name: getattr(owner, a) for name, owner, a, _ in self.places()}

    def shardings(self):
        """Return how they are to be laid out."""
        return {name: NamedSharding(self.mesh, spec) for name, *_, spec in self.places()}

    def put(self, state):
        """Take over arrays, laid out."""
        shardings = self.shardings()
        for name, owner, attribute, _ in self.places():
            x = state[name]
            if not x.committed:  # each process has all of it: no program moves it
                host = np.asarray(x)
                x = ev.make_array_from_callback(x.shape, shardings[name], host.__getitem__)
            setattr(owner, attribute, x)

    def lies(self):
        """Return how the arrays lie: dict of name -> spec, for those that are divided."""
        specs = {name: x.sharding.spec for name, x in self.state().items()}
        return {name: str(spec) for name, spec in specs.items() if any(spec)}

    def whole(self):
        """Return all arrays as NumPy arrays."""
        return {name: np.asarray(x) for name, x in self.state().items()}

    def save(self, folder, step):
        """Write a checkpoint."""
        save({"step": step, "arrays": self.state()}, folder)

    def resume(self, folder):
        """Go on from a checkpoint; returns the number of steps that were taken."""
        found = load(folder, {"step": None, "arrays": self.shardings()})
        self.put(found["arrays"])
        self.optimizer.steps = int(found["step"])
        return self.optimizer.steps


def farthest(one, other):
    """Return how far the arrays of two states are from each other at most."""
    assert one.keys() == other.keys()
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)
