"""The cook: writes down, at the end of a trace, how what it leaves behind is made anew.

A value that was there before the call is looked up, what the program or the prologue computes is
taken from them, what Python has made in the trace is made again, and what cannot be made again is
refused.
"""

import collections
import contextlib
import enum
import gc
import sys
import types
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import Tracer, escaped_tracer_error
from evertrace._src.jit.lifting import arraywrites, exceptions, values
from evertrace._src.jit.lifting.code import code_of, is_library_class, is_library_function
from evertrace._src.jit.lifting.entered import (
    FIELDS,
    has_no_hidden_state,
    instance_dict,
    leave_unfinalized,
    slot_descriptors,
)
from evertrace._src.jit.lifting.hooks import StandIn, made_error, parts
from evertrace._src.jit.lifting.host import (
    Host,
    HostValue,
    is_computed,
    is_host,
)
from evertrace._src.jit.lifting.hostarray import HostArray, aval_of_numpy
from evertrace._src.jit.lifting.impure import real_of
from evertrace._src.jit.lifting.inplace import function_of
from evertrace._src.jit.lifting.instancedict import namespace_of
from evertrace._src.jit.lifting.latetext import LateText, checked
from evertrace._src.jit.lifting.parts import MADE, is_structure, make_iterator
from evertrace._src.jit.lifting.prologue import Late
from evertrace._src.jit.lifting.recipes import (
    Constant,
    Definition,
    Existing,
    NewArray,
    NewCall,
    NewCell,
    NewContainer,
    NewDict,
    NewException,
    NewFunction,
    NewInstance,
    NewIterator,
    NewTuple,
    Number,
    NumberAsArray,
    Out,
    number_as_array,
)
from evertrace._src.tree import registry

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_PLAIN_BASES: tuple[Any, ...] = (str, bytes, int, float, complex)
_NUMBERS = frozenset({int, float, complex, bool})
_CONTAINER_BASES: tuple[Any, ...] = (list, set, collections.deque)


class Cook:
    """Writes the recipes of one trace.

    Args:
      recorder: the trace's recorder.
      donated: positions of the roots whose arrays the program takes over.

    Attributes:
      outs: operands that the program has to return.
      slots: prologue slots that recipes use; used: indices of nodes.
    """

    def __init__(self, recorder, donated=frozenset()):
        self.recorder, self.donated = recorder, donated
        self.outs, self.slots, self.used = [], set(), set()
        self._out_index, self._new, self._keep = {}, {}, []
        self._namespaces = {}  # id of the dict of an object that is made -> its recipe

    def result(self, value):
        """Return the recipe of something returned: Python scalars in new trees become arrays."""
        return self._recipe(value, "result", True)

    def close(self):
        """End the use of what the trace has made: plain Python would not have made it twice."""
        leave_unfinalized([x for x in self._keep if id(x) in self._new])

    def state(self, value, where):
        """Return the recipe of something left in a container or attribute.

        Args:
          value: the value.
          where: its place, for errors.
        """
        return self._recipe(value, where, False)

    def recipe_of(self, value):
        """Return the recipe by which something new is made, or None."""
        return self._new.get(id(value))

    def call(self, fn, *args):
        """Return the recipe of a call of a function with made arguments."""
        recipe = NewCall(fn)
        recipe.args = args
        return recipe

    def existing(self, node):
        """Return the recipe of what is at a node."""
        self.used.add(node.index)
        return Existing(node.index)

    def out(self, value, where):
        """Return the recipe of a traced value."""
        if isinstance(value, Tracer):
            self._check_own(value, where)
        index = self._out_index.get(id(value))
        if index is None:
            index = self._out_index[id(value)] = len(self.outs)
            self.outs.append(value)
            self._keep.append(value)
        return Out(index)

    def _check_own(self, value, where):
        if value._trace is not self.recorder.root:
            raise escaped_tracer_error(value, f"jit: {where}")

    def _recipe(self, value, where, is_result):
        value = real_of(value)
        kind = type(value)
        if kind is StandIn:
            return self._of_stand_in(value)
        if is_host(value):
            if is_result and kind is Host:
                self.slots.add(value.slot)
                return NumberAsArray(value.slot)
            return self._number(value)
        origin = self._origin(value)
        is_number = is_result and (kind in _NUMBERS or _is_scalar_of_ours(value))
        if origin is not None and not is_number:
            return self.existing(origin)
        if is_result and isinstance(value, (np.ndarray, np.generic)):
            return self._result_of_numpy(value, where)
        if kind in (HostArray, LateText):
            write = self._write_hostarray if kind is HostArray else self._write_text
            return self._new.get(id(value)) or write(value, where)
        if isinstance(value, Tracer):
            return self._of_tracer(value, where)
        if kind in _NUMBERS:
            return self._anew(number_as_array(value), where) if is_result else Constant(value)
        known = self.recorder.identity.known.get(id(value))
        if known is not None and known.obj is value:
            return self.existing(known.node)
        if _is_constant(value):
            return self._constant(value)
        if kind is Array:
            return self._new.get(id(value)) or self._note(value, self._anew(value, where))
        made = self._new.get(id(value)) or self.recorder.callbacks.recipe_of(value)
        return self._write(value, where, is_result) if made is None else made

    def _constant(self, value):
        if type(value) is str:
            self.recorder.depend_on_shown(value)
        return Constant(checked(value, self.recorder.said))

    def _anew(self, value, where):
        """Return the recipe of an array that the trace has made: each call has one of its own."""
        if type(value) is not Array:  # a number that no dtype holds
            return Constant(value)
        if not value.shape:  # a number of the program, which makes arrays without Python
            return self.out(value, where)
        return NewArray(value)

    def _number(self, value):
        slot = value.prologue.own_slot(value)
        self.slots.add(slot)
        return Number(slot)

    def _of_tracer(self, value, where):
        picked = self.recorder.inputs.picked.get(id(value))
        if picked is None:
            return self.out(value, where)
        self.slots.add(picked.slot)
        return Number(picked.slot)

    def _origin(self, value):
        """Return the node at which something was found; None where the call gives it away."""
        origin = self.recorder.identity.origin.get(id(value))
        given = origin is not None and self.donated and is_under(origin, self.donated)
        return None if given else origin

    def _result_of_numpy(self, value, where):
        """Return the recipe of NumPy's array or scalar: of ours, if one holds it and no one sees.

        What shares memory with an array of the call's, or is also kept, is that memory; what no
        dtype of ours holds stays NumPy's.
        """
        made = self._new.get(id(value))
        is_of_ours = _is_scalar_of_ours(value)
        if made is not None and not is_of_ours:
            return made
        if type(value) is HostArray and not is_of_ours:
            shared = value.is_view_of_captured or self._new.get(id(value.root)) is not None
            if shared or not _is_dtype_of_ours(value.dtype):
                return self._write_hostarray(value, where)
        if type(value) is HostArray:
            return self.out(as_operand(value), where)
        made = self.recorder.callbacks.recipe_of(value)
        if made is not None:  # which a callback may write to
            return self.call(as_array, made) if _is_dtype_of_ours(value.dtype) else made
        if isinstance(value, np.generic):
            return (
                self._anew(as_array(value), where)
                if _is_dtype_of_ours(value.dtype)
                else Constant(value)
            )
        return self._copied(value, where, is_result=True)

    def _copied(self, value, where, is_result=False):
        """Return the recipe of an array that NumPy has made: a copy for each call, or a view."""
        base = value.base if issubclass(type(value.base), np.ndarray) else None
        made = self._new.get(id(value)) or self._view_of_copy(value, where)
        if made is None and type(value) is not np.ndarray:
            return self._write_subarray(value, where)
        is_alone = is_result and id(base) not in self._new
        if made is None and is_alone and _is_dtype_of_ours(value.dtype):
            return self._anew(as_array(value), where)
        return self._filled(value, base, where) if made is None else made

    def _filled(self, value, base, where):
        """Return the recipe of an array of NumPy's: a view of another, or with its own memory."""
        if base is not None and base.flags.forc:
            made = self._note(value, NewCall(arraywrites.view_at(base, value)))
            made.args = (self._recipe(base, where, False),)
        elif value.dtype == object:
            made = self._note(value, NewCall(arraywrites.filling(value)))
            made.args = tuple([self.state(x, f"an item of {where}") for x in value.flat])
        else:
            made = self._note(value, NewCall(np.array))
            made.args = (Constant(value.copy(order="K")),)
        return made

    def _write_subarray(self, value, where):
        """Return the recipe of an object of a class of arrays: a view, and its attributes."""
        attributes = _attributes(value)
        made = self._note(value, NewCall(arraywrites.viewing(value, attributes)))
        held = [self.state(x, f"{where}.{k}") for k, x in attributes.items()]
        array, owner = np.ndarray.view(value, np.ndarray), value
        while issubclass(type(owner.base), np.ndarray):
            owner = owner.base
        memory = self._view_of_copy(array, where)
        if memory is None:
            memory = self._filled(array, None if owner is value else owner, where)
        made.args = (memory, *held)
        return made

    def _view_of_copy(self, value, where):
        """Return the recipe of what shares memory with a copy of the call's that NumPy was given.

        At each call it shares memory with the array itself. None if it shares none.
        """
        copies = self.recorder.effects.copies_given_to_numpy(self.recorder.guard_layout)
        for copy, base, guard_strides in copies:
            if copy is value:
                return self._recipe(base, where, False)
            if np.may_share_memory(copy, value):
                if guard_strides is None:
                    raise arraywrites.view_error(value, where)
                guard_strides()
                made = self._note(value, NewCall(arraywrites.view_at(copy, value)))
                made.args = (self._recipe(base, where, False),)
                return made
        return None

    def assigned(self, value, where):
        """Return the recipe of what is written into a NumPy array, or says where."""
        if isinstance(value, np.ndarray) and type(value) is not HostArray:
            return Constant(value)
        return self._recipe(value, where, False)

    def _of_stand_in(self, value):
        origin = self.recorder.identity.origin.get(id(value))
        if origin is not None:
            return self.existing(origin)
        owner, name = parts(value)
        if type(owner) is Late:
            self.slots.add(owner.slot)
            return Number(owner.slot)
        if owner is None:
            raise object.__getattribute__(value, "error")()
        node = self.recorder.lifter.objects.attribute_node(owner, name)
        return self.existing(node)

    def _note(self, value, recipe):
        self._new[id(value)] = recipe
        self._keep.append(value)
        return recipe

    def _write(self, value, where, is_result):
        kind = type(value)
        of_tree = is_result and (kind in registry.KINDS or hasattr(kind, "_fields"))

        def write(x, place):
            return self._recipe(x, place, of_tree)

        if kind in MADE or is_structure(kind):
            return self._write_parts(value, where)
        if isinstance(value, tuple):
            return self._write_tuple(value, where, write)
        if kind is frozenset:
            return self._write_frozenset(value, where)
        if isinstance(value, _CONTAINER_BASES):
            return self._write_container(value, where, write)
        if isinstance(value, dict):
            return self._write_dict(value, where, write)
        writer = next((w for base, w in _WRITERS.items() if isinstance(value, base)), None)
        if writer is not None:
            return writer(self, value, where)
        if kind.__module__.startswith("evertrace.") and not issubclass(kind, Cell):
            is_tree = kind in registry.KINDS
            return self._write_tree(value, where, write) if is_tree else Constant(value)
        if kind.__flags__ & _HEAP_TYPE or isinstance(value, types.SimpleNamespace):
            return self._write_instance(value, where)
        return self._constant_or_refuse(value, where)

    def _write_tuple(self, value, where, write):
        items = [write(x, f"{where}[{i}]") for i, x in enumerate(tuple.__iter__(value))]
        are_constant = all(type(x) is Constant and type(x.value) is not Array for x in items)
        if are_constant and instance_dict(value) is None and not _holds_stand_in(value):
            return Constant(value)
        if id(value) in self._new:  # an item leads back to it, and was written first
            return self._new[id(value)]
        recipe = self._note(value, NewTuple(type(value)))
        recipe.items = items
        return self._with_namespace(recipe, value, where)

    def _write_frozenset(self, value, where):
        members = NewTuple(tuple)
        members.items = [self.state(x, f"{where}[...]") for x in value]
        if id(value) in self._new:  # a member leads back to it, and was written first
            return self._new[id(value)]
        return self._note(value, self.call(frozenset, members))

    def _write_container(self, value, where, write):
        base: Any = next(b for b in _CONTAINER_BASES if isinstance(value, b))
        extra = ((), value.maxlen) if base is collections.deque else ()
        recipe = self._note(value, NewContainer(type(value), base, extra))
        recipe.items = [write(x, f"{where}[...]") for x in base.__iter__(value)]
        return self._with_attributes(recipe, value, where)

    def _with_attributes(self, recipe, value, where):
        for name, descriptor in slot_descriptors(type(value)).items():
            with contextlib.suppress(AttributeError):
                held = descriptor.__get__(value)
                recipe.slots[descriptor] = self.state(held, f"{where}.{name}")
        return self._with_namespace(recipe, value, where)

    def _with_namespace(self, recipe, value, where):
        namespace = instance_dict(value)
        recipe.namespace = self._shared_namespace(recipe, value, where)
        if namespace and recipe.namespace is None:
            recipe.namespace = {k: self.state(v, f"{where}.{k}") for k, v in namespace.items()}
        return recipe

    def _shared_namespace(self, recipe, value, where):
        """Return the recipe of an object's dict that is not its alone, or None."""
        namespace = instance_dict(value)
        if namespace is None:
            return None
        if namespace is value:  # `self.__dict__ = self`
            return recipe
        key, identity = id(namespace), self.recorder.identity
        if any(key in of for of in (self._namespaces, self._new, identity.known, identity.origin)):
            return self.state(namespace, f"{where}.__dict__")
        self._namespaces[key] = recipe
        return None

    def _write_dict(self, value, where, write):
        if id(value) in self._namespaces:
            return self._note(value, self.call(namespace_of, self._namespaces[id(value)]))
        kind = type(value)
        base = next(
            b
            for b in (collections.defaultdict, collections.OrderedDict, dict)
            if isinstance(value, b)
        )
        recipe = self._note(value, NewDict(kind, base))
        if base is collections.defaultdict:
            factory = FIELDS[base]["default_factory"].__get__(value)
            recipe.factory = self.state(factory, f"{where}.default_factory")
        recipe.entries = [
            (self.state(k, f"a key of {where}"), write(dict.__getitem__(value, k), f"{where}[...]"))
            for k in values.dict_type(value).__iter__(value)
        ]
        return self._with_attributes(recipe, value, where)

    def _write_tree(self, value, where, write):
        tree_kind = registry.KINDS[type(value)]
        children, aux = tree_kind.flatten(value)
        recipe = self._note(value, NewCall(_unflattened(tree_kind.unflatten, aux)))
        recipe.args = tuple([write(x, f"{where}[{i}]") for i, x in enumerate(children)])
        return recipe

    def _write_instance(self, value, where):
        if _is_kept_by_library(value) and not self._holds_any_of_trace(value):
            return self._note(value, Constant(value))
        base = next((b for b in _PLAIN_BASES if isinstance(value, b)), None)
        is_namespace = isinstance(value, types.SimpleNamespace)
        if base is None and not is_namespace and not has_no_hidden_state(type(value)):
            raise made_error(value, where)
        recipe = self._note(value, NewInstance(type(value)))
        if base is not None:
            recipe.base, recipe.args = base, (Constant(base(value)),)
        recipe.namespace = self._shared_namespace(recipe, value, where)
        for name, x in _attributes(value).items():
            if recipe.namespace is None or name in recipe.slots:
                recipe.attributes[name] = self.state(x, f"{where}.{name}")
        return recipe

    def _write_exception(self, value, where):
        """Return the recipe of an exception that was not raised, or is kept after that."""
        recipe = self._note(value, NewException(type(value)))
        for place, x in exceptions.fields_of(value).items():
            try:
                recipe.fields[place] = self.state(x, f"{where}.{place[1]}")
            except errors.OpaqueStateError:
                if place[0] == "attribute" or place[1] == "args":
                    raise
                recipe.fields[place] = Constant(None)  # set by Python, such as `AttributeError.obj`
        for name in exceptions.LINKS:
            recipe.links[name] = self.state(getattr(value, name), f"{where}.{name}")
        recipe.links["__suppress_context__"] = Constant(value.__suppress_context__)
        return recipe

    def _write_function(self, value, where):
        home = sys.modules.get(value.__module__)
        if is_library_function(value) and getattr(home, value.__name__, None) is value:
            return Constant(value)
        node = self.recorder.lifter.functions.node_of(value)
        if node is not None:
            return self.existing(node)
        name = value.__name__
        definition = Definition(
            code_of(value),
            *(value.__globals__, name, value.__qualname__, value.__doc__, value.__module__),
        )
        recipe = self._note(value, NewFunction(definition))
        recipe.cells = tuple(
            self._recipe(c, f"{where}: {name}", False) for c in value.__closure__ or ()
        )
        if value.__defaults__:
            recipe.defaults = self.state(value.__defaults__, f"{where}: {name}.__defaults__")
        if value.__kwdefaults__:
            recipe.kwdefaults = self.state(value.__kwdefaults__, f"{where}: {name}.__kwdefaults__")
        recipe.annotations = self._annotations(value, f"{where}: {name}")
        recipe.attributes = {k: self.state(v, f"{where}.{k}") for k, v in value.__dict__.items()}
        return recipe

    def _annotations(self, value, where):
        """Return the recipes of a function's annotations, which Python 3.14 makes when asked."""
        found = {}
        if getattr(value, "__type_params__", ()):
            found["__type_params__"] = Constant(value.__type_params__)
        if getattr(value, "__annotate__", None) is not None:
            found["__annotate__"] = self.state(value.__annotate__, f"{where}.__annotate__")
        elif held := value.__annotations__:
            is_of_trace = self._holds_any_of_trace(held)
            made = self.state(held, where) if is_of_trace else self.call(dict, Constant(held))
            found["__annotations__"] = made
        return found

    def _write_class(self, value, where):
        """Return a class that was there; nothing can make one again as its statement did."""
        identity = self.recorder.identity
        is_there = id(value) in identity.by_id or _is_importable(value)
        if not is_there and all(type(x.obj) is not value for x in identity.known.values()):
            raise made_error(value, where)
        return Constant(value)

    def _write_cell(self, value, where):
        entered = self.recorder.identity.by_id.get(id(value))
        if entered is not None:
            return self.existing(entered.node)
        recipe = self._note(value, NewCell())
        with contextlib.suppress(ValueError):
            recipe.contents = self.state(value.cell_contents, where)
        return recipe

    def _write_parts(self, value, where):
        """Return the recipe of what its parts make again."""
        kind = MADE[type(value)]
        parts = kind.take(value)
        if parts is None:
            return self._constant_or_refuse(value, where)
        write = NewIterator if kind.make is make_iterator else NewCall
        recipe = self._note(value, write(kind.make))
        self._keep.extend(parts)
        names = [f".{n}" for n in kind.names] or [""] * len(parts)
        recipe.args = tuple([self.state(x, where + n) for x, n in zip(parts, names, strict=True)])
        return recipe

    def _write_hostarray(self, value, where):
        """Return the recipe of an array of NumPy's that the trace has made, or a view of one."""
        if is_computed(value):
            return self._number(value)
        fn, *args = value.rebuild()
        recipe = self._note(value, NewCall(fn))
        recipe.args = tuple([self._recipe(x, where, False) for x in args])
        return recipe

    def _write_text(self, value, where):
        recipe = self._note(value, NewCall(value.fn))
        recipe.args = tuple([self.state(x, where) for x in value.args])
        return recipe

    def _constant_or_refuse(self, value, where):
        if type(value).__module__.startswith(("evertrace.", "jaxlib")):
            return Constant(value)
        if (
            callable(value)
            and not hasattr(value, "__next__")
            and not self._holds_any_of_trace(value)
        ):
            return Constant(value)
        raise made_error(value, where)

    def _holds_any_of_trace(self, value):
        """Whether anything that is of this one trace can be reached from what it has made."""
        identity = self.recorder.identity
        seen, todo = set(), [value]
        while todo:
            x = todo.pop()
            if issubclass(type(x), _OF_THE_TRACE):
                return True
            found = {*identity.known, *identity.by_id, *identity.origin}
            if id(x) in seen or (id(x) in found and x is not value):
                continue
            seen.add(id(x))
            if type(x) is types.FunctionType:
                todo += (x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__)
            elif x is value or not isinstance(x, (type, types.ModuleType)):
                todo += gc.get_referents(x)
        return False


def is_under(node, roots):
    """Whether a node is reached from one of some roots of the call."""
    while node.parent is not None:
        node = node.parent
    return node.kind == "root" and node.key in roots


def _unflattened(unflatten, aux):
    def make(*children):
        return unflatten(aux, children)

    return make


def _is_dtype_of_ours(dtype):
    """Whether our arrays hold what NumPy's of a dtype do."""
    try:
        return dtypes.canonicalize_dtype(aval_of_numpy(np.empty((), dtype)).dtype) == dtype
    except TypeError:
        return False


def _is_scalar_of_ours(value):
    return isinstance(value, np.generic) and _is_dtype_of_ours(value.dtype)


def _is_constant(value):
    if type(value) is types.BuiltinFunctionType:  # a method of a value is made again
        return value.__self__ is None or isinstance(value.__self__, (types.ModuleType, type))
    if values.is_value(value):
        if _holds_stand_in(value):
            return False
        return not any(issubclass(type(x), _OF_THE_TRACE) for x in _attributes(value).values())
    return isinstance(value, (types.ModuleType, np.generic, np.dtype, Literal, enum.Enum))


def _holds_stand_in(value):
    if not issubclass(type(value), (tuple, frozenset)):
        return function_of(value) is not value
    base = tuple if issubclass(type(value), tuple) else frozenset
    return any(map(_holds_stand_in, base.__iter__(value)))


def _is_kept_by_library(value):
    """Whether a library has an object under a name, in its class or beside it: it is that one."""
    cls = type(value)
    if not is_library_class(cls):
        return False
    homes = (sys.modules[cls.__module__], *cls.__mro__)
    return any(x is value for home in homes for x in list(vars(home).values()))


def _is_importable(cls):
    """Whether a class is one of a module's, not of a function that has just been run."""
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is cls or is_library_class(cls)


_OF_THE_TRACE = (HostValue, HostArray, LateText, StandIn, Tracer)


def _attributes(value):
    """Return all attributes of a value by name, in its dict and in its slots."""
    found = dict(instance_dict(value) or {})
    for name, descriptor in slot_descriptors(type(value)).items():
        with contextlib.suppress(AttributeError):
            found[name] = descriptor.__get__(value)
    return found


_WRITERS: dict[type, Any] = {
    types.FunctionType: Cook._write_function, types.CellType: Cook._write_cell,
    HostArray: Cook._write_hostarray, np.ndarray: Cook._copied,
    type: Cook._write_class, BaseException: Cook._write_exception,
}  # fmt: skip
