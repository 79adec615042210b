"""Runs programs on eight virtual devices both ways, simulated and divided by XLA's partitioner.

Run by `test_spmd.py` in a process of its own. Prints a line for each program: its name, and what
the two ways have in common.
"""

import faulthandler
import json

import numpy as np

import evertrace as ev
from evertrace.sharding import AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P
from tests.sharding import test_divisions, test_maps


def facts(function, args, exact):
    """Run a function both ways; returns how the results differ, and where the second one ran."""
    simulated, divided = ev.jit(function), ev.jit(function, engine="spmd")
    both = [ev.tree.leaves(f(*args)) for f in (simulated, divided)]
    programs = [v.program for v in divided._contract.variants.all()]
    places = [str(place) for program in programs for place in program.executables]
    same = [_same(a, b, exact) for a, b in zip(*both, strict=True)]
    specs = [[str(getattr(x.sharding, "spec", None)) for x in outs] for outs in both]
    return {"same": all(same), "specs": specs, "places": places}


def _same(a, b, exact):
    a, b = np.asarray(a), np.asarray(b)
    if exact or a.dtype.kind in "iub":
        return a.tobytes() == b.tobytes()
    return bool(np.allclose(a, b, rtol=2e-5, atol=2e-5))


def laid_out(mesh, shape, text, dtype):
    """Return an array of small numbers that is divided as a text of `test_divisions` says."""
    values = np.arange(np.prod(shape)).reshape(shape) % 7
    if shape[1:] == (3, 3):  # for what needs matrices that are positive definite
        values = values @ values.transpose(0, 2, 1) + 9 * np.eye(3)
    division = test_divisions.spec(text)
    return ev.device_put(values.astype(dtype), NamedSharding(mesh, P(*division)))


def show(name, function, args, exact):
    """Print a program's line."""
    try:
        found = facts(function, args, exact)
    except Exception as error:
        found = repr(error)
    print(json.dumps([name, found]), flush=True)


def main():
    """Run all programs."""
    faulthandler.dump_traceback_later(280, exit=True)  # what waits for ever holds the GIL
    ev.config.update("num_cpu_devices", 8)
    mesh = ev.make_mesh((4, 2), ("x", "y"))
    for name, (f, in_specs, out_specs, x, _) in test_maps.CASES.items():
        check = name != "first of many"
        function = ev.shard_map(
            f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check
        )
        show(f"shard_map: {name}", function, [x], exact=True)
    mesh = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)  # operands may differ
    for name, (f, operands, _) in test_divisions.CASES.items():
        args = [laid_out(mesh, *operand) for operand in operands]
        show(f"division: {name}", f, args, exact=False)


if __name__ == "__main__":
    main()
