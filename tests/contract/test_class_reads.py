"""What an object has from its class is what the class has then, however often it is read."""

import random

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import X, case

pytestmark = pytest.mark.engine

VALUES = {
    "float": (0.5, 1.5),
    "int": (2, 3),
    "complex": (1j, 2j),
    "array": (jnp.ones(3), 2 * jnp.ones(3)),
    "NumPy array": (np.ones(3, np.float32), 2 * np.ones(3, np.float32)),
    "NumPy scalar": (np.float32(0.5), np.float32(1.5)),
    "str": ("a", "bcd"),
    "tuple": ((0.5, 1), (1.5, 2)),
    "list": ([0.5], [1.5]),
    "dict": ({"k": 0.5}, {"k": 1.5}),
    "range": (range(2), range(3)),
}


def number(value):
    if isinstance(value, str | range):
        return len(value)
    if isinstance(value, tuple | list):
        return value[0]
    return value["k"] if isinstance(value, dict) else value


def twice(s, x):
    return x * number(s.held) + number(s.held)


def in_two_functions(s, x):
    return x * s.read() + s.read()


def set_between(s, x):
    y = x * number(s.held)
    s.held = s.other
    return y + number(s.held)


def set_to_the_same(s, x):
    y = number(s.held)
    s.held = s.first
    return x * y + number(s.held) * s.scale + number(s.held)


def class_set_between(s, x):
    y = x * number(s.held)
    type(s).held = s.other
    return y + number(s.held)


def deleted_between(s, x):
    s.held = s.other
    y = x * number(s.held) + number(s.held)
    del s.held
    return y + number(s.held) + number(s.held)


def by_both(s, x):
    return x * number(s.held) + number(type(s).held) + number(s.held)


FORMS = (
    twice, in_two_functions, set_between, set_to_the_same, class_set_between, deleted_between,
    by_both,
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("first", "second"), VALUES.values(), ids=VALUES)
def test_each_read_finds_what_the_class_has(form, first, second):
    @case()
    def program(jit):
        class Model:
            held = first
            scale = 2.0

            def __init__(self):
                self.other, self.first = second, first

            def read(self):
                return number(self.held)

        f = jit(form)
        for value in (first, second, first):
            Model.held = value
            s = Model()
            yield f(s, X), vars(s), Model.held
            yield f(s, X), vars(s), Model.held

    program()


@pytest.mark.parametrize(
    "make", [lambda: random.Random(3), lambda: np.random.default_rng(3)], ids=["random", "numpy"]
)
def test_each_draw_of_a_classes_generator_is_made_at_each_call(make):
    def drawn(jit):
        class Model:
            rng = make()

            def step(self, x):
                self.drawn = [self.rng.random(), self.rng.random(), self.rng.random()]
                return x

        m, seen = Model(), []
        f = jit(m.step)
        for _ in range(3):
            f(X)
            seen.append([float(x) for x in m.drawn])
        return seen

    assert drawn(ev.jit) == drawn(lambda f: f)
