"""Seeing what attributes a trace reads: placeholders in objects, a hook on their classes.

While a trace runs, the attributes of the objects that it has reached are placeholders, and their
classes have a `__getattribute__` that swaps a placeholder for the lifted value on its first read.
A call that hits never sees either. Other threads read the values from before the trace.
"""

import functools
import sys
import threading
import types

from evertrace._src import errors, source
from evertrace._src.jit.lifting import asking, elsewhere
from evertrace._src.jit.lifting.code import is_library_file
from evertrace._src.tracebacks import in_place_of_python

get_ident = threading.get_ident


class PastTheHook(BaseException):
    """A read went past the hook; the trace is done again with all in place.

    Attributes:
      cls: the class, of objects with attributes or of containers.
    """

    def __init__(self, cls):
        super().__init__(cls)
        self.cls = cls


def _refusing(name):
    def method(self, /, *args, **kwargs):
        raise object.__getattribute__(self, "error")()

    method.__name__ = name
    return method


_USES = [
    "getattribute",
    "call",
    "iter",
    "next",
    "len",
    "bool",
    "contains",
    "getitem",
    "setitem",
    "delitem",
    "enter",
    "exit",
    "hash",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "neg",
    "pos",
    "abs",
    "invert",
    "matmul",
    "rmatmul",
    "iadd",
    "isub",
    "imul",
    "int",
    "float",
    "complex",
    "index",
    "str",
    "repr",
    "format",
    "reversed",
    "await",
    "aiter",
    "anext",
    "setattr",
    "delattr",
    "array",
]


class StandIn:
    """What refuses every use: an attribute not yet read, or state that cannot be seen.

    Attributes:
      error: makes the exception of a use.
      owner: the entered thing it is a placeholder in, or None.
      name: of the attribute.
    """

    __slots__ = ("error", "name", "owner")

    def __init__(self, error, owner=None, name=None):
        object.__setattr__(self, "error", error)
        object.__setattr__(self, "owner", owner)
        object.__setattr__(self, "name", name)


for _name in _USES:
    setattr(StandIn, f"__{_name}__", _refusing(f"__{_name}__"))


def parts(stand_in):
    """Return the owner and the name of a placeholder."""
    get = object.__getattribute__
    return get(stand_in, "owner"), get(stand_in, "name")


def error_of(stand_in):
    """Return the exception of a use."""
    return object.__getattribute__(stand_in, "error")()


def placeholder(owner, name):
    """Return what stands for an attribute that was not read yet."""
    return StandIn(lambda: PastTheHook(owner.cls), owner, name)


def left_alone(cls):
    """Return what stands for all items of a container that are left alone."""
    return StandIn(lambda: PastTheHook(cls))


def opaque(value, node):
    """Return what stands for a value whose state cannot be seen."""
    return StandIn(lambda: opaque_error(value, node.name), None, None)


def opaque_error(value, path):
    """Build the error for state that cannot be watched, at the line that led to its use."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    fix = "read it outside of the jitted function and pass in what it gives."
    if kind.startswith("pandas."):  # what a table keeps its columns in
        path, kind = path.removesuffix("._mgr"), "table of pandas"
        name = path.rpartition(" ")[2]
        fix = f"pass in its columns, `{name}['column']`, or an array of all, `{name}.to_numpy()`."
    return errors.user_error(
        errors.OpaqueStateError,
        f"jit: {path} is a {kind}: what it holds cannot be seen, so a compiled program that used "
        "it could go stale unnoticed.",
        fix=fix,
        anchor="opaque-state",
        src=_asked_from(sys._getframe(1)),
    )


def _asked_from(frame):
    """Return the innermost place that is of no library, None if there is none."""
    while frame is not None:
        file = frame.f_code.co_filename
        if source.is_users(file) and not is_library_file(file) and not file.endswith(".pyx"):
            return source.source_of(frame)
        frame = frame.f_back
    return None


def made_error(value, path):
    """Build the error for what a trace has made and no call can make again."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return errors.user_error(
        errors.OpaqueStateError,
        f"jit: {path} is a {kind.removeprefix('builtins.')} that the function has made: what it "
        f"holds cannot be seen, so a compiled program could not make it again.",
        fix="return or keep what it is made of (a list, an array), or make it outside.",
        anchor="opaque-state",
    )


class Hooks:
    """The classes that one trace has hooked.

    Args:
      read: function (entered, name, value) -> lifted value, for each read of an attribute that
        the trace's own thread makes.
      entered: id of an object -> its `Attributes`; classes: the same of classes.
      missing: function (entered, name), for a name that is not there.
      made: function (object), for a read of an object that was not entered.
    """

    def __init__(self, read, missing, made, entered, classes):
        self.read, self.missing, self.made, self.entered = read, missing, made, entered
        self.entered_classes, self.closed = classes, False
        self.thread = get_ident()
        self.classes, self.hooked = {}, []

    def add(self, cls, *, only_others=False):
        """Hook a class; returns False where it cannot be, or where only other threads see it."""
        if cls in self.classes:
            return self.classes[cls]
        ok = bool(cls.__flags__ & _HEAP) and not _own_getattribute(cls)
        self.classes[cls] = ok and not only_others
        if ok:
            self.hooked.append(cls)
            hook = self._hook_of_others() if only_others else self._hook()
            type.__setattr__(cls, "__getattribute__", hook)
        return self.classes[cls]

    def _hook_of_others(self):
        hooks, thread, plain = self, self.thread, object.__getattribute__

        def __getattribute__(self, name):
            return plain(self, name) if get_ident() == thread else elsewhere.read(hooks, self, name)

        return __getattribute__

    def _hook(self):
        hooks, entered, thread = self, self.entered, self.thread
        read, missing, made = self.read, self.missing, self.made
        plain = object.__getattribute__

        @in_place_of_python
        def __getattribute__(self, name):
            if get_ident() != thread:
                return elsewhere.read(hooks, self, name)
            found = entered.get(id(self))
            if found is None:
                made(self)
                return plain(self, name)
            try:
                value = plain(self, name)
            except AttributeError:
                missing(found, name)
                raise
            return read(found, name, value)

        return __getattribute__

    def remove(self):
        """Take all hooks off; everything was put back."""
        for cls in self.hooked:
            if "__getattribute__" in type.__getattribute__(cls, "__dict__"):
                type.__delattr__(cls, "__getattribute__")  # else a forked child may be without it
        self.closed = True  # before the entered things are forgotten
        self.classes.clear()
        self.hooked.clear()


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_FUNCTION = types.FunctionType
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def _own_getattribute(cls):
    if cls.__flags__ & _IMMUTABLE or issubclass(cls, threading.local):
        return True
    return any(
        isinstance(found := type.__getattribute__(c, "__dict__").get("__getattribute__"), _FUNCTION)
        and found.__module__ != __name__
        for c in cls.__mro__[:-1]
    )


def _looked_up(obj, name):
    """Do what ``object.__getattribute__`` does, which is to record what it reads as well."""
    look_up = type.__getattribute__(type(obj), "__getattribute__")
    is_hook = isinstance(look_up, _FUNCTION) and look_up.__module__ == __name__
    return look_up(obj, name) if is_hook else _PLAIN(obj, name)


def _look_up_of(owner):
    """Return what is called as ``owner.__getattribute__``: of `object`, or by `super`."""
    found = owner.__getattribute__
    if found is _PLAIN:
        return _looked_up
    if type(found) is types.MethodWrapperType and found.__objclass__ is object:
        return functools.partial(_looked_up, found.__self__)
    return found


_PLAIN = object.__getattribute__
asking.methods["__getattribute__"] = _look_up_of
asking.function_kinds(types.WrapperDescriptorType)
asking.functions[_PLAIN] = _looked_up
