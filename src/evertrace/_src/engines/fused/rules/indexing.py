"""Elements at places that numbers say: gathers, slices that begin somewhere, and padding.

A place that is one number is a counter to all that is read there, as that of a loop. Where each
lane of a vector has a place of its own, what is read has to be in memory.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused.halves import HALVES
from evertrace._src.engines.fused.index import ZERO, Index
from evertrace._src.engines.fused.memory import NotFusible
from evertrace._src.engines.fused.rules import Rule, fusion
from evertrace._src.engines.fused.rules.structural import one_by_one
from evertrace._src.engines.fused.writer import SIZES, TYPES
from evertrace._src.ops import indexing as ops
from evertrace._src.ops.dimension_numbers import GatherScatterMode
from evertrace._src.ops.dynamic import dynamic_slice_p
from evertrace._src.ops.indexing import scatter_sizes
from evertrace._src.ops.indexing_host import default_fill
from evertrace._src.ops.slicing import pad_p

MOST_COPIED = 4
"""Elements of an array for each of the updates that a kernel puts into it."""


def wide(k, x, dtype):
    """Return an index as a number of at least 32 bits."""
    return k.cast("sext" if dtype.kind == "i" else "zext", x, "i32") if SIZES[x.type] < 4 else x


def within(k, x, dtype, most):
    """Return an index, but at least 0 and at most a number."""
    if dtype.kind == "i":
        x = k.call("smax", x, k.constant(0, x.type))
        return k.call("smin", x, k.constant(most, x.type))
    return k.call("umin", x, k.constant(most, x.type))


def is_counted(x):
    """Whether places in an array are numbers of 32 bits."""
    return x.aval.size < 2**31


def _sum(x, y):
    return Index(x.first + y.first, x.terms + y.terms)


def _dynamic_slice(k, eqn, index):
    x, *starts = eqn.invars
    found = []
    for d, (start, size) in enumerate(zip(starts, eqn.params["slice_sizes"], strict=True)):
        most, dtype = x.aval.shape[d] - size, start.aval.dtype
        place = ZERO
        if most:
            number = within(k, wide(k, k.at(start, ()), dtype), dtype, most)
            if number.lanes > 1:
                raise NotFusible("elements of a loop's turns are at different places")
            place = k.chosen((eqn.outvars[0], d), number)
        found.append(_sum(index[d], place))
    return k.at(x, tuple(found))


def _gather(k, eqn, index):
    """Return what is at the nearest place within the array; if asked to, something else outside."""
    x = eqn.invars[0]
    p, dnums = eqn.params, eqn.params["dimension_numbers"]
    batch, places = _batch_and_places(x.aval.ndim, dnums, index)
    starts, inside = _starts(k, eqn, batch, p["slice_sizes"])
    value = _at(k, eqn, (index, places), starts)
    if p["mode"] is not GatherScatterMode.FILL_OR_DROP:
        return value
    fill = default_fill(x.aval.dtype) if p["fill_value"] is None else p["fill_value"]
    return k.choose(inside, value, k.constant(fill, value.type))


def _batch_and_places(rank, dnums, index):
    """Return where windows are among all, and places of elements in them by dimensions."""
    window, dropped, _, operand_batch, indices_batch = dnums
    batch = [place for d, place in enumerate(index) if d not in window]
    inner = iter([index[d] for d in window])
    without = {*dropped, *operand_batch}
    places = [ZERO if d in without else next(inner) for d in range(rank)]
    for d, b in zip(operand_batch, indices_batch, strict=True):
        places[d] = batch[b]
    return batch, places


def _starts(k, eqn, batch, sizes):
    """Return where a window begins, by dimensions, and whether it lies within the array."""
    x, indices = eqn.invars[:2]
    starts, inside = {}, k.constant(True, "i1")
    for n, d in enumerate(eqn.params["dimension_numbers"][2]):
        most, dtype = x.aval.shape[d] - sizes[d], indices.aval.dtype
        number = wide(k, k.at(indices, (*batch, Index(n))), dtype)
        is_inside = k.compare("ule", number, k.constant(most, number.type))
        inside = is_inside if inside.is_known else k.binary("and", inside, is_inside)
        if most:
            starts[d] = within(k, number, dtype, most)
    return starts, inside


def _at(k, eqn, where, starts):
    """Return elements of windows that begin at numbers."""
    index, places = where
    x = k.stored(eqn.invars[0])
    if all(number.lanes == 1 for number in starts.values()):
        for d, number in starts.items():
            places[d] = _sum(places[d], k.chosen((eqn.outvars[0], d, index), number))
        return k.at(x, tuple(places))
    return k.looked_up(x, _offset(k, x, places, starts))


def _offset(k, x, places, starts):
    """Return the number of an element of an array."""
    offset, step = k.constant(0, "i32"), x.aval.size
    for d, n in enumerate(x.aval.shape):
        step //= n
        place = k.number(places[d], "i32")
        if d in starts:
            start = starts[d]
            place = k.binary("add", k.cast("trunc", start, "i32"), place)
        offset = k.binary("add", offset, k.binary("mul", place, k.constant(step, "i32")))
    return offset


def _is_signed_word(dtype):
    """Whether indices of a dtype are numbers of 64 bits with a sign."""
    return dtype.kind in "iu" and dtype.name in TYPES and dtype != np.uint64


def _takes_gather(eqn):
    x, indices = eqn.invars
    return (
        is_counted(x)
        and _is_signed_word(indices.aval.dtype)
        and math.prod(eqn.params["slice_sizes"]) > 0
    )


class _Frame(NamedTuple):
    """Where an array lies in the result of an equation, which is something else around it.

    Attributes:
      lows: where it begins, by dimensions.
      shape: its own.
      whole: that of the result.
    """

    lows: tuple
    shape: tuple
    whole: tuple

    def places(self, k, index):
        """Return places as they are in the array, and which of them are known to be within.

        These are 1 if the place is within, 0 and 2 if it is before and after, or None. The last
        dimension is asked first: most is gained if its loop is cut.
        """
        found = [place.moved(-low) for place, low in zip(index, self.lows, strict=True)]
        known = []
        for place, low, n, size in list(zip(found, self.lows, self.shape, self.whole, strict=True))[
            ::-1
        ]:
            covers = low <= 0 and low + n >= size
            known.append(1 if covers else k.piece(place, (0, n)))
        return found, known[::-1]

    def is_known(self, k, index):
        """Whether all of a vector is within the array or all of it is not."""
        known = self.places(k, index)[1]
        return None not in known or any(piece in (0, 2) for piece in known)

    def inner(self, k, eqn, index):
        """Return the nearest places within the array, and the elements that are at places.

        Returns:
          The places, whether they are those that were asked for, and a function of the elements
          that are there, which moves them to where they belong; or None if nothing is within.
        """
        found, known = self.places(k, index)
        if any(piece in (0, 2) for piece in known):
            return None
        inside, turn = k.constant(True, "i1"), None
        for d, (place, n) in enumerate(zip(found, self.shape, strict=True)):
            if known[d] == 1:
                continue
            number = k.number(place, "i32")
            is_inside = k.compare("ult", number, k.constant(n, "i32"))
            inside = is_inside if inside.is_known else k.binary("and", inside, is_inside)
            key = (eqn.outvars[0], d, index)
            if place.lanes > 1:
                turn, found[d] = _nearest_vector(k, eqn, key, place, n)
            else:
                within_it = within(k, number, np.dtype(np.int32), n - 1)
                found[d] = k.chosen(key, within_it) if place.terms else _nearest(place.first, n)

        def moved(value):
            return value if turn is None or value.lanes == 1 else k.turned_by(value, turn)

        return found, inside, moved


def _padded(eqn):
    lows = tuple([low for low, _, _ in eqn.params["padding_config"]])
    return _Frame(lows, eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape)


def _pad(k, eqn, index):
    """Return what is at the place within the array; outside, the padding."""
    x, padding = eqn.invars
    inner = _padded(eqn).inner(k, eqn, index)
    if inner is None:
        return k.at(padding, ())
    found, inside, moved = inner
    value = moved(k.at(x, tuple(found)))
    return value if inside.is_known else k.choose(inside, value, k.at(padding, ()))


def _nearest(place, n):
    return Index(min(max(place, 0), n - 1))


def _nearest_vector(k, eqn, key, place, n):
    """Return places side by side within a dimension, and how much further on others are."""
    (counter, step) = next(term for term in place.terms if term[0].lanes > 1)
    lanes = counter.lanes
    if step != 1 or n < lanes or lanes & (lanes - 1):
        raise NotFusible("what is padded is read otherwise", eqn.outvars[0])
    first = k.lane(k.number(place, "i32"), 0)
    start = within(k, first, np.dtype(np.int32), n - lanes)
    return k.binary("sub", first, start), k.chosen(key, start, lanes)


def _put(k, eqn, index, scope):
    """Join an update, or a vector of them, with what is where it is to be."""
    x, _, updates = eqn.invars
    dnums = eqn.params["dimension_numbers"]
    batch, places = _batch_and_places(x.aval.ndim, dnums, index)
    starts, inside = _starts(k, eqn, batch, scatter_sizes(x.aval, updates.aval, dnums))
    lanes = max([place.lanes for place in index], default=1)
    offset = k.spread(_offset(k, x, places, starts), lanes)
    value = k.spread(k.at(updates, index), lanes)
    join, neutral = _JOINS[eqn.primitive]
    drops = eqn.params["mode"] is not GatherScatterMode.CLIP and not inside.is_known
    if drops and neutral is not None:
        value, drops = k.choose(inside, value, k.constant(neutral, value.type)), False
    if lanes > 1 and inside.lanes == 1 and _is_beside(places):
        pieces = [(k.lane(offset, 0), value, inside)]
    else:
        pieces = [(k.lane(offset, i), k.lane(value, i), k.lane(inside, i)) for i in range(lanes)]
    for first, update, is_inside in pieces:

        def joined(old, new, is_inside=is_inside):
            made = join(k, old, new)
            return k.choose(is_inside, made, old) if drops else made

        k.joined_at(k.result(0), first, update, joined, scope)


def _window(eqn):
    """Return where the only window that is updated lies, if that is known; else None."""
    x, indices, updates = [v.aval for v in eqn.invars]
    if type(eqn.invars[1]) is not Literal:
        return None
    dnums = eqn.params["dimension_numbers"]
    sizes, lows = scatter_sizes(x, updates, dnums), [0] * x.ndim
    for d, low in zip(dnums[2], eqn.invars[1].val.ravel(), strict=True):
        lows[d] = int(low)
    is_within = all(0 <= low <= n - size for low, n, size in zip(lows, x.shape, sizes, strict=True))
    is_one = math.prod(sizes) == updates.size and indices.size == len(dnums[2])
    return _Frame(tuple(lows), tuple(sizes), x.shape) if is_within and is_one else None


def _updated(k, eqn, index):
    """Return what is at a place after a window was updated."""
    x, _, updates = eqn.invars
    window: Any = _window(eqn)
    if window is None:
        raise NotFusible("it is stored", eqn.outvars[0])
    inner = window.inner(k, eqn, index)
    if inner is None:
        return k.at(x, index)
    found, inside, moved = inner
    dnums = eqn.params["dimension_numbers"]
    dropped = {*dnums[1], *dnums[3]}
    at, rest = [ZERO] * updates.aval.ndim, iter([d for d in range(x.aval.ndim) if d not in dropped])
    for d in dnums[0]:
        at[d] = found[next(rest)]
    value, join = moved(k.at(updates, tuple(at))), _JOINS[eqn.primitive][0]
    if inside.is_known and eqn.primitive is ops.scatter_p:
        return value
    old = k.at(x, index)
    value = join(k, old, value)
    return value if inside.is_known else k.choose(inside, value, old)


def _is_in_window(k, eqn, index):
    window = _window(eqn)
    return window is not None and window.is_known(k, index)


def _is_beside(places):
    """Whether the lanes of places lie side by side in memory."""
    found = [(c, step) for c, step in places[-1].terms if c.lanes > 1]
    return [step for _, step in found] == [1] and all(p.lanes == 1 for p in places[:-1])


def _joined_by(of_floats, of_integers):
    def join(k, old, new):
        return k.binary(of_floats if old.type in ("float", "double") else of_integers, old, new)

    return join


_JOINS = {
    ops.scatter_add_p: (_joined_by("fadd", "add"), -0.0),
    ops.scatter_sub_p: (_joined_by("fsub", "sub"), 0.0),
    ops.scatter_mul_p: (_joined_by("fmul", "mul"), 1.0),
    ops.scatter_p: (lambda k, old, new: new, None),
}
"""What joins an element with its update, and with what it stays what it is, if there is that."""


def _takes_scatter(eqn):
    """Whether updates are many: what puts a few in their place a tape does without a copy."""
    x, indices, updates = eqn.invars
    is_own = eqn.primitive is ops.scatter_p and eqn.params["update_jaxpr"] is not None
    return (
        x.aval.dtype.kind in "fiu"
        and (x.aval.dtype.name not in HALVES or _window(eqn) is not None)
        and x.aval.ndim > 0
        and type(x) is not Literal
        and is_counted(x)
        and is_counted(updates)
        and x.aval.size <= MOST_COPIED * updates.aval.size
        and _is_signed_word(indices.aval.dtype)
        and not is_own
    )


def _over(eqn):
    """Return the shape of updates that are put in their place one by one."""
    return None if _window(eqn) is not None else eqn.invars[2].aval.shape


def _takes_pad(eqn):
    x, out = eqn.invars[0].aval, eqn.outvars[0].aval
    is_long = x.size and out.size < 2**30
    return is_long and not any(interior for _, _, interior in eqn.params["padding_config"])


fusion.rules[pad_p] = Rule(
    one_by_one(_pad, lambda k, eqn, index: _padded(eqn).is_known(k, index)),
    _takes_pad,
    is_exact=True,
)

for _prim in _JOINS:
    fusion.rules[_prim] = Rule(
        one_by_one(_updated, _is_in_window), _takes_scatter, put=_put, over=_over
    )

fusion.rules[dynamic_slice_p] = Rule(
    _dynamic_slice,
    lambda eqn: all(_is_signed_word(x.aval.dtype) for x in eqn.invars[1:]),
    operations=0,
)
fusion.rules[ops.gather_p] = Rule(_gather, _takes_gather, is_exact=True)
