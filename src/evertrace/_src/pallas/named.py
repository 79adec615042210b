"""Kernels whose dimensions have names: `kernel`, over `pallas_call`."""

import functools
import itertools
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import doors, errors
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.engines import cache
from evertrace._src.numpy.padding import pad
from evertrace._src.pallas.call import pallas_call
from evertrace._src.pallas.simulate import Access, Finding, simulate
from evertrace._src.pallas.specs import BlockSpec
from evertrace._src.signatures import function_name
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.kernels")


class _Layout(NamedTuple):
    """How a call's arrays are cut.

    Attributes:
      sizes: name -> size of the dimension.
      blocks: name -> size of its blocks, for those that are cut; they are the grid, in order.
      dtypes: of the outputs.
    """

    sizes: dict[str, int]
    blocks: dict[str, int]
    dtypes: tuple[Any, ...]

    @property
    def grid(self):
        return tuple([-(-self.sizes[name] // block) for name, block in self.blocks.items()])

    def block_shape(self, names):
        return tuple([self.blocks.get(name, self.sizes[name]) for name in names])

    def shape(self, names):
        return tuple([self.sizes[name] for name in names])

    def places(self, names):
        """Return the function from a step of the grid to the numbers of an array's blocks."""
        axes = [list(self.blocks).index(name) if name in self.blocks else None for name in names]
        return lambda *ids: tuple([0 if axis is None else ids[axis] for axis in axes])


@public
class Kernel:
    """A kernel with named dimensions; made by `kernel`. Call it with arrays.

    Attributes:
      blocks: name of a dimension -> size of its blocks.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> @ek.kernel(ins=["rows, width"], outs=["rows"], blocks={"rows": 2})
      ... def sums(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...].sum(1)
      >>> sums(jnp.ones((3, 4))), sums.with_blocks(rows=8).blocks
      (Array([4., 4., 4.], dtype=float32), {'rows': 8})
    """

    def __init__(
        self,
        body: Callable[..., None],
        ins: Sequence[str],
        outs: Sequence[str],
        blocks: Mapping[str, int],
        dtypes: Sequence[Any] | None = None,
        fill: float = 0,
    ) -> None:
        self.name: str = function_name(body)
        self.ins: list[tuple[str, ...]] = [_names(self.name, "ins", spec) for spec in ins]
        self.outs: list[tuple[str, ...]] = [_names(self.name, "outs", spec) for spec in outs]
        self.blocks: dict[str, int] = dict(blocks)
        self.fill: float = fill
        self._body = body
        self._runs: dict[Any, Any] = {}
        self._dtypes = None if dtypes is None else tuple(dtypes)
        known = {name for spec in self.ins for name in spec}
        for name in [*self.blocks, *[name for spec in self.outs for name in spec]]:
            if name not in known:
                raise self._error(
                    f"no input has a dimension {name!r}.",
                    "name it in one of `ins`, where its size is taken from.",
                )
        self.__name__: str = self.name
        self.__qualname__: str = self.name
        self.__doc__ = body.__doc__

    def __repr__(self) -> str:
        return f"<kernel {self.name}, blocks {self.blocks}>"

    def __call__(self, *args: Any) -> Any:
        """Run it on arrays; returns the output, a tuple of several.

        Raises:
          TypeError, ValueError: the arrays do not fit the names.
        """
        arrays = self._arrays(args)
        layout = self._layout(arrays)
        padded = [self._padded(x, names, layout) for x, names in zip(arrays, self.ins, strict=True)]
        outs = self._run(layout)(*padded)
        return outs[0] if len(outs) == 1 else outs

    def _run(self, layout: "_Layout") -> Any:
        """Return the call for a layout, the same one each time, as it keeps what it compiles."""
        sizes = (*layout.sizes.values(), *layout.blocks.values())
        key = (*sizes, *layout.dtypes)
        is_known = all(type(n) is int for n in sizes)  # no size that a trace leaves open
        found = self._runs.get(key) if is_known else None
        if found is None:
            found = pallas_call(
                self._body,
                grid=layout.grid,
                in_specs=[_spec(layout, names) for names in self.ins],
                out_specs=[_spec(layout, names) for names in self.outs],
                out_shape=[
                    ShapeDtypeStruct(layout.shape(names), dtype)
                    for names, dtype in zip(self.outs, layout.dtypes, strict=True)
                ],
                name=self.name,
            )
            if is_known:
                self._runs[key] = found
        return found

    def with_blocks(self, **blocks: int) -> "Kernel":
        """Return the kernel with blocks of other sizes.

        Example:
          >>> from evertrace.experimental import kernels as ek
          >>> @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 2})
          ... def double(x_ref, o_ref):
          ...     o_ref[...] = 2 * x_ref[...]
          >>> double.with_blocks(n=4)
          <kernel double, blocks {'n': 4}>
        """
        unknown = blocks.keys() - self.blocks.keys()
        if unknown:
            raise self._error(
                f"it has no blocks of {sorted(unknown)[0]!r}.",
                f"choose sizes for {', '.join(self.blocks)}.",
            )
        specs = [", ".join(names) for names in self.ins], [", ".join(names) for names in self.outs]
        return Kernel(self._body, *specs, {**self.blocks, **blocks}, self._dtypes, self.fill)

    # ------------------------------------------------------------ what it does

    def trace(self, *args: Any) -> list[Access]:
        """Return each read and write of each step, run one by one in Python.

        Example:
          >>> from evertrace.experimental import kernels as ek
          >>> @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 2})
          ... def double(x_ref, o_ref):
          ...     o_ref[...] = 2 * x_ref[...]
          >>> for access in double.trace(jnp.arange(4.0)):
          ...     print(access)
          (n=0) reads x_ref[0:2]
          (n=0) writes o_ref[0:2]
          (n=1) reads x_ref[2:4]
          (n=1) writes o_ref[2:4]
        """
        return self._simulated(args)[0]

    def check(self, *args: Any) -> list[Finding]:
        """Return what would go wrong where steps run side by side, or is wrong anywhere.

        The steps run one by one in Python. Found are: two steps that write one element of an
        output, or of which one reads what the other writes (on the CPU steps run in order, so this
        is well defined; on an accelerator it is a race); indices that are out of bounds of a block,
        which compiled code clamps; elements of an output that nobody writes, and reads of what is
        not written yet, such as ``o_ref[...] += x`` without a first value.

        Example:
          >>> from evertrace.experimental import kernels as ek
          >>> @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 2})
          ... def half(x_ref, o_ref):
          ...     o_ref[0] = x_ref[0]
          >>> half.check(jnp.arange(4.0))[0].text
          'o_ref: 2 of 4 elements are never written, the first one is [1]'
        """
        return self._simulated(args)[1]

    def explain(self, *args: Any) -> str:
        """Return how arrays are cut, and what a step works on, as text.

        Example:
          >>> from evertrace.experimental import kernels as ek
          >>> @ek.kernel(ins=["n, m"], outs=["n"], blocks={"n": 2})
          ... def sums(x_ref, o_ref):
          ...     o_ref[...] = x_ref[...].sum(1)
          >>> print(sums.explain(jnp.ones((5, 4))))
          kernel sums: 3 steps, n=3
            in 0   f32[5,4] in blocks of (2, 4), the last one of n has 1 of 2
            out 0  f32[5] in blocks of (2,), the last one of n has 1 of 2
            a step works on 40 bytes
        """
        arrays = self._arrays(args)
        layout = self._layout(arrays)
        steps = math.prod(layout.grid)
        axes = ", ".join([f"{n}={s}" for n, s in zip(layout.blocks, layout.grid, strict=True)])
        lines = [f"kernel {self.name}: {steps} steps, {axes}"]
        total = 0
        dtypes = [*[x.dtype for x in arrays], *layout.dtypes]
        labels = [f"in {i}" for i in range(len(self.ins))]
        labels += [f"out {i}" for i in range(len(self.outs))]
        for label, names, dtype in zip(labels, [*self.ins, *self.outs], dtypes, strict=True):
            block = layout.block_shape(names)
            total += math.prod(block) * np.dtype(dtype).itemsize
            kind = ShapeDtypeStruct(layout.shape(names), dtype)
            aval = as_array(np.empty((), dtype)).aval.update(shape=kind.shape).str_short()
            text = f"  {label:<6} {aval} in blocks of {block}"
            for name in names:
                rest = layout.sizes[name] % layout.blocks.get(name, 1)
                if rest:
                    text += f", the last one of {name} has {rest} of {layout.blocks[name]}"
            lines.append(text)
        return "\n".join([*lines, f"  a step works on {total} bytes"])

    def tune(self, *args: Any, **choices: Sequence[int]) -> "Kernel":
        """Return the kernel with the sizes of blocks that are fastest for some arrays.

        Each choice is run a few times. What was found is kept in the compilation cache on disk, by
        the kernel's name and code, the types of the arrays, the choices, and the processor.

        Args:
          *args: the arrays.
          **choices: for names of dimensions, sizes of blocks to be tried.

        Example:
          >>> from evertrace.experimental import kernels as ek
          >>> @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 2})
          ... def double(x_ref, o_ref):
          ...     o_ref[...] = 2 * x_ref[...]
          >>> double.tune(jnp.arange(64.0), n=[16, 64]).blocks["n"] in (16, 64)
          True
        """
        arrays = self._arrays(args)
        if not choices or not all(choices.values()):
            raise self._error("there is nothing to choose from.", "give sizes, `n=[32, 64]`.")
        self.with_blocks(**{name: sizes[0] for name, sizes in choices.items()})
        key = self._key(arrays, choices)
        known = cache.load(key)
        if known is not None:
            return self.with_blocks(**json.loads(known))
        tried: list[tuple[float, dict[str, int]]] = []
        start = time.perf_counter()
        for sizes in itertools.product(*choices.values()):
            blocks = dict(zip(choices, sizes, strict=True))
            tried.append((_seconds(self.with_blocks(**blocks), arrays), blocks))
        best = min(tried, key=lambda x: x[0])[1]
        cache.store(key, json.dumps(best).encode(), time.perf_counter() - start)
        return self.with_blocks(**best)

    # ------------------------------------------------------------ parts

    def _key(self, arrays, choices):
        code = getattr(self._body, "__code__", None)
        parts = [self.name, "" if code is None else code.co_code.hex(), repr(self.ins)]
        parts += [repr([(x.shape, str(x.dtype)) for x in arrays]), repr(sorted(choices.items()))]
        return cache.program_key(b"kernel blocks", *[part.encode() for part in parts])

    def _simulated(self, args):
        arrays = self._arrays(args)
        layout = self._layout(arrays)
        padded = [self._padded(x, names, layout) for x, names in zip(arrays, self.ins, strict=True)]
        return simulate(self._body, layout, padded, self.ins, self.outs)

    def _arrays(self, args):
        if len(args) != len(self.ins):
            raise self._error(
                f"{len(args)} arrays are given for {len(self.ins)} inputs.",
                f"give one for each of {[', '.join(names) for names in self.ins]}.",
                TypeError,
            )
        return [as_array(x, self.name) for x in args]

    def _layout(self, arrays):
        sizes: dict[str, int] = {}
        for i, (x, names) in enumerate(zip(arrays, self.ins, strict=True)):
            if x.ndim != len(names):
                raise self._error(
                    f"input {i} has shape {x.shape}, but its dimensions are named "
                    f"{', '.join(names)}.",
                    "give an array with these dimensions, or correct `ins`.",
                )
            for name, n in zip(names, x.shape, strict=True):
                if sizes.setdefault(name, n) != n:
                    raise self._error(
                        f"the dimension {name!r} has size {n} in input {i}, and {sizes[name]} in "
                        "one before.",
                        "give arrays in which dimensions of one name are of one size.",
                    )
        blocks = {name: max(1, min(b, sizes[name])) for name, b in self.blocks.items()}
        given = self._dtypes or (arrays[0].dtype,) * len(self.outs)
        return _Layout(sizes, blocks, given)

    def _padded(self, x, names, layout):
        """Return an input, filled up where its last block reaches beyond its end."""
        missing = [-layout.sizes[name] % layout.blocks.get(name, 1) for name in names]
        if not any(missing):
            return x
        return pad(x, [(0, n) for n in missing], constant_values=self.fill)

    def _error(self, what, fix, cls: type[Exception] = ValueError):
        return errors.user_error(cls, f"kernel {self.name}: {what}", fix=fix, anchor="kernel-specs")


def _spec(layout, names):
    return BlockSpec(layout.block_shape(names), layout.places(names))


def _names(kernel, what, spec):
    if not isinstance(spec, str):
        raise errors.user_error(
            TypeError,
            f"kernel {kernel}: `{what}` must be names in one text, got {doors.shown(spec)}.",
            fix="name each dimension of an array, such as 'rows, width'.",
            anchor="kernel-specs",
        )
    names = tuple([name.strip() for name in spec.split(",") if name.strip()])
    if not all(name.isidentifier() for name in names) or len(set(names)) < len(names):
        raise errors.user_error(
            ValueError,
            f"kernel {kernel}: `{what}` has {spec!r}.",
            fix="name each dimension of an array once, such as 'rows, width'.",
            anchor="kernel-specs",
        )
    return names


def _seconds(kernel, arrays):
    """Return how long a call takes, the shortest of a few."""
    kernel(*arrays)
    found = []
    for _ in range(5):
        start = time.perf_counter()
        out = kernel(*arrays)
        for x in out if type(out) is tuple else (out,):
            x.block_until_ready()
        found.append(time.perf_counter() - start)
    return min(found)


@public
def kernel(
    *,
    ins: Sequence[str],
    outs: Sequence[str],
    blocks: Mapping[str, int],
    dtypes: Sequence[Any] | None = None,
    fill: float = 0,
) -> Callable[[Callable[..., None]], Kernel]:
    """Return a decorator that makes a `Kernel` of a function of refs.

    Dimensions have names. Those in `blocks` are cut, and make the grid, in this order; of all
    others a step sees the whole. Sizes are those of the arrays of a call. Where a block reaches
    beyond the end of an input, it has `fill` there; what is written there is dropped.

    It is compiled, differentiated and vectorised as `pallas_call` is.

    Args:
      ins: for each input the names of its dimensions, such as ``"rows, width"``.
      outs: for each output likewise, all of them dimensions of inputs; "" for a scalar.
      blocks: name -> size of blocks. Smaller arrays have one block, as large as they are.
      dtypes: of the outputs; that of the first input by default.
      fill: what is read beyond the end of an input.

    Returns:
      A decorator. The function gets refs: those of the inputs, then of the outputs.

    Raises:
      ValueError: names do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> @ek.kernel(ins=["rows, width"], outs=["rows, width"], blocks={"rows": 2})
      ... def normalise(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...] / x_ref[...].sum(1, keepdims=True)
      >>> normalise(jnp.array([[1.0, 3.0], [2.0, 2.0], [0.0, 5.0]]))
      Array([[0.25, 0.75],
             [0.5 , 0.5 ],
             [0.  , 1.  ]], dtype=float32)
    """
    return functools.partial(Kernel, ins=ins, outs=outs, blocks=blocks, dtypes=dtypes, fill=fill)
