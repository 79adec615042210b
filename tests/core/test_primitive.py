"""Primitives: rule slots, type rules and their cache, effects."""

import gc
import weakref

import numpy as np
import pytest

import evertrace as ev
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.effects import NO_EFFECTS, Effect
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.core.rules import LinearArg, RuleTable, is_linear

X = ev.device_put(np.float32([1, 2, 3]))


def counting(**slots):
    """Return a primitive whose type rule notes its calls, and the notes."""
    calls = []

    def abstract(*avals, **params):
        calls.append((avals, params))
        return avals[0]

    return Primitive("p", abstract=abstract, **slots), calls


def test_unknown_slot_is_our_bug():
    with pytest.raises(AssertionError, match=r"p: no such rule slots: \['hots'\]"):
        Primitive("p", hots=None)


def test_reason_of_an_empty_slot():
    slot = undefined("integer valued")
    assert not slot
    assert repr(slot) == "undefined('integer valued')"


def test_rules_are_defined_by_decoration():
    p = Primitive("p")

    @p.define("batch")
    def rule():
        return 1

    assert p.batch is rule
    assert rule() == 1
    with pytest.raises(AssertionError):
        p.define("lower")


def test_type_rule_runs_once_per_avals_and_params():
    p, calls = counting()
    for _ in range(2):
        p.infer([X], {"axis": 0})
        p.infer([X], {"axis": 1})
        p.infer([X, X], {"axis": 1})
    assert len(calls) == 3


def test_type_rule_is_not_cached_for_unhashable_params():
    p, calls = counting()
    for _ in range(2):
        assert p.infer([X], {"axis": [0]}) is X.aval
    assert len(calls) == 2


def test_type_rule_is_not_cached_where_params_hold_programs():
    p, calls = counting(cache_types=False)
    p.infer([X], {"n": 1})
    p.infer([X], {"n": 1})
    assert len(calls) == 2


def test_several_outputs_are_a_tuple():
    p = Primitive("p", multiple_results=True, abstract=lambda a: [a, a.update(shape=())])
    assert p.infer([X], {}) == (X.aval, ShapedArray((), "float32"))


def test_error_of_a_type_rule_is_not_cached():
    flag = []

    def abstract(a):
        if not flag:
            raise ValueError("no")
        return a

    p = Primitive("p", abstract=abstract)
    with pytest.raises(ValueError, match="no"):
        p.infer([X], {})
    flag.append(1)
    assert p.infer([X], {}) is X.aval


def test_effects_come_from_the_params():
    effect = Effect("print")
    p = Primitive("p", effects=lambda loud: frozenset({effect}) if loud else NO_EFFECTS)
    assert p.effects_of({"loud": True}) == {effect}
    assert p.effects_of({"loud": False}) == frozenset()
    assert Primitive("q").effects_of({}) == frozenset()


def test_the_names_of_jax_register_rules():
    p = Primitive("twice")
    p.def_abstract_eval(lambda a: a)
    p.def_impl(lambda x: x * 2)
    np.testing.assert_array_equal(p.bind(X), [2, 4, 6])
    assert str(ev.make_jaxpr(p.bind)(X)).endswith("let b:f32[3] = twice a in (b,) }")


def test_missing_rules_say_so():
    p = Primitive("p", abstract=lambda a: a, host=lambda x: x, batch=undefined("an example"))
    with pytest.raises(NotImplementedError, match="p has no batching rule: an example"):
        ev.vmap(p.bind)(X)
    with pytest.raises(NotImplementedError, match="p has no derivative"):
        ev.jvp(p.bind, (X,), (X,))
    with pytest.raises(NotImplementedError, match="p has no derivative"):
        ev.grad(lambda x: p.bind(x).sum())(X)
    with pytest.raises(NotImplementedError, match="p has no rule for the XLA engine"):
        ev.jit(p.bind)(X)


@pytest.mark.parametrize("slot", ["jvp", "deriv"])
def test_missing_derivatives_say_why(slot):
    p = Primitive("p", abstract=lambda a: a, host=lambda x: x, **{slot: undefined("an example")})
    for transformed in (
        lambda f: ev.jvp(f, (X,), (X,)),
        lambda f: ev.grad(f)(X),
        lambda f: ev.grad(ev.jit(f))(X),
        lambda f: ev.hessian(f)(X),
    ):
        with pytest.raises(NotImplementedError, match="p has no derivative: an example"):
            transformed(lambda x: p.bind(x).sum())


def test_rule_tables_are_open():
    table = RuleTable("costs")
    p, q = Primitive("p"), Primitive("q")

    @table.define(p)
    def cost():
        return 3

    assert p in table
    assert table[p] is cost
    assert q not in table
    with pytest.raises(NotImplementedError, match="q has no rule for costs"):
        table[q]
    for other in (slice(2), [1], "p", None):
        assert other not in table
        with pytest.raises(NotImplementedError, match="has no rule for costs"):
            table[other]


def test_linear_operands_are_recognised():
    node = LinearArg(X.aval)
    assert is_linear(node)
    assert not is_linear(X)
    assert repr(node) == "LinearArg(f32[3])"


def test_primitives_do_not_outlive_their_users():
    p = Primitive("p", abstract=lambda a: a)
    p.infer([X], {})
    alive = weakref.ref(p)
    del p
    gc.collect()
    assert alive() is None
