"""Code in which `is` is a question: it does what the code it was made from does."""

# ruff: noqa: UP030, UP031, UP032 - all ways to format are meant

import ast
import dis
import importlib
import inspect
import math
import operator
import pathlib
import sys
import types

import pytest

from evertrace._src.jit.lifting import asking, hosttext, rewriting, standins  # noqa: F401 - what is asked


@pytest.fixture
def asked(monkeypatch):
    pairs = []

    def answer(a, b):
        pairs.append((a, b))
        return a is b

    monkeypatch.setattr(asking, "answer", answer)
    return pairs


def made_to_ask(fun):
    code = asking.asking(fun.__code__)
    return types.FunctionType(code, fun.__globals__, fun.__name__, fun.__defaults__)


def everything(a, b, c=None):
    try:
        if a is b:
            return "same"
        kept = [x for x in (a, b, c) if x is not a]
        value = a is (b if c else c)
        if c is None:
            value = (value, 1)

        def inner():
            return a is not b

        return kept, value, inner(), (1 if a is b else 2)
    except ZeroDivisionError as error:
        return error.__traceback__.tb_lineno


@pytest.mark.parametrize("args", [(1, 1), (1000, 2.5, None), ("a", "b", "c")])
def test_result_is_the_same(asked, args):
    assert made_to_ask(everything)(*args) == everything(*args)
    assert asked


def test_error_of_a_question_has_a_line_and_is_caught(monkeypatch):
    monkeypatch.setattr(asking, "answer", lambda a, b: 1 / 0)
    first = everything.__code__.co_firstlineno
    assert made_to_ask(everything)(1, 2) == first + 2


def long_function(n):
    """Return a function whose questions are too far from its end for one jump."""
    lines = [
        f"    x{i} = {'a is b' if i % 2 else '(c if a is not b else b) is b'}\n"
        f"    if x{i} and a is c: x{i} = a is b if a is b is c else 7"
        for i in range(n)
    ]
    names = ", ".join(f"x{i}" for i in range(n))
    namespace = {}
    exec("\n".join(["def f(a, b, c):", *lines, f"    return {names}"]), namespace)
    return namespace["f"]


def conditional_function(n):
    """Return a function that begins with a condition, far from where its jump leads."""
    lines = [f"    x{i} = a.b.c + {i} if a is b else 0" for i in range(n)]
    namespace = {"seen": lambda: sys._getframe(1).f_code.co_name}
    exec("\n".join(["def f(a, b):", "    if a: return seen()", *lines]), namespace)
    return namespace["f"]


@pytest.mark.parametrize("n", [1, 5, 10, 20, 40, 80])
def test_frame_of_long_code_that_begins_with_a_condition_can_be_seen(n):
    fun = conditional_function(n)
    assert made_to_ask(fun)(1, 2) == "f"


def waiting(n):
    """Return a generator function whose questions are about what it is sent."""
    lines = [f"    x{i} = (yield {i}) is a or (yield from b) is a" for i in range(n)]
    namespace = {}
    exec("\n".join(["def f(a, b):", *lines]), namespace)
    return namespace["f"]


@pytest.mark.parametrize("n", [1, 20, 60])
def test_generator_of_long_code_shows_what_it_waits_for(asked, n):
    inner = iter("xyz")
    for made in (waiting(n), made_to_ask(waiting(n))):
        found = made(1, inner)
        assert [next(found), found.gi_yieldfrom] == [0, None]
        assert [found.send(2), found.gi_yieldfrom] == [next(iter("xyz")), inner]
        inner = iter("xyz")
    assert asked


def fixed_places(code):
    """Return where the instructions are that CPython looks for by place."""
    names = ("RESUME", "YIELD_VALUE", "SEND", "END_SEND", "END_FOR", "POP_ITER", "MAKE_CELL")
    found = dis.get_instructions(code)
    return {(x.offset, x.opname) for x in found if x.opname in names}


@pytest.mark.parametrize("name", ["argparse", "asyncio.base_events", "inspect", "statistics"])
def test_what_python_finds_by_place_stays_there(name):
    module = importlib.import_module(name)
    todo = [compile(inspect.getsource(module), name, "exec")]
    moved = 0
    while todo:
        code = todo.pop()
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        if asking.asks(code):
            moved += 1
            made = asking.asking(code)
            assert fixed_places(code) == {x for x in fixed_places(made) if x[0] < len(code.co_code)}
    assert moved > 20


@pytest.mark.parametrize("args", [(1, 1, 1), (1, 2, 3), (1000, 1000, 5), ("x", "x", "y")])
def test_long_code_asks_all_questions(asked, args):
    fun = long_function(200)
    made = made_to_ask(fun)
    assert made(*args) == fun(*args)
    assert len(asked) >= 300
    assert not _left(made.__code__)


def _has_handler_without_line(code):
    """Whether a handler of errors begins at no line, and what is asked there is at none either."""
    found = [x for x in dis.get_instructions(code) if x.opname == "PUSH_EXC_INFO"]
    return any(x.positions is None or x.positions.lineno is None for x in found)


def _left(code):
    """Return the questions of code, or of what it was made from, that it asks nobody."""
    questions = {found.offset for found in _compared(asking.original(code))}
    places = [asking.original_offset(code, found.offset) for found in _compared(code)]
    return [at for at in places if at in questions]  # else ``is None``, moved without its constant


def _compared(code):
    found = rewriting.instructions_of(code.co_code)
    return [found[i] for i in asking._questions(found, code.co_consts)]


def _codes(code):
    yield code
    for c in code.co_consts:
        if type(c) is types.CodeType:
            yield from _codes(c)


@pytest.mark.parametrize("name", ["typing", "inspect", "ast", "dataclasses", "enum", "functools"])
def test_all_questions_of_a_module_are_asked(name):
    path = pathlib.Path(ast.__file__).with_name(f"{name}.py")
    found = 0
    for code in _codes(compile(path.read_text(encoding="utf8"), str(path), "exec")):
        if _left(code):
            made = asking.asking(code)
            assert not _left(made)
            old, new = list(code.co_positions()), list(made.co_positions())
            assert new[: len(old)] == old
            lines = {line for line, *_ in new[len(old) :]}
            assert lines <= {line for line, *_ in old}
            assert None not in lines or _has_handler_without_line(code)
            assert len(list(dis.get_instructions(made))) > len(list(dis.get_instructions(code)))
            assert asking.original(made) is code
            found += 1
    assert found


@pytest.mark.parametrize("name", ["argparse", "inspect", "statistics", "asyncio.base_events"])
def test_instructions_are_found_as_dis_and_each_rule_find_them(name):
    module = importlib.import_module(name)
    for code in _codes(compile(inspect.getsource(module), name, "exec")):
        found = rewriting.instructions_of(code.co_code)
        assert {*rewriting.targets_of(found)} == {*dis.findlabels(code.co_code)}
        for x in found:
            caches = [at for at in range(x.offset + 2, x.end, 2) if code.co_code[at] == 0]
            places = {rewriting.instruction_at(code.co_code, at) for at in (x.offset, *caches)}
            assert places == {x.offset}
        by_rules = {
            i
            for i in range(len(found))
            if asking._made(found, i)
            or asking._is_callee(found, i)
            or asking._method_of(found, i, code)
            or asking._function_of(found, i, code, vars(module))
            or asking._telling(found, i, code, b"", lambda *_: b"told")
        }
        assert by_rules <= {*asking._asked(found)}


@pytest.mark.parametrize("text", ["a is None", "a is not True", "a is ...", "a == b"])
def test_singletons_are_no_question(text):
    assert not asking.asks(compile(f"x = {text}", "", "exec"))


def test_code_without_a_question_is_its_own_original():
    code = long_function.__code__
    assert asking.original(code) is code


# ---------------------------------------------------------------- conversions of numbers


@pytest.fixture
def converted(monkeypatch):
    """Lists the conversions that are recorded, by name."""
    names = []

    def noting(kind):
        def convert(*args, **kwargs):
            names.append(kind.__name__)
            return kind(*args, **kwargs)

        return convert

    made = {kind.__name__: noting(kind) for kind in (int, float, complex)}
    monkeypatch.setattr(asking, "conversions", made)
    return names


def conversions(n, v):
    out = [int(v), float(n) + int(n / 2), complex(n, v), complex(real=n, imag=v), int(*[v])]
    out += [[float(k) for k in (n, v)], (lambda k: float(k))(n), int("ff", base=16), float("1")]
    out += [isinstance(n, int), int, list(map(float, (n, v))), type(float(n)) is float]
    try:
        int("x")
    except ValueError as error:
        out.append(error.__traceback__.tb_lineno)

    def inner():
        return float(n) if n is not v else int(v)

    return out, inner(), {float(a): int(b) for a, b in [(n, v)]}


def test_calls_of_builtin_types_are_recorded_and_nothing_else(converted):
    assert asking.asks(conversions.__code__)
    assert made_to_ask(conversions)(3, 2.5) == conversions(3, 2.5)
    assert sorted(converted) == ["complex"] * 2 + ["float"] * 8 + ["int"] * 6


def test_names_that_are_the_users_own_are_left_alone(converted):
    code = asking.asking(conversions.__code__, {"float": None, "int": None})
    assert types.FunctionType(code, globals())(3, 2.5) == conversions(3, 2.5)
    assert converted == ["complex"] * 2


def test_conversions_in_long_functions(converted):
    lines = [f"    x += float(n) + {i}.5 + int(n)" for i in range(300)]
    made = {}
    exec("\n".join(["def long(n):", "    x = 0", *lines, "    return x"]), made)
    assert made_to_ask(made["long"])(2) == made["long"](2)
    assert len(converted) == 600


# ---------------------------------------------------------------- texts


@pytest.fixture
def made(monkeypatch):
    """Lists the texts that are made, by how."""
    hows = []

    def noting(how, fn):
        def make(*args):
            hows.append(how)
            return fn(*args)

        return make

    functions = {
        "formatted": lambda kind, value, spec="": format(_CONVERTED[kind](value), spec),
        "converted": lambda kind, value: _CONVERTED[kind](value),
        "joined": lambda *parts: "".join(parts),
        "percent": lambda template, values: template % values,
    }
    noted = {how: noting(how, fn) for how, fn in functions.items()}
    monkeypatch.setattr(asking, "texts", asking.Texts(**noted))
    methods = {name: noting(name, operator.attrgetter(name)) for name in ("format", "join", "sqrt")}
    monkeypatch.setattr(asking, "methods", methods)
    return hows


_CONVERTED = (lambda x: x, str, repr, ascii)


def texts(n, v):
    template = "abc{}%d"
    out = [
        f"{n}",
        f"a {n} b {v!r:>9} {v:{n}.{n - 1}} {n!s}{v!a}",
        f"{n=} {f'{v}'}",
        f"{n if v else v}",
    ]
    out += ["%d" % n, "%s and %s" % (n, v), "%%" % (), n % 2, "{} {}".format(n, v), ", ".join("ab")]
    out += [math.sqrt(n), math.sqrt, math.sqrt.__name__, abs(math.sqrt(v)), template.format(n)]
    out += [template % n, template.format, n % v, (template if n else math).join("ab")]
    out += [(lambda k: f"{k:>3}")(n), [f"{k}" for k in (n, v)], "a {0}".format(*[n]), f"{{{n}}}"]
    try:
        f"{n:zz}"
    except ValueError as error:
        out.append(error.__traceback__.tb_lineno)

    def inner():
        yield f"{(yield n)}"

    return out, list(inner()), {f"{n}": f"{v}"}, "x".upper().join("ab")


def test_texts_are_what_they_were(made):
    assert asking.asks(texts.__code__)
    assert made_to_ask(texts)(3, 2.5) == texts(3, 2.5)
    assert {"formatted", "joined", "percent"} <= {*made}
    assert [made.count(name) for name in ("join", "sqrt")] == [3, 2]
    assert made.count("format") == 2 + (sys.version_info >= (3, 13))  # with `*`, too


def test_texts_in_long_functions(made):
    lines = [
        f"    x.append(f'{{n}} {i} {{n!r:>{i}}}' + '%d' % n + '{{}}'.format(n))" for i in range(200)
    ]
    namespace = {}
    exec("\n".join(["def long(n):", "    x = []", *lines, "    return x"]), namespace)
    fun = made_to_ask(namespace["long"])
    assert fun(7) == namespace["long"](7)
    assert made.count("joined") == made.count("percent") == 200
    assert made.count("formatted") == 400


def _left_to_make(instructions, code):
    """Return what is not replaced; ``a[0]`` that was moved to make room is without its constant."""
    subscript, moved_to = asking._SUBSCRIPT[0], len(asking.original(code).co_code)
    return [
        x
        for i, x in enumerate(instructions)
        if (asking._made(instructions, i) and not (x.op == subscript and x.start >= moved_to))
        or asking._method_of(instructions, i, code)
    ]


@pytest.mark.parametrize("name", ["typing", "inspect", "ast", "dataclasses", "enum", "argparse"])
def test_all_texts_of_a_module_are_made(made, name):
    path = pathlib.Path(ast.__file__).with_name(f"{name}.py")
    for code in _codes(compile(path.read_text(encoding="utf8"), str(path), "exec")):
        if asking.asks(code):
            new = asking.asking(code)
            assert not _left_to_make(rewriting.instructions_of(new.co_code), new)
            assert [*new.co_positions()][: len([*code.co_positions()])] == [*code.co_positions()]
            assert asking.original(new) is code


WARM = (
    "add(sorted(x), y if y else z)",
    "add(sorted(x), y if z else z, k=len(x))",
    "[max(x), y is z, min(x), y if y else 0]",
    "add(y if y else 0, sorted(x, reverse=True))",
    "add(add(x), x is y, add(y))",
    "add(*x, add(x).index(0) if z is y else len(x), y is not x)",
)


@pytest.mark.parametrize("expression", WARM)
def test_calls_stay_right_when_they_are_warm(expression):
    """Python 3.11 has two instructions for a call, and a warm first one skips the second."""
    far = "\n".join(f"        far = x.b{i} + x.c{i} * {i}.5" for i in range(40))
    space = {"add": lambda *args, **kwargs: (args, kwargs)}
    exec(
        "def f(x, y, z, never=False):\n"
        "    for _ in range(3):\n        pass\n"  # else nothing gets warm
        f"    out = {expression}\n    if never:\n{far}\n    return out",
        space,
    )
    made = made_to_ask(space["f"])
    for _ in range(100):
        assert made([3, 1, 2], 1, 2) == space["f"]([3, 1, 2], 1, 2)
