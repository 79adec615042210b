"""Errors as values: an int32 code that says which check failed first, and what it has to say.

A *site* is a place in a program where something is checked. Its code is a number that no other site
of the process has, so that errors of different functions can be joined. Sites of one line and
message are one object: an error's tree structure does not change from call to call.
"""

from __future__ import annotations

import enum
import itertools
import weakref
from typing import Any

import numpy as np

from evertrace._src import errors, source, tree
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.tracer import Tracer
from evertrace._src.doors import shown
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.checkify")


@public
class ErrorCategory(enum.Enum):
    """What a check looks for; the sets in this module, such as `user_checks`, are made of these.

    Example:
      >>> from evertrace.experimental import checkify
      >>> checkify.user_checks
      frozenset({USER})
      >>> sorted(category.name for category in checkify.float_checks)
      ['DIV', 'NAN']
    """

    USER = "a `check` of the user's"
    NAN = "an operation on numbers whose result has a NaN"
    DIV = "a division by zero"
    INDEX = "an index out of bounds"

    def __repr__(self) -> str:
        return self.name


user_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.USER})
nan_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.NAN})
div_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.DIV})
index_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.INDEX})
float_checks: frozenset[ErrorCategory] = nan_checks | div_checks
automatic_checks: frozenset[ErrorCategory] = float_checks | index_checks
all_checks: frozenset[ErrorCategory] = automatic_checks | user_checks


@public
class JaxRuntimeError(errors.EvertraceError, ValueError):
    """A check has failed: what `Error.throw` and a `check` that is not functionalized raise.

    Example:
      >>> from evertrace.experimental import checkify
      >>> error, _ = checkify.checkify(jnp.log, errors=checkify.nan_checks)(-1.0)
      >>> error.throw()
      Traceback (most recent call last):
          ...
      evertrace.experimental.checkify.JaxRuntimeError: ...
    """


_codes = itertools.count(1)
_sites = weakref.WeakValueDictionary()  # what makes a site -> the site


class Site:
    """A place where something is checked.

    Attributes:
      code: its number, greater than zero.
      template: format string of the message.
      structure: treedef of ``(args, kwargs)`` of the template; their leaves are the payload.
      avals: of the payload.
      src: the user's instruction, or None.
    """

    __slots__ = ("__weakref__", "avals", "code", "src", "structure", "template")

    def __init__(self, template, structure, avals, src):
        self.template, self.structure, self.avals, self.src = template, structure, avals, src
        self.code = next(_codes)

    @classmethod
    def of(cls, template, structure, avals, src):
        """Return the site of this message, these types and this place."""
        key = (template, structure, tuple(avals), None if src is None else src[:2])
        site = _sites.get(key)
        if site is None:
            site = _sites[key] = cls(template, structure, tuple(avals), src)
        return site

    def __repr__(self):
        return f"check {self.code}: {self.template!r}"

    def message(self, payload):
        """Return the message for a payload of concrete arrays."""
        args, kwargs = tree.unflatten(self.structure, list(map(as_array, payload)))
        return self.template.format(*args, **kwargs)


@public
class Error:
    """What the checks of a function have found: a tree of arrays that can be returned and carried.

    It is made by functions that were transformed by `checkify`. Under `vmap` there is one error
    per example.

    Args:
      code: int32; 0 where no check failed, else that of the site whose check failed first.
      payload: dict from sites to lists of arrays, what the messages are filled in with.

    Example:
      >>> from evertrace.experimental import checkify
      >>> def f(x):
      ...     checkify.check(x > 0, "x is {x}", x=x)
      ...     return jnp.log(x)
      >>> error, _ = checkify.checkify(f)(-1.0)
      >>> error.get()
      'x is -1.0 (`check` failed)'
    """

    code: Any
    payload: Any

    __slots__ = ("code", "payload")

    def __init__(self, code: Any, payload: Any) -> None:
        if type(payload) is not dict or not all(type(site) is Site for site in payload):
            raise errors.user_error(
                TypeError,
                f"checkify.Error: the payload is a dict from sites, got {shown(payload)}.",
                fix="take the error that a function returns which was transformed by `checkify`.",
                anchor="arguments",
            )
        self.code, self.payload = code, payload

    def get(self) -> Any:
        """Return the message of the check that failed first, or None if none has.

        Of a batch of errors, all messages, one per line.
        """
        found = self._failures()
        if not found:
            return None
        if not np.shape(self.code):
            return found[0][1]
        return "\n".join(f"at mapped index {_index_text(i)}: {text}" for i, text, _ in found)

    def throw(self) -> Any:
        """Raise `JaxRuntimeError` with the message and the user's line if a check failed."""
        found = self._failures()
        if found:
            site = found[0][2]
            where = "" if site.src is None else f"\n  at {source.format(site.src)}"
            raise JaxRuntimeError(f"{self.get()}{where}")

    def _failures(self):
        """Return (index, message, site) for each error of the batch."""
        codes = np.asarray(self.code)
        if not codes.any():
            return []
        sites = {site.code: site for site in self.payload}
        found = []
        for index in zip(*np.nonzero(np.atleast_1d(codes)), strict=True):
            index = index if codes.ndim else ()
            site = sites[int(codes[index])]
            payload = [as_array(x)[index] for x in self.payload[site]]
            found.append((index, site.message(payload), site))
        return found

    def __repr__(self) -> str:
        return f"Error({self.code if isinstance(self.code, Tracer) else self.get()})"


def _index_text(index):
    return str(int(index[0])) if len(index) == 1 else str(tuple(map(int, index)))


def _flatten(error):
    sites = tuple(sorted(error.payload, key=lambda site: site.code))
    return (error.code, [list(error.payload[site]) for site in sites]), sites


def _unflatten(sites, children):
    code, payloads = children
    return Error(code, dict(zip(sites, payloads, strict=True)))


tree.register_pytree_node(Error, _flatten, _unflatten)

init_error: Error = Error(np.zeros((), np.int32), {})
