"""StableHLO of incomplete gamma and beta functions: the programs of `control.incomplete`."""

from evertrace._src.control import incomplete
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.linalg import composed
from evertrace._src.ops import gamma as ops


def _by_program(prim, program):
    lowering.define(prim)(lambda b, out, *operands: composed(b, program, *operands))


_by_program(ops.igamma_p, incomplete.igamma)
_by_program(ops.igammac_p, incomplete.igammac)
_by_program(ops.igamma_grad_a_p, incomplete.igamma_grad_a)
_by_program(ops.random_gamma_grad_p, incomplete.random_gamma_grad)
_by_program(ops.regularized_incomplete_beta_p, incomplete.betainc)
