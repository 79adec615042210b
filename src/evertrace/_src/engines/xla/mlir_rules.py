"""Lowering rules that write MLIR through jaxlib's bindings, as programs written for JAX do.

Ours write text. A rule of JAX's signature, ``rule(ctx, *values, **params)``, writes operations into
a function of its own instead, in a module of its own; the text of that function becomes a private
one of the program, which calls it. The other way round a rule of ours that such a rule calls, and
what calls back, becomes a private function of the program that the rule's function calls.
"""

import dataclasses
from typing import Any

import numpy as np

from evertrace._src import tree
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.lower import Builder, Val, lowering
from evertrace._src.engines.xla.text import element_type, mlir_type
from evertrace._src.lazy import LazyModule
from evertrace._src.ops.callback import FlatCallback, io_callback_p, pure_callback_p
from evertrace._src.support import set_module

ir: Any = LazyModule("jaxlib.mlir.ir")
func: Any = LazyModule("jaxlib.mlir.dialects.func")
hlo: Any = LazyModule("jaxlib.mlir.dialects.stablehlo")

public = set_module("evertrace.interpreters.mlir")


@public
class ModuleContext:
    """What the rules of one program have in common.

    Attributes:
      context: MLIR's.
      module: the one that the rule's function is in, while it is written.
      platforms: what the program will run on, a tuple of one.
      keepalives: what lives as long as the program; our programs keep their callbacks themselves.

    Example:
      >>> from jaxlib.mlir.dialects import stablehlo
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> half_p = Primitive("half")
      >>> _ = half_p.def_abstract_eval(lambda x: x)
      >>> def rule(ctx, x):
      ...     assert ctx.module_context.platforms == ("cpu",)
      ...     two = mlir.ir_constant(np.full(3, 2, np.float32))
      ...     return [stablehlo.divide(x, two)]
      >>> _ = mlir.register_lowering(half_p, rule)
      >>> ev.jit(half_p.bind)(jnp.ones(3))
      Array([0.5, 0.5, 0.5], dtype=float32)
    """

    builder: Any
    context: Any
    keepalives: Any
    module: Any
    platforms: Any

    backend = None

    def __init__(self, builder: Any, module: Any) -> None:
        self.builder, self.module, self.context = builder, module, module.context
        self.platforms = (builder.module.platform,)
        self.keepalives = []

    def add_keepalive(self, value: Any) -> Any:
        """Let a value live as long as the program: nothing to do."""
        self.keepalives.append(value)

    @property
    def symbol_table(self) -> Any:
        """The names of the functions in the module."""
        return ir.SymbolTable(self.module.operation)


@public
@dataclasses.dataclass
class LoweringRuleContext:
    """What a rule is told.

    Attributes:
      module_context: of the program.
      primitive: whose rule it is.
      avals_in, avals_out: types of operands and results.

    Example:
      >>> from jaxlib.mlir.dialects import stablehlo
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> root_p = Primitive("root")
      >>> _ = root_p.def_abstract_eval(lambda x: x)
      >>> def rule(ctx, x):
      ...     assert ctx.avals_in == [ev.core.ShapedArray((2,), "float32")]
      ...     return [stablehlo.sqrt(x)]
      >>> _ = mlir.register_lowering(root_p, rule)
      >>> ev.jit(root_p.bind)(jnp.array([4.0, 9.0]))
      Array([2., 3.], dtype=float32)
    """

    module_context: Any
    primitive: Any
    avals_in: list[Any]
    avals_out: list[Any]
    name_stack: str = ""
    tokens_in: Any = None
    tokens_out: Any = None
    dim_var_values: tuple[Any, ...] = ()

    @property
    def platforms(self) -> Any:
        """What the program will run on."""
        return self.module_context.platforms

    def replace(self, **changes: Any) -> Any:
        """Return a context with other attributes."""
        return dataclasses.replace(self, **changes)

    def set_tokens_out(self, tokens: Any) -> Any:
        """Note the tokens after the rule: nothing reads them, order is ours to see to."""
        self.tokens_out = tokens

    def apply(self, rule: Any, avals: Any, operands: Any, outs: Any) -> Any:
        """Let a rule that writes text write a function, and call it; returns a list of values.

        Args:
          rule: function of a builder, the avals of the results (a list) and operands.
          avals: of the operands.
          operands: MLIR's values.
          outs: avals of the results.
        """
        module = self.module_context.builder.module
        name = module._fresh("rule")
        b = Builder(module)
        args = [Val(f"%arg{i}", mlir_type(a), a) for i, a in enumerate(avals)]
        b._return("func.return", rule(b, list(outs), *args))
        header = ", ".join(f"{x.name}: {x.type}" for x in args)
        types = ", ".join(map(mlir_type, outs))
        body = "\n".join(b.lines)
        module.functions.append(f"func.func private @{name}({header}) -> ({types}) {{\n{body}\n}}")
        with ir.InsertionPoint(self.module_context.module.body):
            kinds = [list(map(_ir_type, some)) for some in (avals, outs)]
            func.FuncOp(name, ir.FunctionType.get(*kinds), visibility="private")
        return list(func.CallOp(kinds[1], name, list(operands)).results)


def _ir_type(aval):
    return ir.Type.parse(mlir_type(aval))


class TextRule:
    """A rule of ours, which rules of JAX's signature may call as well: `rule(ctx, *values)`.

    Args:
      rule: function ``rule(builder, outs, *operands, **params)``.
    """

    def __init__(self, rule: Any) -> None:
        self.rule = rule

    def __call__(self, b: Any, *args: Any, **params: Any) -> Any:
        """Write what the rule writes."""
        if not isinstance(b, LoweringRuleContext):
            return self.rule(b, *args, **params)

        def write(builder, outs, *operands):
            single = b.primitive is not None and not b.primitive.multiple_results
            made = self.rule(builder, outs[0] if single else outs, *operands, **params)
            return [made] if isinstance(made, Val) else list(made)

        return b.apply(write, b.avals_in, args, b.avals_out)


class WrittenRule:
    """A rule of JAX's signature as one of ours.

    Args:
      prim: the primitive.
      rule: function ``rule(ctx, *values, **params)`` of MLIR's values to a sequence of them.
    """

    def __init__(self, prim: Any, rule: Any) -> None:
        self.prim, self.rule = prim, rule

    def __call__(self, b: Any, outs: Any, *operands: Any, **params: Any) -> Any:
        """Let the rule write a function, add it to the program, call it there."""
        several, name = isinstance(outs, list), b.module._fresh("rule")
        results = outs if several else [outs]
        module = compat.parse_module("")
        with module.context, ir.Location.unknown():
            avals = [x.aval for x in operands]
            kinds = [list(map(_ir_type, some)) for some in (avals, results)]
            with ir.InsertionPoint(module.body):
                function = func.FuncOp(name, ir.FunctionType.get(*kinds), visibility="private")
            shared = ModuleContext(b, module)
            ctx = LoweringRuleContext(shared, self.prim, avals, results)
            block = function.add_entry_block()
            with ir.InsertionPoint(block):
                made = self.rule(ctx, *block.arguments, **params)
                func.ReturnOp(flatten_ir_values(made))
            module.operation.verify()

        def rename(old):
            return name if old == name else b.module._fresh(old)

        b.module.functions += compat.defined_functions(module, rename).values()
        made = b.op("func.call", list(operands), results, {"callee": f"@{name}"})
        return made if several else made[0]


# ---------------------------------------------------------------- what such rules call


@public
def flatten_ir_values(values: Any) -> list[Any]:
    """Return a list of MLIR's values, from values, operations with results and sequences of them.

    Args:
      values: what a rule returns.

    Example:
      >>> from jaxlib.mlir.dialects import stablehlo
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> double_p = Primitive("double")
      >>> _ = double_p.def_abstract_eval(lambda x: x)
      >>> def rule(ctx, x):
      ...     return mlir.flatten_ir_values([stablehlo.AddOp(x, x)])
      >>> _ = mlir.register_lowering(double_p, rule)
      >>> ev.jit(double_p.bind)(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """
    if isinstance(values, ir.Value):
        return [values]
    if hasattr(values, "results"):
        return list(values.results)
    return [x for part in values for x in flatten_ir_values(part)]


@public
def emit_python_callback(
    ctx: Any,
    callback: Any,
    token: Any,
    operands: Any,
    operand_avals: Any,
    result_avals: Any,
    *,
    has_side_effect: Any,
    returns_token: Any = True,
    partitioned: Any = False,
    sharding: Any = None,
) -> Any:
    """Write a call of a Python function.

    Args:
      ctx: what the rule was told.
      callback: function of arrays that returns a sequence of them.
      token: of the effect before it, returned as it is: the order of effects is ours to see to.
      operands: MLIR's values.
      operand_avals: their types.
      result_avals: types of the results.
      has_side_effect: whether it is called though nothing reads its results.
      returns_token: accepted for compatibility, as are the others.
      partitioned: see there.
      sharding: see there.

    Returns:
      The values, the token, and what has to live as long as the program (None: it is kept).

    Example:
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> median_p = Primitive("median")
      >>> _ = median_p.def_abstract_eval(lambda x: x.update(shape=()))
      >>> def rule(ctx, x):
      ...     median = lambda v: [np.median(v).astype(v.dtype)]
      ...     avals = ctx.avals_in, ctx.avals_out
      ...     out, _, keep = mlir.emit_python_callback(
      ...         ctx, median, None, [x], *avals, has_side_effect=False
      ...     )
      ...     ctx.module_context.add_keepalive(keep)
      ...     return out
      >>> _ = mlir.register_lowering(median_p, rule)
      >>> ev.jit(median_p.bind)(jnp.array([3.0, 1.0, 2.0]))
      Array(2., dtype=float32)
    """
    del returns_token, partitioned, sharding
    structure = tree.structure((tuple(range(len(operands))), {}))
    flat = FlatCallback("emit_python_callback", callback, structure)
    prim = io_callback_p if has_side_effect else pure_callback_p

    def write(b, outs, *xs):
        params = {"callback": flat, "result_avals": tuple(outs), "sharding": None}
        return lowering[prim](b, outs, *xs, **params)

    return ctx.apply(write, operand_avals, operands, result_avals), token, None


@public
def dtype_to_ir_type(dtype: Any) -> Any:
    """Return the element type of a dtype, in the current context.

    Args:
      dtype: NumPy's.

    Example:
      >>> from jaxlib.mlir import ir
      >>> from evertrace.interpreters import mlir
      >>> with ir.Context(), ir.Location.unknown():
      ...     print(mlir.dtype_to_ir_type(np.uint8))
      ui8
    """
    return ir.Type.parse(element_type(np.dtype(dtype)))


@public
def aval_to_ir_type(*args: Any) -> Any:
    """Return the tensor type of an aval, in the current context.

    Args:
      *args: the aval; before it the context of the module, which is not needed.

    Example:
      >>> from jaxlib.mlir import ir
      >>> from evertrace.interpreters import mlir
      >>> with ir.Context(), ir.Location.unknown():
      ...     print(mlir.aval_to_ir_type(ev.typeof(jnp.ones((2, 3)))))
      tensor<2x3xf32>
    """
    return _ir_type(args[-1])


@public
def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> Any:
    """Write a constant; returns its value.

    Args:
      val: an array or a scalar.
      const_lowering: accepted for compatibility.
      aval: likewise.

    Example:
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> table_p = Primitive("table")
      >>> _ = table_p.def_abstract_eval(lambda: ev.core.ShapedArray((2,), "int32"))
      >>> def rule(ctx):
      ...     return [mlir.ir_constant(np.array([3, 4], np.int32))]
      >>> _ = mlir.register_lowering(table_p, rule)
      >>> ev.jit(table_p.bind)()
      Array([3, 4], dtype=int32)
    """
    del const_lowering, aval
    host = np.asarray(val)
    kind = ir.RankedTensorType.get(host.shape, dtype_to_ir_type(host.dtype))
    host = np.packbits(host, bitorder="little") if host.dtype.kind == "b" else host
    return hlo.constant(ir.DenseElementsAttr.get(np.ascontiguousarray(host), type=kind))


@public
def dense_int_elements(values: Any) -> Any:
    """Return integers as an attribute, a tensor of i64.

    Args:
      values: a sequence.

    Example:
      >>> from jaxlib.mlir import ir
      >>> from evertrace.interpreters import mlir
      >>> with ir.Context(), ir.Location.unknown():
      ...     print(mlir.dense_int_elements([1, 2]))
      dense<[1, 2]> : tensor<2xi64>
    """
    return ir.DenseIntElementsAttr.get(np.asarray(values, np.int64))


@public
def dense_int_array(values: Any) -> Any:
    """Return integers as an attribute, an array of i64.

    Args:
      values: a sequence.

    Example:
      >>> from jaxlib.mlir import ir
      >>> from evertrace.interpreters import mlir
      >>> with ir.Context(), ir.Location.unknown():
      ...     print(mlir.dense_int_array([1, 2]))
      array<i64: 1, 2>
    """
    return ir.DenseI64ArrayAttr.get(np.asarray(values, np.int64))


@public
def i32_attr(value: Any) -> Any:
    """Return an integer as an attribute of 32 bits.

    Args:
      value: it.

    Example:
      >>> from jaxlib.mlir import ir
      >>> from evertrace.interpreters import mlir
      >>> with ir.Context(), ir.Location.unknown():
      ...     print(mlir.i32_attr(3))
      3 : i32
    """
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


@public
def i64_attr(value: Any) -> Any:
    """Return an integer as an attribute of 64 bits.

    Args:
      value: it.

    Example:
      >>> from jaxlib.mlir import ir
      >>> from evertrace.interpreters import mlir
      >>> with ir.Context(), ir.Location.unknown():
      ...     print(mlir.i64_attr(3))
      3 : i64
    """
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


@public
def custom_call(
    call_target_name: Any,
    *,
    result_types: Any,
    operands: Any,
    backend_config: Any = "",
    has_side_effect: Any = False,
    result_shapes: Any = None,
    called_computations: Any = (),
    api_version: Any = 2,
    operand_output_aliases: Any = None,
    operand_layouts: Any = None,
    result_layouts: Any = None,
    extra_attributes: Any = None,
) -> Any:
    """Write a call of what XLA knows by a name; returns the operation, whose `results` they are.

    Args:
      call_target_name: the name.
      result_types: MLIR's types of the results.
      operands: MLIR's values.
      backend_config: text for the callee, or from version 4 on a dict of attributes.
      has_side_effect: whether it is called though nothing reads its results.
      result_shapes: a tensor with the shape of each result, where types do not say it.
      called_computations: names of functions that the callee gets.
      api_version: the interface that the callee is of.
      operand_output_aliases: dict from an operand's number to the result that lies on it.
      operand_layouts: the order of dimensions of each operand, the fastest one first.
      result_layouts: the same of each result.
      extra_attributes: dict of further attributes of the operation.

    Example:
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> mine_p = Primitive("mine")
      >>> _ = mine_p.def_abstract_eval(lambda x: x)
      >>> def rule(ctx, x):
      ...     return mlir.custom_call("of_mine", result_types=[x.type], operands=[x]).results
      >>> _ = mlir.register_lowering(mine_p, rule)
      >>> "stablehlo.custom_call @of_mine" in ev.jit(mine_p.bind).lower(1.0).as_text()
      True
    """
    operands, results = list(operands), list(result_types)
    attributes = {
        "call_target_name": ir.StringAttr.get(call_target_name),
        "has_side_effect": ir.BoolAttr.get(has_side_effect),
        "api_version": i32_attr(api_version),
        "backend_config": _config_attr(backend_config),
        "called_computations": ir.ArrayAttr.get(
            [ir.FlatSymbolRefAttr.get(name) for name in called_computations]
        ),
    }
    if operand_output_aliases:
        aliases = [
            hlo.OutputOperandAlias.get(
                output_tuple_indices=[] if len(results) == 1 else [out],
                operand_index=operand,
                operand_tuple_indices=[],
            )
            for operand, out in operand_output_aliases.items()
        ]
        attributes["output_operand_aliases"] = ir.ArrayAttr.get(aliases)
    if result_shapes is not None:
        first = len(operands)
        operands += result_shapes
        attributes["indices_of_shape_operands"] = dense_int_elements(range(first, len(operands)))
    for what, layouts in (("operand", operand_layouts), ("result", result_layouts)):
        if layouts is not None:
            attributes[f"{what}_layouts"] = ir.ArrayAttr.get(list(map(_layout_attr, layouts)))
    attributes |= extra_attributes or {}
    return hlo.CustomCallOp.build_generic(results=results, operands=operands, attributes=attributes)


def _config_attr(value):
    return ir.DictAttr.get(value) if isinstance(value, dict) else ir.StringAttr.get(value)


def _layout_attr(order):
    order = np.asarray(order, np.int64)
    return ir.DenseIntElementsAttr.get(order, type=ir.IndexType.get())
