"""How long steps take that people write with libraries, here and on JAX: a second table."""

import json
import math
import pathlib

PROGRAM = pathlib.Path(__file__).parents[2] / "benchmarks" / "library_steps.py"
SECONDS = 300
NAMES = {
    "flax_linen": "optax, flax.linen: a network",
    "flax_nnx": "optax, flax.nnx: a network, `nnx.jit`",
    "equinox": "optax, equinox: a network, `filter_jit`",
    "haiku": "optax, dm-haiku: a network",
    "numpyro": "numpyro: NUTS, 200 samples",
    "diffrax": "diffrax: an ODE, its derivative",
}
LIBRARIES = ("optax", "flax", "equinox", "dm-haiku", "numpyro", "diffrax")
HEAD = ("step", "first, here", "on JAX", "later ones, here", "on JAX", "results")


def measure(environment, name, folder):
    """Run a part of that program; returns what it found, or None where it failed."""
    status, out, _ = environment.run(("-I", PROGRAM, name), SECONDS, folder)
    return json.loads(out.splitlines()[-1]) if status == 0 else None


def row(name, here, there):
    """Return what the table says of a step."""
    if here is None or there is None:
        return NAMES[name], *["fails" if x is None else "" for x in (here, there)], "", "", ""
    pairs = zip(here["results"], there["results"], strict=True)
    same = all(math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5) for a, b in pairs)
    times = [_time(found[key]) for key in ("first", "later") for found in (here, there)]
    return NAMES[name], *times, "the same" if same else "others"


def _time(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
