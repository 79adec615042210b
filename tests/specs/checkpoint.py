"""Rows of the identities that steer checkpoints and the compiler."""

from evertrace._src.control import checkpoint as ops
from evertrace._src.control.policies import name_p
from tests.specs.opspec import ALL, OpSpec, case

SPECS = [
    OpSpec(
        "checkpoint_name",
        [name_p],
        lambda x: ops.checkpoint_name(x, "kept"),
        oracle=lambda x: x,
        dtypes=ALL,
        linear=[(0,)],
        ulps=0,
        cases=[case((2, 3)), case(()), case((0, 3))],
    ),
    OpSpec(
        "optimization_barrier",
        [ops.optimization_barrier_p],
        lambda x, y: ops.optimization_barrier((x, y)),
        oracle=lambda x, y: (x, y),
        dtypes=ALL,
        linear=[(0, 1)],
        ulps=0,
        cases=[case((2, 3), (4,)), case((), (0, 3))],
    ),
]
