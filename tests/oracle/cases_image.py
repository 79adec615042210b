"""evertrace.image and evertrace.experimental.ode."""

from tests.oracle.cases import Draw
from tests.oracle.differences import CLASS, LENIENT
from tests.oracle.tables import C, N, X, call, program, programs

METHODS = ("nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area")
SHAPES = [(3, 4), (6, 8), (2, 3), (5, 4), (3, 7), (1, 1), (0, 4), (7, 2)]

RESIZED = [
    *(
        call("image.resize", X, shape, method, antialias, tolerance=64)
        for method in METHODS
        for shape in SHAPES
        for antialias in (True, False)
    ),
    *(call("image.resize", x, (2, 5), method, tolerance=64) for x in (N, C) for method in METHODS),
    *(
        call("image.resize", x, shape, "linear", tolerance=64)
        for x, shape in (
            (X, (3,)), (X, (3, 4, 1)), (X, (-1, 4)), (X, 3), (Draw((0, 4)), (2, 4)), (Draw((0, 4)), (0, 2)),
            (Draw((3, 4), "bool"), (2, 2)), (Draw((3, 4), "float16"), (6, 2)), (Draw((2, 3, 4)), (2, 6, 2)),
            ([[1.0, 2.0]], (1, 3)),
        )
    ),
    *(call("image.resize", X, (2, 2), method) for method in ("x", "bilinear", "bicubic", 3, None)),
    *programs(
        """
        ev.image.resize(x, (2, 2), ev.image.ResizeMethod.CUBIC)
        [m.name for m in ev.image.ResizeMethod]
        [m.value for m in ev.image.ResizeMethod]
        ev.image.ResizeMethod.from_string('tricubic').name
        ev.image.ResizeMethod.from_string('CUBIC')
        ev.grad(lambda a: (ev.image.resize(a, (5, 2), 'lanczos3') ** 2).sum())(x)
        ev.jit(lambda a: ev.image.resize(a, (5, 2), 'cubic'))(x)
        ev.vmap(lambda a: ev.image.resize(a, (6,), 'linear'))(x)
        ev.image.resize(x, (2, 2), 'linear', precision='highest')
        """,
        X,
        tolerance=64,
    ),
]  # fmt: skip

MOVE = "ev.image.scale_and_translate(x, {}, {}, jnp.array({}), jnp.array({}), '{}'{})"
MOVED = [
    *(
        program(MOVE.format(*args, method, extra), X, tolerance=64)
        for method in METHODS
        for args in (((3, 6), (1,), [1.3], [0.2]), ((5, 6), (0, 1), [0.7, 2.0], [-0.5, 1.2]))
        for extra in ("", ", antialias=False")
    ),
    *(
        program(MOVE.format(*args, "linear", ""), X, tolerance=64)
        for args in (
            ((3, 6), (-1,), [1.3], [0.2]), ((3, 6), (0,), [1.3], [0.2]), ((3, 6), (5,), [1.3], [0.2]),
            ((3, 6), (1,), [1.3, 2.0], [0.2]), ((3,), (0,), [1.3], [0.2]), ((3, 6), (1,), 1.3, 0.2),
            ((3, 6), (1,), [2], [1]), ((3, 4), (), [1.0][:0], [1.0][:0]), ((3, 4), (1,), [-1.0], [4.0]),
        )
    ),
    *programs(
        """
        ev.grad(lambda s: (ev.image.scale_and_translate(x, (3, 6), (1,), s, 0.3 * s, 'cubic') ** 2).sum())(jnp.array([1.3]))
        ev.image.scale_and_translate(x, (3, 6), (1,), [2.0], [0.5], 'linear')
        """,
        X,
        tolerance=64,
    ),
]  # fmt: skip

ODE = "__import__(ev.__name__ + '.experimental.ode').experimental.ode.odeint"
SOLVED = [
    # The two steer their steps differently, so they agree to what both ask for.
    *programs(
        f"""
        {ODE}(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0, 2.0])).round(5)
        {ODE}(lambda y, t: -y, jnp.array([1.0, 2.0]), jnp.array([0.0, 1.0, 2.0])).round(5)
        {ODE}(lambda y, t: jnp.stack([y[1], -y[0]]), x[0, :2], jnp.linspace(0, 5, 6)).round(4)
        {ODE}(lambda y, t, a: {{'a': -a * y['a'], 'b': y['a'][0]}}, {{'a': x[0], 'b': jnp.array(0.0)}}, jnp.array([0.0, 1.0]), 2.0)['b'].round(5)
        {ODE}(lambda y, t: 1j * y, jnp.array([1.0 + 0j]), jnp.array([0.0, 1.0])).round(5)
        {ODE}(lambda y, t: -y, jnp.array([1.0, 2.0]), jnp.array([0.0]))
        {ODE}(lambda y, t: -y, jnp.array([1.0, 2.0]), jnp.array([]))
        {ODE}(lambda y, t: -y, jnp.array([1.0, 2.0]), jnp.array([0, 1]))
        {ODE}(lambda y, t: -y, jnp.array([1.0, 2.0]), 0.5)
        {ODE}(lambda y, t: -y, 1, jnp.array([0.0, 1.0])).round(5)
        {ODE}(lambda y, t: -y[:1], jnp.array([1.0, 2.0]), jnp.array([0.0, 1.0]))
        {ODE}(lambda y, t: [-y], jnp.array([1.0, 2.0]), jnp.array([0.0, 1.0]))
        {ODE}(lambda y, t, a: -y, 1.0, jnp.array([0.0, 1.0]), lambda: 0)
        {ODE}(3, 1.0, jnp.array([0.0, 1.0]))
        {ODE}(lambda y, t: -y, 1.0, jnp.array([1.0, 0.0]))
        {ODE}(lambda y, t: -y, jnp.ones(1), jnp.array([0.0, 10.0]), mxstep=2)
        {ODE}(lambda y, t, a: -a * y, 1.0, jnp.array([0.0, 1.0]), 2).round(5)
        ev.grad(lambda a: {ODE}(lambda y, t, a: -a * y, 1.0, jnp.array([0.0, 1.0]), a)[-1])(2.0 * jnp.ones(())).round(5)
        ev.grad(lambda a: {ODE}(lambda y, t: -a * y, 1.0, jnp.array([0.0, 1.0]))[-1])(2.0 * jnp.ones(())).round(5)
        ev.grad(lambda t: {ODE}(lambda y, t: -t * y, 1.0, t)[-1])(jnp.array([0.5, 1.0, 1.5])).round(4)
        ev.grad(lambda y: {ODE}(lambda y, t: jnp.sin(y), y, jnp.array([0.0, 1.0, 2.0])).sum())(x[0]).round(4)
        ev.vmap(lambda a: {ODE}(lambda y, t, a: -a * y, 1.0, jnp.array([0.0, 1.0]), a))(jnp.array([1.0, 2.0])).round(5)
        ev.jvp(lambda y: {ODE}(lambda y, t: -y, y, jnp.array([0.0, 1.0])), (1.0,), (1.0,))
        """,
        X,
        tolerance=128,
    ),
]

CASES = [*RESIZED, *MOVED, *SOLVED]

REASONS = {
    "(-1, 4), linear": CLASS,
    "image.resize(float32[0,4], (2, 4), linear)": CLASS,
    "[[1.0, 2.0]]": CLASS,
    "(2, 2), 3)": CLASS,
    "(2, 2), None)": CLASS,
    "[-0.5, 1.2]), 'cubic-pytorch', antialias=False": "JAX's images go on beyond the edges for "
    "some elements only",
    "(3, 6), (0,), jnp.array([1.3])": "JAX returns another shape than the one asked for",
    "jnp.array([1.3, 2.0]), jnp.array([0.2])": CLASS,
    "[2.0], [0.5], 'linear'": LENIENT,
    "jnp.array([]))": CLASS,
    ", 0.5)": CLASS,
    "-y, 1, jnp.array([0.0, 1.0])": LENIENT,
    "[-y]": "evertrace raises for another structure than that of the value",
    "mxstep=2": "a time that is not reached has the value NaN; JAX extrapolates",
}

DIFFERENCES = {
    str(case): reason for case in CASES for part, reason in REASONS.items() if part in str(case)
}
