"""Elementwise operations: a loop each, of the primitive's own name."""

import numpy as np

from evertrace._src import dtypes
from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import CODES, COPY, NotNative, emission, item_size, kind_of
from evertrace._src.ops import bits, compare, convert, select, special
from evertrace._src.ops import elementwise as ops


def direct(prim, param=None):
    """Register an operation that is one loop; `param` makes its number from the params."""
    name = prim.name

    def rule(e, eqn, xs):
        out = kind_of(eqn.outvars[0].aval)
        return e.loop(name, xs, out, 0 if param is None else param(eqn.params))

    emission.define(prim)(rule)


for _module in (ops, bits, compare, special):
    for _name, _prim in list(vars(_module).items()):
        if _name.endswith("_p") and getattr(_prim, "elementwise", False):
            direct(_prim)

direct(ops.round_p, lambda params: int(params["rounding_method"]))


@emission.define(ops.pow_p)
def _pow(e, eqn, xs):
    out, exponent = kind_of(eqn.outvars[0].aval), eqn.invars[1]
    if type(exponent) is Literal and out[0] in _ROOTED and abs(exponent.val) in (0.5, 1.5):
        return _power_of_halves(e, xs[0], exponent.val, out)
    return e.loop("pow", (xs[0], e.convert(xs[1], out[0])), out)


_ROOTED = (CODES["float32"], CODES["float64"])


def _power_of_halves(e, x, y, out):
    """Take the power of 0.5, 1.5 or what these are below 0, by a root; of -0.0 it is that of 0."""
    positive = e.loop("add", (x, e.scalar(0, out[0])), out)
    value = e.loop("sqrt", (positive,), out)
    if y < 0:
        value = e.loop("div", (e.scalar(1, out[0]), value), out)
    if abs(y) > 1:
        value = e.loop("mul" if y > 0 else "div", (value, positive), out)
    is_lowest = e.loop("eq", (x, e.scalar(-np.inf, out[0])), (CODES["bool"], out[1]))
    of_lowest = e.scalar(np.inf if y > 0 else 0, out[0])
    return e.loop("select_n", (is_lowest, value, of_lowest), out)


@emission.define(ops.integer_pow_p)
def _integer_pow(e, eqn, xs):
    """Raise complex numbers, and to what is no int of C, by products as the other engines do."""
    out, y = kind_of(eqn.outvars[0].aval), eqn.params["y"]
    if (eqn.invars[0].aval.dtype.kind != "c" and abs(y) < 2**63) or y == 0:
        return e.loop("integer_pow", xs, out, y)
    power = ops.repeated_product(xs[0], abs(y), lambda a, b: e.loop("mul", (a, b), out))
    return power if y > 0 else e.loop("div", (e.scalar(1, out[0]), power), out)


def _totally_ordered(prim, name):
    """Compare floats as integers of their order, other numbers as they are."""

    def rule(e, eqn, xs):
        out, dtype = kind_of(eqn.outvars[0].aval), eqn.invars[0].aval.dtype
        if dtypes.issubdtype(dtype, np.floating):
            xs = tuple([_ordinals(e, x, dtype.itemsize) for x in xs])
        return e.loop(name, xs, out)

    emission.define(prim)(rule)


def _ordinals(e, x, item):
    size, code = e.values[x][1], CODES[f"int{8 * item}"]
    bits = e.alias(x, (code, size))
    flipped = e.loop("xor", (bits, e.scalar(2 ** (8 * item - 1) - 1, code)), (code, size))
    is_negative = e.loop("lt", (bits, e.scalar(0, code)), (CODES["bool"], size))
    return e.loop("select_n", (is_negative, bits, flipped), (code, size))


_totally_ordered(compare.eq_to_p, "eq")
_totally_ordered(compare.le_to_p, "le")
_totally_ordered(compare.lt_to_p, "lt")


@emission.define(convert.convert_element_type_p)
def _convert(e, eqn, xs):
    return e.convert(xs[0], kind_of(eqn.outvars[0].aval)[0])


@emission.define(convert.copy_p, convert.stop_gradient_p)
def _same(e, eqn, xs):
    return xs[0]


@emission.define(convert.bitcast_convert_type_p)
def _bitcast(e, eqn, xs):
    old, new = eqn.invars[0].aval, eqn.outvars[0].aval
    if old.dtype.itemsize != new.dtype.itemsize:
        raise NotNative("bits are regrouped into numbers of another size")
    return e.alias(xs[0], kind_of(new))


@emission.define(select.select_n_p)
def _select_n(e, eqn, xs):
    """Choose among more than two by a loop per case, as the host does."""
    which, *cases = xs
    out = kind_of(eqn.outvars[0].aval)
    if len(cases) == 1:
        return cases[0]
    (code, size) = e.values[which]
    if size not in (1, out[1]):  # the words of a random key are chosen together
        which, size = _repeated(e, which, out[1] // size), out[1]
    if code == 0:
        return e.loop("select_n", (which, *cases), out)
    chosen = cases[-1]
    for k in reversed(range(len(cases) - 1)):
        is_low = e.loop("le", (which, e.scalar(k, code)), (0, size))
        chosen = e.loop("select_n", (is_low, chosen, cases[k]), out)
    return chosen


def _repeated(e, x, times):
    """Return a value of which each element comes so many times, one after the other."""
    code, size = e.values[x]
    made = e.new((code, size * times))
    numbers = tuple(n for place in range(times) for n in (1, 0, place, size, 1, times))
    e.add(COPY, (made,), (x,) * times, "", numbers)
    e.spend(*costs.copy_costs(size * times * item_size(code)))
    return made
