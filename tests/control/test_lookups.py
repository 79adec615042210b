"""What an object or module looks up and keeps while a body is traced is no change of state."""

import sys
import types

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax


class Facade:
    """Finds missing attributes in a module, and keeps them."""

    def __init__(self, root):
        self.root = root

    def __getattr__(self, name):
        found = getattr(self.root, name)
        setattr(self, name, found)
        return found


def sine_of(owner):
    return lambda x: owner.sin(x)


MODULE = """
found = []
def __getattr__(name):
    import evertrace.numpy as jnp
    globals()[name] = getattr(jnp, name)
    return globals()[name]
"""


def lazy_module():
    module = types.ModuleType("lazy_for_test")
    exec(MODULE, module.__dict__)
    sys.modules["lazy_for_test"] = module
    return module


def lazy_object():
    return Facade(jnp)


def nested_objects():
    outer = Facade(ev)
    return types.SimpleNamespace(sin=lambda x: outer.numpy.sin(x))


CONSTRUCTS = {
    "fori_loop": lambda f, x: lax.fori_loop(0, 3, lambda i, x: f(x), x),
    "scan": lambda f, x: lax.scan(lambda c, _: (f(c), c), x, None, length=3)[0],
    "while_loop": lambda f, x: lax.while_loop(lambda x: x > 0.9, f, x),
    "condition": lambda f, x: lax.while_loop(lambda x: f(x) > 0.9, lambda x: x / 2, x),
    "cond": lambda f, x: lax.cond(x > 0, f, lambda x: x, x),
    "map": lambda f, x: lax.map(f, x[None])[0],
    "checkpoint": lambda f, x: ev.checkpoint(f)(x),
    "grad": lambda f, x: ev.grad(f)(x),
    "associative_scan": lambda f, x: lax.associative_scan(lambda a, b: f(a) + b, jnp.stack([x, x])),
    "nested": lambda f, x: lax.fori_loop(
        0, 2, lambda i, x: lax.cond(x > 0, lambda x: ev.grad(f)(x), f, x), x
    ),
}


@pytest.mark.parametrize("construct", CONSTRUCTS)
@pytest.mark.parametrize("make", [lazy_module, lazy_object, nested_objects])
def test_lookup_is_no_change(construct, make):
    run, x = CONSTRUCTS[construct], jnp.asarray(1.2)
    expected = run(jnp.sin, x)
    for call in (ev.jit(run), run):
        owner = make()
        np.testing.assert_allclose(call(sine_of(owner), x), expected, rtol=1e-6)


def test_what_is_found_is_kept():
    owner = Facade(jnp)

    @ev.jit
    def f(x):
        return lax.fori_loop(0, 3, lambda i, x: owner.sin(x), x)

    expected = np.sin(np.sin(np.sin(1.0)))
    for _ in range(3):
        np.testing.assert_allclose(f(1.0), expected, rtol=1e-6)
    assert vars(owner) == {"root": jnp, "sin": jnp.sin}


def import_late(i, x):
    global wave
    import wave  # noqa: PLC0415 - that is what is tested

    return x + wave.WAVE_FORMAT_PCM


def test_import_in_a_body():
    globals().pop("wave", None)
    assert ev.jit(lambda x: lax.fori_loop(0, 3, import_late, x))(1.0) == 4.0


def test_what_is_no_lookup_is_a_change():
    owner = Facade(jnp)

    def step(i, x):
        owner.last = x
        return x + 1

    with pytest.raises(TypeError, match=r"adds to or removes from owner\.last"):
        ev.jit(lambda x: lax.fori_loop(0, 3, step, x))(1.0)
