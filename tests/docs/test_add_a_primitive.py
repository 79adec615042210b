"""The walk-through for new primitives: what its blocks define obeys the laws of all primitives."""

import re
from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
from evertrace._src.core.primitive import RULE_SLOTS
from tests.docs.examples import run_page
from tests.laws import test_engines, test_grads, test_transpose, test_types, test_values, test_vmap
from tests.specs.opspec import WIDE_FLOATING, OpSpec, case, elementwise_cases

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add-a-primitive.md"


def log1mexp_oracle(x):
    x = np.asarray(x, np.longdouble)
    return np.log(-np.expm1(-x))


@pytest.fixture(scope="module")
def specs():
    """Run the page, and make a row for each of its primitives."""
    page = run_page(PAGE)
    return {
        "log1mexp": OpSpec(
            "log1mexp",
            [page["log1mexp_p"]],
            page["log1mexp"],
            log1mexp_oracle,
            elementwise_cases(1),
            WIDE_FLOATING,
            domain=(0.1, 9),
            ulps=4,
            engine_ulps=8,
        ),
        "ring_difference": OpSpec(
            "ring_difference",
            [page["ring_p"]],
            page["ring_difference"],
            lambda x, axis: np.roll(x, -1, axis) - x,
            [case((4,), axis=0), case((2, 3), axis=1), case((2, 3), axis=0)],
            WIDE_FLOATING,
            linear=[(0,)],
            ulps=2,
            engine_ulps=2,
        ),
    }


over_names = pytest.mark.parametrize("name", ["log1mexp", "ring_difference"])


@pytest.mark.engine
@over_names
def test_its_primitives_obey_the_laws(specs, name):
    with ev.enable_x64():  # the functions take arrays of the current mode, the laws all dtypes
        check_laws(specs[name])


def check_laws(spec):
    for dtype in spec.dtypes:
        test_values.test_value_is_the_oracles(spec, dtype)
        test_types.test_staged_type_is_the_eager_one(spec, dtype)
    test_types.test_row_stages_its_primitives(spec)
    test_vmap.test_vmap_is_the_stacked_loop(spec)
    test_grads.test_derivatives_are_numerical_ones(spec)
    test_grads.test_derived_jaxprs_are_well_typed(spec)
    test_engines.test_compiled_is_eager([spec])
    if spec.linear:
        test_transpose.test_transpose_is_the_adjoint(spec)


def test_slots_that_it_names_are_there():
    table = PAGE.read_text(encoding="utf-8").split("## What a primitive states")[1].split("\n\n")[1]
    named = set(re.findall(r"`(\w+)`", table)) - {"register_lowering"}
    assert named == {"abstract", "host", "batch", "deriv", "factors", "linear", "jvp", "transpose"}
    assert named <= set(RULE_SLOTS)


def test_lines_that_it_quotes_from_the_package_are_there():
    text = PAGE.read_text(encoding="utf-8").split("## Inside the package")[1]
    quotes = re.findall(r"in `([^`]+)`.*?```py\n(.*?)```", text, re.DOTALL)
    assert len(quotes) == 5
    for file, quote in quotes:
        found = " ".join((ROOT / file).read_text(encoding="utf-8").split())
        assert " ".join(quote.split()) in found, file
