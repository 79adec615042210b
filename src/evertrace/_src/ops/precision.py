"""How precise products are to be: `Precision`, and recipes for dot products."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from evertrace._src import config, errors
from evertrace._src.support import set_module


@set_module("evertrace.lax")
class Precision(enum.Enum):
    """How exactly an accelerator multiplies 32-bit floats; CPUs are exact with each.

    Attributes:
      DEFAULT: the fastest the hardware has, such as one bfloat16 or TF32 pass.
      HIGH: a middle way, such as three bfloat16 passes.
      HIGHEST: 32-bit floats, slow on some hardware.

    Example:
      >>> lax.Precision("float32")
      Precision.HIGHEST
      >>> lax.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]), precision=lax.Precision.HIGHEST)
      Array(11., dtype=float32)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: Any):
        name = _PRECISION_NAMES.get(value) if isinstance(value, str) else None
        return None if name is None else cls[name]

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_PRECISION_NAMES = {
    "default": "DEFAULT", "fastest": "DEFAULT", "bfloat16": "DEFAULT", "high": "HIGH",
    "bfloat16_3x": "HIGH", "tensorfloat32": "HIGH", "highest": "HIGHEST", "float32": "HIGHEST",
}  # fmt: skip


@set_module("evertrace.lax")
class DotAlgorithm(NamedTuple):
    """An exact recipe for a product, as XLA's `dot_general` takes it.

    Attributes:
      lhs_precision_type, rhs_precision_type: dtypes to which the operands are rounded.
      accumulation_type: dtype of the sums.
      lhs_component_count, rhs_component_count: parts into which each operand is split.
      num_primitive_operations: products of parts that are added up.
      allow_imprecise_accumulation: whether sums may be kept in fewer bits.

    Example:
      >>> recipe = lax.DotAlgorithm(np.float32, np.float32, np.float32)
      >>> lax.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]), precision=recipe)
      Array(11., dtype=float32)
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


@set_module("evertrace.lax")
class DotAlgorithmPreset(enum.Enum):
    """Recipes by name: types of the operands, type of the sums, number of products.

    The values are those types (``f8`` stands for the operands' own), the number of products, and
    whether sums may be kept in fewer bits. An engine that lacks a recipe raises when it compiles
    a program that asks for it; the host engine computes in full precision with each of them.

    Example:
      >>> recipe = lax.DotAlgorithmPreset.BF16_BF16_F32
      >>> lax.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]), precision=recipe)
      Array(11., dtype=float32)
    """

    DEFAULT = None
    ANY_F8_ANY_F8_F32 = ("f8", "f32", 1, False)
    ANY_F8_ANY_F8_F32_FAST_ACCUM = ("f8", "f32", 1, True)
    ANY_F8_ANY_F8_ANY = ("f8", "any", 1, False)
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = ("f8", "any", 1, True)
    F16_F16_F16 = ("f16", "f16", 1, False)
    F16_F16_F32 = ("f16", "f32", 1, False)
    BF16_BF16_BF16 = ("bf16", "bf16", 1, False)
    BF16_BF16_F32 = ("bf16", "f32", 1, False)
    BF16_BF16_F32_X3 = ("bf16", "f32", 3, False)
    BF16_BF16_F32_X6 = ("bf16", "f32", 6, False)
    BF16_BF16_F32_X9 = ("bf16", "f32", 9, False)
    TF32_TF32_F32 = ("tf32", "f32", 1, False)
    TF32_TF32_F32_X3 = ("tf32", "f32", 3, False)
    F32_F32_F32 = ("f32", "f32", 1, False)
    F64_F64_F64 = ("f64", "f64", 1, False)

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


def is_pair(precision):
    """Whether a `precision` param is a pair of `Precision`."""
    return isinstance(precision, tuple) and not isinstance(precision, DotAlgorithm)


def precision_param(precision):
    """Return the `precision` param: None, a pair of `Precision`, or an algorithm.

    Args:
      precision: None, a `Precision` or its name, a pair of these, or a `DotAlgorithm`, a
        `DotAlgorithmPreset` or its name. None is what the option `default_matmul_precision` says.
    """
    if precision is None:
        precision = config.current().default_matmul_precision
    if precision is None or isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    try:
        lhs, rhs = (Precision.DEFAULT if p is None else Precision(p) for p in pair)
    except ValueError:
        raise errors.user_error(
            ValueError,
            f"precision: {precision!r} is neither a precision nor a pair of precisions.",
            fix="use None, 'default', 'high', 'highest' or a member of `lax.Precision`.",
            anchor="choice",
        ) from None
    return lhs, rhs
