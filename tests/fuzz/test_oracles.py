"""NumPy is asked where it means the same, what is found is found, and stays mended."""

import ast

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
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


@pytest.mark.parametrize("target", [*oracles.ASKED_IF, *oracles.COMPARED])
def test_what_is_asked_with_care_is_there(target):
    assert target in calls.targets()
    assert oracles.peer(target)


FREE = {
    "another order before": ("partition", [2, 1, 3, 5, 4], None),
    "another kth": ("partition", [1, 2, 4, 3, 5], "integers"),
    "another element": ("partition", [1, 1, 3, 4, 5], "integers"),
    "another order of indices": ("argpartition", [3, 1, 0, 2, 4], None),
    "an index twice": ("argpartition", [3, 3, 0, 2, 4], "integers"),
    "indices of others": ("argpartition", [3, 0, 1, 2, 4], "integers"),
}


@pytest.mark.parametrize("name", FREE)
def test_of_partitions_all_is_compared_that_is_one(name):
    function, found, word = FREE[name]
    program = calls.Program(f"jnp.{function}", ("jnp.array([3, 1, 5, 2, 4])", "2"))
    text = oracles.difference(program, jnp.array(found))
    assert text is None if word is None else text.startswith(word)


def test_places_that_32_bits_do_not_hold_are_not_asked_about():
    args = ("jnp.ones((2, 3))", "np.array([2**62, -1])")
    program, found = called("jnp.array_split", args)
    assert [x.shape for x in found] == [(2, 3), (0, 3), (1, 3)]  # as NumPy's of the same numbers
    assert oracles.difference(program, found) is None


def test_unsigned_numbers_of_32_bits_are_compared_with_their_like():
    large = "jnp.array([2**32 - 1, 3], 'uint32')"
    program = calls.Program("jnp.add", (large, large))
    assert oracles.difference(program, jnp.array([2**32 - 2, 6], "uint32")) is None
    assert oracles.difference(program, jnp.array([2**32 - 1, 6], "uint32")).startswith("integers")
    beside = calls.Program("jnp.add", (large, "-1"))
    assert oracles.difference(beside, jnp.array([7, 7], "uint32")) is None


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
    "derivatives of numbers in many dimensions": ("jnp.polyder", ["np.zeros((1,) * 5)"]),
    "derivatives of too high an order": ("jnp.polyder", ["jnp.ones(3)", "7"]),
    "logarithm of a complex zero": ("jnp.log10", ["jnp.zeros(2, complex)"]),
    "binary logarithm of a complex zero": ("jnp.log2", ["jnp.zeros(2, complex)"]),
    "choices of infinitely many": ("scipy.special.comb", ["jnp.inf", "jnp.arange(4.0)"]),
}
"""Calls whose results were not NumPy's."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_is_mended(name):
    target, args = FOUND[name]
    program, found = called(target, args)
    assert oracles.peer(target)
    assert oracles.difference(program, found) is None


FREEDOM = {
    "an inverse of no inverse": ("ev.numpy.linalg.inv", ["jnp.arange(16.0).reshape(4, 4) - 2"]),
    "factors of a batch": ("scipy.linalg.cho_factor", ["jnp.ones((1, 1, 1))"]),
    "a filter of integers": ("scipy.signal.convolve", ["jnp.full(2, 255, 'uint8')"] * 2),
    "a deviation in integers": (
        "jnp.nanvar", ["jnp.arange(6) - 2"], ("dtype", "'int32'"),
    ),
    "a number that is an array": (
        "jnp.diag_indices", ["2"], ("ndim", "jnp.array(1)"),
    ),
    "elements that are not unique": (
        "jnp.setxor1d", ["2", "jnp.zeros(4)"], ("assume_unique", "True"),
    ),
    "a convolution of booleans": ("jnp.convolve", ["jnp.ones(8, bool)"] * 2),
    "places that do not rise": ("jnp.interp", ["jnp.arange(3)", "jnp.zeros(8)", "jnp.arange(8.0)"]),
    "more elements than memory holds": (
        "jnp.any", ["np.zeros((0, 2**31))"], ("axis", "(0,)"),
    ),
    "an initial value": ("jnp.nanmin", ["jnp.ones(2)"], ("initial", "np.nan")),
}  # fmt: skip
"""Calls whose results are others than NumPy's, as they may be."""


@pytest.mark.parametrize("name", FREEDOM)
def test_what_may_be_another_is_right(name):
    target, args, *kwargs = FREEDOM[name]
    program = calls.Program(target, tuple(args), tuple(kwargs))
    assert verdicts.judged(program).kind == verdicts.RIGHT


def test_inverses_that_are_one_are_compared():
    program = calls.Program("ev.numpy.linalg.inv", ("jnp.eye(2)",))
    assert verdicts.compared(program, 2 * jnp.eye(2)).kind == verdicts.UNLIKE


COMPLEX = "jnp.array([0, 1, 2, -1, 1j, jnp.inf, jnp.nan, complex(0, jnp.nan)], complex)"
INFINITE = "jnp.array([jnp.inf, -jnp.inf, complex(1, jnp.inf), complex(jnp.inf, -1), 200, 200j])"
IMAGINARY = "jnp.array([complex(0, x) for x in (jnp.inf, -jnp.inf, 200, -1e30, 2)])"
ENGINES = {
    "1 to the power of NaN": ("lax.pow", ["jnp.ones(8, complex)", COMPLEX]),
    "powers": ("lax.pow", [COMPLEX, "jnp.ones(8, complex)"]),
    "logit": ("scipy.special.logit", [COMPLEX]),
    "signs of zeros": (
        "jnp.expm1",
        ["jnp.array([complex(x, y) for x in (0.0, -0.0) for y in (0.0, -0.0)])"],
    ),
    "a logarithm at its cut": ("nn.log1mexp", ["jnp.zeros(2, complex)"]),
    "a logarithm on its cut": ("nn.log1mexp", ["jnp.array([-1, -0.5], complex)"]),
    "ratios from zero": ("jnp.geomspace", ["0 * 1j", "8 + 0j", "4"]),
    "ratios to zero": ("jnp.geomspace", ["1 + 0j", "0 * 1j", "4"]),
    "logarithms": ("jnp.log10", [COMPLEX]),
    "powers of two": ("jnp.exp2", [INFINITE]),
    "exponentials less one": ("jnp.expm1", [INFINITE]),
    "sines": ("jnp.sin", [IMAGINARY]),
    "cosines": ("jnp.cos", [IMAGINARY]),
    "squares": ("jnp.square", [INFINITE]),
    "signs": ("jnp.sign", [INFINITE]),
    "a zeta function of large numbers": ("lax.zeta", ["jnp.full(3, 2.0**31)", "jnp.ones(3)"]),
    "polygamma functions of high orders": (
        "lax.polygamma",
        ["jnp.array([2.0**31, 1e5, 101])", "jnp.array([1, 0.5, 1])"],
    ),
    "order of what wrapped around": ("lax.top_k", ["-jnp.arange(-8, 8, dtype='int4')", "4"]),
    "the least of four bits": ("lax.approx_min_k", ["jnp.arange(-8, 8, dtype='int4')", "4"]),
    "products of four bits": ("lax.mulhi", ["jnp.arange(8, dtype='int4')"] * 2),
    "products of four bits without sign": ("lax.mulhi", ["jnp.arange(16, dtype='uint4')"] * 2),
}
"""Calls whose values engines did not agree on, most of them special ones of complex numbers."""


@pytest.mark.engine
@pytest.mark.parametrize("name", ENGINES)
def test_engines_agree_on_what_was_found(name):
    target, args = ENGINES[name]
    traced = tuple(i for i, text in enumerate(args) if text != "4")
    program, found = called(target, args, under="xla", traced=traced)
    assert verdicts.difference(found, verdicts.evaluated(program.eager())) is None


@pytest.mark.engine
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_functions_of_a_nan_that_is_written_are_nan(dtype):
    # XLA's exponential of a constant NaN returned what was in its memory before.
    def functions(x):
        names = ("exp", "expm1", "sinh", "cosh", "logistic", "exp2", "tanh")
        return [getattr(lax, name)(x * float("nan")) for name in names]

    for found in ev.jit(functions, engine="xla")(jnp.ones((4, 3), dtype)):
        assert np.isnan(np.asarray(found, np.float32)).all()


COMPUTED = {
    "logarithm": lambda: jnp.log(jnp.arange(8.0) - 1),
    "quotient": lambda: (jnp.arange(8.0) - 7) / (jnp.arange(8.0) - 7) * jnp.ones(8),
    "in a function": lambda: ev.jit(lambda x: jnp.sqrt(x))(jnp.arange(8.0) - 1),
}


@pytest.mark.engine
@pytest.mark.parametrize("name", COMPUTED)
def test_functions_of_a_nan_that_the_compiler_computes_are_nan(name):
    found = ev.jit(lambda x: jnp.exp(x + COMPUTED[name]()), engine="xla")(jnp.ones(8))
    assert np.array_equal(np.isnan(found), np.isnan(COMPUTED[name]()))


CUT = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
)
"""Functions that are real on the real axis, or a part of it: the signs of zeros decide values."""


@pytest.mark.engine
def test_engines_agree_on_the_sides_of_cuts():
    def functions(z):
        return {name: getattr(lax, name)(z) for name in CUT}

    near = [0.0, -0.0, 0.5, -0.5, 1.25, -1.25]
    z = np.array([complex(x, y) for x in near for y in near if x * y == 0], "complex64")
    found = ev.jit(functions, engine="xla")(jnp.asarray(z))
    for name, expected in functions(jnp.asarray(z)).items():
        a, b = np.asarray(found[name]), np.asarray(expected)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)
        is_zero = b.imag == 0
        assert (np.signbit(a.imag) == np.signbit(b.imag))[is_zero].all(), name


@pytest.mark.parametrize(
    ("args", "is_asked"),
    [(("1j", "2.0"), True), (("1j", "jnp.inf"), False), (("2.0", "jnp.inf"), True)],
)
def test_powers_of_what_is_infinite_are_not_compared(args, is_asked):
    program = calls.Program("jnp.power", args, under="jit")
    verdict = verdicts.compared(program, jnp.zeros((), "int32"))
    assert (verdict.kind == verdicts.WRONG) == is_asked


def test_methods_of_arrays_in_strict_mode_are_those_of_ours():
    program, found = called(".sort", ("np.array([2, 1])",), under="strict", traced=(0,))
    assert verdicts.compared(program, found).kind == verdicts.RIGHT
    program, found = called(".sort", ("np.array([2, 1])",), under="jit", traced=(0,))
    assert found is None
    assert verdicts.compared(program, found).kind == verdicts.RIGHT
