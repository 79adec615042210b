"""Registering how primitives are compiled, in JAX's signature, and what its rules call."""

from evertrace._src.api.lowerings import lower_fun as lower_fun
from evertrace._src.api.lowerings import register_jax_lowering as register_lowering
from evertrace._src.engines.xla.mlir_rules import LoweringRuleContext as LoweringRuleContext
from evertrace._src.engines.xla.mlir_rules import ModuleContext as ModuleContext
from evertrace._src.engines.xla.mlir_rules import aval_to_ir_type as aval_to_ir_type
from evertrace._src.engines.xla.mlir_rules import custom_call as custom_call
from evertrace._src.engines.xla.mlir_rules import dense_int_array as dense_int_array
from evertrace._src.engines.xla.mlir_rules import dense_int_elements as dense_int_elements
from evertrace._src.engines.xla.mlir_rules import dtype_to_ir_type as dtype_to_ir_type
from evertrace._src.engines.xla.mlir_rules import emit_python_callback as emit_python_callback
from evertrace._src.engines.xla.mlir_rules import flatten_ir_values as flatten_ir_values
from evertrace._src.engines.xla.mlir_rules import i32_attr as i32_attr
from evertrace._src.engines.xla.mlir_rules import i64_attr as i64_attr
from evertrace._src.engines.xla.mlir_rules import ir as ir
from evertrace._src.engines.xla.mlir_rules import ir_constant as ir_constant

__all__ = [
    "LoweringRuleContext", "ModuleContext", "aval_to_ir_type", "custom_call", "dense_int_array",
    "dense_int_elements", "dtype_to_ir_type", "emit_python_callback", "flatten_ir_values",
    "i32_attr", "i64_attr", "ir", "ir_constant", "lower_fun", "register_lowering",
]  # fmt: skip
