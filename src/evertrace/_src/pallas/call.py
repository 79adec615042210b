"""`pallas_call`, and the primitive that a call of a kernel is."""

import functools
import operator
from collections.abc import Callable
from typing import Any

from evertrace._src import dims, errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.lowerings import lower_fun, register_lowering
from evertrace._src.api.tracing import jit
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import as_arrays, as_type, memo
from evertrace._src.control.call import jit_p
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.effects import NamedAxis
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.doors import door
from evertrace._src.experimental.checkify import trace as checking
from evertrace._src.experimental.checkify.automatic import nan_failures
from evertrace._src.experimental.checkify.error import ErrorCategory
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.pallas import blocks, program
from evertrace._src.pallas.gpu import call as gpu_call
from evertrace._src.pallas.kernel import memory_aval, trace
from evertrace._src.pallas.specs import BlockSpec, GridSpec, is_dynamic, no_block_spec, public
from evertrace._src.pallas.triton import CompilerParams
from evertrace._src.signatures import function_name
from evertrace._src.transforms.batching import batch_flat
from evertrace._src.transforms.staging import close_jaxpr, inline, restage

# ------------------------------------------------------------------------ the primitive

INTERPRETED = "loops"
"""What stands for compiler's params in a call that is to run as loops wherever it runs."""


def _as_call(operands, jaxpr, grid, name, compiler, is_recomputed=False):
    """Return the params of `jit_p` for a call of what a kernel means, a program of loops."""
    del compiler
    avals = tuple(x.aval for x in operands)

    def make():
        return restage(lambda *xs: program.run(jaxpr.jaxpr, grid, xs, is_recomputed), avals)

    key = ("program", grid, avals, is_recomputed)
    return {"jaxpr": close_jaxpr(memo(jaxpr.jaxpr, key, make)), "name": name}


def _run(*operands, **params):
    return inline(_as_call(operands, **params)["jaxpr"].jaxpr, *operands)


def _abstract(*avals, grid, **_):
    return [b.aval for b in grid.outputs]


def _jvp(primals, tangents, **params):
    return jit_p.jvp_call(primals, tangents, **_as_call(primals, **params))


def _linearize(primals, tangents, **params):
    return jit_p.linearize(primals, tangents, **_as_call(primals, **params, is_recomputed=True))


def _batch(axis, operands, dims, *, jaxpr, grid, **params):
    """Add an axis to the grid, in front."""
    count = grid.num_captured
    is_mentioned = axis.name is not None and NamedAxis(axis.name) in jaxpr.effects
    if is_mentioned or any(d is not None for d in dims[:count]):  # other blocks for each example
        return batch_flat(
            lambda *xs: _run(*xs, jaxpr=jaxpr, grid=grid, **params), axis, operands, dims
        )
    aliased = {i for i, _ in grid.aliases}
    is_batched = [d is not None or i in aliased for i, d in enumerate(dims[count:])]
    operands = list(operands[:count]) + [
        move_batch_dim(x, d, 0, axis.size) if b else x
        for x, d, b in zip(operands[count:], dims[count:], is_batched, strict=True)
    ]
    derived = grid._replace(
        sizes=(axis.size, *grid.sizes),
        hidden=grid.hidden + 1,
        inputs=tuple(
            b.batched(axis.size, is_b) for b, is_b in zip(grid.inputs, is_batched, strict=True)
        ),
        outputs=tuple(b.batched(axis.size, True) for b in grid.outputs),
    )
    outs = pallas_call_p.bind(*operands, jaxpr=jaxpr, grid=derived, **params)
    return outs, [0] * len(outs)


pallas_call_p: Primitive = Primitive(
    "pallas_call",
    multiple_results=True,
    cache_types=False,
    show=("name", "grid", "jaxpr"),
    abstract=_abstract,
    effects=lambda *, jaxpr, **_: jaxpr.effects,
    jvp_call=_jvp,
    linearize=_linearize,
    batch_call=_batch,
    transpose=undefined("derivatives of kernels are programs of loops"),
)
_as_loops = register_lowering(pallas_call_p, lower_fun(_run))


def _for_gpu(b, outs, *operands, jaxpr, grid, name, compiler):
    """Write the kernel as Triton's text; as loops where that was asked for, or nothing is done."""
    # A grid whose size is an operand is no number of programs either.
    is_empty = not all(grid.sizes) or not all(o.aval.size for o in grid.outputs)
    if is_empty or compiler is INTERPRETED:
        return _as_loops(b, outs, *operands, jaxpr=jaxpr, grid=grid, name=name, compiler=compiler)
    return gpu_call.call(b, outs, operands, jaxpr.jaxpr, grid, name, compiler)


register_lowering(pallas_call_p, _for_gpu, platform="gpu")


@checking.rules.define(pallas_call_p)
def _checked(tracing, prim, operands, params):
    """Check a kernel's steps; for NaN its results only, as memory is NaN before it is written."""
    call = _as_call(operands, **params)
    kinds = tracing.kinds - {ErrorCategory.NAN}
    derived, sites = checking.checked_jaxpr(call["jaxpr"].jaxpr, kinds)
    if sites:
        count = len(call["jaxpr"].jaxpr.outvars)
        found = jit_p.bind(*operands, jaxpr=close_jaxpr(derived), name=call["name"])
        outs = found[:count]
        tracing.merge_leaves(sites, found[count:])
    else:
        outs = prim.bind(*operands, **params)
    if ErrorCategory.NAN in tracing.kinds:
        for failure in nan_failures(prim, outs):
            tracing.look(failure)
    return outs


# ------------------------------------------------------------------------ as users call it


@public
def pallas_call(
    kernel: Any,
    out_shape: Any,
    *,
    grid_spec: Any = None,
    grid: Any = (),
    in_specs: Any = no_block_spec,
    out_specs: Any = no_block_spec,
    scratch_shapes: Any = (),
    input_output_aliases: Any = None,
    debug: Any = False,
    interpret: Any = False,
    name: Any = None,
    compiler_params: Any = None,
    cost_estimate: Any = None,
    metadata: Any = None,
) -> Callable[..., Any]:
    """Return a function of arrays that runs a kernel for each step of a grid.

    The kernel sees *refs* of blocks: those of the inputs, then of the outputs, then scratch memory.
    It reads ``x_ref[...]`` and writes ``o_ref[...] = value``. Steps run one after the other, the
    last axis of the grid fastest, so a step sees what earlier ones wrote to blocks of outputs and
    to scratch memory. What is written nowhere is NaN, the least integer, or False; so is what a
    block has beyond its array's end.

    A call is compiled as any function is, for the processor as well; it can be differentiated
    forwards and backwards, and vectorised, which adds an axis to the grid. For a GPU it is written
    in Triton's language: steps that see different blocks of all outputs run side by side, and what
    is written nowhere is undefined there.

    Args:
      kernel: function of refs that returns nothing. It captures no arrays; numbers are fine.
      out_shape: a tree of `ShapeDtypeStruct`, or whatever has a shape and a dtype. The outputs have
        its structure (a tuple for a list).
      grid_spec: a `GridSpec`, in the place of the four arguments that follow.
      grid: an int, or a tuple of ints or pairs (name, int). Where a size is a traced integer, the
        call says how many steps there are; blocks that lie beyond an array's are moved inside.
      in_specs: a tree of `BlockSpec`s like the tuple of arguments; without one, or with None, a
        kernel sees all of an array.
      out_specs: likewise for the outputs.
      scratch_shapes: a list, tuple or dict of types of memory, such as ``pl.ANY((8,), "float32")``.
        The kernel gets one ref for each, keyword arguments for a dict.
      input_output_aliases: dict from the number of an input to that of the output, of its type,
        that begins as a copy of it.
      debug: whether to print the kernel's jaxpr when it is traced.
      interpret: whether it runs as a program of loops on a GPU as well; elsewhere it always does.
      name: what jaxprs and messages call the kernel.
      compiler_params: `triton.CompilerParams`, for GPUs; those of other compilers are left aside.
      cost_estimate: without effect.
      metadata: likewise.

    Returns:
      A function of trees of arrays, all positional.

    Raises:
      TypeError, ValueError, IndexError: specs do not fit the arrays, an index map leaves them, the
        kernel returns or captures something, or writes to an input.
      NotImplementedError: it is lowered for a GPU, and Triton has no way to say what it does.

    Differs from JAX: no ``interpret=True`` is needed on the CPU; reverse mode works; a grid of
    known size that has blocks beyond an array's is an error, as is writing to an input.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def add(x_ref, y_ref, o_ref):
      ...     o_ref[...] = x_ref[...] + y_ref[...]
      >>> block = pl.BlockSpec((4,), lambda i: i)
      >>> x = jnp.arange(6.0)
      >>> call = pl.pallas_call(
      ...     add, grid=pl.cdiv(6, 4), in_specs=[block, block], out_specs=block, out_shape=x
      ... )
      >>> call(x, 10 * x)
      Array([ 0., 11., 22., 33., 44., 55.], dtype=float32)
    """
    del cost_estimate, metadata
    check_callable("pallas_call", kernel)
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif grid != () or in_specs is not no_block_spec or out_specs is not no_block_spec:
        raise errors.user_error(
            ValueError,
            "pallas_call: `grid_spec` says what `grid`, `in_specs` and `out_specs` would say.",
            fix="give the one or the others.",
            anchor="kernel-specs",
        )
    out_shape = tuple(out_shape) if isinstance(out_shape, list) else out_shape
    plan = _Plan(
        name or function_name(kernel),
        grid_spec,
        _out_types(out_shape),
        {_plain(i): _plain(o) for i, o in dict(input_output_aliases or {}).items()},
        debug,
        INTERPRETED if interpret else _compiler(compiler_params),
    )

    # What `jit` finds here it follows: the kernel, and index maps, which the plan has as well.
    specs = tree.leaves((grid_spec.in_specs, grid_spec.out_specs))
    maps = [spec.index_map for spec in specs if isinstance(spec, BlockSpec)]
    run = functools.partial(plan, kernel, [f for f in maps if f is not None])

    def call(*args):
        return run(args)

    call.__name__ = call.__qualname__ = plan.name
    return jit(door(call))


def _plain(x):
    """Return a number that `jit` follows as the int that it is; all else as it is."""
    is_followed = hasattr(x, "__index__") and not isinstance(x, bool)
    return operator.index(x) if is_followed else x


def _compiler(given):
    """Return what Triton's compiler is told, of params that may be another compiler's."""
    if isinstance(given, dict):
        given = given.get("triton")
        given = CompilerParams(**given) if isinstance(given, dict) else given
    if not isinstance(given, CompilerParams):
        return None
    given = CompilerParams(*map(_plain, given))
    for name, value in given._asdict().items():
        if value is not None and (type(value) is not int or value < 1):
            raise errors.user_error(
                ValueError,
                f"pallas_call: {name} of the compiler's params is {value!r}.",
                fix="give an int from 1 on, or None.",
                anchor="kernel-gpu",
            )
    return given


def _out_types(out_shape):
    leaves, treedef = tree.flatten(out_shape)
    for x in leaves:
        if not (hasattr(x, "shape") and hasattr(x, "dtype")):
            raise errors.user_error(
                ValueError,
                f"pallas_call: `out_shape` has a {type(x).__name__}, which has no shape and dtype.",
                fix="pass `ev.ShapeDtypeStruct(shape, dtype)`.",
                anchor="not-an-array",
            )
    return [ShapedArray(tuple(map(dims.bare, x.shape)), x.dtype) for x in leaves], treedef


class _Plan:
    """A kernel and how it is to be called.

    Args:
      name, grid_spec, aliases, debug: see `pallas_call`.
      out_types: types of the outputs, and their structure.
      compiler: what a GPU's compiler is told, `INTERPRETED`, or None.
    """

    def __init__(self, name, grid_spec, out_types, aliases, debug, compiler):
        self.name, self.grid_spec, self.compiler = name, grid_spec, compiler
        self.out_types, self.aliases, self.debug = out_types, aliases, debug

    def __call__(self, kernel, _index_maps, args):
        leaves, in_tree = tree.flatten(args)
        where = f"pallas_call({self.name})"
        operands = [_strong(as_operand(x, where)) for x in leaves]
        asked, _ = self.grid_spec.sizes()
        sizes = tuple(None if is_dynamic(size) else size for size in asked)
        dynamic = [convert(as_operand(x), blocks.INT32) for x in asked if is_dynamic(x)]
        ins, in_captured = self._blocks(
            "in_specs", args, in_tree, [x.aval for x in operands], sizes
        )
        avals, out_tree = self.out_types
        outs, out_captured = self._blocks(
            "out_specs", tree.unflatten(out_tree, avals), out_tree, avals, sizes
        )
        self._check_aliases(ins, outs)
        refs = tree.treedef_tuple([*in_tree.children(), *_as_arguments(out_tree)])
        memory, scratch_tree = _scratch(self.grid_spec.scratch_shapes)
        traced = trace(
            kernel, where, asked, refs, [b.block_aval for b in ins],
            [b.block_aval for b in outs], scratch_tree, memory,
        )  # fmt: skip
        if self.debug:
            print(f"The kernel {self.name}:\n{traced.body}")
        numbers = [blocks.whole("a captured number", x.aval, sizes) for x in traced.captured]
        shift = len(numbers)
        grid = program.Grid(
            sizes=sizes,
            hidden=0,
            inputs=(*numbers, *ins),
            outputs=tuple(outs),
            scratch=tuple(memory),
            aliases=tuple((i + shift, o) for i, o in sorted(self.aliases.items())),
        )
        found = pallas_call_p.bind(
            *dynamic, *in_captured, *out_captured, *traced.captured, *operands,
            jaxpr=_with_ids_first(traced.body, shift, len(sizes)), grid=grid, name=self.name,
            compiler=self.compiler,
        )  # fmt: skip
        return tree.unflatten(out_tree, as_arrays(found))

    def _blocks(self, what, values, treedef, avals, sizes):
        """Return the blocks of some arrays, and what all of their index maps capture."""
        specs = getattr(self.grid_spec, what)
        if isinstance(specs, list):
            specs = tuple(specs)
        none = BlockSpec()
        if specs is no_block_spec:
            flat = [none] * len(avals)
        else:
            flat = blocks.flat_specs(what, specs, treedef, none)
        kind = "args" if what == "in_specs" else "outputs"
        paths = [kind + tree.keystr(path) for path, _ in tree.flatten_with_path(values)[0]]
        found, captured = [], []
        for path, aval, spec in zip(paths, avals, flat, strict=True):
            of_array, values = blocks.blocks_of(path, aval, spec, sizes)
            found.append(of_array)
            captured += values
        return found, captured

    def _check_aliases(self, ins, outs):
        for i, o in self.aliases.items():
            if not (type(i) is type(o) is int and 0 <= i < len(ins) and 0 <= o < len(outs)):
                wrong = f"there are {len(ins)} inputs and {len(outs)} outputs"
            elif ins[i].aval != outs[o].aval:
                given, wanted = ins[i].aval.str_short(), outs[o].aval.str_short()
                wrong = f"the input is {given}, the output {wanted}"
            else:
                continue
            raise errors.user_error(
                ValueError,
                f"pallas_call: `input_output_aliases` has {i}: {o}, but {wrong}.",
                fix="name an input and an output of one type, by their numbers.",
                anchor="kernel-specs",
            )


def _strong(x):
    """Return an operand without a weak type, which memory does not have."""
    return as_type(x, x.aval.update(weak_type=False))


def _as_arguments(out_tree):
    """Return the structures of the arguments that a kernel gets for its outputs."""
    node = out_tree.node_data()
    return out_tree.children() if node is not None and node[0] is tuple else [out_tree]


def _scratch(shapes):
    """Return the types of scratch memory, and their structure as arguments."""
    if isinstance(shapes, list):
        shapes = tuple(shapes)
    leaves, treedef = tree.flatten(shapes if isinstance(shapes, (tuple, dict)) else (shapes,))
    return [memory_aval("pallas_call", x) for x in leaves], treedef


def _with_ids_first(body, num_captured, rank):
    """Return the body, closed, with the indices of the grid before what it captures."""

    def fun(*args):
        ids, captured, rest = (
            args[:rank],
            args[rank : rank + num_captured],
            args[rank + num_captured :],
        )
        return program.inline(body, *captured, *ids, *rest)

    if not (num_captured and rank):
        return close_jaxpr(body)
    avals = body.in_avals
    order = avals[num_captured : num_captured + rank] + avals[:num_captured]
    return close_jaxpr(restage(fun, order + avals[num_captured + rank :]))
