"""Each message has its four parts, and each class is caught as the built-in one it stands for."""

import inspect
import pickle
import warnings

import pytest

from evertrace import errors as public
from evertrace._src import error_classes, errors, source
from evertrace._src.errors import user_error, user_warning

CLASSES = [
    cls
    for _, cls in inspect.getmembers(error_classes, inspect.isclass)
    if issubclass(cls, errors.EvertraceError | errors.EvertraceWarning)
]
BUILTIN = {
    "ConcretizationTypeError": (TypeError,),
    "TracerBoolConversionError": (errors.ConcretizationTypeError,),
    "TracerArrayConversionError": (TypeError,),
    "TracerIntegerConversionError": (TypeError,),
    "NonConcreteBooleanIndexError": (IndexError,),
    "UnexpectedTracerError": (TypeError,),
    "LeakedTracerError": (errors.UnexpectedTracerError,),
    "KeyReuseError": (TypeError,),
    "ShapeError": (TypeError, ValueError),
    "AxisError": (TypeError, ValueError, IndexError),
    "DTypeError": (TypeError, ValueError),
    "TypePromotionError": (ValueError,),
    "JaxprTypeError": (TypeError,),
    "DeletedArrayError": (RuntimeError,),
    "RetraceError": (RuntimeError,),
    "ImpurityError": (RuntimeError,),
    "OpaqueStateError": (TypeError,),
    "JaxRuntimeError": (RuntimeError,),
    "RetraceWarning": (UserWarning,),
    "PerformanceWarning": (UserWarning,),
    "CacheWarning": (UserWarning,),
}


def loss(cls=errors.ShapeError, **parts):
    error = user_error(cls, "add: shapes (3,) and (4,) do not broadcast.", **parts)
    return str(error).replace(source.describe(source.user_source()).file, "train.py").splitlines()


LINE = loss.__code__.co_firstlineno + 1
STATEMENT = 'error = user_error(cls, "add: shapes (3,) and (4,) do not broadcast.", **parts)'


@pytest.mark.quotes_lines
def test_message_has_all_parts():
    assert loss(fix="use `bias[:, None]`.", anchor="shape-broadcast", stack=("jit(step)",)) == [
        "add: shapes (3,) and (4,) do not broadcast.",
        f"  at train.py:{LINE} in loss, called from jit(step):  {STATEMENT}",
        "  Fix: use `bias[:, None]`.",
        "  See `python -m evertrace docs shape-broadcast`",
    ]


@pytest.mark.quotes_lines
def test_transform_stack_is_asked_for(monkeypatch):
    monkeypatch.setattr(errors, "transform_stack", lambda: ("vmap", "jit(step)"))
    assert loss()[1].startswith(f"  at train.py:{LINE} in loss, called from vmap, jit(step):  ")


def test_anchor_is_the_class_by_default():
    assert loss()[-1] == "  See `python -m evertrace docs ShapeError`"
    assert len(loss(TypeError)) == 2  # neither a fix nor a section of the manual


@pytest.mark.quotes_lines
def test_given_source_is_shown():
    def elsewhere():
        return source.user_source()

    line = elsewhere.__code__.co_firstlineno + 1
    assert loss(src=elsewhere())[1] == (
        f"  at train.py:{line} in elsewhere:  return source.user_source()"
    )


@pytest.mark.parametrize("name", BUILTIN)
def test_class_is_caught_as_builtin(name):
    assert all(issubclass(getattr(errors, name), base) for base in BUILTIN[name])


@pytest.mark.parametrize("cls", CLASSES)
def test_class_is_public_and_documented(cls):
    assert getattr(public, cls.__name__) is cls
    assert cls.__name__ in public.__all__
    assert cls.__module__ in ("evertrace.errors", "evertrace.dtypes")
    assert cls.__doc__.split("\n")[0].endswith((".", "?"))
    error = user_error(cls, "op: wrong.")
    assert type(pickle.loads(pickle.dumps(error))) is cls


def test_tree_at_the_top_names_every_class():
    comment = inspect.getsource(error_classes).split("\nfrom ")[0]
    assert [cls.__name__ for cls in CLASSES if f" {cls.__name__}" not in comment] == []


def test_warning_is_shown_once_at_the_users_line():
    def program():
        user_warning(errors.PerformanceWarning, "jit: slow.", fix="be fast.")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        program()
        program()
    (warning,) = caught
    assert warning.category is errors.PerformanceWarning
    assert warning.filename == __file__
    assert warning.lineno == program.__code__.co_firstlineno + 1
    assert "jit: slow." in str(warning.message)
    assert "Fix: be fast." in str(warning.message)
