"""Texts of traced arrays: what a call stores, prints, logs or raises says what Python's would."""

import collections
import dataclasses
import io
import logging
import types

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, extend
from evertrace.interpreters import ad, mlir
from tests.contract.compare import module

pytestmark = pytest.mark.engine


@dataclasses.dataclass
class Pair:
    a: object
    b: int = 2


class Shown:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"Shown({self.x!r})"

    def __str__(self):
        return "<%s>" % self.x  # noqa: UP031


class Counter:
    def __init__(self):
        self.n, self.said = 7, None


def written(s):
    s.table[1] = s.n
    return s.table


MADE = {
    "field": lambda s, x: f"loss {x}",
    "conversion": lambda s, x: f"{x!r} {x!s} {x!a}",
    "format of a number": lambda s, x: f"{x[0]:8.3f}|{x[1]:.2e}",
    "computed width": lambda s, x: f"{x[0]:{s.n}.2f}",
    "field of a field": lambda s, x: f"{f'{x[0]}':>10}",
    "with numbers": lambda s, x: f"step {s.n}: {x.sum():.3f}",
    "str": lambda s, x: str(x),
    "repr": lambda s, x: repr(x),
    "ascii": lambda s, x: ascii(x),
    "format": lambda s, x: format(x[0], ".3f"),
    "percent": lambda s, x: "%.3f|%d|%s" % (x[0], s.n, x),  # noqa: UP031
    "percent by name": lambda s, x: "%(a).2f" % {"a": x[0]},  # noqa: UP031
    "str.format": lambda s, x: "{:.2f} {} {a!r}".format(x[0], s.n, a=x),  # noqa: UP032
    "format_map": lambda s, x: "{a}".format_map({"a": x}),
    "sum": lambda s, x: "a" + str(x) + "b",
    "product": lambda s, x: f"{x}" * s.n,
    "slice": lambda s, x: f"{x}"[1:3],
    "methods": lambda s, x: f" {x} ".strip().rjust(30).replace(".", ",").upper(),
    "join": lambda s, x: ", ".join(f"{v:.2f}" for v in x),
    "join of map": lambda s, x: ", ".join(map(str, x)),
    "join of repr": lambda s, x: ", ".join(map(repr, x)),
    "list of texts": lambda s, x: [f"{v}" for v in x],
    "list": lambda s, x: str([x[0], "s", s.n, (x,)]),
    "dict": lambda s, x: repr({"a": x[0], 1: s.n}),
    "dataclass": lambda s, x: f"{Pair(x)}",
    "method of a class": lambda s, x: f"{Shown(x)} {Shown(x)!r}",
    "list of objects": lambda s, x: repr([Shown(x)]),
    "error": lambda s, x: str(ValueError(x)),
    "type": lambda s, x: (type(f"{x}") is str, isinstance(str(x), str)),
    "NumPy's that is written": lambda s, x: repr(written(s)),
    "element that is written": lambda s, x: f"{written(s)[1]!r} {written(s)[1]:5d}",
    "list of written elements": lambda s, x: repr([written(s)[1]]),
    "sum of what is written": lambda s, x: "%s" % (written(s).sum() % 7),
}  # fmt: skip


def state():
    s = types.SimpleNamespace(n=7, log=[], said=None)
    s.table = np.array([2**40 + 1, 3, -(2**35)])
    return s


def observed(f, jit):
    s, seen = state(), []
    f = jit(f)
    for i in range(3):
        s.n += i
        f(s, jnp.arange(3.0) + 0.5 * i)
        seen.append(repr((s.said, s.log)))
    return seen


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_stored_text_says_what_pythons_says(make):
    def f(s, x):
        s.said = make(s, x)
        s.log.append(s.said)

    assert observed(f, ev.jit) == observed(f, lambda f: f)


def test_a_text_is_one_program_for_all_values():
    @ev.jit
    def f(s, x):
        s.said = f"step {s.n}: {x.sum():.3f}"
        s.n += 1

    s = Counter()
    for i in range(4):
        f(s, jnp.arange(3.0) + i)
        assert s.said == f"step {7 + i}: {3.0 + 3 * i:.3f}"
    assert f.cache_info().misses == 1


def test_a_text_that_is_printed_and_logged(capsys, caplog):
    @ev.jit
    def f(x):
        print(f"loss {x.sum()}", f"{x[0]:.1f}")
        logging.getLogger("late").warning("%s", f"at {x[1]:.1f}")

    for i in range(2):
        f(jnp.arange(3.0) + i)
    assert capsys.readouterr().out == "loss 3.0 0.0\nloss 6.0 1.0\n"
    assert [r.getMessage() for r in caplog.records] == ["at 1.0", "at 2.0"]


@pytest.mark.parametrize("kind", [ValueError, KeyError, TypeError])
def test_an_exception_says_it(kind):
    @ev.jit
    def f(x):
        raise kind(f"bad {x}")

    for i in range(2):
        with pytest.raises(kind) as caught:
            f(jnp.arange(3.0) + i)
        assert caught.value.args == (f"bad {jnp.arange(3.0) + i}",)


def test_a_note_of_an_exception_says_it():
    @ev.jit
    def f(s, x):
        error = ValueError("bad")
        error.add_note("first")
        error.add_note(f"step {s.n}")
        error.add_note(f"at {x}")
        s.said = error
        raise error

    s = Counter()
    for i in range(2):
        s.n = 7 + i
        with pytest.raises(ValueError, match="bad") as caught:
            f(s, jnp.arange(3.0) + i)
        assert caught.value.__notes__ == ["first", f"step {7 + i}", f"at {jnp.arange(3.0) + i}"]
    with pytest.raises(TypeError, match="note must be a str, not 'int'"):
        ev.jit(lambda x: ValueError(x).add_note(*(3,)))(1.0)


def test_a_failed_assertion_says_it():
    m = module("""
        def f(x):
            assert x.ndim == 2, f"{x}"
    """)
    with pytest.raises(AssertionError) as caught:
        ev.jit(m.f)(jnp.arange(3.0))
    assert caught.value.args == ("[0. 1. 2.]",)


def test_in_a_derivative_a_text_says_the_value(capsys):
    def loss(x):
        y = (x * x).sum()
        print(f"loss {y}")
        return y

    ev.jit(ev.grad(loss))(jnp.arange(3.0))
    assert capsys.readouterr().out == "loss 5.0\n"


ASKED = {
    "truth": lambda x: 1 if f"{x}" else 2,
    "length": lambda x: len(str(x)),
    "comparison": lambda x: f"{x}" == "1.0",
    "key": lambda x: {f"{x}": 1},
    "part": lambda x: "nan" in f"{x}",
    "split": lambda x: f"{x}".split(),
    "bytes": lambda x: f"{x}".encode(),
    "code in C": lambda x: io.StringIO().write(f"{x}"),
    "text by code in C": lambda x: repr(collections.deque([x])),
    "text of an error": lambda x: repr(ValueError(x)),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_who_asks_what_it_says_is_told_where(ask):
    @ev.jit
    def f(s, x):
        s.said = ask(x)

    with pytest.raises(errors.ConcretizationTypeError, match="a text of a traced array") as caught:
        f(state(), jnp.arange(3.0))
    assert "test_late_texts.py" in str(caught.value)
    assert "Fix: store, print, log or raise the array" in str(caught.value)


def test_a_rule_of_a_primitive_may_print_what_it_is_given(capsys):
    """A rule sees the trace, so it prints tracers, as often as the rest of the function does."""

    def say(text):
        print(text)

    def rule(primals, tangents):
        say("rule of " + ", ".join(map(str, primals)))
        return double.bind(*primals), double.bind(*tangents)

    double = extend.Primitive("double", abstract=lambda x: x, host=lambda x: 2 * x)
    mlir.register_lowering(double, mlir.lower_fun(lambda x: 2 * x, multiple_results=False))
    ad.primitive_jvps[double] = rule

    def slope(x):
        say(f"at {x}")
        return ev.jvp(double.bind, (x,), (1.0,))[1]

    assert float(ev.jit(slope)(3.0)) == 2
    assert capsys.readouterr().out == "at 3.0\nrule of JitTracer(~float32[])\n"
