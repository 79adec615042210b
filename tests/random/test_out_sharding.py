"""How what is drawn lies on the devices."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import P, random
from evertrace.nn import initializers

KEY = random.key(0)

DRAWS = {
    "normal": lambda where: random.normal(KEY, (2, 3), out_sharding=where),
    "uniform": lambda where: random.uniform(KEY, (2, 3), out_sharding=where),
    "bernoulli": lambda where: random.bernoulli(KEY, 0.5, (2, 3), out_sharding=where),
    "gamma": lambda where: random.gamma(KEY, 2.0, (2, 3), out_sharding=where),
    "bits": lambda where: random.bits(KEY, (2, 3), out_sharding=where),
    "zeros": lambda where: initializers.zeros(KEY, (2, 3), out_sharding=where),
    "constant": lambda where: initializers.constant(2.0)(KEY, (2, 3), out_sharding=where),
    "normal initializer": lambda where: initializers.normal()(KEY, (2, 3), out_sharding=where),
    "glorot": lambda where: initializers.glorot_normal()(KEY, (2, 3), out_sharding=where),
    "orthogonal": lambda where: initializers.orthogonal()(KEY, (2, 3), out_sharding=where),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_draw_lies_as_it_is_asked_to(draw):
    plain = draw(None)
    with ev.set_mesh(ev.make_mesh((1,), ("rows",))):
        laid = draw(P("rows"))
        assert laid.sharding.spec == P("rows")
        assert jnp.allclose(laid, plain)
        assert ev.jit(draw, static_argnums=0)(P("rows")).sharding.spec == P("rows")
        # As a type says it, in which a mesh has no devices.
        assert draw(ev.typeof(laid).sharding).sharding.spec[0] == "rows"
    assert jnp.allclose(draw(ev.typeof(plain).sharding), plain)
