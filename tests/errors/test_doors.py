"""Errors that no check worded name the function, what it was given, and the user's line."""

import inspect
import pickle
import traceback
from types import FunctionType

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src import config, doors, tracebacks
from evertrace.experimental import sparse
from evertrace.scipy import stats
from evertrace.scipy.spatial.transform import Rotation
from tests.fuzz import calls, values, verdicts

X = jnp.ones((2, 3))

CASES = {
    "a function of Python": (
        lambda: lax.ppermute(X, "i", perm=1), TypeError,
        "ppermute: 'int' object is not iterable. It was called as ppermute(f32[2,3], 'i', perm=1).",
    ),
    "one with a plan": (
        lambda: jnp.sum(X, axs=1), TypeError,
        "sum: sum() got an unexpected keyword argument 'axs'. It was called as "
        "sum(f32[2,3], axs=1).",
    ),
    "an argument that is missing": (
        lambda: jnp.sum(), TypeError,
        "sum: sum() missing 1 required positional argument: 'a'. It was called as sum().",
    ),
    "a method": (
        lambda: X.reshape(x=1), TypeError,
        "reshape: reshape() got an unexpected keyword argument 'x'. It was called as "
        "reshape(f32[2,3], x=1).",
    ),
    "a primitive": (
        lambda: lax.transpose_p.bind(X, permutation=1), TypeError,
        "transpose_p.bind: 'int' object is not iterable. It was called as "
        "transpose_p.bind(f32[2,3], permutation=1).",
    ),
    "a primitive in jit": (
        lambda: ev.jit(lambda x: lax.cumsum_p.bind(x, axis=[0], reverse=False))(X), TypeError,
        "cumsum_p.bind: 'list' object cannot be interpreted as an integer. It was called as "
        "cumsum_p.bind(f32[2,3], axis=[0], reverse=False).",
    ),
    "a class": (
        lambda: sparse.BCOO(3, shape=(2,)), TypeError,
        "BCOO: 'int' object is not iterable. It was called as BCOO(3, shape=(2,)).",
    ),
    "a class whose objects another one makes": (
        lambda: ev.custom_jvp(fails, nondiff_argnames=-1), TypeError,
        "custom_jvp: 'int' object is not iterable. It was called as custom_jvp(fails, "
        "nondiff_argnames=-1).",
    ),
    "a class of the IR": (
        lambda: ev.core.ClosedJaxpr(X), AttributeError,
        "ClosedJaxpr: 'Array' object has no attribute 'constvars'. It was called as "
        "ClosedJaxpr(f32[2,3]).",
    ),
    "a text of a type": (
        lambda: ev.core.ShapedArray((3,), "float32").str_short(np.zeros(3)), ValueError,
        "str_short: The truth value of an array with more than one element is ambiguous. "
        "Use a.any() or a.all(). It was called as str_short(<ShapedArray>, ndarray float64[3]).",
    ),
    "a method of arrays": (
        lambda: X.addressable_data((0, 1)), TypeError,
        "addressable_data: list indices must be integers or slices, not tuple. It was called as "
        "addressable_data(f32[2,3], (0, 1)).",
    ),
    "a method of a public class": (
        lambda: ev.P("x").update(3), TypeError,
        "update: PartitionSpec.update() takes 1 positional argument but 2 were given. It was "
        "called as update(<PartitionSpec>, 3).",
    ),
    "a method of a class with its own module": (
        lambda: Rotation.from_quat(jnp.ones(4)).as_euler(3), AttributeError,
        "as_euler: 'int' object has no attribute 'isupper'. It was called as as_euler(<Rotation>, "
        "3).",
    ),
    "a class method": (
        lambda: Rotation.from_euler(3, X), AttributeError,
        "from_euler: 'int' object has no attribute 'isupper'. It was called as "
        "from_euler(Rotation, 3, f32[2,3]).",
    ),
    "an index": (
        lambda: ev.P("x")["a"], TypeError,
        "getitem: tuple indices must be integers or slices, not str. It was called as "
        "getitem(<PartitionSpec>, 'a').",
    ),
    "an operator of sparse arrays": (
        lambda: sparse.BCOO.fromdense(X).transpose(axes=1), TypeError,
        "transpose: 'int' object is not iterable. It was called as transpose(<BCOO>, axes=1).",
    ),
    "a static method": (
        lambda: ev.ShapeDtypeStruct.like(0.5), AttributeError,
        "like: 'float' object has no attribute 'shape'. It was called as like(0.5).",
    ),
    "a place in an array": (
        lambda: X.at[slice("x")].get(), TypeError,
        "get: slice indices must be integers or None or have an __index__ method. It was called as "
        "get(<IndexRef>).",
    ),
    "an update of one": (
        lambda: X.at[slice("x")].set(1), TypeError,
        "set: slice indices must be integers or None or have an __index__ method. It was called as "
        "set(<IndexRef>, 1).",
    ),
    "a function of Python's library inside": (
        lambda: stats.expon.logpdf(), TypeError,
        "logpdf: missing a required argument: 'x'. It was called as logpdf().",
    ),
    "a function of NumPy's inside": (
        lambda: jnp.einsum_path("i,i", np.ones(3)), ValueError,
        "einsum_path: Number of einsum subscripts, 2, must be equal to the number of operands, 1. "
        "It was called as einsum_path('i,i', ndarray float64[3]).",
    ),
    "a sparse function": (
        lambda: sparse.bcoo_transpose(sparse.BCOO.fromdense(X), permutation=1), TypeError,
        "bcoo_transpose: 'int' object is not iterable. It was called as bcoo_transpose(<BCOO>, "
        "permutation=1).",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_error_of_python_or_numpy_gets_words(name):
    call, error, text = CASES[name]
    with pytest.raises(error) as caught:
        call()
    what, place, fix, see = str(caught.value).splitlines()
    assert what == text
    assert "test_doors.py" in place
    repairs = (
        "look which of them `help(",
        "did you mean `",
        "call it as `",
        "pass a",
        "give whole",
    )
    assert fix.removeprefix("  Fix: ").startswith(repairs)
    assert see.endswith(" arguments`")
    assert caught.value.__cause__ is None
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 2  # where it came from


RING: list[object] = [X]
RING.append(RING)

REPAIRS = {
    "a device by number": (
        lambda: ev.device_put(X, 1),
        "pass one of those that this process has, such as `ev.devices()[0]`.",
    ),
    "a tree instead of a function": (
        lambda: ev.tree.map([X], {"a": X}), "pass a function as `f`: see `help(tree_map)`.",
    ),
    "a tree in the place of the function": (
        lambda: ev.tree.map([X], ev.jit),
        "`f` is the function: call it as `tree_map(f, tree, *rest, is_leaf=None)`.",
    ),
    "a number instead of a function": (
        lambda: ev.tree.leaves(X, 3), "pass a function as `is_leaf`: see `help(leaves)`.",
    ),
    "leaves instead of a structure": (
        lambda: ev.tree.unflatten([X], ev.tree.structure([X])),
        "call it as `tree.unflatten(treedef, leaves)`, the structure first.",
    ),
    "a number instead of a sequence": (
        lambda: lax.ppermute(X, "i", 1), "pass a tuple as `perm`: see `help(ppermute)`.",
    ),
    "a number, beside what contains itself": (
        lambda: lax.ppermute(RING, "i", 1), "pass a tuple as `perm`: see `help(ppermute)`.",
    ),
    "an element of many": (
        lambda: X.item(), "take one element, `x[0].item()`, or all, `x.tolist()`.",
    ),
    "a number for dlpack": (
        lambda: jnp.from_dlpack(3), "pass an array; numbers and lists go by `jnp.asarray`.",
    ),
    "subscripts": (
        lambda: jnp.einsum(X, X), 'the subscripts come first: `jnp.einsum("i,i", x, y)`.',
    ),
    "a broken slice": (
        lambda: X[0:1.5], "give whole numbers, such as `n // 2` or `int(n)`.",
    ),
    "one of several that may be it": (
        lambda: lax.ppermute(X, 2, [1, 2]), "look which of them `help(ppermute)` takes otherwise.",
    ),
    "a method": (
        lambda: Rotation.from_quat(jnp.ones(4)).as_euler(3),
        "pass a value of another type as `seq`: see `help(Rotation.as_euler)`.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPAIRS)
def test_the_repair_names_the_argument_or_what_to_write(name):
    call, fix = REPAIRS[name]
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    assert f"\n  Fix: {fix}\n" in str(caught.value)


def test_an_index_is_called_so():
    with pytest.raises(TypeError, match=r"called as getitem\(f32\[2,3\], 0:1.5\)"):
        X[0:1.5]


class Own(Exception):
    """An error of the user's."""


def fails(x):
    raise ValueError("the user's own")


@pytest.mark.parametrize(
    "call",
    [
        lambda: lax.map(fails, X),
        lambda: ev.jit(fails)(1.0),
        lambda: jnp.vectorize(fails)(X),
        lambda: jnp.apply_along_axis(lambda x: np.sum(np.ones(2), axis=fails(x)), 0, X),
    ],
)
def test_errors_of_the_users_functions_are_left_as_they_are(call):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared as a whole
        call()
    assert str(caught.value) == "the user's own"


def test_words_are_given_once():
    with pytest.raises(ev.errors.AxisError) as caught:
        jnp.sum(X, axis=5)
    assert str(caught.value).count("\n  at ") == 1
    assert "called as" not in str(caught.value)


@pytest.mark.parametrize("error", [Own("x"), OSError(2, "x"), StopIteration(3)])
def test_errors_that_are_no_accidents_pass(error):
    def raises():
        raise error

    raises.__code__ = raises.__code__.replace(co_filename=inspect.getfile(ev))
    with pytest.raises(type(error)) as caught:
        doors.door(raises)()
    assert caught.value is error


class Silent:
    """Raises when it is shown."""

    shape = property(lambda self: 1 / 0)
    aval = property(lambda self: 1 / 0)

    def __repr__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Silent(), "Silent"), ("x" * 50, "'xxx"), (10**99, "10000"), ([1, X], "[1, f32[2,3]]"),
        ((1,), "(1,)"), (np.ones(2), "ndarray float64[2]"), ({}, "<dict>"), (fails, "fails"),
        (random.key(0), "key<fry>[]"), (None, "None"),
    ],
)  # fmt: skip
def test_arguments_are_shown_in_few_words(value, text):
    assert doors.shown(value).startswith(text)
    assert len(doors.shown(value)) <= 40


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), ValueError("x"), UnicodeDecodeError("a", b"", 0, 1, "x"), AssertionError()],
)
def test_the_class_stays_what_programs_catch(error):
    made = doors.class_of(error)("text\n  more")
    assert str(made) == "text\n  more"
    expected = ValueError if isinstance(error, UnicodeError | AssertionError) else type(error)
    assert isinstance(made, expected)


def test_a_function_behind_a_door_is_the_same_to_others():
    assert pickle.loads(pickle.dumps(lax.ppermute)) is lax.ppermute
    assert list(inspect.signature(lax.ppermute).parameters) == ["x", "axis_name", "perm"]
    assert doors.door(lax.ppermute) is lax.ppermute
    codes = {f.__code__ for f in (lax.ppermute, lax.psum, lax.cond, lax.scan, lax.switch)}
    assert len(codes) == 5
    assert lax.scan.__code__.co_name == "scan"


def test_the_lines_of_a_door_are_those_that_debuggers_show():
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        jnp.sum(X, axis=7)
    doorway = [
        frame.line
        for frame in traceback.extract_tb(caught.value.__traceback__)
        if frame.filename == doors.__file__
    ]
    assert doorway[0].startswith("return inner(*args")
    assert ev.tree.reduce.__code__ != lax.reduce.__code__


@pytest.mark.parametrize("value", ["x", None])
def test_primitives_take_arrays(value):
    with pytest.raises(TypeError) as caught:
        lax.sin_p.bind(value)
    kind = type(value).__name__
    assert str(caught.value).startswith(f"sin: {kind} is not an array type.")


@pytest.mark.parametrize("dtype", ["q8", "", 3, np.str_("x"), [("a",)]])
def test_what_names_no_dtype_is_refused_with_words(dtype):
    for make in (
        lambda: jnp.zeros(2, dtype),
        lambda: X.astype(dtype),
        lambda: ev.dtypes.itemsize_bits(dtype),
    ):
        with pytest.raises(TypeError) as caught:
            make()
        assert "\n  at " in str(caught.value)
        assert "docs dtype" in str(caught.value)


def test_classes_of_others_are_left_as_they_are():
    assert "doors" not in ml_dtypes.iinfo.__init__.__code__.co_filename
    assert "doors" in sparse.BCOO.__init__.__code__.co_filename


@pytest.mark.parametrize("kind", [ev.core.Var, ev.core.Tracer, ev.core.DropVar])
def test_variables_are_made_by_traces(kind):
    with pytest.raises(TypeError) as caught:
        kind(X.aval, 3)
    text = f"{kind.__name__}: a variable stands for a value of a trace, got 3 for the trace.\n  at "
    assert str(caught.value).startswith(text)


SILENT = {
    "Tracer": "made for each operation",
    "DropVar": "as Tracer",
    "Var": "as Tracer",
    "JaxprEqn": "as Tracer",
    "ShapedArray": "asked for every result",
    "shaped_abstractify": "asked for every operand",
    "jaxprs_in_params": "a generator, asked of every equation",
}
"""Public functions and classes without a door, each with the reason: what they call has words."""


def public():
    """Yield (name, value) of all that the public modules show of ours."""
    seen = set()
    for module in calls.modules().values():
        for name in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and id(value) not in seen:
                seen.add(id(value))
                yield name, value


def has_door(function):
    return function.__code__.co_filename == doors.__file__


def test_every_public_function_and_class_has_a_door():
    functions, without = 0, set()
    for name, value in public():
        if isinstance(value, FunctionType):
            functions += 1
        is_class = isinstance(value, type) and not issubclass(value, BaseException)
        for made in (value.__init__, value.__new__) if is_class else (value,):
            if isinstance(made, FunctionType) and made.__module__.startswith("evertrace"):
                without |= set() if has_door(made) else {name}
    assert without == set(SILENT)
    assert functions > 800


@pytest.mark.parametrize(
    ("call", "rest"),
    [
        ("ev.api_util.shaped_abstractify", ()), ("ev.dtypes.result_type", ()),
        ("ev.dtypes.result_type", ("1.0",)),
        ("ev.core.ShapedArray", ("'f4'",)), ("ev.core.Var", ("2.0",)),
        ("ev.extend.core.jaxprs_in_params", ()), ("hash", ()),
    ],
)  # fmt: skip
def test_what_has_no_door_words_its_errors_itself(call, rest):
    for text in (*values.OBJECTS, *values.ODD_ARRAYS, *values.HUGE, *values.DTYPE_LIKE.split()):
        verdict = verdicts.judged(calls.Program(call, (text, *rest)))
        assert verdict.kind in verdicts.GOOD, (text, verdict)


@pytest.mark.parametrize("take", [lambda x: jnp.take(x, 0), lambda x: jnp.delete(x, 0), lax.sin])
def test_bytes_are_no_numbers(take):
    with pytest.raises(TypeError) as caught:
        take(np.zeros(3, "V3"))
    assert "ndarray with dtype |V3 is not an array type" in str(caught.value)
    assert "test_doors.py" in str(caught.value)


@pytest.mark.parametrize("module", [ml_dtypes, inspect])
def test_libraries_are_not_to_blame(module):
    assert tracebacks.is_librarys(module.__file__)
    assert not tracebacks.is_librarys(__file__)


ONE_VALUE = "Fix: pass one value, or a list: `jnp.float32([1, 2])`."


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jnp.float32(1, 2), "float32: it takes one value, got 2."),
        (lambda: jnp.float32(1, dtype="int8"), "float32: it takes no dtype."),
        (lambda: jnp.float32(y=1), "float32: it takes no y."),
        (lambda: ev.dtypes.canonicalize_dtype(object()), "dtype: Cannot interpret '<object"),
        (lambda: ev.dtypes.itemsize_bits(object()), "dtype: Cannot interpret '<object"),
        (lambda: ev.dtypes.issubdtype("float32", "r"), "dtype: data type 'r' not understood."),
        (lambda: ev.dtypes.scalar_type_of(None), "dtype: None of type NoneType is neither"),
        (lambda: ev.dtypes.itemsize_bits(), "itemsize_bits: itemsize_bits() missing 1 required"),
    ],
)
def test_questions_about_dtypes_show_no_frames_of_ours(call, text):
    with config.override(traceback_filtering="auto"), pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert (ONE_VALUE in str(caught.value)) == text.startswith("float32")
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}
