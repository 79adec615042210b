"""Operations bound wrongly, and engines' rules that fail: the error is of the user's line."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import extend, lax
from evertrace._src import extension
from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.native.emit import emission
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.ops.callback import pure_callback_p

X = jnp.arange(3.0)
CONVERT = {"weak_type": False, "sharding": None}
ENGINES = ["xla", pytest.param("native", marks=[])] if extension.native else ["xla"]


def _error(function, *args, **options):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whose class and text are compared
        ev.jit(function, **options)(*args)
    return caught.value


def test_params_that_nobody_looks_at_are_refused_where_a_program_is_written(monkeypatch):
    monkeypatch.setattr(lax.convert_element_type_p, "dtypes", ())  # which are looked at
    error = _error(
        lambda x: lax.convert_element_type_p.bind(x, new_dtype="int32", **CONVERT), X, engine="xla"
    )
    assert isinstance(error, AttributeError)  # as the eager call
    what, place, fix, see = str(error).splitlines()
    assert what == (
        "convert_element_type: 'str' object has no attribute 'kind'. It was bound to (f32[3], "
        "new_dtype='int32', weak_type=False, sharding=None)."
    )
    assert "test_rules.py" in place
    assert fix.startswith("  Fix: bind what the operation takes")
    assert see.endswith(" extend`")
    assert isinstance(error.__cause__, AttributeError)


def _breaks(*args, **params):
    return [][3]


_breaks.__code__ = _breaks.__code__.replace(co_filename=Literal.__init__.__code__.co_filename)


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_of_ours_that_fail_say_that_it_is_our_fault(engine, monkeypatch):
    table = lowering if engine == "xla" else emission
    assert lax.sin_p in table
    monkeypatch.setitem(table.rules, lax.sin_p, _breaks)
    lax.sin_p.forget_types()  # with which is kept what the rule has written of another program
    error = _error(lambda x: lax.sin_p.bind(x + 1.5), X, engine=engine)
    assert type(error) is ev.errors.JaxRuntimeError
    what, place, fix, _ = str(error).splitlines()
    name = {"xla": "XLA"}.get(engine, engine)
    assert what == (
        f"INTERNAL: sin: the rule of the {name} engine failed for (f32[3]): "
        "IndexError: list index out of range"
    )
    assert "test_rules.py" in place
    assert "this is a fault of Evertrace" in fix
    assert "please report it" in fix
    assert isinstance(error.__cause__, IndexError)


def test_rules_of_users_that_fail_are_theirs():
    mine = extend.Primitive("mine", abstract=lambda x: x)

    def rule(b, out, x):
        raise LookupError("the user's own")

    extend.register_lowering(mine, rule)
    error = _error(mine.bind, X)
    assert type(error) is LookupError
    assert str(error) == "the user's own"


def test_rules_of_users_that_cannot_be_called_are_theirs_too():
    mine = extend.Primitive("mine", abstract=lambda x: x)
    extend.register_lowering(mine, lambda: None)
    error = _error(mine.bind, X)
    assert type(error) is TypeError
    what, _, fix, see = str(error).splitlines()
    assert what.startswith("mine: the rule of the XLA engine failed for (f32[3]): TypeError: ")
    assert fix == "  Fix: look at the rule: it is called as the operation is bound."
    assert see.endswith(" extend`")


def test_type_rules_return_types():
    mine = extend.Primitive("mine", abstract=lambda x, *, out: out)
    error = _error(lambda x: mine.bind(x, out=3.5), X)
    assert isinstance(error, TypeError)
    assert str(error).startswith("mine: the type of a result is a `ShapedArray`, got 3.5.\n  at ")
    assert ev.eval_shape(lambda x: mine.bind(x, out=x.aval), X).shape == (3,)


def test_types_given_as_params_are_types():
    def call(x):
        params = {"callback": print, "result_avals": (x,), "sharding": None}
        return pure_callback_p.bind(x, vmap_method=None, **params)

    error = _error(call, X)
    assert str(error).startswith(
        "pure_callback: the type of a result is a `ShapedArray`, got f32[3]."
    )


def test_weak_types_are_flags():
    for right in (True, 1, np.bool_(True)):
        assert ev.core.ShapedArray((2,), "float32", right).weak_type is True
    with pytest.raises(TypeError) as caught:
        ev.core.ShapedArray((2,), "float32", np.ones(2))
    assert str(caught.value).startswith(
        "ShapedArray: weak_type is True or False, got ndarray float64[2].\n  at "
    )


def test_what_is_no_primitive_has_no_rule():
    with pytest.raises(NotImplementedError) as caught:
        extend.RuleTable("counting")["sin"]
    assert str(caught.value).startswith("'sin' has no rule for counting.\n  at ")
