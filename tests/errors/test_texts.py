"""The messages of mistakes that everybody makes once: what, where, a repair that can be typed."""

import contextlib
import dataclasses
import importlib.util
import math
import pickle
import re
import sys
import traceback
from math import sin

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, lax, random
from evertrace._src import absent

pytestmark = pytest.mark.quotes_lines

X = jnp.ones((2, 3))


@dataclasses.dataclass
class Point:
    x: object


def strictly(call):
    with ev.strict():
        return call()


def branches(x):
    if x.sum() > 0:
        return x
    return -x


def import_mosaic():
    from evertrace.experimental import mosaic  # noqa: PLC0415

    return mosaic


def import_misspelt():
    import evertrace.experimental.spares  # noqa: PLC0415

    return evertrace


TEXTS = {
    "an axis that is not there": (
        lambda: X.sum(axis=2), errors.AxisError,
        "sum: axis 2 is out of bounds for array of dimension 2.",
        "use an axis from -2 to 1.",
    ),
    "a platform for a device": (
        lambda: ev.device_put(X, "gpu"), TypeError,
        "device_put: 'gpu' is no device.",
        "pass one of those that this process has, such as `ev.devices()[0]`.",
    ),
    "sizes one by one": (
        lambda: jnp.zeros(2, 3), TypeError,
        "zeros: the second argument is a dtype, got the integer 3.",
        "give the shape as one tuple: `zeros((2, 3))`.",
    ),
    "arrays one by one": (
        lambda: jnp.concatenate(X, jnp.ones(3)), TypeError,
        "concatenate: axis must be an integer, got f32[3] of type Array.",
        "give several arrays as one list: `concatenate([a, b])`.",
    ),
    "traced arrays one by one": (
        lambda: ev.jit(jnp.stack)(X, X), TypeError,
        "stack: axis must be an integer, got f32[2,3] of type Array.",
        "give several arrays as one list: `stack([a, b])`.",
    ),
    "a shape for a number": (
        lambda: jnp.eye((2, 2)), TypeError,
        "eye: N must be an integer, got (2, 2) of type tuple.",
        "give one number, without brackets.",
    ),
    "a name for a number": (
        lambda: jnp.mean(X, "rows"), TypeError,
        "mean: axis must be an integer, got 'rows' of type str.",
        "give a whole number.",
    ),
    "a column of what was a table": (
        lambda: X["a"], TypeError,
        "String indexing is not supported; got idx='a'.",
        "take the column out of its table before that, or keep a dict of arrays.",
    ),
    "a list as an index": (
        lambda: X[[0, 1]], TypeError,
        "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
        "`arr[array(seq)]` instead of `arr[seq]`.",
        "index with `jnp.array(seq)`, or with `tuple(seq)` for one index per axis.",
    ),
    "a float as an index": (
        lambda: X[1.0], TypeError,
        "Indexer must have integer or boolean type, got indexer with type float.",
        "index with ints, slices, None, ... or integer arrays: `int(i)`, `i.astype(int)`.",
    ),
    "a function of NumPy's generators": (
        lambda: random.randn(3), AttributeError,
        "module 'evertrace.random' has no attribute 'randn'.",
        "use `evertrace.random.normal(key, shape)`.",
    ),
    "a function of a module in a module that is misspelt": (
        lambda: jnp.linalg.invv(X), AttributeError,
        "module 'evertrace.numpy.linalg' has no attribute 'invv'.",
        "did you mean `inv` or `pinv`?",
    ),
    "an array of texts": (
        lambda: jnp.array(["a"]), TypeError,
        "array: 'a' is a text, and arrays hold numbers.",
        "read numbers by `float(text)`, or number the texts, as "
        "`np.unique(texts, return_inverse=True)` does.",
    ),
    "a text as a seed": (
        lambda: random.key("seed"), TypeError,
        "key: the seed must be an integer, got the text 'seed'.",
        "pass an integer, e.g. `random.key(0)`; `zlib.crc32` makes one of a text.",
    ),
    "a function of math": (
        lambda: ev.jit(lambda x: math.sqrt(x.sum()))(X), errors.ConcretizationTypeError,
        "float() of an array: a traced array f32[] has no value while tracing; it depends on x.",
        "functions of `math` take numbers: call `jnp.sqrt`.",
    ),
    "one under its own name, of another in NumPy": (
        lambda: ev.jit(lambda x: sin(math.atan2(x.sum(), 1)))(X), errors.ConcretizationTypeError,
        "float() of an array: a traced array f32[] has no value while tracing; it depends on x.",
        "functions of `math` take numbers: call `jnp.arctan2`.",
    ),
    "one on a value of grad": (
        lambda: ev.jit(ev.grad(lambda x: sin(x)))(X[0, 0]), errors.ConcretizationTypeError,
        "float() of an array: grad(<lambda>) differentiates by this f32[], and no derivative flows "
        "through what is read of it.",
        "functions of `math` take numbers: call `jnp.sin`; or read `lax.stop_gradient(x)`, a "
        "constant for derivatives.",
    ),
    "float of an array": (
        lambda: ev.jit(lambda x: float(x.sum()))(X), errors.ConcretizationTypeError,
        "float() of an array: a traced array f32[] has no value while tracing; it depends on x.",
        "convert the dtype with `x.astype(float)`.",
    ),
    "a branch on an array": (
        lambda: ev.jit(branches)(X), errors.TracerBoolConversionError,
        "bool (an array as the condition of if, while, and, or, not): a traced array bool[] has "
        "no value while tracing; it depends on x.",
        "choose with `jnp.where` or `lax.cond`, loop with `lax.while_loop`.",
    ),
    "a dtype that is misspelt": (
        lambda: jnp.zeros(3, dtype="flaot32"), TypeError,
        "dtype: data type 'flaot32' not understood.",
        "did you mean `float32`",
    ),
    "lists of several lengths": (
        lambda: jnp.array([[1, 2], [3]]), errors.ShapeError,
        "array: [0] has length 2, but [1] has length 1; all rows of an array have one shape.",
        "fill the shorter rows up (`row + [0] * (n - len(row))`), or keep a list of arrays.",
    ),
    "lists further down": (
        lambda: jnp.array([[[1], [2]], [[3], 4]]), errors.ShapeError,
        "array: [1][0] has length 1, but [1][1] is a number; all rows of an array have one shape.",
        "fill the shorter rows up",
    ),
    "a dataclass that is no tree": (
        lambda: strictly(lambda: ev.vmap(lambda p: p.x)(Point(X))), TypeError,
        "vmap(<lambda>): argument 0 of type Point is not an array.",
        "make Point a tree: `ev.tree_util.register_dataclass(Point)`.",
    ),
    "a dataclass as a result": (
        lambda: strictly(lambda: ev.vmap(Point)(X)), TypeError,
        "vmap(Point): the function returned a Point at result, which is not an array.",
        "make Point a tree: `ev.tree_util.register_dataclass(Point)`.",
    ),
    "a dataclass in a loop": (
        lambda: strictly(lambda: lax.fori_loop(0, 3, lambda i, p: p, Point(X))), TypeError,
        "fori_loop: Point is not an array type. It takes arrays, NumPy arrays of numbers or "
        "booleans, and Python scalars.",
        "make Point a tree: `ev.tree_util.register_dataclass(Point)`.",
    ),
    "a module that is left out": (
        import_mosaic, ModuleNotFoundError,
        "evertrace.experimental.mosaic is left out on purpose.",
        "write kernels by `evertrace.experimental.pallas`.",
    ),
    "a module that is misspelt": (
        import_misspelt, ModuleNotFoundError,
        "module 'evertrace.experimental' has no attribute 'spares'.",
        "did you mean `sparse`?",
    ),
    "a function that is misspelt": (
        lambda: jnp.summ(X), AttributeError,
        "module 'evertrace.numpy' has no attribute 'summ'.",
        "did you mean `sum`",
    ),
    "a name at the wrong place": (
        lambda: jnp.random.normal(0), AttributeError,
        "module 'evertrace.numpy' has no attribute 'random'.",
        "use `evertrace.random`, whose functions take a key.",
    ),
    "a keyword that is misspelt": (
        lambda: jnp.sum(X, axes=0), TypeError,
        "sum: sum() got an unexpected keyword argument 'axes'. It was called as "
        "sum(f32[2,3], axes=0).",
        "did you mean `axis`?",
    ),
    "a width by its other name": (
        lambda: jnp.zeros(3, "fp32"), TypeError,
        "dtype: data type 'fp32' not understood.",
        "did you mean `float32`",
    ),
    "a keyword that nothing resembles": (
        lambda: jnp.hypot(X, X, foo=0), TypeError,
        "hypot: hypot() got an unexpected keyword argument 'foo'. It was called as "
        "hypot(f32[2,3], f32[2,3], foo=0).",
        "call it as `hypot(",
    ),
    "an option of jit": (
        lambda: ev.jit(branches, static_argnum=0), TypeError,
        "jit: jit() got an unexpected keyword argument 'static_argnum'. It was called as "
        "jit(branches, static_argnum=0).",
        "did you mean `static_argnums`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_text_and_repair(name):
    call, error, what, fix = TEXTS[name]
    with pytest.raises(error) as caught:
        call()
    lines = str(caught.value).split("\n")
    assert lines[0] == what
    assert next(x for x in lines if x.startswith("  Fix: ")).startswith(f"  Fix: {fix}")
    place = f"{__file__.rpartition('/')[2]}:\\d+"
    is_attribute = isinstance(caught.value, AttributeError)  # their tracebacks end at the line
    assert is_attribute or re.search(f"^  at .*{place}", lines[1])


def test_numbers_are_made_static_under_strict_rules():
    with pytest.raises(errors.TracerBoolConversionError, match="static with `static_argnames`"):
        ev.jit(lambda n: 1 if n > 2 else 0, strict=True)(3)


def test_who_asks_whether_a_module_is_there_is_told():
    assert importlib.util.find_spec("evertrace.experimental.mosaic") is None
    assert not hasattr(jnp, "summ")
    assert getattr(jnp, "summ", None) is None


def test_an_absent_name_is_an_attribute_error_that_can_be_pickled():
    with pytest.raises(AttributeError) as caught:
        jnp.summ  # noqa: B018
    shown = traceback.format_exception_only(caught.value)[0]
    assert shown.startswith("AttributeError: module 'evertrace.numpy' has no attribute 'summ'.")
    copied = pickle.loads(pickle.dumps(caught.value))
    assert type(copied) is AttributeError
    assert str(copied) == str(caught.value)


def test_looking_for_a_name_loads_nothing_until_it_is_shown(monkeypatch):
    monkeypatch.delitem(sys.modules, "evertrace._src.absent", raising=False)
    assert not hasattr(jnp, "summ")
    assert "evertrace._src.absent" not in sys.modules


@pytest.mark.parametrize("full", [*absent.LEFT_OUT, *absent.ELSEWHERE])
def test_what_is_said_to_be_absent_is(full):
    package, _, name = full.rpartition(".")
    assert not hasattr(importlib.import_module(package), name)
    assert re.search(r"`(\w|\.)+|leave it out|once per shape", absent.told(package, name)[1])


NO_NUMBERS = {
    "texts": np.array(["b", "a", "b"]),
    "texts of numbers": np.array(["1.5", "2"]),
    "objects": np.array([1, 2.5], object),
    "texts as objects": np.array(["b", "a"], object),
    "times": np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
    "spans of time": np.array([1, 2], "timedelta64[h]"),
    "records": np.array([(1, 2.0)], [("name", "i4"), ("value", "f4")]),
}


@pytest.mark.parametrize("call", [jnp.asarray, jnp.sin, ev.device_put, ev.grad(jnp.sum)])
@pytest.mark.parametrize("name", NO_NUMBERS)
def test_arrays_of_numpys_that_hold_no_numbers_say_what_makes_numbers_of_them(name, call):
    x = NO_NUMBERS[name]
    with pytest.raises(TypeError, match=f"ndarray with dtype {re.escape(str(x.dtype))}") as caught:
        call(x)
    (fix,) = re.findall(r"Fix: (.*)", str(caught.value))
    made = []
    for code in re.findall(r"`(.+?)`", fix):
        with contextlib.suppress(ValueError):  # `float("a")`: the other one is meant
            made.append(jnp.asarray(eval(code, {"np": np, "x": x})))
    assert [a.shape for a in made if a.shape == x.shape]
