"""The rows of all op tables, and how the laws run over them."""

import zlib

import numpy as np
import pytest

from tests.specs.opspec import all_specs

ROWS = all_specs()


def rng_of(spec, dtype=""):
    """Return a generator that depends on nothing but the row and the dtype."""
    return np.random.default_rng(zlib.crc32(f"{spec.name} {dtype}".encode()))


def over_rows(keep=lambda spec: True):
    """Parametrize a test by the rows for which `keep` holds."""
    kept = [spec for spec in ROWS if keep(spec)]
    return pytest.mark.parametrize("spec", kept, ids=[spec.name for spec in kept])


def over_rows_and_dtypes(keep=lambda spec, dtype: True):
    """Parametrize a test by rows and each of their dtypes for which `keep` holds."""
    pairs = [(spec, dtype) for spec in ROWS for dtype in spec.dtypes if keep(spec, dtype)]
    return pytest.mark.parametrize(
        ("spec", "dtype"), pairs, ids=[f"{spec.name}-{dtype}" for spec, dtype in pairs]
    )


def main_dtype(spec):
    """Return the dtype that stands for a row where one is enough."""
    return "float32" if "float32" in spec.dtypes else spec.dtypes[0]
