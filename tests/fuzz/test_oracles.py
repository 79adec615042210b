"""NumPy is asked where it means the same, what is found is found, and stays mended."""

import ast

import pytest

import evertrace.numpy as jnp
from tests.fuzz import calls, oracles, verdicts


def called(target, args=(), **more):
    """Return the program of a call, and what it returns."""
    program = calls.Program(target, tuple(args), **more)
    return program, verdicts.evaluated(program)


@pytest.mark.parametrize("target", oracles.DIFFERENT)
def test_what_is_said_to_differ_differs(target):
    args, _ = oracles.DIFFERENT[target]
    call = ast.parse(f"f({args})", mode="eval").body
    kwargs = tuple((k.arg, ast.unparse(k.value)) for k in call.keywords)
    program, found = called(target, map(ast.unparse, call.args), kwargs=kwargs)
    assert oracles.difference(program, found)


@pytest.mark.parametrize("target", oracles.NOT_UNIQUE)
def test_what_has_several_results_is_there(target):
    assert target in calls.targets()
    assert oracles.peer(target)


def test_most_functions_have_an_oracle():
    assert sum(oracles.peer(target) is not None for target in calls.targets()) > 400


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (jnp.zeros(2), "shape"), (jnp.zeros(3), "floats"), (jnp.full(3, jnp.nan), "special"),
        (jnp.exp(jnp.arange(3.0)), None), (jnp.zeros(3, bool), "integers"),
    ],
)  # fmt: skip
def test_differences_from_the_oracle_are_seen(found, word):
    target = "jnp.exp" if found.dtype != bool else "jnp.add"
    args = ("jnp.arange(3.0)",) if target == "jnp.exp" else ("jnp.arange(3)", "1")
    text = oracles.difference(calls.Program(target, args), found)
    assert text is None if word is None else text.startswith(word)


@pytest.mark.parametrize(
    "args",
    [("2**31",), ("jnp.zeros(2000)",), ("jnp.ones(3, 'bfloat16')",), ("object()",), ("v.Lying()",),
     ("np.zeros(3).view(v.Sub)",), ("[object()]",)],
)  # fmt: skip
def test_the_oracle_is_not_asked_of_all(args):
    assert oracles.difference(calls.Program("jnp.exp", args), jnp.zeros(7)) is None


FOUND = {
    "elements in another byte order": ("lax.cos", ["np.zeros(3, '>f4')"]),
    "unsigned flat indices": ("jnp.unravel_index", ["jnp.array(1, 'uint8')", "(2, 3)"]),
    "flat indices of few bits": ("jnp.unravel_index", ["jnp.array([7, -1], 'int8')", "(50, 6)"]),
    "NaN in one set": ("jnp.setxor1d", ["jnp.zeros(0)", "jnp.array([jnp.nan])"]),
    "NaN in both sets": ("jnp.setxor1d", ["jnp.array([jnp.nan, 1])", "jnp.array([jnp.nan, 2])"]),
    "a large exponent of zero": ("jnp.ldexp", ["-0.0", "jnp.array([2**32 - 1, 7], 'uint32')"]),
    "a small exponent of infinity": ("jnp.ldexp", ["jnp.inf", "jnp.array([-2**31, 2**31 - 1])"]),
    "what is left of a division by zero": ("jnp.polydiv", ["jnp.zeros(3)", "jnp.zeros(1)"]),
    "logarithm of a complex zero": ("jnp.log10", ["jnp.zeros(2, complex)"]),
    "binary logarithm of a complex zero": ("jnp.log2", ["jnp.zeros(2, complex)"]),
}
"""Calls whose results were not NumPy's."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_is_mended(name):
    target, args = FOUND[name]
    program, found = called(target, args)
    assert oracles.peer(target)
    assert oracles.difference(program, found) is None


COMPLEX = "jnp.array([0, 1, 2, -1, 1j, jnp.inf, jnp.nan, complex(0, jnp.nan)], complex)"
ENGINES = {
    "1 to the power of NaN": ("lax.pow", ["jnp.ones(8, complex)", COMPLEX]),
    "powers": ("lax.pow", [COMPLEX, "jnp.ones(8, complex)"]),
    "logit": ("scipy.special.logit", [COMPLEX]),
    "signs of zeros": (
        "jnp.expm1",
        ["jnp.array([complex(x, y) for x in (0.0, -0.0) for y in (0.0, -0.0)])"],
    ),
    "a logarithm at its cut": ("nn.log1mexp", ["jnp.zeros(2, complex)"]),
    "ratios from zero": ("jnp.geomspace", ["0 * 1j", "8 + 0j", "4"]),
    "ratios to zero": ("jnp.geomspace", ["1 + 0j", "0 * 1j", "4"]),
    "logarithms": ("jnp.log10", [COMPLEX]),
}
"""Calls of complex numbers whose special values engines did not agree on."""


@pytest.mark.engine
@pytest.mark.parametrize("name", ENGINES)
def test_engines_agree_on_special_complex_numbers(name):
    target, args = ENGINES[name]
    traced = tuple(i for i, text in enumerate(args) if text != "4")
    program, found = called(target, args, under="xla", traced=traced)
    assert verdicts.difference(found, verdicts.evaluated(program.eager())) is None


@pytest.mark.parametrize(
    ("args", "is_asked"),
    [(("1j", "2.0"), True), (("1j", "jnp.inf"), False), (("2.0", "jnp.inf"), True)],
)
def test_powers_of_what_is_infinite_are_not_compared(args, is_asked):
    program = calls.Program("jnp.power", args, under="jit")
    verdict = verdicts.compared(program, jnp.zeros((), "int32"))
    assert (verdict.kind == verdicts.WRONG) == is_asked
