"""What type checkers read of `Array` is what its methods are; people who look see it as well."""

import inspect

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.arrays import members, missing
from evertrace._src.core.operators import Operators

METHODS = [
    name
    for name, value in vars(members.Members).items()
    if inspect.isfunction(value) and not name.startswith("__")
]
PROPERTIES = [name for name, x in vars(members.Members).items() if isinstance(x, property)]


def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_what_is_declared(name):
    declared, real = getattr(members.Members, name), getattr(ev.Array, name)
    assert parameters(declared)[1:] == parameters(real)[1:]


def test_all_operators_methods_and_properties_are_declared():
    declared = vars(members.Members).keys()
    assert {n for n in Operators.__annotations__ if n not in declared} == {
        "__delitem__",
        "__setitem__",
    }
    assert set(METHODS) | set(PROPERTIES) <= Operators.__annotations__.keys()


@pytest.mark.parametrize("name", METHODS)
def test_methods_show_a_signature_and_a_docstring_before_they_are_called(name):
    method = getattr(jnp.arange(3), name)
    assert "*args, **kwargs" not in str(inspect.signature(method))
    assert inspect.getdoc(method)


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_show_a_docstring_before_they_are_read(name):
    declared = inspect.getdoc(getattr(members.Members, name))
    assert inspect.getdoc(getattr(Operators, name)) == declared
    assert inspect.getdoc(getattr(ev.Array, name))


def test_members_without_an_underscore_are_for_users():
    offered = {name for name in dir(jnp.arange(3)) if not name.startswith("_")}
    in_code = {n for cls in ev.Array.__mro__ for n in vars(cls) if not n.startswith("_")}
    assert offered == in_code - missing.OTHERS - missing.FUNCTIONS  # which is what editors read
    assert {"sum", "at", "shape", "device"} <= offered
    assert not {"as_literal", "buffer", "contents", "host"} & offered
