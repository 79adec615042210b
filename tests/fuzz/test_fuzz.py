"""The fuzzer finds what it should find, leaves out nothing, and finds few faults in the package."""

import collections
import inspect

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.fuzz import calls, instances, minimise, pool, verdicts

RAW = 0.0005
"""The share of raw errors that is known of; it may only become smaller."""

UNLIKE = 0.001
"""The same of values other than NumPy's that are not listed yet."""


def test_few_calls_end_in_what_they_must_not():
    counts, bad = collections.Counter(), {}
    for name, verdict in pool.judge(calls.drawn(2000)):
        counts[verdict.kind] += 1
        if verdict.kind in (*verdicts.GOOD, verdicts.RAW, verdicts.UNLIKE, verdicts.MEMORY):
            continue
        bad[name] = calls.program(name).text, verdict
    assert bad == {}
    assert counts.total() == 2000
    assert counts[verdicts.RAW] <= RAW * 2000, counts
    assert counts[verdicts.UNLIKE] <= UNLIKE * 2000, counts
    assert counts[verdicts.RIGHT] > 600, counts  # or the arguments reach nothing


def test_every_public_function_is_called_or_has_a_reason():
    known = set()
    for target in calls.targets():
        name = target.removesuffix(".bind").split(".")[-1]
        known.add(name)
    silent = set()
    for module, namespace in calls.modules().items():
        for name in getattr(namespace, "__all__", None) or dir(namespace):
            value = getattr(namespace, name)
            is_code = inspect.isroutine(value) or (
                inspect.isclass(value) and "evertrace" in str(value)
            )
            left_out = name.startswith("_") or name in known or calls.is_left_out(module, name)
            is_error = inspect.isclass(value) and issubclass(value, BaseException)
            if is_code and not left_out and not is_error:
                silent.add(f"{module}.{name}")
    again = {n for n in silent if _has_another_name(n, known)}
    assert silent - again == set()


def test_every_public_class_with_methods_has_an_object_or_a_reason():
    named = {}
    for module, namespace in calls.modules().items():
        for name in getattr(namespace, "__all__", None) or dir(namespace):
            value = getattr(namespace, name)
            is_ours = inspect.isclass(value) and value.__module__.startswith("evertrace")
            if is_ours and name[0] != "_" and not issubclass(value, BaseException):
                named.setdefault(value, f"{module}.{name}")
    space = dict(calls.namespace())
    made = {type(eval(text, space)) for text in instances.INSTANCES.values()}
    silent = {
        path: instances.methods_of(cls)
        for cls, path in named.items()
        if not any(cls in kind.__mro__ for kind in made) and path not in instances.WITHOUT
    }
    assert {path: names for path, names in silent.items() if names} == {}
    assert not set(instances.WITHOUT) & set(instances.INSTANCES)


@pytest.mark.parametrize("path", instances.INSTANCES)
def test_attributes_of_public_objects_can_be_read(path):
    made = eval(instances.INSTANCES[path], dict(calls.namespace()))
    found = {}
    for name in dir(type(made)):
        if name[0] != "_" and name not in instances.CHANGING:
            try:
                getattr(made, name)
            except Exception as error:
                found[name] = verdicts.judged_error(error)
    assert {n: v for n, v in found.items() if v.kind != verdicts.CLEAR} == {}


def _has_another_name(path, known):
    module, name = path.rsplit(".", 1)
    value = getattr(calls.modules()[module], name)
    others = ((m, n) for m in calls.modules().values() for n in dir(m))
    return any(getattr(m, n) is value and n in known for m, n in others)


def test_the_reasons_name_what_there_is():
    names = set()
    for path, module in calls.modules().items():
        for name in dir(module):
            names |= {name, f"{path.split('.')[-1]}.{name}"}
    assert set(calls.LEFT_OUT) <= names


def test_names_name_programs():
    names = calls.drawn(300)
    texts = [calls.program(name).text for name in names]
    calls.targets.cache_clear()
    calls._turn.cache_clear()
    assert names == calls.drawn(300)
    assert texts == [calls.program(name).text for name in names]
    assert len(set(texts)) > 290


def test_a_new_function_leaves_the_programs_of_others_as_they_are(monkeypatch):
    before = calls.drawn(5000, seed=3)
    known = {**calls.targets(), "jnp.a_new_one": None}
    monkeypatch.setattr(calls, "targets", lambda: known)
    calls._turn.cache_clear()
    after = calls.drawn(5000, seed=3)
    monkeypatch.undo()
    calls._turn.cache_clear()
    new = [name for name in after if name.startswith("jnp.a_new_one:")]
    assert len(new) >= 2  # as often as others of NumPy's
    # What has no room left is the last.
    assert [name for name in after if name not in new] == before[: len(before) - len(new)]


def test_seeds_have_programs_of_their_own():
    drawn = [set(calls.drawn(5000, seed)) for seed in range(3)]
    assert len(set.union(*drawn)) == 15_000
    targets = {name.rpartition(":")[0] for name in drawn[0]}
    assert targets == set(calls.targets())  # each of them within a turn


def test_each_kind_of_fault_is_seen(monkeypatch):
    monkeypatch.setattr(pool, "SECONDS", 8)
    found = dict(pool.judge([f"{target}:0" for target in calls.PLANTED]))
    assert "hostile.py" in found["v.sleeps:0"].cause  # where it was
    assert {name.removesuffix(":0"): verdict.kind for name, verdict in found.items()} == {
        "v.dies": verdicts.CRASH,
        "v.sleeps": verdicts.HANG,
        "v.raw": verdicts.RAW,
        "v.allocates": verdicts.MEMORY,
        "v.ends": verdicts.CRASH,
    }


CLEAR = {
    "jnp.ones(3).reshape(2)": "ours",
    "jnp.sin()": "of Python, at the user's line",
    "lax.map(v.fails, jnp.ones(3))": "of a function of the user's",
    "v.Raising('index').__index__()": "of a value's own method",
}  # fmt: skip


@pytest.mark.parametrize("text", CLEAR)
def test_clear_errors_are_told_from_raw_ones(text, monkeypatch):
    monkeypatch.setattr(calls.Program, "text", text)
    assert verdicts.judged(calls.Program("")).kind == verdicts.CLEAR


@pytest.mark.parametrize(
    ("found", "expected", "word"),
    [
        (jnp.ones(2), jnp.ones(3), "type"),
        (jnp.ones(2), jnp.ones(2) * 1.1, "floats"),
        (jnp.ones(2), jnp.array([1.0, jnp.nan]), "special"),
        (jnp.arange(2), jnp.arange(2) + 1, "integers"),
        ([jnp.ones(2)], jnp.ones(2), None),
        (jnp.array([jnp.inf, 1.0, 1e-9]), jnp.array([jnp.inf, 1.0, 2e-9]), None),
    ],
)
def test_differences_of_results_are_seen(found, expected, word):
    text = verdicts.difference(found, expected)
    assert text is None if word is None else text.startswith(word)


def test_angles_of_powers_are_rounded():
    exact, rounded = jnp.array([-8388608.0, 1.0 + 2j]), jnp.array([-8388608.0 + 9.1j, 1.0 + 2j])
    assert verdicts.difference(rounded, exact).startswith("floats")
    assert verdicts.difference(rounded, exact, by_modulus=True) is None
    assert verdicts.difference(exact + 1e5j, exact, by_modulus=True).startswith("floats")
    for name in ("power:302000012", "power:402000012"):  # the second one's exponent is deleted
        assert verdicts.judged(calls.program(name)).kind == verdicts.RIGHT


def test_parts_of_transforms_are_compared_by_modulus():
    text = "jnp.arange(2.0**16) + 0j"
    program = calls.Program("ev.numpy.fft.fft", (text,), under="xla", traced=(0,))
    found = ev.numpy.fft.fft(jnp.arange(2.0**16) + 0j)
    assert verdicts.compared(program, found + 1e4j).kind == verdicts.RIGHT
    assert verdicts.compared(program, found + 1e8j).kind == verdicts.WRONG


def test_brackets_have_something_in_them():
    names = [name for name in calls.targets() if name.endswith("__getitem__")]
    programs = [calls.program(f"{name}:{i}") for name in names for i in range(500)]
    assert names
    assert not [p.text for p in programs if not p.args and not p.kwargs]


def test_results_of_engines_are_compared():
    program = calls.Program("jnp.sin", ("jnp.ones(3)",), under="xla", traced=(0,))
    assert program.text == "ev.jit(lambda x0: jnp.sin(x0), engine='xla')(jnp.ones(3))"
    assert verdicts.compared(program, ev.numpy.cos(jnp.ones(3))).kind == verdicts.WRONG
    assert verdicts.judged(program).kind == verdicts.RIGHT


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [("jnp.eye(3) + 1", verdicts.WRONG), ("jnp.arange(9.0).reshape(3, 3)", verdicts.RIGHT)],
    ids=["regular", "singular"],
)
def test_factors_of_singular_matrices_alone_are_not_compared(matrix, kind):
    program = calls.Program("lax.linalg.lu", (matrix,), under="xla", traced=(0,))
    other = ev.lax.linalg.lu(jnp.eye(3) * 7)
    assert verdicts.compared(program, other).kind == kind


def test_singular_matrices_are_known_in_all_dtypes():
    matrix = "(jnp.arange(16) - 2).reshape(4, 4).astype('int4')"
    program = calls.Program("ev.numpy.linalg.inv", (matrix,), under="jit", traced=(0,))
    assert verdicts.compared(program, jnp.eye(4) * 7).kind == verdicts.RIGHT


def test_programs_become_smaller():
    program = calls.Program("v.raw", ())
    assert minimise.minimised(program) == program
    long = calls.Program("jnp.sin", ("jnp.ones((2, 3, 4))",), under="jit", traced=(0,))
    assert minimise.minimised(long).text == "jnp.sin(1.0)"


def test_what_numpy_says_of_a_method_is_plain():
    program = calls.Program(".nonzero", ("np.ones(3)",), (("size", "2"),), "jit", (0,))
    assert verdicts.judged(program).kind == verdicts.CLEAR
