"""What code does with what it loads, as its instructions tell."""

import pytest

from evertrace._src.jit.lifting.uses import (
    ANY,
    LOOKED_UP,
    UNREAD,
    Field,
    Use,
    uses_of_name,
    uses_of_variable,
    within,
)


def code_of(body):
    """Return the code of a function of ``v`` and some more with this body."""
    names = {}
    exec("def f(v, x, k, f):\n" + "\n".join(f"    {line}" for line in body.split("; ")), names)
    return names["f"].__code__


ADDS = {
    "v.append(x)": {((), "append")},
    "v.append(f(x, key=k) + 1)": {((), "append")},
    "v['a'].append(x)": {(("a",), "append")},
    "v[k].append(x)": {((ANY,), "append")},
    "v[f'{k}/a'].append(x)": {((ANY,), "append")},
    "v[0]['a'].add(x)": {((0, "a"), "add")},
    "v.loss.extend([x, x])": {((Field("loss"),), "extend")},
    "v.setdefault('a', []).append(x)": {(("a",), "append")},
    "v.get(k)[0].append(x)": {((ANY, 0), "append")},
    "v.insert(0, x)": {((), "insert")},
    "v['a'] = x": {((), "[]=")},
    "v['a']['b'] = x": {(("a",), "[]=")},
    "v += [x]": {((), "+=")},
    "v['a'] += [x]": {(("a",), "+=")},
    "w = v; w['a'].append(x)": {(("a",), "append")},
    "w = v['a']; w.append(x); w.extend([x])": {
        (("a",), "append"),
        (("a",), "extend"),
        (("a",), LOOKED_UP),
    },
    "v['a']": {(("a",), LOOKED_UP)},
    "v.setdefault('a', x)": {(("a",), LOOKED_UP)},
    "v.get(k)": {((ANY,), LOOKED_UP)},
    "v.append(x); v['a'].append(x)": {((), "append"), (("a",), "append")},
    "g = lambda: v['a'].append(x)": {(("a",), "append")},
    "v['a'].append(len(v['b']))": {(("a",), "append"), (("b",), None)},
    "return len(v['b'])": {(("b",), None)},
    "v.insert(1, x)": None,
    "v.append(v)": None,
    "v.pop()": None,
    "return v": None,
    "f(v)": None,
    "x = v": None,
    "x = v + x": None,
    "x += v": None,
    "x['a'] = v": None,
    "for y in v: y.append(x)": None,
    "w = v if x else k; w.append(x)": None,
    "a, b = v": None,
    "del v['a']": None,
    "v is x": None,
    "v.append": {((Field("append"),), LOOKED_UP)},
    "v": UNREAD,
    "v.items()": None,
    "w = v; w = w['a']; w.append(x)": {((), "append"), (("a",), None), (("a",), LOOKED_UP)},
    "w = v; w.append(x); return locals()": None,
    "v[v['a']].append(x)": {(("a",), None), ((ANY,), "append")},
    "print(x)": None,
}


@pytest.mark.parametrize("body", ADDS)
def test_variables(body):
    want = ADDS[body]
    want = want if want is None else frozenset(Use(*use) for use in want)
    assert uses_of_variable(code_of(body), "v") == want


NAMES = {
    "x.log.append(k)": {((), "append")},
    "x.log['a'].append(k)": {(("a",), "append")},
    "x.log = k": None,
    "x.log.append(k); x.log = []": {((), "append")},
    "g = lambda: x.log.append(k)": {((), "append")},
    "x.log.append(k); getattr(x, 'log')": None,
    "x.log.append(k); y = k.log": None,
    "return x.log": None,
    "x.log()": None,
}


@pytest.mark.parametrize("body", NAMES)
def test_attributes_of_a_name(body):
    want = NAMES[body]
    want = want if want is None else frozenset(Use(*use) for use in want)
    assert uses_of_name(code_of(body), "log") == want


@pytest.mark.parametrize(
    ("step", "key", "reaches"),
    [
        ("a", "a", True), ("a", "b", False), (ANY, "b", True), (ANY, 1, True), (1, 1, True),
        (1, 2, False), (1, True, True), (1, 1.0, True), ("a", 1, False), (0, [0, -2], True),
        (-1, [1, -1], True), (-1, [0, -2], False), (Field("x"), [0, -2, Field("x")], True),
        (Field("x"), [0, -2, Field("y")], False), ("x", [0, -2, Field("x")], False),
        ("a", ("a",), True), ("a", None, True),
    ],
)  # fmt: skip
def test_items_that_a_step_can_lead_to(step, key, reaches):
    uses = frozenset({Use((step, "rest"), "append"), Use((), "+=")})
    assert within(uses, key) == (frozenset({Use(("rest",), "append")}) if reaches else UNREAD)
    assert within(frozenset({Use((step,), None)}), key) == (None if reaches else UNREAD)
    assert within(None, key) is None
