"""What a call of a jitted function looks like: static and traced arguments, their names."""

import inspect
import operator
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from evertrace._src import doors, errors, tree
from evertrace._src.arrays.interop import aval_of, can_be_written
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.tracer import Tracer
from evertrace._src.signatures import innermost, signature_of


class FlatCall(NamedTuple):
    """A call taken apart.

    Attributes:
      leaves: of the traced arguments.
      treedef: of ``(traced positional arguments, traced keyword arguments)``.
      statics: ``((position or name, type, value), ...)``.
    """

    leaves: list
    treedef: Any
    statics: tuple


class Signature:
    """The roles of a function's arguments.

    Static and donated arguments may be given by position or by name; each is inferred from the
    other where the function's signature is known.
    """

    def __init__(self, fun, static_argnums, static_argnames, donate_argnums, donate_argnames):
        self.parameters = _parameters(fun)
        self.static_nums, self.static_names = self._roles("static", static_argnums, static_argnames)
        self.donate_nums, self.donate_names = self._roles("donate", donate_argnums, donate_argnames)
        both = (self.static_nums & self.donate_nums) | (self.static_names & self.donate_names)
        if both:
            raise errors.user_error(
                ValueError,
                f"jit: arguments {sorted(both, key=str)} cannot be static and donated.",
                fix="donate arrays; they are not static.",
                anchor="argnums",
            )
        self.all_traced = not (self.static_nums or self.static_names)
        self.donates = bool(self.donate_nums or self.donate_names)
        self.roles = self.static_nums, self.static_names, self.donate_nums, self.donate_names

    def _roles(self, role, nums, names):
        """Return the positions and names that have a role, each inferred from the other."""
        given_nums, given_names = nums is not None, names is not None
        nums, names = _as_indices(f"{role}_argnums", nums), _as_names(f"{role}_argnames", names)
        parameters = self.parameters
        if parameters is None:
            return frozenset(nums), frozenset(names)
        positional = [p.name for p in parameters if p.kind in _POSITIONAL]
        nums = {_position(f"{role}_argnums", n, positional, parameters) for n in nums}
        _check_names(f"{role}_argnames", names, parameters)
        if given_nums and not given_names:
            names = {positional[n] for n in nums if n < len(positional)}
        elif given_names and not given_nums:
            nums = {positional.index(name) for name in names if name in positional}
        return frozenset(nums), frozenset(names)

    def check_names(self, option, names):
        """Raise for a name that an option has, and no argument."""
        if self.parameters is not None:
            _check_names(option, names, self.parameters)

    def flatten(self, args, kwargs):
        """Take a call apart; returns a `FlatCall`."""
        if self.all_traced:
            leaves, treedef = tree.flatten((args, kwargs))
            return FlatCall(leaves, treedef, ())
        nums, names = self.static_nums, self.static_names
        statics = [_static(i, args[i]) for i in sorted(nums) if i < len(args)]
        statics += [_static(k, kwargs[k]) for k in sorted(names) if k in kwargs]
        traced = tuple([x for i, x in enumerate(args) if i not in nums])
        traced_kw = {k: v for k, v in kwargs.items() if k not in names}
        leaves, treedef = tree.flatten((traced, traced_kw))
        return FlatCall(leaves, treedef, tuple(statics))

    def unflatten(self, call, leaves):
        """Put a call together again, with other leaves; returns args, kwargs."""
        args, kwargs = tree.unflatten(call.treedef, leaves)
        if not call.statics:
            return args, kwargs
        args = list(args)
        for place, _, value in call.statics:  # positions come first and in order
            if isinstance(place, int):
                args.insert(place, value)
            else:
                kwargs[place] = value
        return args, kwargs

    def avals(self, call, where):
        """Return the avals of a call's leaves; the error for one that has none names it."""
        try:
            return tuple([_type_of(x, where) for x in call.leaves])
        except TypeError:
            raise self._bad_argument(call, where) from None

    def _bad_argument(self, call, where):
        for name, leaf in zip(self.leaf_names(call), call.leaves, strict=True):
            try:
                _type_of(leaf, where)
            except TypeError:
                return errors.user_error(
                    TypeError,
                    f"{where}: argument {name} of type {type(leaf).__name__} is not an array.",
                    fix="pass arrays or trees of them, or mark the argument as static with "
                    "`static_argnames`.",
                    anchor="not-an-array",
                )
        raise AssertionError("every leaf is an array")

    def donated(self, call):
        """Return the indices of the leaves that the call gives away."""
        if not self.donates:
            return ()
        args, kwargs = tree.unflatten(call.treedef, range(len(call.leaves)))
        nums = [i for i in range(len(args) + len(call.statics)) if i not in self.static_nums]
        chosen = [x for i, x in zip(nums, args, strict=False) if i in self.donate_nums]
        chosen += [v for k, v in kwargs.items() if k in self.donate_names]
        return tuple(sorted(tree.leaves(chosen)))

    def leaf_names(self, call):
        """Return the name of each leaf as the user would write it: ``params['w']``."""
        args, kwargs = tree.unflatten(call.treedef, call.leaves)
        nums = [i for i in range(len(args) + len(call.statics)) if i not in self.static_nums]
        names = []
        for i, arg in zip(nums, args, strict=False):
            names += _named_leaves(self._argument_name(i), arg)
        for key in sorted(kwargs):
            names += _named_leaves(key, kwargs[key])
        return names

    def _argument_name(self, i):
        position = i
        for p in self.parameters or ():
            if p.kind in _POSITIONAL:
                if position == 0:
                    return p.name
                position -= 1
            elif p.kind is inspect.Parameter.VAR_POSITIONAL:
                return f"{p.name}[{position}]"
        return f"argument {i}"


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _position(option, n, positional, parameters):
    """Return the position that a number, which may count from the end, stands for."""
    variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    if variadic and n >= 0:
        return n
    if not -len(positional) <= n < len(positional):
        raise errors.user_error(
            ValueError,
            f"jit: {option} has {n}, but the function takes {len(positional)} positional "
            f"arguments.",
            fix=f"use numbers from 0 to {len(positional) - 1}.",
            anchor="argnums",
        )
    return n % len(positional)


def _check_names(option, names, parameters):
    """Raise for a name that is no argument."""
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters]
    for name in names:
        if name not in known:
            raise errors.user_error(
                ValueError,
                f"jit: {option} has {name!r}, but the function has no such argument.",
                fix=f"use some of {known}.",
                anchor="argnums",
            )


def _parameters(fun):
    """Return a callable's parameters, without the objects that are their defaults, or None."""
    skipped = 0
    try:
        fun = innermost(fun)
        if not (isinstance(fun, type) or inspect.isroutine(fun)) and _is_python(type(fun).__call__):
            # An object's own signature would be looked for with its `__eq__`.
            fun, skipped = type(fun).__call__, 1
        found = tuple(signature_of(fun).parameters.values())[skipped:]
    except (ValueError, TypeError):
        return None
    return tuple([inspect.Parameter(p.name, p.kind) for p in found])


def _is_python(fun):
    return isinstance(fun, types.FunctionType)


def _as_indices(option, given):
    if given is None:
        return ()
    nums = tuple(given) if isinstance(given, Iterable) else (given,)
    try:
        return tuple(map(operator.index, nums))
    except TypeError:
        raise errors.user_error(
            TypeError,
            f"jit: {option} must be an int or a sequence of ints, got {doors.shown(given)}.",
            fix="count the arguments from 0.",
            anchor="argnums",
        ) from None


def _as_names(option, given):
    if given is None:
        return frozenset()
    names = tuple(given) if isinstance(given, Iterable) and type(given) is not str else (given,)
    if not all(isinstance(name, str) for name in names):
        raise errors.user_error(
            TypeError,
            f"jit: {option} must be a str or a sequence of strs, got {doors.shown(given)}.",
            fix="write names of arguments.",
            anchor="argnums",
        )
    return frozenset(names)


def check_static(place, value):
    """Raise unless a static argument is hashable and not traced."""
    _static(place, value)


def _static(place, value):
    try:
        hash(value)
    except TypeError as error:
        raise _not_hashable(place, value, error) from None
    if isinstance(value, Tracer):
        raise _not_hashable(place, value, "it is a traced array")
    return place, type(value), value


def _not_hashable(place, value, why):
    return errors.user_error(
        ValueError,
        f"jit: the static argument {place} is not hashable: a value of type "
        f"{type(value).__name__} ({why}).",
        fix="pass a hashable value, such as a tuple instead of a list, or do not make the "
        "argument static.",
        anchor="static-hashable",
    )


def _type_of(x, where):
    """Return the aval of an argument; a type stands for a value where nothing is computed."""
    if isinstance(x, ShapedArray):
        return ShapedArray(x.shape, x.dtype, x.weak_type)
    if can_be_written(type(x)):
        raise _written(x, where)
    return aval_of(x, where)


def _written(x, where):
    """Return the error of an argument, hijax's, whose writes would be lost with a copy."""
    return errors.user_error(
        ValueError,
        f"{where}: an argument is a {type(x).__name__}, which can be written to: by JAX's rules "
        "it would come in as the array that it stands for, and what is written be lost.",
        fix="call it in a `jit` of yours that is not `strict`, close over it, or pass what it "
        "holds, such as `x[...]`.",
        anchor="ref-strict",
    )


def _named_leaves(name, argument):
    return [name + tree.keystr(path) for path, _ in tree.flatten_with_path(argument)[0]]
