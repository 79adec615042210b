"""What the traceback of an error shows: the user's frames, and none of evertrace's."""

import math
import operator
import os
import pathlib
import subprocess
import sys
import traceback

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import debug, lax

PACKAGE = str(pathlib.Path(ev.__file__).parent)


@pytest.fixture(autouse=True)
def _filtered():
    """The tests show all frames (see conftest), but for these."""
    before = ev.config.traceback_filtering
    ev.config.update("traceback_filtering", "auto")
    yield
    ev.config.update("traceback_filtering", before)


def raised(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def files(error):
    """The files of the frames of an error, of which the first is this one's."""
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def of_evertrace(error):
    return [file for file in files(error) if file.startswith(PACKAGE)]


def wrong_axis(x):
    return jnp.sum(x, axis=7)


def users_own(x):
    raise ZeroDivisionError("mine")


class Model:
    def __init__(self):
        self.w = jnp.ones(3)

    @ev.jit
    def apply(self, x):
        return self.inner(x)

    def inner(self, x):
        return jnp.dot(self.w, x)


@ev.custom_jvp
def custom(x):
    return wrong_axis(x)


custom.defjvps(lambda t, ans, x: t)

x, rows = jnp.ones(3), jnp.ones((3, 3))

CASES = {
    "function": (wrong_axis, (x,)),
    "method": (lambda x: x.reshape(2), (x,)),
    "operator": (lambda x, y: x + y, (x, jnp.ones(4))),
    "reflected operator": (lambda x: operator.add([1, 2], x), (x,)),
    "index": (lambda x: x[0, 0], (x,)),
    "update": (lambda x: x.at[0, 0].set(1), (x,)),
    "constructor": (lambda: jnp.zeros(2, 3), ()),
    "class": (lambda: ev.ShapeDtypeStruct(3, 3), ()),
    "jit": (ev.jit(wrong_axis), (x,)),
    "jit of a method": (Model().apply, (jnp.ones(4),)),
    "strict jit": (ev.jit(wrong_axis, strict=True), (x,)),
    "jit of what raises": (ev.jit(users_own), (x,)),
    "lower": (ev.jit(wrong_axis).lower, (x,)),
    "make_jaxpr": (ev.make_jaxpr(wrong_axis), (x,)),
    "eval_shape": (ev.eval_shape, (wrong_axis, x)),
    "grad": (ev.grad(wrong_axis), (x,)),
    "value_and_grad": (ev.value_and_grad(users_own), (1.0,)),
    "vjp": (ev.vjp, (wrong_axis, x)),
    "jvp": (ev.jvp, (wrong_axis, (x,), (x,))),
    "jacfwd": (ev.jacfwd(wrong_axis), (x,)),
    "hessian": (ev.hessian(wrong_axis), (x,)),
    "vmap": (ev.vmap(wrong_axis), (rows,)),
    "vmap in jit": (ev.jit(ev.vmap(wrong_axis)), (rows,)),
    "custom_jvp": (custom, (x,)),
    "checkpoint": (ev.checkpoint(wrong_axis), (x,)),
    "scan": (lambda x: lax.scan(lambda c, a: (wrong_axis(a), a), 0.0, x), (rows,)),
    "while": (lambda x: lax.while_loop(lambda c: c > 0, wrong_axis, x), (1.0,)),
    "tree": (lambda: ev.tree.map(users_own, [1, 2]), ()),
    "random": (lambda: ev.random.normal(0, (3,)), ()),
    "name": (lambda: jnp.summ, ()),
    "name of a module in a module": (lambda: jnp.linalg.invv, ()),
    "jit of too few arguments": (ev.jit(lambda a, b: a), (x,)),
    "ufunc of two": (jnp.logaddexp, (1.0, "a")),
    "hash": (lambda: hash(x), ()),
    "format": (lambda: f"{x:.2f}", ()),
    "step of a slice": (lambda: x[::0], ()),
    "compiled": (ev.jit(jnp.sin).lower(x).compile(), (jnp.ones(4),)),
    "option": (lambda: ev.config.update("nothing", 1), ()),
    "option that is read": (lambda: ev.config.nothing, ()),
    "option that is assigned": (lambda: setattr(ev.config, "enable_x64", True), ()),
    "option of a block": (ev.enable_x64("yes").__enter__, ()),
    "pullback": (ev.vjp(jnp.sin, x)[1], (1.0,)),
    "linearized": (ev.linearize(jnp.sin, x)[1], (1.0,)),
    "transposed": (ev.linear_transpose(lambda x: x * x, x), (x,)),
    "initializer": (ev.nn.initializers.he_normal(), (ev.random.key(0), (3,))),
    "foreign function": (ev.ffi.ffi_call("nothing", x), (x,)),
    "callback": (
        lambda x: ev.pure_callback(users_own, ev.ShapeDtypeStruct((3,), np.float32), x),
        (x,),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_frames_of_ours_are_gone(case):
    function, args = CASES[case]
    error = raised(function, *args)
    assert of_evertrace(error) == []
    assert files(error)[0] == __file__
    while error.__context__ is not None:  # nothing that was raised and handled inside
        error = error.__context__
        assert of_evertrace(error) == []


class Plain:
    pass


_LIST, _TABLE, _PLAIN = [1, 2], {"a": 1}, Plain()

PYTHONS = {
    "a division": lambda n: 1 / n,
    "a number's attribute": lambda n: n.shape,
    "a number's length": lambda n: len(n),
    "a number's item": lambda n: n[0],
    "an object's attribute": lambda n: _PLAIN.missing,
    "getattr": lambda n: getattr(_PLAIN, "miss" + "ing"),
    "an item of a list": lambda n: _LIST[int(n) + 5],
    "an item of a dict": lambda n: _TABLE["b"],
    "an item of an array of NumPy's": lambda n: np.ones(3)[int(n) + 7],
    "a slice": lambda n: _LIST[:: int(n)],
    "mathematics": lambda n: math.sqrt(n - 1),
    "a conversion": lambda n: int(f"a{n}"),
    "a format": lambda n: f"{n:q}",
    "a format of old": lambda n: "%d %d" % (n,),  # noqa: UP031, F507
    "a text that joins": lambda n: ",".join([n]),
    "a sum": lambda n: sum(["a"], n),
    "a function of NumPy's": lambda n: np.average([n], weights=[1, 2]),
    "the environment": lambda n: os.environ["NOT_SET_AT_ALL"],
}


@pytest.mark.parametrize("case", PYTHONS)
def test_errors_of_pythons_are_those_of_the_plain_function(case):
    plain, jitted = raised(PYTHONS[case], 0), raised(ev.jit(PYTHONS[case]), 0)
    assert (type(jitted), str(jitted)) == (type(plain), str(plain))
    assert files(jitted) == files(plain)


def test_a_number_that_is_asked_for_what_arrays_have():
    said = ["  Fix: a Python number stays one under `jit`: pass an array, or make it one by "
            "`jnp.asarray`."]  # fmt: skip
    assert raised(ev.jit(lambda n: n.shape), 1.0).__notes__ == said
    assert not hasattr(raised(ev.jit(lambda n: n.elsewhere), 1.0), "__notes__")
    assert ev.jit(lambda n: jnp.asarray(n).shape)(1.0) == ()


@pytest.mark.parametrize("transform", [ev.jit, ev.grad, ev.vmap])
@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda x: x.unsqueeze(0), "use `jnp.expand_dims(x, axis)`."),
        (lambda x: x.exp(), "it is a function, `jnp.exp(x)`."),
        (lambda x: x.relu(), "it is a function, `nn.relu(x)`."),
        (lambda x: x.summ(), "did you mean `sum` or "),
        (lambda x: x.qqqq, "see `dir(x)`."),
    ],
)
def test_an_attribute_that_arrays_do_not_have(transform, call, fix):
    error = raised(transform(call), x)
    assert of_evertrace(error) == []
    assert [note[: len(fix) + 7] for note in error.__notes__] == [f"  Fix: {fix}"]


def test_an_attribute_that_the_users_object_does_not_have_gets_no_note():
    assert not hasattr(raised(ev.jit(lambda x: _PLAIN.cpu), x), "__notes__")


def test_later_calls_too():
    kind = ev.ShapeDtypeStruct((3,), np.float32)

    def tell(x):
        if x[0] > 1:
            raise ZeroDivisionError("mine")
        return x

    f = ev.jit(lambda x: ev.pure_callback(tell, kind, x) + 1)
    f(x)
    error = raised(f, x + 1)
    assert files(error) == [__file__] * 2  # `raised` and `tell`

    g = ev.jit(lambda n: x / (1 / n))
    g(1.0)
    assert files(raised(g, 0.0)) == [__file__] * 2  # `raised` and the lambda


def test_the_users_frames_are_all_there():
    def outer(x):
        return inner(x) * 2

    def inner(x):
        return wrong_axis(x)

    names = [frame.name for frame in traceback.extract_tb(raised(ev.jit(outer), x).__traceback__)]
    assert names == ["raised", "outer", "inner", "wrong_axis"]


def test_an_error_that_the_user_handled_stays():
    def g(x):
        try:
            wrong_axis(x)
        except ValueError:
            users_own(x)

    error = raised(ev.jit(g), x)
    assert type(error) is ZeroDivisionError
    assert type(error.__context__) is type(raised(wrong_axis, x))
    assert of_evertrace(error.__context__) == []


def test_an_error_of_our_own_keeps_its_frames(monkeypatch):
    def broken(*_):
        raise AssertionError("a bug")

    monkeypatch.setattr("evertrace._src.jit.contract.ContractCalls.call", broken)
    # What is raised here is this file's: a frame of ours has to be the last.
    code = broken.__code__.replace(co_filename=f"{PACKAGE}/_src/jit/contract.py")
    monkeypatch.setattr(broken, "__code__", code)
    assert len(of_evertrace(raised(ev.jit(lambda x: x + 1), x))) > 1


@pytest.mark.parametrize("mode", ["off", "tracebackhide"])
def test_frames_that_stay(mode):
    ev.config.update("traceback_filtering", mode)
    error = raised(ev.jit(wrong_axis), x)
    assert len(of_evertrace(error)) > 5
    hidden = [
        frame.f_code.co_filename
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if "__tracebackhide__" in frame.f_locals
    ]
    assert hidden == (of_evertrace(error) if mode == "tracebackhide" else [])


def test_the_whole_traceback_may_be_shown_as_the_cause():
    ev.config.update("traceback_filtering", "remove_frames")

    def outer(x):
        return ev.jit(wrong_axis)(x)

    error = raised(ev.jit(outer), x)
    assert of_evertrace(error) == []
    whole = [frame.name for frame in traceback.extract_tb(error.__cause__.__traceback__)]
    users = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert users == ["raised", "outer", "wrong_axis"]
    assert [name for name in whole if name in users] == ["outer", "wrong_axis"]  # from the door on
    assert len(of_evertrace(error.__cause__)) > 5
    text = "".join(traceback.format_exception(error))
    assert text.count("The above exception was the direct cause") == 1
    assert str(error) in str(error.__cause__)


def test_the_whole_traceback_is_caused_by_what_the_user_names():
    ev.config.update("traceback_filtering", "remove_frames")

    def f(x):
        raise ValueError("one") from KeyError("two")

    whole = raised(ev.jit(f), x).__cause__
    assert "one" in str(whole)
    assert type(whole.__cause__) is KeyError


def test_a_cause_of_the_users_own_stays():
    def f(x):
        raise ValueError("one") from KeyError("two")

    assert type(raised(ev.jit(f), x).__cause__) is KeyError


def test_what_a_program_prints(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import evertrace as ev, evertrace.numpy as jnp\n"
        "def loss(x):\n"
        "    return jnp.sum(x, axis=2)\n"
        "ev.jit(ev.grad(loss))(jnp.ones(3))\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(pathlib.Path(PACKAGE).parent), "PATH": ""},
    )
    frames = [line for line in done.stderr.split("\n") if line.startswith("  File ")]
    assert [frame.rpartition(",")[0] for frame in frames] == [
        f'  File "{program}", line 4',
        f'  File "{program}", line 3',
    ]
    assert done.stderr.count("Traceback") == 1


def test_debugging_stops_in_the_users_line():
    entry = raised(wrong_axis, x).__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    assert entry.tb_frame.f_code.co_name == "wrong_axis"


@pytest.mark.parametrize("transform", [ev.jit, ev.grad, ev.vmap, ev.checkpoint, ev.make_jaxpr])
def test_functions_that_were_pickled_by_value(transform):
    cloudpickle = pytest.importorskip("cloudpickle")

    def wrong(x):
        return jnp.sum(x, axis=7)

    function = cloudpickle.loads(cloudpickle.dumps(transform(wrong)))
    error = raised(function, x)
    frames = traceback.extract_tb(error.__traceback__)
    assert [frame.name for frame in frames] == ["raised", "wrong"]
    if transform is not ev.jit:  # which calls it as Python does
        error = raised(function, x, x)
        assert "wrong() takes 1 positional argument but 2 were given. It was" in str(error)
        assert "\n  at tests/errors/test_tracebacks.py:" in str(error)
        assert files(error) == [__file__]


def test_callbacks_of_prints():
    f = ev.jit(lambda x: debug.callback(users_own, x))
    assert of_evertrace(raised(lambda: (f(x), ev.effects_barrier()))) == []
