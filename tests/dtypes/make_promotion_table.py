"""Writes promotion_table.json: how JAX promotes. Run it where JAX is installed, never in a test.

A value is written as the name of its dtype, with ``*`` behind it if it is weakly typed, and an
error as ``-``. Each table is a lower triangle: row i has the results for the pairs (i, 0..i).
"""

import itertools
import json
import pathlib
import random
import types
import warnings

import jax
import numpy as np
from jax._src import dtypes

NARROW = ["int1", "int2", "int4", "uint1", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn"]
NARROW += ["float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"]
NARROW += ["float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
WIDE = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
WIDE += ["bfloat16", "float16", "float32", "float64", "complex64", "complex128"]
SCALARS = {"int": int, "float": float, "complex": complex}


def value(text):
    """Return something with the dtype and the weakness that `text` says."""
    name = text.removesuffix("*")
    weak = text != name
    if name in SCALARS:
        return SCALARS[name]
    aval = types.SimpleNamespace(weak_type=weak)
    return types.SimpleNamespace(dtype=np.dtype(name), weak_type=weak, aval=aval)


def result(f, *operands):
    """Return the text for the result of `f`."""
    try:
        out = f(*operands)
    except (TypeError, ValueError):
        return "-"
    dtype, weak = out if isinstance(out, tuple) else (out, False)
    return dtype.name + "*" * weak


def triangle(f, operands):
    """Return the results of `f` for all pairs, as rows of text."""
    return [" ".join(result(f, a, b) for b in operands[: i + 1]) for i, a in enumerate(operands)]


def result_type(*args):
    """Return JAX's result type with its weakness."""
    return dtypes.result_type(*args, return_weak_type_flag=True)


def main():
    """Write the table beside this file."""
    warnings.simplefilter("ignore")
    weak = [name + "*" for name in WIDE]
    values = [*WIDE, *weak, *NARROW, *SCALARS]
    names = [*WIDE, *NARROW, *SCALARS]
    table = {"values": values, "names": names}
    for strict, x64 in itertools.product((False, True), repeat=2):
        mode = ("strict" if strict else "standard") + (" x64" if x64 else "")
        with (
            jax.enable_x64(x64),
            jax.numpy_dtype_promotion("strict" if strict else "standard"),
        ):
            operands = list(map(value, values))
            table[f"result_type {mode}"] = triangle(result_type, operands)
            table[f"lattice {mode}"] = triangle(dtypes.lattice_result_type, operands)
            if x64:
                plain = [SCALARS.get(n) or np.dtype(n) for n in names]
                table[f"promote_types {mode}"] = triangle(dtypes.promote_types, plain)
    rng = random.Random(0)
    with jax.enable_x64(True):
        triples = [rng.choices(values, k=3) for _ in range(300)]
        table["triples"] = [
            " ".join([*names, result(result_type, *map(value, names))]) for names in triples
        ]
    path = pathlib.Path(__file__).with_name("promotion_table.json")
    path.write_text(json.dumps(table, indent=0) + "\n")


if __name__ == "__main__":
    main()
