"""`einsum`: sums of products, written in index notation.

opt_einsum decides in which order operands are contracted, from the shapes alone; the decision is
kept. A pair of operands is contracted by `dot_general`, with axes that are summed in one operand
only summed beforehand; of a single operand diagonals are taken, axes summed and permuted.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from evertrace._src import dims, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import DTypeLike
from evertrace._src.lax.dot import PrecisionLike
from evertrace._src.numpy import creation, indexing
from evertrace._src.numpy.arguments import no_out
from evertrace._src.numpy.products import contract, options
from evertrace._src.numpy.promotion import promote_dtypes
from evertrace._src.numpy.reductions import sum as sum_elements
from evertrace._src.ops.convert import convert
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.ops.structural import permute, squeeze


@functools.cache
def _opt_einsum():
    """Return opt_einsum, imported at the first use: that takes longer than importing NumPy's."""
    return importlib.import_module("opt_einsum")


@native.planned(by_type=False)
@lays_out
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Any = None,
    optimize: Any = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
    _dot_general: Any = None,
) -> Array:
    """Sum products of operands as index notation says.

    Args:
      subscripts: such as ``"ij,jk->ik"``: a letter per axis of each operand, and of the result.
        Letters not in the result are summed over; without ``->`` the result has those that occur
        once, sorted. ``...`` stands for any number of axes, which broadcast.
      *operands: arrays. Operands may also alternate with lists of ints in place of letters, then
        the first argument is an operand.
      out: must be None.
      optimize: how the order of contractions is chosen: "auto", "optimal", "greedy", ..., a path as
        `einsum_path` returns it, or False for left to right.
      precision: see `matmul`.
      preferred_element_type: see `matmul`.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.
      _dot_general: what multiplies two operands in place of `lax.dot_general`: libraries compute
        with fewer bits by it. It is called as that is, with the dtype of the result.

    Returns:
      Array of the dtype common to the operands, or of `preferred_element_type`.

    Raises:
      ShapeError: the subscripts do not fit the shapes, or the number of operands.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> jnp.einsum("ij,jk->ik", x, x)  # matrix product
      Array([[ 7, 10],
             [15, 22]], dtype=int32)
      >>> jnp.einsum("ii", x)  # trace
      Array(5, dtype=int32)
    """
    no_out("einsum", out)
    text, operands = _as_text(subscripts, operands)
    xs = [creation.asarray(x) for x in promote_dtypes("einsum", *operands)]
    opts = options("einsum", xs[0], xs[-1], precision, preferred_element_type, _dot_general)
    shapes = tuple(x.aval.shape for x in xs)
    path = _as_path(optimize) if isinstance(optimize, list | tuple) else optimize
    for positions, inputs, result in _contractions(text, shapes, path):
        chosen = [xs.pop(i) for i in positions]
        if len(chosen) == 1:
            xs.append(_reduce_one(chosen[0], inputs[0], result))
        else:
            (x, y), (x_names, y_names) = chosen, inputs
            xs.append(_contract_two(x, y, x_names, y_names, result, opts))
    return convert(xs[0], opts.dtype, xs[0].aval.weak_type)


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[Any], str]:
    """Return the order in which `einsum` would contract, and a description of its cost.

    Returns:
      ``(path, info)``; the path can be passed to `einsum` as `optimize`, `info` prints as the cost.

    Differs from NumPy: the path has no first element ``"einsum_path"``.

    Example:
      >>> x, y, z = jnp.ones((2, 100)), jnp.ones((100, 100)), jnp.ones((100, 3))
      >>> path, info = jnp.einsum_path("ij,jk,kl->il", x, y, z)
      >>> path
      [(0, 1), (0, 1)]
    """
    text, operands = _as_text(subscripts, operands)
    shapes = [x.shape for x in operands]
    optimize = "optimal" if optimize is True else optimize
    optimize = _from_left(len(shapes)) if optimize is False else optimize
    return _opt_einsum().contract_path(text, *shapes, shapes=True, optimize=optimize)


def _as_path(steps):
    """Return the steps of a path as a tuple of tuples; NumPy's has its name in front."""
    return tuple(tuple(step) for step in steps if not isinstance(step, str))


def _from_left(count):
    """Return the path that takes the operands one after the other."""
    return [(0, 1), *[(0, n - 1) for n in range(count - 1, 1, -1)]] if count > 1 else [(0,)]


def _as_text(subscripts, operands):
    """Return the subscripts as a string, and the operands; both forms of arguments are known."""
    if isinstance(subscripts, str):
        if not operands:
            raise errors.user_error(
                ValueError,
                "einsum: needs at least one operand.",
                fix="pass the arrays as well.",
                anchor="shape-einsum",
            )
        return subscripts.replace(" ", ""), operands
    text, arrays = _opt_einsum().parser.convert_interleaved_input((subscripts, *operands))
    return text, tuple(arrays)


@functools.lru_cache(maxsize=4096)
def _contractions(text, shapes, optimize):
    """Return the steps: (positions of the operands, their subscripts, those of the result)."""
    step = _only_step(text, shapes) if optimize in ("auto", True, False) else None
    if step is not None:
        return (step,)
    if optimize is True:
        optimize = "optimal"
    if optimize is False:
        optimize = _from_left(len(shapes))
    if isinstance(optimize, tuple):
        optimize = list(optimize)
    sizes = [tuple(map(dims.estimated, shape)) for shape in shapes]
    try:
        _, info = _opt_einsum().contract_path(text, *sizes, shapes=True, optimize=optimize)
    except ValueError as error:
        raise errors.user_error(
            errors.ShapeError,
            f"einsum: subscripts {text!r} do not fit operands of shapes {shapes}: {error}",
            fix="give one letter per axis, and the same letter only to axes of one size.",
            anchor="shape-einsum",
        ) from None
    steps = []
    for positions, _, step, *_ in info.contraction_list:
        inputs, result = step.split("->")
        steps.append((tuple(positions), tuple(inputs.split(",")), result))
    return tuple(steps)


def _only_step(text, shapes):
    """Return the step that one or two operands with plain, full subscripts take, else None.

    Most uses are like that. All others are left to opt_einsum, wrong ones included.
    """
    inputs, _, result = text.partition("->")
    names = inputs.split(",")
    letters = "".join(names)
    is_plain = "->" in text and len(names) == len(shapes) <= 2 and (letters + result).isalpha()
    if not is_plain or len(set(result)) != len(result) or not set(result) <= set(letters):
        return None
    sizes = {}
    for term, shape in zip(names, shapes, strict=True):
        if len(term) != len(shape):
            return None
        if any(sizes.setdefault(n, size) != size for n, size in zip(term, shape, strict=True)):
            return None
    return tuple(range(len(names)))[::-1], tuple(names[::-1]), result


def _reduce_one(x, names, result):
    """Take diagonals of repeated axes, sum over those not in the result, and order the rest."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first, second = names.index(name), names.rindex(name)
            x = indexing.diagonal(x, 0, first, second)
            names = names[:second] + names[second + 1 :]
            names = names[:first] + names[first + 1 :] + name
    x, names = _sum_over(x, names, [n for n in names if n not in result])
    return permute(x, tuple(map(names.index, result)))


def _sum_over(x, names, gone):
    if not gone:
        return x, names
    axes = tuple(map(names.index, gone))
    out = sum_elements(x, axes, promote_integers=False, dtype=x.aval.dtype)
    return out, "".join(n for n in names if n not in gone)


def _contract_two(x, y, x_names, y_names, result, opts):
    """Contract two operands; `result` names the axes of the outcome."""
    x, x_names = _prepare(x, x_names, y_names + result)
    y, y_names = _prepare(y, y_names, x_names + result)
    x, x_names, y, y_names = _drop_singletons(x, x_names, y, y_names)
    shared = [n for n in x_names if n in y_names]
    batch = [n for n in shared if n in result]
    summed = [n for n in shared if n not in result]
    free_x = [n for n in x_names if n not in shared]
    free_y = [n for n in y_names if n not in shared]
    is_turned = [*batch, *free_y, *free_x] == list(result)
    is_whole = [*batch, *free_x, *free_y] == list(result)
    if is_turned or (not is_whole and result[-1:] in free_x):
        # The other way round needs no transposition, or one that leaves the last axis where it is.
        x, x_names, free_x, y, y_names, free_y = y, y_names, free_y, x, x_names, free_x
    over, along = [
        (tuple(map(x_names.index, names)), tuple(map(y_names.index, names)))
        for names in (summed, batch)
    ]
    made = [*batch, *free_x, *free_y]
    return permute(contract(x, y, over, along, opts), tuple(map(made.index, result)))


def _prepare(x, names, needed):
    """Take diagonals, and sum over axes that occur in this operand alone."""
    kept = "".join(n for n in dict.fromkeys(names) if n in needed)
    return (x, names) if kept == names else (_reduce_one(x, names, kept), kept)


def _drop_singletons(x, x_names, y, y_names):
    """Drop axes of size 1 that the other operand has with another size."""
    x_sizes = dict(zip(x_names, x.aval.shape, strict=True))
    y_sizes = dict(zip(y_names, y.aval.shape, strict=True))

    def drop(v, names, mine, other):
        gone = [n for n in names if mine[n] == 1 and other.get(n, 1) != 1]
        kept = "".join(n for n in names if n not in gone)
        return squeeze(v, tuple(map(names.index, gone))), kept

    return (*drop(x, x_names, x_sizes, y_sizes), *drop(y, y_names, y_sizes, x_sizes))
