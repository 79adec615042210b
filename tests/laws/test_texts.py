"""What is kept of a rule's text and filled in with names is what the rule writes."""

import functools
import re

import evertrace as ev
from evertrace import extend
from evertrace._src.engines.xla import engine  # which loads the rules
from evertrace._src.engines.xla.lower import lower_jaxpr
from tests.laws.rows import over_rows, rng_of
from tests.support.runtime import array, jaxpr_of

assert engine.lower


@over_rows()
def test_kept_text_is_the_rules(spec):
    rng = rng_of(spec)
    for case in spec.cases:
        operands = [array(x) for x in spec.operands(case, spec.dtypes[0], rng)]
        jaxpr, _ = jaxpr_of(functools.partial(spec.fun, **case.kwargs), *operands)
        twice = jaxpr.replace(eqns=jaxpr.eqns * 2)
        by_rules = twice.replace(eqns=[eqn.replace() for eqn in twice.eqns])  # nothing is kept
        first, again, want = [_renumbered(x, spec.name) for x in (twice, twice, by_rules)]
        assert first == want
        assert again == want


def test_operands_keep_their_places():
    x = ev.ShapeDtypeStruct((3,), "float32")
    text = ev.jit(lambda x, y: (x - y) * (x - x) * (y - x)).lower(x, x).as_text()
    operands = re.findall(r"subtract (%\w+), (%\w+)", text)
    assert operands == [("%arg0", "%arg1"), ("%arg0", "%arg0"), ("%arg1", "%arg0")]


def test_a_rule_of_a_users_is_asked_each_time():
    scale = extend.Primitive("scale", abstract=lambda x, *, factor: x)
    seen = []

    @functools.partial(extend.register_lowering, scale)
    def rule(builder, out, x, *, factor):
        seen.append(factor)
        return builder.op("stablehlo.negate", [x], out)

    def f(x):
        for factor in (0, 0.0, -0.0):
            x = scale.bind(x, factor=factor)
        return x

    ev.jit(f).lower(ev.ShapeDtypeStruct((3,), "float32"))
    assert [*map(str, seen)] == ["0", "0.0", "-0.0"]


def _renumbered(jaxpr, name):
    """Return the text of a program with names numbered as they come."""
    found = {}
    text, _ = lower_jaxpr(jaxpr, name)
    return re.sub(r"%(arg|a|)\d+", lambda m: f"%{found.setdefault(m[0], len(found))}", text)
