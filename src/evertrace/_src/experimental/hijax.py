"""Classes from which libraries derive types and primitives of their own above arrays.

JAX calls such types "hi": their values are put together of arrays, and operations on them are
lowered to operations on those. Here a class can be derived and an object of it made, so that
libraries which offer them as an option can be imported; no transformation follows such values. For
primitives on trees of arrays see `hiprimitives`.
"""

from __future__ import annotations

from typing import Any

from evertrace._src.api.extending_values import AbstractValue
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.hijax")


@public
class HiType(AbstractValue):
    """Base of the types of a library's own values.

    Example:
      >>> from evertrace.experimental import hijax
      >>> issubclass(hijax.MutableHiType, hijax.HiType)
      True
    """


@public
class MutableHiType(HiType):
    """Base of the types of values that can be written to.

    Example:
      >>> from evertrace.experimental import hijax
      >>> isinstance(hijax.MutableHiType(), hijax.AbstractValue)
      True
    """


@public
class QDD:
    """Base of what a library notes of the contents of a value that can be written to.

    Example:
      >>> from evertrace.experimental import hijax
      >>> class Held(hijax.QDD):
      ...     types = ()
      >>> hijax.AvalQDD(hijax.HiType(), Held()).qdd.types
      ()
    """


@public
class AvalQDD:
    """The type of a value, with what is noted of its contents.

    Args:
      aval: the type.
      qdd: what is noted.

    Example:
      >>> from evertrace.experimental import hijax
      >>> hijax.AvalQDD(hijax.HiType(), None).qdd is None
      True
    """

    def __init__(self, aval: Any, qdd: Any) -> None:
        self.aval, self.qdd = aval, qdd


@public
class AvalMutableQDD(AvalQDD):
    """The type of a value, with what is noted now.

    Example:
      >>> from evertrace.experimental import hijax
      >>> isinstance(hijax.AvalMutableQDD(hijax.HiType(), None), hijax.AvalQDD)
      True
    """


@public
class aval_method:
    """Decorate a function in a type as a method of its values.

    Example:
      >>> from evertrace.experimental import hijax
      >>> hijax.aval_method(len).fun([1, 2])
      2
    """

    def __init__(self, fun: Any) -> None:
        self.fun = fun


@public
class aval_property:
    """Decorate a function in a type as a property of its values.

    Example:
      >>> from evertrace.experimental import hijax
      >>> hijax.aval_property(fget=len).fget([1, 2])
      2
    """

    def __init__(self, fget: Any) -> None:
        self.fget = fget


@public
def register_hitype(cls: Any, typeof: Any) -> None:
    """Note the type of a library's values; nothing of ours asks for it.

    Args:
      cls: the class of the values.
      typeof: function that returns the type of one.

    Example:
      >>> from evertrace.experimental import hijax
      >>> hijax.register_hitype(complex, lambda z: hijax.HiType())
    """


class _EffectTypes:
    """Types of effects that loops and branches may have."""

    def add_type(self, kind: Any) -> Any:
        """Allow effects of a type: of types above arrays, which there are none of."""


control_flow_allowed_effects = _EffectTypes()
