"""StableHLO of bitwise operations."""

from evertrace._src.engines.xla.rules.elementwise import direct
from evertrace._src.ops import bits as ops

direct(ops.and_p, "stablehlo.and")
direct(ops.or_p, "stablehlo.or")
direct(ops.xor_p, "stablehlo.xor")
direct(ops.not_p, "stablehlo.not")
direct(ops.shift_left_p, "stablehlo.shift_left")
direct(ops.shift_right_arithmetic_p, "stablehlo.shift_right_arithmetic")
direct(ops.shift_right_logical_p, "stablehlo.shift_right_logical")
direct(ops.population_count_p, "stablehlo.popcnt")
direct(ops.clz_p, "stablehlo.count_leading_zeros")
