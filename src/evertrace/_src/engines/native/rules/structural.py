"""Operations that move elements: nothing where only the shape changes, else views and copies."""

from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import (
    COLUMN,
    COPY,
    LARGEST_CONSTANT,
    ROW,
    SCALAR,
    NotNative,
    emission,
    item_size,
    kind_of,
)
from evertrace._src.engines.native.sizes import Deferred, Size, for_sizes
from evertrace._src.ops import creation, slicing
from evertrace._src.ops import structural as ops
from evertrace._src.ops.sharding_constraint import sharding_constraint_p


def dense(shape):
    """Return the strides of a dense array, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


def view(shape, in_strides, out_strides, in_offset=0, out_offset=0):
    """Return the numbers of one operand of a copy, in as few dimensions as will do."""
    dims = []
    for size, a, b in zip(shape, in_strides, out_strides, strict=True):
        if size == 1:
            continue
        if dims and dims[-1][1] == a * size and dims[-1][2] == b * size:
            dims[-1] = (dims[-1][0] * size, a, b)
        else:
            dims.append((size, a, b))
    columns = [d[i] for i in range(3) for d in dims]
    return (len(dims), in_offset, out_offset, *columns)


def is_whole(numbers, size):
    """Whether such a copy is of all elements of a value in their order."""
    return numbers in ((1, 0, 0, size, 1, 1), (0, 0, 0))


def gathered(e, x, out, numbers):
    """Copy a view into a value of kind `out`, unless it is the value itself or a part of it."""
    if numbers[0] == 0 or (numbers[0] == 1 and numbers[4] == numbers[5] == 1):
        return e.alias(x, out, numbers[1]) if out[1] else e.empty(out)
    return e.copy(x, out, numbers)


def laid_out(e, x, dims):
    """Copy what (size, stride) of each dimension say of a value into a dense one."""
    sizes = [size for size, _ in dims]
    numbers = view(sizes, [step for _, step in dims], dense(sizes))
    return gathered(e, x, (e.values[x][0], _product(sizes)), numbers)


# ---------------------------------------------------------------- broadcasts


@for_sizes
def broadcast_pattern(shape, out_shape, dims):
    """Return the pattern of a broadcast, None for none at all, or the numbers of a copy."""
    strides = dense(shape)
    source = [0] * len(out_shape)
    for size, stride, dim in zip(shape, strides, dims, strict=True):
        if size != 1:
            source[dim] = stride
    numbers = view(out_shape, source, dense(out_shape))
    rank, _, _, *rest = numbers
    steps = rest[rank : 2 * rank]
    if all(s == 0 for s in steps):
        return SCALAR if rank else None
    if rank == 1 and steps[0] == 1:
        return None
    if rank == 2 and steps == [0, 1]:
        return ROW
    return COLUMN if rank == 2 and steps == [1, 0] else numbers


@emission.define(ops.broadcast_in_dim_p)
def _broadcast_in_dim(e, eqn, xs):
    out = kind_of(eqn.outvars[0].aval)
    if not out[1]:
        return e.empty(out)
    shape, dims = tuple(eqn.params["shape"]), tuple(eqn.params["broadcast_dimensions"])
    pattern = broadcast_pattern(eqn.invars[0].aval.shape, shape, dims)
    if pattern is None:
        return xs[0]
    return e.copy(xs[0], out, pattern) if type(pattern) is tuple else e.spread(xs[0], out, pattern)


# ---------------------------------------------------------------- order and shape


@for_sizes
def transposition(shape, permutation):
    """Return the numbers of a transposition."""
    strides = dense(shape)
    out = [shape[p] for p in permutation]
    return view(out, [strides[p] for p in permutation], dense(out))


def permuted(e, x, shape, permutation):
    """Transpose a value."""
    return gathered(e, x, e.values[x], transposition(tuple(shape), tuple(permutation)))


@emission.define(ops.transpose_p)
def _transpose(e, eqn, xs):
    kind_of(eqn.outvars[0].aval)
    return permuted(e, xs[0], eqn.invars[0].aval.shape, eqn.params["permutation"])


@emission.define(ops.reshape_p)
def _reshape(e, eqn, xs):
    dimensions = eqn.params["dimensions"]
    kind_of(eqn.outvars[0].aval)
    return xs[0] if dimensions is None else permuted(e, xs[0], eqn.invars[0].aval.shape, dimensions)


@emission.define(ops.squeeze_p, sharding_constraint_p)
def _same(e, eqn, xs):
    return xs[0]


@emission.define(ops.rev_p)
def _rev(e, eqn, xs):
    shape = eqn.invars[0].aval.shape
    kind_of(eqn.outvars[0].aval)
    strides, turned, first = dense(shape), dense(shape), 0
    for d in eqn.params["dimensions"]:
        turned[d] = -strides[d]
        first += max(0, shape[d] - 1) * strides[d]
    return gathered(e, xs[0], e.values[xs[0]], view(shape, turned, strides, first))


# ---------------------------------------------------------------- slices


def sliced(e, x, shape, starts, sizes, steps=None):
    """Return a slice of a value."""
    strides = dense(shape)
    first = sum(a * s for a, s in zip(starts, strides, strict=True))
    if steps is not None:
        strides = [a * s for a, s in zip(steps, strides, strict=True)]
    out = (e.values[x][0], _product(sizes))
    if not out[1]:
        return e.empty(out)
    return gathered(e, x, out, view(sizes, strides, dense(sizes), first))


def _product(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


@emission.define(slicing.slice_p)
def _slice(e, eqn, xs):
    params = eqn.params
    kind_of(eqn.outvars[0].aval)
    return sliced(
        e,
        xs[0],
        eqn.invars[0].aval.shape,
        params["start_indices"],
        eqn.outvars[0].aval.shape,
        params["strides"],
    )


def _parts(e, eqn, xs, axis, sizes):
    kind_of(eqn.invars[0].aval)
    shape, start, outs = eqn.invars[0].aval.shape, 0, []
    for size in sizes:
        starts = [start if d == axis else 0 for d in range(len(shape))]
        taken = [size if d == axis else n for d, n in enumerate(shape)]
        outs.append(sliced(e, xs[0], shape, starts, taken))
        start += size
    return outs


@emission.define(slicing.split_p)
def _split(e, eqn, xs):
    return _parts(e, eqn, xs, eqn.params["axis"], eqn.params["sizes"])


@emission.define(slicing.unstack_p)
def _unstack(e, eqn, xs):
    return _parts(e, eqn, xs, eqn.params["axis"], [1] * len(eqn.outvars))


# ---------------------------------------------------------------- joining


def joined(e, xs, kind, numbers, filling=()):
    """Copy views of several values into one."""
    made = e.new(kind)
    e.add(COPY, (made,), (*xs, *filling), "", tuple(n for part in numbers for n in part))
    e.spend(*costs.copy_costs(kind[1] * item_size(kind[0])))
    return made


@emission.define(slicing.concatenate_p)
def _concatenate(e, eqn, xs):
    axis, out = eqn.params["dimension"], eqn.outvars[0].aval
    return _concatenated(e, xs, [v.aval.shape for v in eqn.invars], axis, out)


def _concatenated(e, xs, shapes, axis, out):
    strides, start, parts = dense(out.shape), 0, []
    for shape in shapes:
        parts.append(view(shape, dense(shape), strides, 0, start * strides[axis]))
        start += shape[axis]
    return joined(e, xs, kind_of(out), parts)


@emission.define(slicing.stack_p)
def _stack(e, eqn, xs):
    axis, out = eqn.params["axis"], eqn.outvars[0].aval
    shape = [1 if d == axis else n for d, n in enumerate(out.shape)]
    return _concatenated(e, xs, [shape] * len(xs), axis, out)


@emission.define(slicing.tile_p)
def _tile(e, eqn, xs):
    shape, reps = eqn.invars[0].aval.shape, eqn.params["reps"]
    sizes = [n for pair in zip(reps, shape, strict=True) for n in pair]
    steps = [n for s in dense(shape) for n in (0, s)]
    out = kind_of(eqn.outvars[0].aval)
    if not out[1]:
        return e.empty(out)
    numbers = view(sizes, steps, dense(sizes))
    return xs[0] if is_whole(numbers, out[1]) else e.copy(xs[0], out, numbers)


def padded(e, x, shape, config, filling):
    """Pad with a scalar by (low, high, interior) per dimension; returns the value and its shape."""
    if not any(map(any, config)):
        return x, shape
    totals = [
        low + high + ((size - 1) * (interior + 1) + 1 if size else 0)
        for size, (low, high, interior) in zip(shape, config, strict=True)
    ]
    taken, in_steps, out_steps, first, place = [], [], [], 0, 0
    for size, total, step, out_step, (low, _, interior) in zip(
        shape, totals, dense(shape), dense(totals), config, strict=True
    ):
        apart = interior + 1
        begin = max(0, -(low // apart))  # the first and the last element that remain
        end = min(size - 1, (total - 1 - low) // apart)
        taken.append(max(0, end - begin + 1))
        in_steps.append(step)
        out_steps.append(apart * out_step)
        first += begin * step
        place += (low + begin * apart) * out_step
    if 0 in taken:
        taken, first, place = [0] * len(taken), 0, 0
    numbers = view(taken, in_steps, out_steps, first, place)
    return joined(e, (x,), (e.values[x][0], _product(totals)), [numbers], (filling,)), totals


@emission.define(slicing.pad_p)
def _pad(e, eqn, xs):
    kind_of(eqn.outvars[0].aval)
    return padded(e, xs[0], eqn.invars[0].aval.shape, eqn.params["padding_config"], xs[1])[0]


# ---------------------------------------------------------------- arrays from nothing


def _counted(names, args):
    return creation.iota_p.host(**dict(zip(names, args, strict=True))).tobytes()


@emission.define(creation.iota_p)
def _iota(e, eqn, xs):
    out = kind_of(eqn.outvars[0].aval)
    if out[1] > LARGEST_CONSTANT:
        raise NotNative("it counts up to a large number")
    if type(out[1]) is Size:
        names, args = tuple(eqn.params), tuple(eqn.params.values())
        return e.deferred(out, Deferred(_counted, (names, args)))
    return e.constant(creation.iota_p.host(**eqn.params))


@emission.define(creation.constant_p)
def _constant(e, eqn, xs):
    return e.constant(eqn.params["value"]._contents())
