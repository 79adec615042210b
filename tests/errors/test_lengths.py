"""An error says in a page what is wrong with an argument of thousands of entries or letters.

How long a text is decides whether it is read; of what is long, its beginning says what it is. No
array has so many dimensions, so that nobody works with them for hours.
"""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src import errors

X = jnp.ones((2, 3))
COUNT = 50_000
MANY = (0,) * COUNT
NAME = "x" * COUNT

TOLD = {
    "axes": lambda: jnp.sum(X, axis=tuple(range(COUNT))),
    "axes of a transpose": lambda: X.transpose(MANY),
    "places of axes": lambda: jnp.moveaxis(X, MANY, MANY),
    "subscripts": lambda: jnp.einsum(NAME, X),
    "limits of a slice": lambda: lax.slice(X, MANY, MANY),
    "indices": lambda: X[MANY],
    "indices of an update": lambda: X.at[MANY].set(1),
    "sizes that do not fit": lambda: jnp.broadcast_to(X, (5,) * 64),
    "widths of padding": lambda: jnp.pad(X, ((0, 0),) * COUNT),
    "dimensions of a product": lambda: lax.dot_general(X, X, ((MANY, MANY), ((), ()))),
    "strides": lambda: lax.conv_general_dilated(X, X, MANY, NAME),
    "arguments": lambda: ev.grad(lambda a: a, argnums=tuple(range(COUNT)))(1.0),
    "names of arguments": lambda: ev.jit(lambda a: a, static_argnames=(NAME,) * 3)(1),
    "axes of a batch": lambda: ev.vmap(lambda a: a, in_axes=MANY)(X),
    "trees": lambda: ev.tree.map(lambda a, b: a, [1] * COUNT, [1] * (COUNT - 1)),
    "a keyword": lambda: jnp.sum(X, **{NAME: 1}),
    "an option": lambda: ev.config.update(NAME, 1),
    "a name of a module": lambda: getattr(jnp, NAME),
    "a name of an axis": lambda: lax.psum(X, NAME),
    "a mode": lambda: jnp.take(X, 0, mode=NAME),
    "a platform": lambda: ev.device_put(X, NAME),
    "a text for a key": lambda: random.key(NAME),
    "a text for an array": lambda: jnp.array(NAME),
    "sizes of a mesh": lambda: ev.make_mesh(MANY, ("x",) * COUNT),
}


@pytest.mark.parametrize("use", TOLD.values(), ids=TOLD)
def test_a_long_argument_makes_no_long_message(use):
    with pytest.raises(Exception) as caught:  # noqa: PT011 (of many kinds; the text is looked at)
        use()
    text = str(caught.value)
    assert "Fix: " in text
    assert len(text) < 15_000


DIMENSIONS = {
    "zeros": lambda: jnp.zeros((1,) * 65),
    "reshape": lambda: X.reshape((2,) * COUNT),
    "tile": lambda: jnp.tile(X, (2,) * COUNT),
    "expand_dims": lambda: jnp.expand_dims(X, tuple(range(COUNT))),
    "indices": lambda: X[(None,) * 65],
    "broadcast": lambda: lax.broadcast(X, (2,) * COUNT),
    "random": lambda: random.normal(random.key(0), (1,) * COUNT),
    "a type": lambda: ev.ShapeDtypeStruct((1,) * COUNT, "float32"),
    "jit": lambda: ev.jit(lambda: jnp.ones((1,) * 65).sum())(),
}


@pytest.mark.parametrize("use", DIMENSIONS.values(), ids=DIMENSIONS)
def test_arrays_have_as_many_dimensions_as_those_of_numpy(use):
    with pytest.raises(
        ValueError, match=r"^(\w+: )?an array can have 64 dimensions, as NumPy's, not"
    ):
        use()
    assert jnp.ones((1,) * 64).ndim == 64


def test_the_ends_of_a_long_text_are_kept():
    made = errors.bounded("begin " + NAME + " end")
    assert made.startswith("begin xxx")
    assert made.endswith("xxx end")
    assert " [...] " in made
    assert errors.bounded("short") == "short"


SIZES = {
    "zeros": lambda x: jnp.zeros((2**63, 0)),
    "broadcast": lambda x: lax.broadcast(x, (2**70,)),
    "reshape": lambda x: x.reshape((2**70, 0)),
    "tile": lambda x: jnp.tile(x, (2**70, 1)),
    "pad": lambda x: jnp.pad(x, ((0, 2**70), (0, 0))),
    "random": lambda x: random.bits(random.key(0), (0, 2**70)),
    "vmap": lambda x: ev.vmap(lambda x: x, in_axes=None, axis_size=2**70)(x),
}


@pytest.mark.parametrize("call", SIZES.values(), ids=SIZES)
def test_an_array_without_elements_has_sizes_that_can_be_counted(call):
    with pytest.raises(ValueError, match=r"is more than 2\*\*63 - 1"):
        ev.jit(call)(jnp.zeros((2, 0)))
    with pytest.raises(ValueError, match=r"is more than 2\*\*63 - 1"):
        ev.eval_shape(call, jnp.zeros((2, 0)))
