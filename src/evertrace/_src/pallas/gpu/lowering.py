"""Walking the jaxpr of a kernel, and writing what each of its operations is.

Refs are no values here: a block of an input or output stays a `View` of memory for as long as parts
of it are taken, and is loaded where numbers are wanted; a part that is written is stored at once. A
kernel's jaxpr is functional, so what a block held earlier may be asked for after it was written to:
whatever of an array is wanted later is loaded before a store.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.core.jaxpr import Jaxpr, Literal
from evertrace._src.pallas.gpu.builder import Builder
from evertrace._src.pallas.gpu.values import Root, Tensor, Value, View, element_type

RULES: dict[str, Any] = {}
"""Name of a primitive -> its rule: ``(lowering, equation, *values)`` -> a value, or a list."""

MOVES: dict[str, Any] = {}
"""How a value comes into registers: "load" of a `View`, "join" of a concatenation."""


def rule(*names):
    """Return a decorator that enters a rule into the table."""

    def decorate(fun):
        for name in names:
            assert name not in RULES, name
            RULES[name] = fun
        return fun

    return decorate


class _Frame:
    """Where the walk is in one jaxpr.

    Attributes:
      env: `id` of a variable -> its value.
      loaded: `id` of a variable -> what was loaded of its `View`.
      last: `id` of a variable -> the number of the last equation that reads it.
      position: number of the present equation.
      is_region: whether it is a region of its own, from which nothing is seen outside.
    """

    def __init__(self, jaxpr, args, is_region):
        self.env: dict[int, Value] = dict(zip(map(id, jaxpr.invars), args, strict=True))
        self.loaded: dict[int, Tensor] = {}
        self.last = {id(v): i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
        self.last.update({id(v): len(jaxpr.eqns) for v in jaxpr.outvars})
        self.position, self.is_region = -1, is_region


_EMPTY = Jaxpr([], [], [], [])


class Lowering:
    """The text of one kernel while it is written.

    Attributes:
      b: the `Builder`.
      name: of the kernel, for errors.
      src: the user's line of the present equation.
      frames: where the walk is, in jaxprs within jaxprs.
      roots: the arrays in memory.
    """

    def __init__(self, name: str) -> None:
        self.b, self.name, self.src = Builder(), name, None
        self.frames: list[_Frame] = []
        self.roots: list[Root] = []
        self._kept: list[View] = []

    def unsupported(self, what: str, why: str) -> Exception:
        """Return the error that something cannot be meant on a GPU."""
        return errors.user_error(
            NotImplementedError,
            f"pallas_call: the kernel {self.name} cannot be compiled for a GPU: {what}, {why}.",
            fix="write it otherwise, or give `pallas_call` `interpret=True`: then it runs as a "
            "program of loops, on all devices.",
            anchor="kernel-gpu",
            src=self.src,
        )

    # -------------------------------------------------------------------- the walk

    def run(self, jaxpr: Any, args: Any, is_region: bool = False) -> list[Value]:
        """Write the equations of a jaxpr, and return the values of its results."""
        frame = _Frame(jaxpr, args, is_region)
        self.frames.append(frame)
        outer = self.src
        for i, eqn in enumerate(jaxpr.eqns):
            frame.position, self.src = i, eqn.src or outer
            found = self._equation(frame, eqn)
            outs = found if isinstance(found, list) else [found]
            for var, value in zip(eqn.outvars, outs, strict=True):
                self._check_dtype(eqn, var)
                frame.env[id(var)] = value
        frame.position = len(jaxpr.eqns)
        results = [self._value(frame, v) for v in jaxpr.outvars]
        self.frames.pop()
        self.src = outer
        return results

    def _equation(self, frame, eqn):
        name = eqn.primitive.name
        found = RULES.get(name)
        if found is None:
            raise self.unsupported(f"`{name}`", "which Triton has no operation for")
        values = [self._value(frame, v) for v in eqn.invars]
        folded = self._folded(eqn, values)
        return found(self, eqn, *values) if folded is None else folded

    def _folded(self, eqn, values):
        """Return what a small operation on known integers comes to, or None."""
        host = eqn.primitive.host
        if len(eqn.outvars) != 1 or eqn.outvars[0].aval.shape or host is None or eqn.params:
            return None
        known = [v.const if isinstance(v, Tensor) else None for v in values]
        if not known or any(x is None or x.dtype.kind not in "biu" for x in known):
            return None
        with np.errstate(all="ignore"):
            return self.b.constant(host(*known), eqn.outvars[0].aval.dtype)

    def _value(self, frame, var):
        if type(var) is Literal:
            return self.b.constant(var.val, var.aval.dtype)
        return frame.env[id(var)]

    def _check_dtype(self, eqn, var):
        if element_type(var.aval.dtype) is None:
            raise self.unsupported(
                f"`{eqn.primitive.name}` makes {var.aval.str_short()}",
                "and a GPU's registers have no such numbers",
            )

    # -------------------------------------------------------------------- values in registers

    def tensor(self, x: Value) -> Tensor:
        """Return a value in registers: what is in memory is loaded."""
        if isinstance(x, Tensor):
            return MOVES["join"](self, x) if x.parts is not None and x.name is None else x
        from_memory = self.frames[-1].loaded if self.frames else {}
        if id(x) not in from_memory:
            from_memory[id(x)] = MOVES["load"](self, x)
            self._kept.append(x)  # so that its `id` stays its own
        return from_memory[id(x)]

    def enter(self) -> None:
        """Begin a region of the text; what is loaded there is not known outside."""
        self.b.enter()
        self.frames.append(_Frame(_EMPTY, [], is_region=True))

    def leave(self) -> None:
        """End a region."""
        self.frames.pop()
        self.b.leave()

    def written(self, root: Root) -> None:
        """Load what is wanted later of an array that is about to be written to."""
        for frame in reversed(self.frames):
            self._load_live(frame, root)
            if frame.is_region:
                return

    def entered(self, values: Any) -> None:
        """Load what is wanted after a region, of arrays that the region may write to."""
        for root in {id(v.root): v.root for v in values if isinstance(v, View)}.values():
            if root.is_output:
                self.written(root)

    def _load_live(self, frame, root):
        if not root.is_output:
            return
        for key, value in list(frame.env.items()):
            is_wanted = frame.last.get(key, -1) > frame.position
            if is_wanted and isinstance(value, View) and value.root is root:
                frame.env[key] = frame.loaded.get(id(value)) or MOVES["load"](self, value)
