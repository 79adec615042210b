"""Sizes as expressions: texts, arithmetic, comparisons, and what is declared."""

import copy
import operator
import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evertrace as ev
from evertrace._src import dims
from evertrace._src.dims.expression import apply, variables
from evertrace._src.dims.shapes import UnknownSizes, sizes_of
from evertrace.errors import InconclusiveDimensionOperation
from evertrace.export import SymbolicScope, symbolic_shape

# What JAX 0.10.2 prints for the same texts.
AS_JAX_PRINTS = {
    "b*a*c": "a*b*c",
    "a + b + c": "c + b + a",
    "a^2 + b^2 + a*b + 1": "a*b + b^2 + a^2 + 1",
    "a*b*c + a^2 + c^3": "a*b*c + c^3 + a^2",
    "b - a": "b - a",
    "a - b": "- b + a",
    "-1*b + 5": "- b + 5",
    "floordiv(b, 4) + b": "floordiv(b, 4) + b",
    "floordiv(b, 4)*b": "b*floordiv(b, 4)",
    "floordiv(b, 4) + mod(b, 3) + max(a, b) + min(a, c)": (
        "min(a, c) + max(a, b) + mod(b, 3) + floordiv(b, 4)"
    ),
    "a*max(a, b)^2": "a*max(a, b)^2",
    "min(b, a)*max(b, a)": "max(b, a)*min(b, a)",
    "floordiv(a + 7, 4) + floordiv(b, 2)": "floordiv(a + 7, 4) + floordiv(b, 2)",
    "a*a*b + a*b*b": "a*b^2 + a^2*b",
    "floordiv(a, -2)": "floordiv(a, - 2)",
    "max(2, a)": "max(2, a)",
    "max(1, a)": "a",
    "min(1, a)": "1",
    "2*a*b - 3*a + 7": "2*a*b - 3*a + 7",
}

# Where this is the simpler one: JAX prints texts as they were parsed.
SIMPLER = {
    "floordiv(2*a + 2, 2)": "a + 1",
    "mod(4*a + 1, 2)": "1",
    "floordiv(a*b + b, b)": "a + 1",
    "4*floordiv(b, 4) + mod(b, 4)": "b",
    "floordiv(a + 8, 4)": "floordiv(a, 4) + 2",
    "mod(6*a, 4)": "mod(2*a, 4)",
    "floordiv(a + b, a + b)": "1",
    "floordiv(2*a + 2*b, b + a)": "2",
    "floordiv(a*b + a + b + 1, a + 1)": "b + 1",
    "floordiv(a + b, - a - b)": "-1",
    "floordiv(a + b + 1, a + b)": "floordiv(b + a + 1, b + a)",
    "mod(a*b + a^2, a + b)": "0",
}


@pytest.mark.parametrize(("text", "printed"), [*AS_JAX_PRINTS.items(), *SIMPLER.items()])
def test_expressions_are_printed(text, printed):
    *_, found = symbolic_shape(f"a, b, c, {text}")
    assert str(found) == printed


def test_shapes_are_read_with_and_without_parentheses_and_for_an_array():
    b, c = symbolic_shape("(b, c)")
    assert str((b, c)) == "(b, c)"
    assert symbolic_shape("") == ()
    assert symbolic_shape("2, 3") == (2, 3)
    scope = b.scope
    assert symbolic_shape("b, _, ...", like=(2, 3, 4, 5), scope=scope) == (b, 3, 4, 5)
    assert symbolic_shape(None, like=(2, 3)) == (2, 3)
    assert symbolic_shape("(b + c)*2, b", scope=scope) == (2 * b + 2 * c, b)


# ---------------------------------------------------------------- laws

NAMES = ("a", "b", "c")
LEAVES = st.one_of(st.sampled_from(NAMES), st.integers(-4, 9))
FUNCTIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "max": max, "min": min,
}  # fmt: skip
TREES = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner, inner), max_leaves=7
)
VALUES = st.fixed_dictionaries({name: st.integers(1, 12) for name in NAMES})


def number_of(node, values):
    """Return what an expression is by Python's arithmetic."""
    if isinstance(node, tuple):
        fn, a, b = node
        return FUNCTIONS[fn](number_of(a, values), number_of(b, values))
    return values[node] if isinstance(node, str) else node


def size_of(node, known):
    """Return the same expression as a size."""
    if isinstance(node, tuple):
        fn, a, b = node
        a, b = size_of(a, known), size_of(b, known)
        return FUNCTIONS[fn](a, b) if fn in "+-*" else apply(fn, a, b)
    return known[node] if isinstance(node, str) else node


def made(node, scope):
    try:
        return size_of(node, dict(zip(NAMES, symbolic_shape("a, b, c", scope=scope), strict=True)))
    except ZeroDivisionError:
        assume(False)


@settings(max_examples=300, deadline=None)
@given(TREES, VALUES)
def test_expressions_are_the_numbers_that_their_arithmetic_gives(node, values):
    size = made(node, SymbolicScope())
    try:
        want = number_of(node, values)
    except ZeroDivisionError:
        return  # a size is undefined there, too, or simpler
    assert dims.evaluate(size, values) == want
    assert variables(size) <= set(NAMES)


@settings(max_examples=150, deadline=None)
@given(TREES, VALUES)
def test_texts_of_expressions_are_read_as_these(node, values):
    size = made(node, scope := SymbolicScope())
    again = scope.parsed(str(size))
    assert again == size or dims.evaluate(again, values) == dims.evaluate(size, values)


@settings(max_examples=150, deadline=None)
@given(TREES, st.integers(-5, 5).filter(bool), VALUES)
def test_quotients_are_rounded_up(node, divisor, values):
    size = made(node, SymbolicScope())
    found = dims.evaluate(dims.ceildiv(size, divisor), values)
    assert found == -(-dims.evaluate(size, values) // divisor)


CONSTRAINTS = [
    (), ("a >= 3",), ("b <= 6", "a <= b"), ("mod(a, 4) == 0",), ("a == 2*b",), ("a*b == c",),
    ("floordiv(a, 2) >= 2", "max(a, b) <= 9"), ("a + b == c",),
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(TREES, TREES, st.sampled_from(CONSTRAINTS), st.lists(VALUES, min_size=3, max_size=12))
def test_what_is_decided_holds_for_all_sizes_that_are_allowed(left, right, declared, values):
    scope = SymbolicScope(declared)
    a, b = made(left, scope), made(right, scope)
    if not dims.is_dim(a):
        a, b = b, a
        left, right = right, left
    assume(dims.is_dim(a))
    for fn in (operator.ge, operator.gt, operator.le, operator.lt, operator.eq, operator.ne):
        try:
            decided = fn(a, b)
        except InconclusiveDimensionOperation:
            continue
        for numbers in values:
            if scope.broken(numbers) is None:
                try:
                    found = fn(number_of(left, numbers), number_of(right, numbers))
                except ZeroDivisionError:
                    continue
                assert found == decided, (a, b, fn, numbers)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5), st.integers(-3, 3), VALUES)
def test_the_values_of_variables_are_found_in_shapes(times, plus, values):
    scope = SymbolicScope()
    a, b, c = symbolic_shape("a, b, c", scope=scope)
    wanted = (times * a + plus, a * a, a + c, 7, b)
    given_ = [(f"place {i}", dims.evaluate(x, values)) for i, x in enumerate(wanted)]
    found, _ = sizes_of(given_, wanted)
    assert found == values


def test_variables_that_stand_in_products_only_are_not_found():
    a, b = symbolic_shape("a, b")
    with pytest.raises(UnknownSizes) as caught:
        sizes_of([("x", 6)], (a * b,))
    assert caught.value.args == ({"a", "b"},)


# ---------------------------------------------------------------- comparisons


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a >= 1", True), ("a > 0", True), ("a < 1", False), ("a != 0", True),
        ("a + b >= 2", True), ("a*b >= 1", True), ("a // 2 <= a", True), ("a % 3 < 3", True),
        ("a % b < b", True), ("a % b <= a", True), ("a - a // 2 >= 1", True),
        ("a // 2 * 2 <= a", True), ("2*a < 2**31", True),
        ("a // b * b <= a", True), ("a - 2 * (a // 2) == a % 2", True), ("2 * a == 3 * a", False),
        ("max_of(a - 2, 0) <= a", True), ("min_of(a, 2*b) - max_of(a - b, 0) <= b", True),
        ("max_of(3*((a + 1) // 3) - 1, 1) <= a", True), ("min_of(a, b) + 1 >= 2", True),
        ("4 * a // 2 == 2 * a", True), ("a*b // a == b", True), ("bool(a)", True),
    ],
)  # fmt: skip
def test_comparisons_are_decided(text, answer):
    a, b = symbolic_shape("a, b")
    assert eval(text, {"a": a, "b": b, "max_of": dims.max_of, "min_of": dims.min_of}) is answer


@pytest.mark.parametrize(
    ("constraints", "text", "answer"),
    [
        (("b >= 4",), "b >= 3", True),
        (("b >= 4",), "b == 3", False),
        (("b <= 10", "a <= b"), "a <= 10", True),
        (("b <= 10", "a <= b"), "2*a <= b + 10", True),
        (("a == 2*b",), "a == b + b", True),
        (("a*b == 16",), "3*a*b == 48", True),
        (("mod(b, 8) == 0",), "b % 4 == 0", True),
        (("mod(b, 8) == 0",), "8*(b // 8) == b", True),
        (("mod(b, 8) == 0",), "b >= 8", None),
        (("mod(b, 8) == 3",), "(b + 5) % 8 == 0", True),
        (("max(a, b) <= 7",), "a < 8", True),
    ],
)
def test_constraints_decide(constraints, text, answer):
    a, b = symbolic_shape("a, b", constraints=constraints)
    if answer is None:
        with pytest.raises(InconclusiveDimensionOperation):
            eval(text, {"a": a, "b": b})
    else:
        assert eval(text, {"a": a, "b": b}) is answer


@pytest.mark.parametrize(
    ("ask", "asked", "constraint"),
    [
        (lambda a, b: a == 1, "a == 1", "a >= 2"),
        (lambda a, b: a != 1, "a != 1", "a >= 2"),
        (lambda a, b: a > 3, "a > 3", "a >= 4"),
        (lambda a, b: a >= b, "a >= b", "a >= b"),
        (lambda a, b: a < b, "a < b", "b >= a + 1"),
        (lambda a, b: a <= 5, "a <= 5", "a >= 6"),
        (lambda a, b: a < 5, "a < 5", "a >= 5"),
        (lambda a, b: (a, 4) == (b, 4), "a == b", "a == b"),
        (lambda a, b: bool(a - b), "- b + a != 0", "- b + a >= 1"),
    ],
)
def test_what_cannot_be_decided_says_what_to_declare(ask, asked, constraint):
    with pytest.raises(InconclusiveDimensionOperation) as caught:
        ask(*symbolic_shape("a, b"))
    text = str(caught.value)
    assert text.startswith(f"whether {asked} is not known for all sizes.\n  at ")
    assert "test_expressions.py:" in text
    assert f"constraints=('{constraint}',)" in text
    ask(*symbolic_shape("a, b", constraints=(constraint,)))  # which settles it


@pytest.mark.parametrize("use", [int, float, range, operator.index, lambda b: [1, 2, 3][b]])
def test_a_size_is_no_number(use):
    (b,) = symbolic_shape("b")
    with pytest.raises(InconclusiveDimensionOperation, match="size b is used where a number is"):
        use(b)


# ---------------------------------------------------------------- errors and scopes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", r"'a b': expected `,`, got `b` after 'a '"),
        ("a +", r"expected a number, a name or a function, got the end after 'a \+'"),
        ("foo(a)", r"expected `,`, got `\(` after 'foo'"),
        ("a/2", r"expected `,`, got `/` after 'a'"),
        ("a**2", r"expected `,`, got `\*\*`"),
        ("floordiv(a)", r"expected `,`, got `\)` after 'floordiv\(a'"),
        ("floordiv(a, 0)", "it divides by zero"),
        ("a^b", "expected a number up to 16, got `b`"),
        ("..., a", "expected the end, got `a`"),
        ("_", "`_` and `...` stand for sizes of an array, and there is none"),
        ("(" * 60 + "a" + ")" * 60, "expected fewer parentheses"),
    ],
)
def test_what_is_no_shape_says_where(text, message):
    with pytest.raises(ValueError, match=message):
        symbolic_shape(text)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: symbolic_shape("a, 3", like=(3, 4)), "dimension 1 is 3, and the array is of shap"),
        (
            lambda: symbolic_shape("a", like=(3, 4)),
            r"it has 1 sizes, and the array is of shape \(3",
        ),
        (lambda: SymbolicScope(("a",)), "'a': expected `>=`, `<=` or `==`, got the end"),
        (lambda: SymbolicScope("a >= 1"), "constraints is the text 'a >= 1'"),
        (lambda: SymbolicScope(("a <= 0",)), "no sizes fulfil the constraint 'a <= 0'"),
        (lambda: SymbolicScope(("a <= 4", "a >= 5")), "fulfil the constraint 'a >= 5' beside a <="),
        (
            lambda: symbolic_shape("a", scope=SymbolicScope(), constraints=("a >= 2",)),
            "both constraints and a scope are given",
        ),
        (
            lambda: symbolic_shape("a")[0] + symbolic_shape("b")[0],
            "a and b are of different scopes",
        ),
    ],
)
def test_wrong_declarations_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sizes_may_be_declared_to_be_empty():
    (b,) = symbolic_shape("b", scope=SymbolicScope(least=0))
    assert b >= 0
    with pytest.raises(InconclusiveDimensionOperation):
        _ = b >= 1


def test_a_scope_says_where_it_was_made_and_what_is_declared():
    text = repr(SymbolicScope(("a >= 4",)))
    assert "test_expressions.py:" in text
    assert text.endswith("constraints: a >= 4")


def test_sizes_are_copied_and_pickled():
    a, b = symbolic_shape("a, 2*b + 1", constraints=("a >= 4",))
    assert copy.copy(a) is a is copy.deepcopy(a)
    c, d = pickle.loads(pickle.dumps((a, b)))
    assert (str(c), str(d), c >= 3, c.scope is d.scope) == ("a", "2*b + 1", True, True)


def test_is_symbolic_dim():
    (b,) = symbolic_shape("b")
    assert [ev.export.is_symbolic_dim(x) for x in (b, 3, b - b, "b")] == [True, False, False, False]
