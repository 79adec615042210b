"""Jaxprs print as JAX prints them, and the document printer breaks lines only where it has to."""

import json
from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.pretty import Break, Group, Names, Nest, fill, join, literal, render
from tests.core.golden_programs import PROGRAMS

GOLDEN = json.loads(Path(__file__).with_name("golden_jaxprs.json").read_text())


@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_that_of_jax(name):
    assert str(PROGRAMS[name](ev)).split("\n") == GOLDEN[name]


def test_a_jit_in_a_jit_is_inlined_under_the_contract():
    inner = ev.jit(lax.sin)

    def outer(x):
        return inner(x) * 2

    assert str(ev.make_jaxpr(ev.jit(outer))(1.0)).split("\n") == [
        "{ lambda ; a:f32[]. let",
        "    b:f32[] = jit[",
        "      name=outer",
        "      jaxpr={ lambda ; a:f32[]. let",
        "          c:f32[] = sin a",
        "          b:f32[] = mul c 2.0:f32[]",
        "        in (b,) }",
        "    ] a",
        "  in (b,) }",
    ]


def test_open_jaxpr_and_closed_jaxpr_print_alike():
    closed = PROGRAMS["straight_line"](ev)
    assert str(closed.jaxpr) == str(closed) == repr(closed) == closed.pretty_print()


def test_equation_prints_alone():
    closed = PROGRAMS["straight_line"](ev)
    assert str(closed.eqns[0]) == "a:f32[3] = sin b"


@pytest.mark.quotes_lines
def test_source_info_names_the_users_line():
    def program(x):
        return lax.sin(x)

    closed = ev.make_jaxpr(program)(1.0)
    text = closed.pretty_print(source_info=True)
    line = program.__code__.co_firstlineno + 1
    assert f"test_pretty.py:{line} in program:  return lax.sin(x)" in text


def test_printing_leaves_the_jaxpr_as_it_is():
    closed = PROGRAMS["nested_jit"](ev)
    assert str(closed) == str(closed)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.1, "float32", "0.10000000149011612:f32[]"),
        (0.1, "float16", "0.0999755859375:f16[]"),
        (1.0, "bfloat16", "1.0:bf16[]"),
        (16777216.0, "float32", "16777216.0:f32[]"),
        (-7, "int8", "-7:i8[]"),
        (True, "bool", "True:bool[]"),
        (1 + 2j, "complex64", "(1+2j):c64[]"),
        (float("-inf"), "float32", "-inf:f32[]"),
    ],
)
def test_literals_show_all_digits_of_their_values(value, dtype, text):
    aval = ev.ShapeDtypeStruct((), dtype).aval
    scalar = np.asarray(value, aval.dtype)[()]
    assert literal(Literal(scalar, aval)) == text


def test_literals_that_stand_for_python_numbers_show_no_more_digits_than_these():
    aval = ev.ShapeDtypeStruct((), np.float32, weak_type=True).aval
    assert literal(Literal(np.float32(0.1), aval)) == "0.1:f32[]"


def test_names_continue_with_two_letters():
    names = Names()
    assert [names(object_) for object_ in [object() for _ in range(28)]][24:] == [
        "y",
        "z",
        "ba",
        "bb",
    ]


def test_names_of_shared_jaxprs_are_not_given_to_variables():
    names, kept = Names(shared={0: "a", 1: "c"}), [object() for _ in range(2)]
    assert [names(x) for x in kept] == ["b", "d"]


WORDS = ["alpha", "beta", "gamma"]


def test_a_group_that_fits_stays_on_its_line():
    doc = Group(["f(", Nest(2, [Break(""), *join([",", Break()], WORDS)]), Break(""), ")"])
    assert render(doc, 30) == "f(alpha, beta, gamma)"
    assert render(doc, 20) == "f(\n  alpha,\n  beta,\n  gamma\n)"


def test_fill_breaks_only_full_lines():
    assert render(["x = ", fill(WORDS)], 12) == "x = alpha beta\n  gamma"
