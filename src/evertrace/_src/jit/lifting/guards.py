"""What a variant depends on: a list of nodes, each a step from its parent and a check.

Nodes are data. They stand in the order in which the trace discovered them, parents first, so a
match walks the list once and stops at the first difference. The values it finds on the way are
what the program's inputs, the prologue and the write-backs are taken from. Values are compared by
type and bits; no user's `__eq__` or `__hash__` is ever called. Any exception on the way is a
mismatch: the trace that follows raises it at the user's own line, or finds who catches it.
"""

import abc
import gc
import types
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import extension
from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting.code import changed_functions, code_of, defaults_of, kwdefaults_of
from evertrace._src.jit.lifting.instancedict import namespace_of
from evertrace._src.jit.lifting.parts import layout, own_dict, parts_of
from evertrace._src.jit.lifting.values import (
    ABSENT,
    DATA,
    OWN_TO_CLASS,
    OWN_TO_MODULE,
    PRESENT,
    Weak,
    dict_type,
    length,
    plain_contents,
    same_key,
    same_members,
    same_value,
    weakly,
)

# ------------------------------------------------------------------------ steps


def _step_root(roots, key):
    return roots[key]


def _step_vars(obj, key):
    return namespace_of(obj)


def _step_slot(obj, key):
    return key.__get__(obj)


def _step_key(mapping, key):
    return dict.__getitem__(mapping, key() if type(key) is Weak else key)


def _step_get(mapping, key):
    return mapping.get(key, ABSENT)


def _step_has_slot(obj, key):
    try:
        key.__get__(obj)
    except AttributeError:
        return ABSENT
    return PRESENT


def _step_index(sequence, key):
    return sequence[key]


def _step_list(sequence, key):
    return list.__getitem__(sequence, key)


def _step_attribute(obj, key):
    return getattr(obj, key)


def _step_type(obj, key):
    return type(obj)


def _step_contents(cell, key):
    return cell.cell_contents


def _step_cell_state(cell, key):
    try:
        _ = cell.cell_contents
    except ValueError:
        return ABSENT
    return None


def _step_deref(ref, key):
    return ref()


def _step_viewed(view, key):
    return viewed(view)


def viewed(view):
    """Return the mapping behind a proxy or a view of a dict, or a context variable's default."""
    return gc.get_referents(view)[-1]


def _step_context(var, key):
    return var.get(ABSENT)


def _step_defaults(fun, key):
    return defaults_of(fun)


def _step_kwdefaults(fun, key):
    return kwdefaults_of(fun)


def _step_class_entry(cls, key):
    return type.__getattribute__(cls, "__dict__").get(key, ABSENT)


def _step_constant(_, key):
    return key() if type(key) is Weak else key


def _step_asarray(obj, key):
    return np.asarray(obj)


def _step_environ(environ, key):
    return tuple(sorted(environ.items())) if key is None else environ.get(key, ABSENT)


def _step_names(owner, key):
    return type.__getattribute__(owner, "__dict__")


def _step_subclasses(cls, key):
    return dict.fromkeys(type.__subclasses__(cls))


def _step_module_names(module, key):
    return module.__dict__


def _step_abc_token(cls, key):
    return abc.get_cache_token()


def _step_locked(lock, key):
    return lock.locked()


def _step_mapping(mapping, key):
    return mapping


def _step_plain(mapping, key):
    return plain_contents(mapping[key])


def _step_parts(value, key):
    return parts_of(value)


def _step_own_dict(partial, key):
    return own_dict(partial)


def _step_child(obj, key):
    flatten, i = key
    return flatten(obj)[0][i]


def _step_aux(obj, key):
    return key(obj)[1]


STEPS = {
    "root": _step_root, "vars": _step_vars, "slot": _step_slot, "key": _step_key,
    "get": _step_get, "has_slot": _step_has_slot, "index": _step_index, "list": _step_list,
    "attribute": _step_attribute, "type": _step_type, "contents": _step_contents,
    "cell_state": _step_cell_state,
    "defaults": _step_defaults, "kwdefaults": _step_kwdefaults,
    "deref": _step_deref, "viewed": _step_viewed, "context": _step_context,
    "class_entry": _step_class_entry, "constant": _step_constant,
    "asarray": _step_asarray, "child": _step_child, "aux": _step_aux, "environ": _step_environ,
    "mapping": _step_mapping, "parts": _step_parts, "own_dict": _step_own_dict,
    "locked": _step_locked, "plain": _step_plain,
    "abc_token": _step_abc_token,
    "subclasses": _step_subclasses, "class_names": _step_names, "module_names": _step_module_names,
}  # fmt: skip
"""How to get from the parent's value to a node's, by kind."""


def column(cls, name):
    """Return what each class of an MRO has under a name: all that a lookup of it can find."""
    return tuple([type.__getattribute__(c, "__dict__").get(name, ABSENT) for c in cls.__mro__[:-1]])


_METHODS = """
new init del getattr setattr delattr dir repr str bytes format hash bool eq ne lt le gt ge
call len length_hint getitem setitem delitem missing iter next reversed contains
add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor
radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand ror rxor
iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor
neg pos abs invert complex int float index round trunc floor ceil fspath buffer
enter exit aenter aexit await aiter anext get set delete set_name init_subclass
instancecheck subclasscheck subclasshook class_getitem mro_entries match_args
copy deepcopy replace reduce reduce_ex getstate setstate getnewargs getnewargs_ex
array array_ufunc array_function array_interface array_priority jax_array
"""
_SPECIALS = frozenset(f"__{name}__" for name in _METHODS.split())
"""Methods that change what code means even where nothing has looked for them by name."""


class Dispatch(NamedTuple):
    """What a class must have for lookups in it to give what they gave to the trace.

    Attributes:
      mro: weak references to the class and its bases, `object` left out.
      specials: per class, which special methods it defines.
      columns: per class, pairs (name, entry): a weak reference, `DATA` or `ABSENT`.
    """

    mro: tuple
    specials: tuple
    columns: tuple


def dispatch_of(cls, names):
    """Return the `Dispatch` of a class for lookups of some names."""
    mro = cls.__mro__[:-1]
    namespaces = [type.__getattribute__(c, "__dict__") for c in mro]
    return Dispatch(
        tuple(map(Weak, mro)),
        tuple([_SPECIALS.intersection(n) for n in namespaces]),
        tuple([tuple([(k, _reference(n.get(k, ABSENT))) for k in names]) for n in namespaces]),
    )


def _reference(entry):
    """Return how an entry of a class is compared: data as data, the rest by identity."""
    if entry is ABSENT:
        return ABSENT
    if not hasattr(type(entry), "__get__"):
        return DATA
    return weakly(entry)


# ------------------------------------------------------------------------ checks


def _check_any(value, want):
    return True


def _check_type(value, want):
    return type(value) is want


def _check_class(value, want):
    return type(value) is want()


def _check_aval(value, want):
    return (type(value) is Array or isinstance(value, Tracer)) and value.aval is want


def _check_alike(value, want):
    """Whether it is an array on one device, of a type but for sizes."""
    if type(value) is not Array or getattr(value, "_sharding", None) is not None:
        return False
    have = value.aval
    return (have.ndim, have.dtype, have.weak_type) == (want.ndim, want.dtype, want.weak_type)


def _check_ndarray(value, want):
    return type(value) is np.ndarray and (value.shape, value.dtype) == want


def _check_alike_ndarray(value, want):
    return type(value) is np.ndarray and (value.ndim, value.dtype) == (len(want[0]), want[1])


def _check_scalar(value, want):
    return type(value) is want[0] and value.dtype == want[1]


def _check_value(value, want):
    return same_value(value, want)


def _check_identity(value, want):
    return value is want


def _check_referent(value, want):
    return value is want()


def _check_length(value, want):
    return type(value) is want[0] and length(value) == want[1]


def _check_keys(value, want):
    kind, keys = want
    if type(value) is not kind or length(value) != len(keys):
        return False
    for have, key in zip(dict_type(value).__iter__(value), keys, strict=True):
        if have is not key and not same_key(have, key):
            return False
    return True


def _check_members(value, want):
    kind, members = want
    if type(value) is not kind or length(value) != len(members):
        return False
    return same_members(value, members)


def _check_code(value, want):
    code = want()
    return type(value) is types.FunctionType and (value.__code__ is code or code_of(value) is code)


_HOOKS = "evertrace._src.jit.lifting.hooks"


def _check_dispatch(cls, want):
    mro = cls.__mro__[:-1]
    if len(mro) != len(want.mro):
        return False
    for c, ref, special, column_ in zip(mro, want.mro, want.specials, want.columns, strict=True):
        namespace = type.__getattribute__(c, "__dict__")
        if c is not ref() or _SPECIALS.intersection(namespace) != special:
            return False
        for name, entry in column_:
            have = namespace.get(name, ABSENT)
            if have is not entry and not (
                (type(entry) is Weak and have is entry())
                or (entry is DATA and have is not ABSENT and not hasattr(type(have), "__get__"))
                or getattr(have, "__module__", None) == _HOOKS  # of a trace on another thread
            ):
                return False
    return True


def names_of_class(namespace):
    """Return the names of a class in their order, without those that come and go by themselves."""
    return tuple([k for k in namespace if k not in OWN_TO_CLASS])


def names_of_module(namespace):
    """Return the names of a module in their order, without those that Python gives it."""
    return tuple([k for k in namespace if k not in OWN_TO_MODULE])


def _check_order(value, want):
    return names_of_class(value) == want


def _check_names(value, want):
    return names_of_module(value) == want


def _check_entries(value, want):
    for name, entry in want.items():
        have = value.get(name, ABSENT)
        if have is entry:
            continue
        found = entry() if type(entry) is Weak else None
        if found is None:  # it is gone, too
            return False
        if have is not found and getattr(have, "real", None) is not found:  # an `Intercept`
            return False
    return True


def _check_table(value, want):
    kind, entries, free = want
    if type(value) is not kind:
        return False
    if kind is not dict:
        return len(value) == len(entries) and _check_entries(dict(enumerate(value)), entries)
    count = len(entries) + len(free.intersection(value))
    return len(value) == count and _check_entries(value, entries)


def _check_lacks(value, want):
    return want.isdisjoint(value)


def _check_equal(value, want):
    return value is want or (type(value) is type(want) and bool(value == want))


def _check_subclass(value, want):
    cls, base, plain = want
    return type(value) is cls() and same_value(base(value), plain)


def _check_content(value, want):
    kind, how, contents = want
    return type(value) is kind and layout(value)[1] == how and bytes(value) == contents


def _check_scalar_bytes(value, want):
    return type(value) is want[0] and value.tobytes() == want[1]


def _check_bytes(value, want):
    shape, dtype, contents = want
    return (
        type(value) is np.ndarray
        and value.shape == shape
        and value.dtype == dtype
        and value.tobytes() == contents
    )


CHECKS = {
    "any": _check_any, "type": _check_type, "class": _check_class, "aval": _check_aval,
    "alike": _check_alike, "alike_ndarray": _check_alike_ndarray,
    "ndarray": _check_ndarray, "scalar": _check_scalar, "value": _check_value,
    "identity": _check_identity, "referent": _check_referent, "length": _check_length,
    "keys": _check_keys, "members": _check_members, "code": _check_code,
    "dispatch": _check_dispatch, "bytes": _check_bytes,
    "scalar_bytes": _check_scalar_bytes, "lacks": _check_lacks,
    "entries": _check_entries, "names": _check_names, "order": _check_order,
    "subclass": _check_subclass, "content": _check_content, "equal": _check_equal,
    "table": _check_table,
}  # fmt: skip
"""Whether a value is what the trace saw, by kind."""

OF_ANY_SIZE = {"aval": "alike", "ndarray": "alike_ndarray"}
"""Checks of arrays -> those of their types but for sizes."""

# ------------------------------------------------------------------------ nodes


class Node:
    """One thing that a variant depends on.

    Attributes:
      index: position in the variant's list.
      parent: the node it is reached from, or None.
      kind, key: the step.
      check, want: the check.
      name: what people call it.
      src: the line of the user's that asked for its value or length first, or None.
    """

    __slots__ = ("check", "index", "key", "kind", "name", "parent", "src", "want")

    want: Any
    src: Any

    def __init__(self, index, parent, kind, key, name):
        self.index, self.parent, self.kind, self.key, self.name = index, parent, kind, key, name
        self.check, self.want, self.src = "any", None, None

    def step(self, value):
        """Return this node's value, given its parent's."""
        return STEPS[self.kind](value, self.key)

    def holds(self, value):
        """Whether a value is what the trace saw."""
        return CHECKS[self.check](value, self.want)

    def but(self, check, want):
        """Return the same node with another check."""
        made = Node(self.index, self.parent, self.kind, self.key, self.name)
        made.check, made.want, made.src = check, want, self.src
        return made

    def __repr__(self):
        return f"Node({self.index}: {self.name} {self.check} {self.want!r})"


_BY_KEY = "root", "aval"
"""The avals of arguments that are arrays are in the bucket's key: only words say them."""


class Guards:
    """The nodes of a variant, and which of them are one object.

    Attributes:
      nodes: in order of discovery.
      same: pairs of indices of nodes that are one object.
      distinct: indices of one node for each object whose identity shows.
      compiled: the same in C++, or None.

    Args:
      used: indices of the nodes whose values are needed beside the checks.
    """

    __slots__ = ("_empty", "_walk", "compiled", "distinct", "nodes", "same", "used")

    def __init__(self, nodes, same, distinct, used):
        self.nodes, self.same, self.distinct = list(nodes), same, tuple(distinct)
        self.used = used
        needed = {*used, *distinct, *[i for pair in same for i in pair]}
        walk = []
        for n in reversed(self.nodes):
            if n.index in needed or not (n.check == "any" or (n.check == "lacks" and not n.want)):
                parent = -1 if n.parent is None else n.parent.index
                needed.add(parent)
                check = _check_any if (n.kind, n.check) == _BY_KEY else CHECKS[n.check]
                kind = "any" if check is _check_any else n.check
                walk.append((n.index, parent, n.kind, n.key, kind, n.want, STEPS[n.kind], check))
        walk.reverse()
        self._walk = [(i, p, step, key, c, w) for i, p, _, key, _, w, step, c in walk]
        self._empty = [None] * len(self.nodes)
        self.compiled = extension.call("Guards", walk, same, self.distinct, len(self.nodes))

    def match(self, roots):
        """Return the values of the nodes that are used, for a call's roots, or None.

        None stands for a call that is another variant's.
        """
        compiled = self.compiled
        return self.match_in_python(roots) if compiled is None else compiled.match(roots)

    def match_in_python(self, roots):
        """Do what `match` does, and say what it means."""
        values: list[Any] = self._empty[:]
        try:
            for i, parent, step, key, check, want in self._walk:
                value = step(roots if parent < 0 else values[parent], key)
                if check is not _check_any and not check(value, want):
                    return None
                values[i] = value
        except Exception:  # a mismatch; see the module's docstring
            return None
        for i, j in self.same:
            if values[i] is not values[j]:
                return None
        distinct = self.distinct
        if len({id(values[i]) for i in distinct}) != len(distinct):
            return None
        return values

    def shapes(self, roots):
        """Return pairs of a node and the shape there, of all arrays, whatever their sizes are.

        None stands for a call that differs in more than sizes.
        """
        arrays = [n for n in self.nodes if n.check in OF_ANY_SIZE]
        values = self.of_any_size([n.index for n in arrays]).match(roots)
        return None if values is None else [(n, values[n.index].shape) for n in arrays]

    def of_any_size(self, indices):
        """Return guards that hold for arrays of any sizes at some nodes."""
        nodes = self.nodes[:]
        for i in indices:
            nodes[i] = nodes[i].but(OF_ANY_SIZE[nodes[i].check], nodes[i].want)
        return Guards(nodes, self.same, self.distinct, self.used)

    def wanting(self, wants):
        """Return the same guards, of which some nodes want something else: index -> what."""
        nodes = self.nodes[:]
        for i, want in wants.items():
            nodes[i] = nodes[i].but(nodes[i].check, want)
        if any([(nodes[i].kind, nodes[i].check) != _BY_KEY for i in wants]):
            return Guards(nodes, self.same, self.distinct, self.used)
        made = Guards.__new__(Guards)
        made.nodes, made.same, made.distinct, made.used = nodes, self.same, self.distinct, self.used
        made._walk, made._empty, made.compiled = self._walk, self._empty, self.compiled
        return made

    def differences(self, roots):
        """Return pairs (node, value found) for what differs, parents before their children."""
        values: list[Any] = []
        found = []
        for node in self.nodes:
            parent = roots if node.parent is None else values[node.parent.index]
            value = ABSENT
            if parent is not ABSENT:
                try:
                    value = node.step(parent)
                    if not node.holds(value):
                        found.append((node, value))
                        value = ABSENT
                except Exception:  # as in `match`
                    found.append((node, ABSENT))
                    value = ABSENT
            values.append(value)
        return found


extension.call("set_guard_types", Tracer, np.ndarray, Weak, ABSENT, changed_functions)
