"""Promotion agrees with JAX on every pair of dtypes, weak or not, in every mode."""

import itertools
import json
import pathlib

import numpy as np
import pytest

from evertrace._src import config, dtypes
from evertrace._src.errors import DTypeError, TypePromotionError

TABLE = json.loads(pathlib.Path(__file__).with_name("promotion_table.json").read_text())
SCALARS = {"int": int, "float": float, "complex": complex}


class Value:
    """Something with a dtype and a weakness, as an array or a tracer has."""

    def __init__(self, name):
        """Take the name of a dtype, with ``*`` behind it for a weak one."""
        self.dtype = np.dtype(name.removesuffix("*"))
        self.weak_type = name.endswith("*")


def value(text):
    """Return the operand that an entry of the table stands for."""
    return SCALARS.get(text) or Value(text)


def result(f, *operands):
    """Return the text of a result, as the table writes it."""
    try:
        out = f(*operands)
    except (TypeError, ValueError):
        return "-"
    dtype, weak = out if isinstance(out, tuple) else (out, False)
    return dtype.name + "*" * weak


def result_type(*args):
    """Return the result type with its weakness."""
    return dtypes.result_type(*args, return_weak_type_flag=True)


def differences(f, names, operands, rows):
    """Return the pairs on which `f` differs from the triangle `rows`, either way round."""
    found = []
    for i, row in enumerate(rows):
        for j, expected in enumerate(row.split()):
            for a, b in {(i, j), (j, i)}:
                actual = result(f, operands[a], operands[b])
                if actual != expected:
                    found.append((names[a], names[b], actual, expected))
    return found


MODES = list(itertools.product(["standard", "strict"], [False, True]))


@pytest.mark.parametrize(("promotion", "x64"), MODES)
@pytest.mark.parametrize("name", ["result_type", "lattice"])
def test_values_promote_as_in_jax(name, promotion, x64):
    f = {"result_type": result_type, "lattice": dtypes.lattice_result_type}[name]
    rows = TABLE[f"{name} {promotion}{' x64' * x64}"]
    names = TABLE["values"]
    with config.override(numpy_dtype_promotion=promotion, enable_x64=x64):
        assert differences(f, names, list(map(value, names)), rows) == []


@pytest.mark.parametrize("promotion", ["standard", "strict"])
def test_dtypes_promote_as_in_jax(promotion):
    names = TABLE["names"]
    operands = [SCALARS.get(name) or np.dtype(name) for name in names]
    with config.override(numpy_dtype_promotion=promotion, enable_x64=True):
        rows = TABLE[f"promote_types {promotion} x64"]
        assert differences(dtypes.promote_types, names, operands, rows) == []


def test_three_values_promote_as_in_jax():
    with config.override(enable_x64=True):
        for row in TABLE["triples"]:
            *names, expected = row.split()
            assert result(result_type, *map(value, names)) == expected, names


def test_values_without_a_table_entry():
    assert dtypes.result_type(np.int8(1), 2.0) == np.float32
    assert dtypes.result_type(np.float16(1), 2.0) == np.float16
    assert dtypes.result_type(None) == np.float32
    with pytest.raises(ValueError, match="at least one array or dtype"):
        dtypes.result_type()
    with pytest.raises(TypeError, match="neither an array"):
        dtypes.result_type([1, 2], 1)


def test_keys_promote_only_to_themselves():
    key = dtypes.KeyType("threefry2x32")
    assert dtypes.result_type(key, key) == key
    for other in (np.float32, 1, dtypes.KeyType("rbg")):
        with pytest.raises(DTypeError, match=r"key<fry>.* have no common dtype"):
            dtypes.result_type(key, other)
    with pytest.raises((TypeError, ValueError)):
        dtypes.promote_types(key, np.float32)


def test_float0_promotes_to_nothing():
    assert dtypes.result_type(dtypes.float0, dtypes.float0) == dtypes.float0
    with pytest.raises(ValueError, match="float0 does not promote"):
        dtypes.promote_types(dtypes.float0, np.float32)


@pytest.mark.parametrize(
    ("operands", "promotion", "text"),
    [
        (
            ("float8_e4m3fn", np.float32),
            "standard",
            "promotion: float32 and float8_e4m3fn have no common dtype: floats of 8 bits",
        ),
        (
            ("int4", np.int8),
            "standard",
            "promotion: int4 and int8 have no common dtype: integers of 4 bits",
        ),
        (
            (np.int32, np.float32),
            "strict",
            "promotion: float32 and int32 have no common dtype in strict promotion mode.",
        ),
    ],
)
def test_message_says_why(operands, promotion, text):
    with config.numpy_dtype_promotion(promotion), pytest.raises(TypePromotionError) as caught:
        dtypes.result_type(*operands)
    assert str(caught.value).startswith(text)
    assert "  Fix: convert explicitly, e.g. `x.astype(" in str(caught.value)
