"""Linear maps whose transposes the user gives: `linear_call` and `custom_linear_solve`.

Both bind jaxprs to operands that come in groups. The transposition of either is the same primitive
with the two directions exchanged, so any order of derivatives works.
"""

from evertrace._src import errors
from evertrace._src.control.bodies import take, without_operands
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.elementwise import add_any, neg_p
from evertrace._src.ops.structural import move_batch_dim, zeros
from evertrace._src.transforms.batching import batch_jaxpr
from evertrace._src.transforms.jvp import jvp_flat
from evertrace._src.transforms.staging import close_jaxpr, inline


def _split(items, counts):
    """Split a list into groups of some sizes, and the rest."""
    items = list(items)
    return [*[take(items, n) for n in counts], items]


def _instantiated(tangents, avals):
    return [zeros(a) if t is None else t for t, a in zip(tangents, avals, strict=True)]


def _tangents(jaxpr, primals, tangents):
    """Return the tangents of a jaxpr's outputs."""
    return jvp_flat(lambda *xs: inline(jaxpr, *xs), primals, tangents)[1]


def _any(tangents):
    return any(t is not None for t in tangents)


def _batched(jaxpr, axis, consts, others):
    """Return a jaxpr, closed, over batches of all but those consts that are not batched."""
    outs = (True,) * len(jaxpr.jaxpr.outvars)
    return close_jaxpr(batch_jaxpr(jaxpr.jaxpr, axis, (*consts, *[True] * others), outs)[0])


def _to_front(axis, args, dims, always):
    """Move batch dims to the front; operands from number `always` on get one if they lack it."""
    return [
        x if d is None and i < always else move_batch_dim(x, d, 0, axis.size)
        for i, (x, d) in enumerate(zip(args, dims, strict=True))
    ]


# ---------------------------------------------------------------- linear_call


def bind_linear_call(fun, transpose, fun_consts, transpose_consts, residuals, args):
    """Bind a linear call.

    Args:
      fun: closed jaxpr ``(fun_consts, residuals, args) -> outs``, linear in `args`.
      transpose: closed jaxpr ``(transpose_consts, residuals, cts) -> cts`` of its transpose.
      fun_consts: first inputs of `fun`.
      transpose_consts: first inputs of `transpose`.
      residuals: what both read.
      args: what `fun` is linear in.
    """
    counts = (len(fun_consts), len(transpose_consts), len(residuals))
    return linear_call_p.bind(
        *fun_consts,
        *transpose_consts,
        *residuals,
        *args,
        fun=fun,
        transpose=transpose,
        counts=counts,
    )


def _call_eager(*operands, fun, transpose, counts):
    consts, _, residuals, args = _split(operands, counts)
    return inline(fun.jaxpr, *consts, *residuals, *args)


def _call_jvp(primals, tangents, *, fun, transpose, counts):
    outs = linear_call_p.bind(*primals, fun=fun, transpose=transpose, counts=counts)
    consts, transpose_consts, residuals, args = _split(primals, counts)
    dconsts, _, dresiduals, dargs = _split(tangents, counts)
    terms = []
    if _any(dargs):
        dargs = _instantiated(dargs, [x.aval for x in args])
        terms.append(bind_linear_call(fun, transpose, consts, transpose_consts, residuals, dargs))
    if _any(dconsts + dresiduals):
        none = [None] * len(args)
        terms.append(_tangents(fun.jaxpr, consts + residuals + args, dconsts + dresiduals + none))
    return outs, [_sum(column) for column in zip(*terms, strict=True)] or [None] * len(outs)


def _sum(terms):
    present = [t for t in terms if t is not None]
    return add_any(*present) if present else None


def _call_transpose(cts, *operands, fun, transpose, counts):
    consts, transpose_consts, residuals, args = _split(operands, counts)
    cts = _instantiated(cts, fun.out_avals)
    found = bind_linear_call(transpose, fun, transpose_consts, consts, residuals, cts)
    found = [ct if is_linear(x) else None for ct, x in zip(found, args, strict=True)]
    return [None] * sum(counts) + found


def _call_batch(axis, operands, dims, *, fun, transpose, counts):
    masks = _split([d is not None for d in dims], counts)
    consts, transpose_consts, residuals, args = masks
    fun_batch = _batched(fun, axis, consts + residuals, len(args))
    transpose_batch = _batched(transpose, axis, transpose_consts + residuals, len(fun.out_avals))
    operands = _to_front(axis, operands, dims, sum(counts))
    outs = linear_call_p.bind(*operands, fun=fun_batch, transpose=transpose_batch, counts=counts)
    return outs, [0] * len(outs)


linear_call_p = Primitive(
    "linear_call",
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, fun, **_: fun.out_avals,
    effects=lambda *, fun, **_: fun.effects,
    eager=without_operands(_call_eager),
    jvp_call=_call_jvp,
    linearize=_call_jvp,
    transpose=_call_transpose,
    batch_call=_call_batch,
)


# ---------------------------------------------------------------- custom_linear_solve


def bind_linear_solve(operator_consts, solve_consts, transpose_consts, b, **jaxprs):
    """Bind the solution of a linear system.

    Args:
      operator_consts: first inputs of `matvec` and `vecmat`.
      solve_consts: first inputs of `solve`.
      transpose_consts: first inputs of `transpose_solve`.
      b: the right side.
      **jaxprs: the closed jaxprs `matvec`, `vecmat` (its transpose), `solve` and `transpose_solve`,
        of vectors like `b`; `transpose_solve` and with it `vecmat` may be None.
    """
    counts = (len(operator_consts), len(solve_consts), len(transpose_consts))
    return linear_solve_p.bind(
        *operator_consts, *solve_consts, *transpose_consts, *b, counts=counts, **jaxprs
    )


def _solve_eager(*operands, solve, counts, **_):
    _, consts, _, b = _split(operands, counts)
    return inline(solve.jaxpr, *consts, *b)


def _solve_jvp(primals, tangents, *, counts, **jaxprs):
    """Solve ``A x = b``; then ``A dx = db - dA x``."""
    outs = linear_solve_p.bind(*primals, counts=counts, **jaxprs)
    operator_consts, solve_consts, transpose_consts, b = _split(primals, counts)
    doperator, _, _, db = _split(tangents, counts)
    n, right = len(b), db
    if _any(doperator):
        change = _tangents(
            jaxprs["matvec"].jaxpr, [*operator_consts, *outs[:n]], [*doperator, *[None] * n]
        )
        right = [
            _sum([t, None if c is None else neg_p.bind(c)]) for t, c in zip(db, change, strict=True)
        ]
    if not _any(right):
        return outs, [None] * len(outs)
    right = _instantiated(right, [x.aval for x in b])
    jaxprs["solve"] = _without_aux(jaxprs["solve"], n)
    dx = bind_linear_solve(operator_consts, solve_consts, transpose_consts, right, **jaxprs)
    return outs, [*dx, *[None] * (len(outs) - n)]


def _without_aux(solve, n):
    if len(solve.out_avals) == n:
        return solve
    jaxpr = solve.jaxpr
    if "without_aux" not in jaxpr.cache:
        jaxpr.cache["without_aux"] = jaxpr.replace(outvars=jaxpr.outvars[:n])
    return close_jaxpr(jaxpr.cache["without_aux"])


def _solve_transpose(cts, *operands, counts, matvec, vecmat, solve, transpose_solve):
    if transpose_solve is None:
        raise errors.user_error(
            TypeError,
            "custom_linear_solve: reverse-mode differentiation needs the solution of the "
            "transposed system.",
            fix="pass `transpose_solve`, or `symmetric=True` if the matrix is.",
            anchor="custom-rule",
        )
    operator_consts, solve_consts, transpose_consts, b = _split(operands, counts)
    cts = _instantiated(cts[: len(b)], [x.aval for x in b])
    found = bind_linear_solve(
        operator_consts,
        transpose_consts,
        solve_consts,
        cts,
        matvec=vecmat,
        vecmat=matvec,
        solve=_without_aux(transpose_solve, len(b)),
        transpose_solve=solve,
    )
    found = [ct if is_linear(x) else None for ct, x in zip(found, b, strict=True)]
    return [None] * sum(counts) + found


def _solve_batch(axis, operands, dims, *, counts, matvec, vecmat, solve, transpose_solve):
    operator, solving, transposing, b = _split([d is not None for d in dims], counts)
    n = len(b)
    derived = {
        name: None if jaxpr is None else _batched(jaxpr, axis, consts, n)
        for name, jaxpr, consts in (
            ("matvec", matvec, operator),
            ("vecmat", vecmat, operator),
            ("solve", solve, solving),
            ("transpose_solve", transpose_solve, transposing),
        )
    }
    operands = _to_front(axis, operands, dims, sum(counts))
    outs = linear_solve_p.bind(*operands, counts=counts, **derived)
    return outs, [0] * len(outs)


linear_solve_p: Primitive = Primitive(
    "custom_linear_solve",
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, solve, **_: solve.out_avals,
    effects=lambda *, solve, **_: solve.effects,
    eager=without_operands(_solve_eager),
    jvp_call=_solve_jvp,
    linearize=_solve_jvp,
    transpose=_solve_transpose,
    batch_call=_solve_batch,
)
