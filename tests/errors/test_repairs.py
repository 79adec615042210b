"""Repairs that are particular to the mistake: their texts, and that they work when applied."""

import pytest

import evertrace as ev
from tests.errors.mistakes import mistaken_line, run, seen

pytestmark = pytest.mark.quotes_lines

FILL = """\
def fill(x):
    out = {}
    for i in range(3):
        {}
    return out
y = ev.jit(fill)(v)"""

TRUTHS = {
    "max": ("y = max(v, 0)", "call `jnp.maximum(v, 0)`.", "y = jnp.maximum(v, 0)"),
    "max of three": (
        "y = max(v, 0, 1)", "call `jnp.maximum(v, jnp.maximum(0, 1))`.",
        "y = jnp.maximum(v, jnp.maximum(0, 1))",
    ),
    "max in jit": (
        "y = ev.jit(lambda v: max(v, 0))(v)", "call `jnp.maximum(v, 0)`.",
        "y = ev.jit(lambda v: jnp.maximum(v, 0))(v)",
    ),
    "min of a list in jit": (
        "y = ev.jit(lambda v: min([v[0], v[1]]))(v)", "call `jnp.min(jnp.asarray([v[0], v[1]]))`.",
        "y = ev.jit(lambda v: jnp.min(jnp.asarray([v[0], v[1]])))(v)",
    ),
    "sorted": ("y = sorted(x)", "call `jnp.sort(x)`.", "y = jnp.sort(x)"),
    "sorted in jit": (
        "y = ev.jit(lambda v: sorted(v))(v)", "call `jnp.sort(v)`.",
        "y = ev.jit(lambda v: jnp.sort(v))(v)",
    ),
    "any in jit": (
        "y = ev.jit(lambda v: any(v > 1))(v)", "call `jnp.any(v > 1)`.",
        "y = ev.jit(lambda v: jnp.any(v > 1))(v)",
    ),
    "a chain": ("y = 0 < v < 2", "write `(0 < v) & (v < 2)`.", "y = (0 < v) & (v < 2)"),
    "a chain in jit": (
        "y = ev.jit(lambda v: 0 < v < 2)(v)", "write `(0 < v) & (v < 2)`.",
        "y = ev.jit(lambda v: (0 < v) & (v < 2))(v)",
    ),
    "and": (
        "y = (v > 0) and (v < 1)", "write `(v > 0) & (v < 1)`.", "y = (v > 0) & (v < 1)",
    ),
    "and of numbers": (
        "y = v and not v", "write `jnp.logical_and(v, jnp.logical_not(v))`.",
        "y = jnp.logical_and(v, jnp.logical_not(v))",
    ),
    "or in jit": (
        "y = ev.jit(lambda v: v > 0 or v < 1)(v)", "write `(v > 0) | (v < 1)`.",
        "y = ev.jit(lambda v: (v > 0) | (v < 1))(v)",
    ),
    "not": ("y = not v", "write `jnp.logical_not(v)`.", "y = jnp.logical_not(v)"),
    "and in a condition": (
        "if v > 0 and v < 1: y = 1", "write `(v > 0) & (v < 1)`, and take `.any()` or `.all()` of",
        "if ((v > 0) & (v < 1)).any(): y = 1",
    ),
    "a chain in a condition in jit": (
        "y = ev.jit(lambda v: 1 if 0 < v < 2 else 2)(v[0])",
        "write `(0 < v) & (v < 2)`, and choose with `jnp.where` or `lax.cond`",
        "y = ev.jit(lambda v: jnp.where((0 < v) & (v < 2), 1, 2))(v[0])",
    ),
    "one that is no array for sure": (
        "y = v is not None and v\nif v is not None and v: y = 1", "use `x.any()` or `x.all()`.",
        "if v is not None and v.any(): y = 1",
    ),
    "one over several lines": (
        "y = [max(v,  # here\n 0)]", "use `x.any()` or `x.all()`.", "y = jnp.maximum(v, 0)",
    ),
}  # fmt: skip

WRITES = {
    "an item": (
        FILL.format("np.zeros(3)", "out[i] = x[i]  # here"),
        "make it an array that takes traced values, `out = jnp.zeros(...)`, and write "
        "`out = out.at[i].set(x[i])`.",
        FILL.format("jnp.zeros(3)", "out = out.at[i].set(x[i])"),
    ),
    "an integer": (
        FILL.format("np.zeros(3, int)", "out[i] = x[i]  # here"),
        "make it an array that takes traced values, `out = jnp.zeros(...)`, and write ",
        FILL.format("jnp.zeros(3, int)", "out = out.at[i].set(x[i].astype(int))"),
    ),
    "a boolean": (
        FILL.format("np.zeros(3, bool)", "out[i] = x[i] > 0  # here"),
        "make it an array that takes traced values, `out = jnp.zeros(...)`, and write "
        "`out = out.at[i].set(x[i] > 0)`.",
        FILL.format("jnp.zeros(3, bool)", "out = out.at[i].set(x[i] > 0)"),
    ),
    "a sum": (
        FILL.format("np.zeros(3)", "out[i] += x[i]  # here"),
        "make it an array that takes traced values, `out = jnp.zeros(...)`, and write "
        "`out = out.at[i].add(x[i])`.",
        FILL.format("jnp.zeros(3)", "out = out.at[i].add(x[i])"),
    ),
    "a column": (
        FILL.format("np.zeros((3, 3))", "out[:, i] = x  # here"),
        "make it an array that takes traced values, `out = jnp.zeros(...)`, and write "
        "`out = out.at[:, i].set(x)`.",
        FILL.format("jnp.zeros((3, 3))", "out = out.at[:, i].set(x)"),
    ),
    "a list": (
        FILL.format("np.zeros(3)", "out[1:] = [x[0], x[1]]  # here"),
        "make it an array that takes traced values, `out = jnp.zeros(...)`, and write "
        "`out = out.at[1:].set(jnp.array([x[0], x[1]]))`.",
        FILL.format("jnp.zeros(3)", "out = out.at[1:].set(jnp.array([x[0], x[1]]))"),
    ),
}  # fmt: skip

ARGUMENTS = {
    "a vector for a square matrix": (
        "y = jnp.linalg.det(v)", "pass a square matrix: `jnp.diag(x)` has the vector as its",
        "y = jnp.linalg.det(jnp.diag(v))",
    ),
    "a vector to eigh": (
        "y = jnp.linalg.eigh(v)", "pass a square matrix: `jnp.diag(x)`",
        "y = jnp.linalg.eigh(jnp.outer(v, v))",
    ),
    "a float that is differentiated as a count": (
        "y = ev.grad(lambda n: n * sum(range(n)))(3.0)",
        "pass it as an integer argument of its own, which `grad` leaves alone",
        "y = ev.grad(lambda x, n: x * sum(range(n)))(3.0, 3)",
    ),
    "a shape for probabilities": (
        "y = random.bernoulli(random.key(0), (3,))",
        "give a shape by its name, `bernoulli(key, ..., shape=(3,))`",
        "y = random.bernoulli(random.key(0), shape=(3,))\nassert y.shape == (3,)",
    ),
    "a shape for a rate": (
        "y = random.poisson(random.key(0), (3,))",
        "give a shape by its name, `poisson(key, ..., shape=(3,))`",
        "y = random.poisson(random.key(0), 1.0, shape=(3,))",
    ),
    "bounds for a shape": (
        "y = random.uniform(random.key(0), 0, 1)",
        "give the shape, and the bounds by name: `uniform(key, shape, minval=a, maxval=b)`.",
        "y = random.uniform(random.key(0), (3,), minval=0, maxval=1)",
    ),
    "mean and deviation for a shape": (
        "y = random.normal(random.key(0), 0, 1)",
        "give the shape, then scale and shift the result: `normal(key, shape) * b + a`.",
        "y = random.normal(random.key(0), (3,)) * 1 + 0",
    ),
    "a text to fold in": (
        "y = random.fold_in(random.key(0), 'layer')",
        "make a number of the text: `zlib.crc32(text.encode())`.",
        "import zlib\ny = random.fold_in(random.key(0), zlib.crc32('layer'.encode()))",
    ),
    "bytes to fold in": (
        "y = random.fold_in(random.key(0), b'layer')",
        "make a number of the text: `zlib.crc32(text)`.",
        "import zlib\ny = random.fold_in(random.key(0), zlib.crc32(b'layer'))",
    ),
    "scan with the carry first": (
        "y = lax.scan(0.0, lambda c, x: (c, x), v)",
        "give the function first: `scan(f, init, xs)`.",
        "y = lax.scan(lambda c, x: (c, x), 0.0, v)",
    ),
    "map with the array first": (
        "y = lax.map(v, lambda x: x)", "give the function first: `map(f, xs)`.",
        "y = lax.map(lambda x: x, v)",
    ),
    "apply_along_axis with the array first": (
        "y = jnp.apply_along_axis(lambda x: x, v, 0)",
        "give the axis before the array: `apply_along_axis(f, axis, x)`.",
        "y = jnp.apply_along_axis(lambda x: x, 0, v)",
    ),
    "a function for an array": (
        "y = jnp.sin(lambda: v)", "pass what the function returns", "y = jnp.sin((lambda: v)())",
    ),
    "a stack of nothing": (
        "y = jnp.stack([])", "put an array in it first; where there may be none, return",
        "y = jnp.zeros((0, 3))",
    ),
    "a dict": (
        "y = jnp.array({'a': 1})", "pass its values, `jnp.asarray(list(x.values()))`",
        "y = jnp.asarray(list({'a': 1}.values()))\ny = tree.map(jnp.asarray, {'a': 1})",
    ),
    "a set": (
        "y = jnp.array({1, 2})", "make one array of its elements, `jnp.asarray(sorted(x))`.",
        "y = jnp.asarray(sorted({1, 2}))",
    ),
    "a generator": (
        "y = jnp.array(i for i in range(3))",
        "make one array of what it yields, `jnp.asarray(list(x))`.",
        "y = jnp.asarray(list(i for i in range(3)))",
    ),
    "a fraction": (
        "import fractions\ny = jnp.array(fractions.Fraction(1, 2))", "convert it, `float(x)`.",
        "import fractions\ny = jnp.array(float(fractions.Fraction(1, 2)))",
    ),
    "minus a boolean": (
        "y = -(v > 0)", "use `~x`, which says of each whether it is False.", "y = ~(v > 0)",
    ),
    "a difference of booleans": (
        "y = (v > 0) - (v < 1)", "use `x ^ y`, which says where the two differ",
        "y = (v > 0) ^ (v < 1)\ny = (v > 0).astype(int) - (v < 1).astype(int)",
    ),
    "too few counts": (
        "y = jnp.repeat(v, jnp.array([1, 2]))",
        "give one count for all, or 3 of them, one per element.",
        "y = jnp.repeat(v, jnp.array([1, 2, 3]))",
    ),
    "two values for one place": (
        "y = v.at[0].set(jnp.ones(2))",
        "give one number, or name as many places as there are values, `x.at[start:stop]`.",
        "y = v.at[0:2].set(jnp.ones(2))",
    ),
    "too many values": (
        "y = x.at[0].set(jnp.ones(2))",
        "give values of shape (3,), or one number for the whole place.",
        "y = x.at[0].set(jnp.ones(3))",
    ),
    "traced counts": (
        "y = ev.jit(lambda v, n: jnp.repeat(v, n))(v, jnp.array([1, 2, 3]))",
        "say how many elements the result has, `jnp.repeat(x, counts, total_repeat_length=n)`, or "
        "compute the counts with NumPy from what is static.",
        "y = ev.jit(lambda v, n: jnp.repeat(v, n, total_repeat_length=6))(v, jnp.array([1, 2, 3]))"
        "\ny = ev.jit(lambda v: jnp.repeat(v, np.arange(v.size)))(v)",
    ),
    "a tree before the function": (
        "y = tree.map([1, 2], lambda x: x)",
        "`f` is the function: call it as `tree_map(f, tree, *rest, is_leaf=None)`.",
        "y = tree.map(lambda x: x, [1, 2])",
    ),
    "an array after the function": (
        "y = ev.jit(lambda x: x, v)", "call what it returns: `jit(f)(x)`; options go by name.",
        "y = ev.jit(lambda x: x)(v)",
    ),
    "view for reshape": (
        "y = x.view(3, 2)", "give another shape by `x.reshape((3, 2))`.", "y = x.reshape((3, 2))",
    ),
    "a text for a number": (
        "y = jnp.arange('3')", "read the number, `int(text)` or `float(text)`.",
        "y = jnp.arange(int('3'))",
    ),
    "custom_jvp without a rule": (
        "f = ev.custom_jvp(lambda x: x)\ny = f(1.0)", "define one with `f.defjvp(...)`",
        "f = ev.custom_jvp(lambda x: x)\nf.defjvp(lambda p, t: (f(*p), t[0]))\ny = f(1.0)",
    ),
}  # fmt: skip

CONSTANT = "; or read `lax.stop_gradient(x)`, a constant for derivatives."

READS = {
    "a function of math": (
        "y = ev.grad(lambda x: math.sin(x) * x)(1.0)",
        f"functions of `math` take numbers: call `jnp.sin`{CONSTANT}",
        "y = ev.grad(lambda x: jnp.sin(x) * x)(1.0)",
    ),
    "a function of NumPy's": (
        "y = ev.grad(lambda x: np.dot(x, x))(v)",
        f"use the function of the same name in `evertrace.numpy`{CONSTANT}",
        "y = ev.grad(lambda x: jnp.dot(x, x))(v)",
    ),
    "a number": (
        "y = ev.grad(lambda x: float(x) * x)(1.0)",
        f"convert the dtype with `x.astype(float)`{CONSTANT}",
        "y = ev.grad(lambda x: x.astype(float) * x)(1.0)",
    ),
    "a number that is noted": (
        "seen = []\ny = ev.grad(lambda x: seen.append(x.item()) or x * x)(1.0)",
        f"keep the array of rank 0 (`x[0]`, `x.reshape(())`): it works like a number{CONSTANT}",
        "seen = []\ny = ev.grad(lambda x: seen.append(lax.stop_gradient(x).item()) or x * x)(1.0)"
        "\nassert seen == [1.0] and y == 2",
    ),
    "numbers": (
        "y = ev.jvp(lambda x: sum(x.tolist()) * x, (v,), (v,))",
        f"return the array, and convert it then{CONSTANT}",
        "y = ev.jvp(lambda x: sum(lax.stop_gradient(x).tolist()) * x, (v,), (v,))",
    ),
    "a text with a number": (
        "y = ev.grad(lambda x: print('%.1f' % x) or x * x)(1.0)",
        f"convert the dtype with `x.astype(float)`{CONSTANT}",
        "y = ev.grad(lambda x: print(f'{x:.1f}') or x * x)(1.0)",
    ),
}  # fmt: skip

NAMES = {
    "an axis by another library's name": (
        "y = jnp.mean(x, dim=0)", "did you mean `axis`?", "y = jnp.mean(x, axis=0)",
    ),
    "a shape by NumPy's name": (
        "y = random.normal(random.key(0), size=(3,))", "did you mean `shape`?",
        "y = random.normal(random.key(0), shape=(3,))",
    ),
    "a size where there is one": (
        "y = jnp.nonzero(v, sizes=3)", "did you mean `size`?", "y = jnp.nonzero(v, size=3)",
    ),
    "an option of an update": (
        "y = v.at[0].set(1, mod='drop')", "did you mean `mode`?", "y = v.at[0].set(1, mode='drop')",
    ),
}  # fmt: skip

WHATS = {
    "an integer among others": (
        "y = ev.grad(lambda p: (p['w'] * p['n']).sum())({'w': v, 'n': 3})",
        "grad(<lambda>): requires real- or complex-valued inputs, got int32 in argument 0['n'].",
    ),
    "an integer of several arguments": (
        "y = ev.grad(lambda a, b, c: (a * c).sum(), (0, 2))(v, v, v.astype(int))",
        "grad(<lambda>): requires real- or complex-valued inputs, got int32 in argument 2.",
    ),
    "one device": (
        "y = ev.pmap(lambda x: x)(jnp.ones((99999, 1)))", "size 99999, and there ",
    ),
    "an axis of softmax": (
        "y = nn.softmax(v, axis=3)", "softmax: axis 3 is out of bounds for array of dimension 1.",
    ),
    "an axis of log_softmax": (
        "y = nn.log_softmax(v, axis=3)",
        "log_softmax: axis 3 is out of bounds for array of dimension 1.",
    ),
    "a mode": ("y = v.at[0].get(mode='dropp')", "mode: there is no mode 'dropp'."),
}  # fmt: skip

REPAIRS = {**NAMES, **TRUTHS, **WRITES, **ARGUMENTS, **READS}


@pytest.fixture(autouse=True)
def _as_users_see_them():
    before = ev.config.traceback_filtering
    ev.config.update("traceback_filtering", "auto")
    yield
    ev.config.update("traceback_filtering", before)


@pytest.mark.parametrize("name", REPAIRS)
def test_the_repair_is_that_of_the_mistake(name):
    code, fix, _ = REPAIRS[name]
    error = run(code, "mistake.py")
    assert error is not None
    found = seen(error, "mistake.py", mistaken_line(code))
    assert f"\n  Fix: {fix}" in found["message"]
    assert found["line"], found["message"]
    assert found["frames"] == 0


@pytest.mark.parametrize("name", REPAIRS)
def test_the_repaired_program_runs(name):
    assert run(REPAIRS[name][2], "repaired.py") is None


@pytest.mark.parametrize("name", WHATS)
def test_what_is_wrong_is_named_as_the_user_calls_it(name):
    code, what = WHATS[name]
    message = str(run(code, "mistake.py")).splitlines()[0]
    assert what in message
    assert "there are 1 " not in message


CAUGHT = """\
def f(x):
    try:
        if x.sum() > 0:  # here
            return x
    except Exception:
        pass
    return x * 2
y = ev.jit(f)(v)"""


def test_a_refusal_that_the_function_catches_shows_the_users_frames_alone():
    found = seen(run(CAUGHT, "mistake.py"), "mistake.py", mistaken_line(CAUGHT))
    assert found["class"] == "TracerBoolConversionError"
    assert found["frames"] == 0


def test_a_table_that_holds_texts_names_the_column():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    with pytest.raises(TypeError, match="DataFrame with a column 'b' that is no number") as caught:
        ev.numpy.array(table)
    assert "Fix: take its columns of numbers: `x.select_dtypes('number')" in str(caught.value)
    assert ev.numpy.array(table.select_dtypes("number").to_numpy()).shape == (2, 1)


TABLES = {
    "a column of an argument": ("y = ev.jit(lambda d: d['a'] * 2)(df)", "d"),
    "an argument as a whole": ("y = ev.jit(lambda d: jnp.asarray(d))(df)", "d"),
    "a sum": ("y = ev.jit(lambda d: d.sum())(df)", "d"),
    "one that the function captures": ("y = ev.jit(lambda x: df['a'] + x)(1.0)", "df"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_jit_is_named_at_the_users_line(name):
    pytest.importorskip("pandas")
    code, table = TABLES[name]
    code = f"import pandas as pd\ndf = pd.DataFrame({{'a': [1.0], 'b': [2.0]}})\n{code}"
    message = str(run(code, "mistake.py"))
    assert f"{table} is a table of pandas: what it holds cannot be seen" in message
    assert "\n  at mistake.py:3 in <lambda>" in message
    fix = (
        f"Fix: pass in its columns, `{table}['column']`, or an array of all, `{table}.to_numpy()`."
    )
    assert fix in message


TABLES_REPAIRED = """
import pandas as pd
df = pd.DataFrame({'a': [1.0], 'b': [2.0]})
y = ev.jit(lambda a: jnp.asarray(a) * 2)(df['a'])
y = ev.jit(lambda d: d.sum())(df.to_numpy())
y = ev.grad(lambda d: d.sum())(jnp.asarray(df.to_numpy()))
y = ev.grad(lambda d: d.sum())(df['a'].to_numpy())
"""


def test_columns_and_arrays_of_a_table_can_be_passed_in():
    pytest.importorskip("pandas")
    assert run(TABLES_REPAIRED, "repaired.py") is None
    mistake = TABLES_REPAIRED.split("y = ")[0] + "y = ev.grad(lambda d: d.a.sum())(df)"
    message = str(run(mistake, "mistake.py"))
    assert "Fix: pass in the arrays that the table holds, `df['column'].to_numpy()`" in message
