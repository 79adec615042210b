"""Right programs on which a pass of XLA's fails are compiled without that pass."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.engines.xla.options import Options
from evertrace.errors import JaxRuntimeError

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("options", [{}, {"xla_disable_hlo_passes": "algsimp"}])
def test_a_sum_for_a_callback_beside_the_product_itself(options):
    seen = []

    def fun(w, x):
        y = w * x[0]
        ev.debug.callback(seen.append, y.sum())
        return y

    w, x = jnp.ones((300, 400)), jnp.full((2, 400), 2.0)
    y = ev.jit(fun, engine="xla", compiler_options=options)(w, x)
    ev.effects_barrier()
    assert np.array_equal(y, np.full((300, 400), 2.0))
    assert [float(s) for s in seen] == [240_000.0]


def test_passes_that_the_user_leaves_out_stay_out():
    options = Options({"xla_disable_hlo_passes": "algsimp", "xla_cpu_enable_fast_math": True})
    flags = dict(options.without_pass("dce").compiler_options)
    assert flags == {"xla_disable_hlo_passes": "algsimp,dce", "xla_cpu_enable_fast_math": True}
    assert dict(Options().without_pass("dce").compiler_options) == {"xla_disable_hlo_passes": "dce"}


def test_other_failures_are_raised_at_once():
    wrong = {"xla_backend_optimization_level": "none"}
    with pytest.raises(JaxRuntimeError, match="xla_backend_optimization_level"):
        ev.jit(lambda x: x + 1, engine="xla", compiler_options=wrong)(jnp.ones(3))
