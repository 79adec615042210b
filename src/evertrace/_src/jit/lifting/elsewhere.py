"""What other threads read of objects while they are traced: what was there before.

A trace puts its own values into attributes, in place. Another thread that reads an attribute comes
by the hook on the object's class, and gets here what it would have read without the trace: found as
Python finds attributes, in the contents of before the trace.

1. An object is among the entered ones before anything is put into it, and everything is put back
   before the hooks are taken off. So what is read past an object's entry is what was there.
2. Whoever has read looks whether the object was entered meanwhile, and reads anew; so he does if
   the trace has ended.
3. Attributes that the trace has set are not there; those that it has deleted are.

This holds for what is read of objects of Python classes, and of such classes through them. What has
no hook (a `__dict__` that was taken before, what a `__getattribute__` of the user's looks up, a
class read by name, the contents of lists, dicts and sets, globals, cells, defaults) shows what the
trace has put there; numbers and NumPy arrays that it has put there are their values on other
threads.
"""

from typing import Any

from evertrace._src.jit.lifting.values import ABSENT, OWN_TO_CLASS

_plain = object.__getattribute__


def read(hooks, obj, name) -> Any:
    """Return what an attribute is for a thread that does not trace.

    Args:
      hooks: the `Hooks` of the trace.
      obj: whose attribute.
      name: which.
    """
    while True:
        found, classes = entered = _entered(hooks, obj)
        error = value = None
        try:
            if found is None and not any(classes):
                value = _plain(obj, name)
            else:
                value = _look_up(found, classes, obj, name)
        except AttributeError as missing:
            error = missing
        again = _entered(hooks, obj)
        if hooks.closed:  # the trace has let go of its objects: what was read may be its own
            return _read_now(obj, name)
        if entered == again:
            break
    if error is not None:
        raise error
    return value


def _read_now(obj, name):
    """Read an attribute as it is now; anew if another trace has begun to look at the class."""
    kind: Any = type(obj)
    while True:
        look_up = kind.__getattribute__
        value = look_up(obj, name)
        if look_up is kind.__getattribute__:
            return value


def _entered(hooks, obj):
    """Return what an object, and each of its classes, was entered as, or None."""
    cls = type(obj)
    classes = [hooks.entered_classes.get(id(c)) for c in cls.__mro__]
    return hooks.entered.get(id(obj)), classes


def _look_up(found, classes, obj, name):
    """Do what ``object.__getattribute__`` does, with the contents of before the trace."""
    cls = type(obj) if found is None else found.cls
    raw = _in_classes(classes, cls, name)
    kind = type(raw)
    is_data = hasattr(kind, "__set__") or hasattr(kind, "__delete__")
    if raw is not ABSENT and is_data and hasattr(kind, "__get__"):
        if found is None:
            return kind.__get__(raw, obj, cls)
        if name in found.slots:
            return _entry(found, name, cls)
        if name == "__dict__":
            return {k: v for k, v in found.entry.items() if k not in found.slots}
        return cls if name == "__class__" else kind.__get__(raw, obj, cls)
    instance = _plain(obj, "__dict__") if found is None and cls.__dictoffset__ else {}
    if found is not None and name in found.entry:
        return found.entry[name]
    if name in instance:
        return instance[name]
    if raw is ABSENT:
        raise _no_attribute(obj, name, cls)
    return kind.__get__(raw, obj, cls) if hasattr(kind, "__get__") else raw


def _in_classes(classes, cls, name):
    for c, entered in zip(cls.__mro__, classes, strict=True):
        namespace = type.__getattribute__(c, "__dict__")
        if entered is not None and name not in OWN_TO_CLASS:
            namespace = entered.entry
        if name in namespace:
            return namespace[name]
    return ABSENT


def _entry(found, name, cls):
    if name not in found.entry:
        raise _no_attribute(found.obj, name, cls)
    return found.entry[name]


def _no_attribute(obj, name, cls):
    text = f"{cls.__name__!r} object has no attribute {name!r}"
    return AttributeError(text, name=name, obj=obj)
