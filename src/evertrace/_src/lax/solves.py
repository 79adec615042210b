"""Solutions of equations with the derivatives of the equations: custom_root, custom_linear_solve.

How a solution was found does not matter to its derivative: that follows from the equation it
satisfies, by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control import custom
from evertrace._src.control.bodies import (
    as_arrays,
    same_type,
    stage_body,
    structure_difference,
    type_text,
)
from evertrace._src.control.custom_jvp import custom_jvp_call_p
from evertrace._src.control.lifted import unchanging
from evertrace._src.control.linear import bind_linear_solve
from evertrace._src.jit.observe import stateful
from evertrace._src.ops.elementwise import neg_p
from evertrace._src.ops.structural import zeros
from evertrace._src.transforms.jvp import jvp_flat
from evertrace._src.transforms.staging import close_jaxpr, inline
from evertrace._src.transforms.transpose import transpose_jaxpr


class _Vector:
    """The trees that an equation is about: their structure and types.

    Args:
      where: name of the function, for errors.
      value: one of them; like: what people call it.
    """

    def __init__(self, where, value, like=""):
        self.where, self.like = where, like
        leaves, self.tree = tree.flatten(value)
        self.values = [as_operand(x, where) for x in leaves]
        self.avals = [x.aval for x in self.values]

    def __len__(self):
        return len(self.avals)

    def stage(self, fun, label, has_aux=False):
        """Stage a function of a vector that returns one, and `aux` after it if it has that."""
        body = stage_body(
            unchanging(self.where, fun),
            tree.treedef_tuple([self.tree]),
            self.avals,
            where=self.where,
        )
        out_tree, out_avals = body.out_tree, body.jaxpr.out_avals
        if has_aux:
            data, children = out_tree.node_data(), out_tree.children()
            if data is None or data[0] is not tuple or len(children) != 2:
                raise errors.user_error(
                    ValueError,
                    f"{self.where}: with `has_aux`, {label} must return a pair (x, aux), got "
                    f"{out_tree}.",
                    fix="return a pair, or leave `has_aux` out.",
                    anchor="custom-output",
                )
            out_tree = children[0]
        self.check(f"the result of {label}", out_tree, out_avals)
        return body

    def check(self, label, found, avals):
        """Raise unless something is a vector, given its structure and types."""
        if found != self.tree:
            place, a, b = structure_difference(self.tree, found)
            raise errors.user_error(
                TypeError,
                f"{self.where}: {label} must be a vector like {self.like}; {place} that has {a}, "
                f"this {b}.",
                fix="use the same containers, with the same keys, in all functions.",
                anchor="custom-output",
            )
        for a, b in zip(self.avals, avals, strict=False):
            if not same_type(a, b):
                raise errors.user_error(
                    ValueError,
                    f"{self.where}: {label} must be a vector like {self.like}; that is "
                    f"{type_text(a)}, this {type_text(b)}.",
                    fix="convert or reshape it.",
                    anchor="custom-output",
                )

    def function(self, label, jaxpr, consts):
        """Return the function of trees that a jaxpr computes."""

        def fun(x):
            vector = _Vector(self.where, x)
            self.check(f"the argument of {label}", vector.tree, vector.avals)
            return tree.unflatten(self.tree, as_arrays(inline(jaxpr, *consts, *vector.values)))

        return fun


# ---------------------------------------------------------------- custom_linear_solve


@stateful
def custom_linear_solve(
    matvec: Callable[..., Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve ``matvec(x) = b`` by a function, with the derivatives of the equation.

    Derivatives do not look into `solve`: the tangent of x solves the same system with another right
    side, its cotangent the transposed system. Both modes and all orders work, under `vmap` too.

    Args:
      matvec: linear function of a tree of arrays that returns a tree of the same structure, shapes
        and dtypes. What it closes over may be differentiated.
      b: the right side, a tree of arrays.
      solve: function ``(matvec, b) -> x``.
      transpose_solve: function ``(vecmat, b) -> x`` that solves the transposed system; `vecmat` is
        the transpose of `matvec`. Needed for reverse mode, unless `symmetric`.
      symmetric: whether `matvec` is its own transpose; then `solve` serves for both.
      has_aux: whether the functions return ``(x, aux)``; `aux` has no derivative.

    Returns:
      ``x``, or ``(x, aux)``.

    Raises:
      TypeError: a function returns another structure than it takes; or in reverse mode, if there is
        no way to solve the transposed system.
      ValueError: a function returns other shapes or dtypes than it takes.

    Source: the implicit function theorem; A. Griewank and A. Walther, "Evaluating Derivatives",
    2nd ed., SIAM 2008, section 15.

    Example:
      >>> a = jnp.array([[3.0, 1.0], [1.0, 2.0]])
      >>> def f(b):
      ...     solve = lambda matvec, b: jnp.linalg.solve(a, b)
      ...     return lax.custom_linear_solve(lambda x: a @ x, b, solve, symmetric=True)
      >>> ev.jacrev(f)(jnp.ones(2)).round(1)
      Array([[ 0.4, -0.2],
             [-0.2,  0.6]], dtype=float32)
    """
    where = "custom_linear_solve"
    vector = _Vector(where, b, "b")
    matvec_body = vector.stage(matvec, "matvec")
    operator, consts = matvec_body.jaxpr, matvec_body.captured
    run = vector.function("matvec", operator, consts)
    solve_body = vector.stage(lambda b: solve(run, b), "solve", has_aux)
    transpose_body = vecmat = None
    if symmetric:
        vecmat = operator
        transpose_body = solve_body
    if transpose_solve is not None:
        if not symmetric:
            linear = (*[False] * len(consts), *[True] * len(vector))
            vecmat = transpose_jaxpr(operator, linear, (True,) * len(vector), instantiate=True)[0]
        run_back = vector.function("vecmat", vecmat, consts)
        transpose_body = vector.stage(
            lambda b: transpose_solve(run_back, b), "transpose_solve", has_aux
        )
    outs = bind_linear_solve(
        consts,
        solve_body.captured,
        [] if transpose_body is None else transpose_body.captured,
        vector.values,
        matvec=close_jaxpr(operator),
        solve=close_jaxpr(solve_body.jaxpr),
        vecmat=None if vecmat is None else close_jaxpr(vecmat),
        transpose_solve=None if transpose_body is None else close_jaxpr(transpose_body.jaxpr),
    )
    return tree.unflatten(solve_body.out_tree, as_arrays(outs))


# ---------------------------------------------------------------- custom_root


@stateful
def custom_root(
    f: Callable[..., Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:
    """Find a root of a function, with the derivatives of the equation ``f(x) = 0``.

    Derivatives do not look into `solve`: by what `f` closes over they are ``-J^-1 df``, where J is
    the derivative of `f` at the root.

    Args:
      f: function of a tree of arrays that returns a tree of the same structure, shapes and dtypes.
        What it closes over may be differentiated.
      initial_guess: where to start, a tree of arrays; the root does not depend on it.
      solve: function ``(f, initial_guess) -> x`` that returns a root.
      tangent_solve: function ``(g, y) -> x`` that solves the linear equation ``g(x) = y``. For
        reverse mode it must be linear in y, as a division or a `custom_linear_solve` is.
      has_aux: whether `solve` returns ``(x, aux)``; `aux` has no derivative.

    Returns:
      The root, or ``(x, aux)``.

    Raises:
      TypeError: a function returns another structure than it takes.
      ValueError: a function returns other shapes or dtypes than it takes.

    Source: the implicit function theorem; A. Griewank and A. Walther, "Evaluating Derivatives",
    2nd ed., SIAM 2008, section 15.

    Example:
      >>> def cube_root(a):
      ...     newton = lambda f, x: lax.fori_loop(0, 20, lambda i, x: x - f(x) / (3 * x * x), x)
      ...     return lax.custom_root(lambda x: x**3 - a, 1.0, newton, lambda g, y: y / g(1.0))
      >>> round(float(ev.grad(cube_root)(8.0)), 4)
      0.0833
    """
    vector = _Vector("custom_root", initial_guess, "initial_guess")
    f_body = vector.stage(f, "f")
    run = vector.function("f", f_body.jaxpr, f_body.captured)
    solve_body = vector.stage(lambda x: solve(run, x), "solve", has_aux)
    custom.note_rules(tangent_solve)
    return _bind_root(vector, f_body, solve_body, tangent_solve)


def _bind_root(vector, f_body, solve_body, tangent_solve):
    """Bind the root as a function of what `f` and `solve` capture, and of the guess."""
    num_f, n = len(f_body.captured), len(vector)
    captured = f_body.jaxpr.invars[:num_f]
    call = solve_body.jaxpr.replace(invars=captured + solve_body.jaxpr.invars, names=None)

    def bind(operands):
        return custom_jvp_call_p.bind(
            *operands,
            name="custom_root",
            call_jaxpr=close_jaxpr(call),
            jvp=jvp,
            num_consts=0,
            symbolic_zeros=True,
        )

    def jvp(primals, tangents):
        outs = bind(primals)
        constants, root = primals[:num_f], outs[:n]
        changes = [None if custom.is_no_tangent(t) else t for t in tangents[:num_f]]

        def push(constants_dot, root_dot):
            tangents = jvp_flat(
                lambda *xs: inline(f_body.jaxpr, *xs),
                [*constants, *root],
                [*constants_dot, *root_dot],
            )[1]
            return [
                zeros(a) if t is None else t for t, a in zip(tangents, vector.avals, strict=True)
            ]

        def linear(x):
            given = _Vector(vector.where, x)
            vector.check("the argument of g", given.tree, given.avals)
            outs = push([None] * num_f, given.values)
            return tree.unflatten(vector.tree, as_arrays(outs))

        if all(t is None for t in changes):
            return outs, [None] * len(outs)
        right = [neg_p.bind(t) for t in push(changes, [None] * n)]
        solution = tangent_solve(linear, tree.unflatten(vector.tree, as_arrays(right)))
        solution = _Vector(vector.where, solution)
        vector.check("the result of tangent_solve", solution.tree, solution.avals)
        return outs, [*solution.values, *[None] * (len(outs) - n)]

    outs = bind([*f_body.captured, *solve_body.captured, *vector.values])
    return tree.unflatten(solve_body.out_tree, as_arrays(outs))
