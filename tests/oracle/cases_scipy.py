"""evertrace.scipy: cluster, integrate, interpolate, ndimage, optimize, sparse, spatial."""

from tests.oracle.cases import Draw
from tests.oracle.differences import ACCIDENT, CLASS, LENIENT
from tests.oracle.tables import B1, C1, N1, X0, X1, C, N, X, call, program, programs


def module(path):
    """Write the text that imports a module of either package."""
    return f"__import__(ev.__name__ + '.{path}').{path}"


# ---------------------------------------------------------------- small functions

OBS, CODES = Draw((6, 3)), Draw((4, 3), seed=1)
SMALL = [
    *(
        call("scipy.cluster.vq.vq", *args)
        for args in (
            (OBS, CODES), (X1, Draw((3,), seed=1)), (N, X), (N1, N1), (OBS, X), (X1, Draw((2, 1))),
            (X0, X0), (Draw((1, 2, 3)), Draw((1, 4, 3))), (Draw((0, 3)), CODES),
            (OBS, Draw((0, 3))), (Draw((3, 0)), Draw((2, 0))), (1.0, 2.0), ([1.0], [2.0]),
        )
    ),
    call("scipy.cluster.vq.vq", OBS, CODES, check_finite=False),
    *(
        call("scipy.integrate.trapezoid", *args, **kwargs)
        for args, kwargs in (
            ((X,), {}), ((X, X1), {}), ((X, X), {}), ((X,), {"dx": 0.5}), ((X,), {"axis": 0}),
            ((X, Draw((3,))), {"axis": 0}), ((N,), {}), ((C,), {}), ((X1, N1), {}), ((X,), {"axis": 3}),
            ((B1,), {}), ((Draw((0,)),), {}), ((X0,), {}), ((X, Draw((3,))), {}),
        )
    ),
]  # fmt: skip

PLACES = [Draw((5,), scale=2.0), Draw((5,), seed=1, scale=2.0)]
INSIDE = [Draw((2, 1), "int32", low=0, high=2), Draw((3,), "int32", low=0, high=2)]
IMAGES = [
    *(
        call("scipy.ndimage.map_coordinates", image, PLACES, order, mode)
        for image in (X, N, C)
        for order in (0, 1)
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect")
    ),
    *(
        call("scipy.ndimage.map_coordinates", Draw((1,)), [Draw((5,))], 1, mode)
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect")
    ),
    *(
        call("scipy.ndimage.map_coordinates", *args, **kwargs)
        for args, kwargs in (
            ((X, PLACES, 1), {"cval": 2.5}), ((N, PLACES, 1), {"cval": 2.6}), ((X, INSIDE, 1), {}),
            ((X, INSIDE, 0), {}), ((X, Draw((2, 5)), 1), {}), ((X, PLACES, 2), {}),
            ((X, PLACES, 1, "x"), {}), ((X, PLACES[:1], 1), {}), ((B1, PLACES[:1], 1), {}),
            ((X, PLACES, 1), {"cval": 2j}), (([1.0, 2.0], [[0.5]], 1), {}),
            ((Draw((4,), "float16"), PLACES[:1], 1), {}), ((Draw((0,)), PLACES[:1], 1, "nearest"), {}),
            ((X, [C1, C1], 1), {}),
        )
    ),
]  # fmt: skip

GRID = "(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.0, 3.0]))"
AT = "jnp.array([[1.5, 1.0], [3.0, 2.0], [0.0, 1.0], [4.0, 3.0], [2.0, 9.0], [jnp.nan, 1.0]])"
RGI = module("scipy.interpolate") + ".RegularGridInterpolator"
INTERPOLATION = programs(
    f"""
    {RGI}({GRID}, x)({AT})
    {RGI}({GRID}, x, method='nearest')({AT}[:5])
    {RGI}({GRID}, x, fill_value=None)({AT})
    {RGI}({GRID}, x, fill_value=7)({AT})
    {RGI}({GRID}, x, fill_value=1.5j)({AT})
    {RGI}({GRID}, x * 1j, fill_value=1.5j)({AT})
    {RGI}({GRID}, x, method='x')
    {RGI}({GRID}, x)({AT}, method='cubic')
    {RGI}({GRID}, x)({AT}, method='nearest')[:5]
    {RGI}({GRID}, x)({AT}[0])
    {RGI}({GRID}, x)(({AT}[:, :1], {AT}[:3, 1]))
    {RGI}({GRID}, x)(jnp.ones((1, 3)))
    {RGI}({GRID}, x[:2])({AT})
    {RGI}({GRID}, x[0])({AT})
    {RGI}({GRID}, (x * 9).astype(int))({AT})
    {RGI}({GRID}, jnp.stack([x, 2 * x], -1))({AT})
    {RGI}({GRID}[:1], x[:, 0])(jnp.array([1.5, 2.5, 9.0]))
    {RGI}({GRID}[:1], x)(jnp.array([1.5, 2.5, 9.0]))
    {RGI}({GRID}[:1], x[:, 0])(1.5)
    {RGI}({GRID}, x, bounds_error=True)({AT}[:2])
    ev.grad(lambda v: {RGI}({GRID}, v, fill_value=0.0)({AT}[:5]).sum())(x)
    ev.grad(lambda a: {RGI}({GRID}, x)(a).sum())({AT}[:2])
    ev.jit(lambda v: {RGI}({GRID}, v)({AT}))(x)
    ev.vmap(lambda a: {RGI}({GRID}, x)(a))({AT})
    """,
    Draw((3, 2)),
)

# ---------------------------------------------------------------- optimize

BFGS, LBFGS = "BFGS", "l-bfgs-experimental-do-not-rely-on-this"
FUNCTIONS = {
    "bowl": "((v - jnp.arange(4.0)) ** 2).sum()",
    "tilted": "(v ** 2 * jnp.array([1.0, 3.0, 5.0, 9.0])).sum() + v.sum()",
    "cosh": "jnp.cosh(v - 1).sum()",
    "log": "jnp.logaddexp(v, -v).sum() + (v ** 2).sum()",
}
MINIMIZE = module("scipy.optimize") + ".minimize"
MINIMA = [
    *(
        # Methods stop where the gradient is below 1e-5, not at the minimum.
        program(f"{MINIMIZE}(lambda v: {text}, x, method='{method}').x.round(4) + 0.0", X1)
        for text in FUNCTIONS.values()
        for method in (BFGS, LBFGS)
    ),
    *(
        program(f"(lambda r: (r.success, int(r.status)))({MINIMIZE}({text}))", X1)
        for text in (
            "lambda v: (v ** 2).sum(), x, method='BFGS'",
            "lambda v: (v ** 2).sum(), x, method='bfgs'",
            f"lambda v: (v ** 2).sum(), x, method='{LBFGS}'",
            "lambda v, a: (v ** 2).sum() * a, x, (2.0,), method='BFGS'",
            "lambda v, a: (v ** 2).sum() * a, x, 2.0, method='BFGS'",
            "lambda v: (v ** 2).sum(), x, method='CG'",
            "lambda v: (v ** 2).sum(), x[None], method='BFGS'",
            "lambda v: (v ** 2).sum(), x[0], method='BFGS'",
            "lambda v: v, x, method='BFGS'",
            "lambda v: (v ** 2).sum(), x, method='BFGS', options={'nope': 1}",
            f"lambda v: (v ** 2).sum(), x, method='{LBFGS}', options={{'nope': 1}}",
            "lambda v: (v ** 2).sum(), x, method='BFGS', options={'maxiter': 0}",
            "lambda v: (v ** 4).sum(), x, method='BFGS', options={'maxiter': 1}",
            f"lambda v: (v ** 4).sum(), x, method='{LBFGS}', options={{'maxiter': 1}}",
            f"lambda v: (v ** 4).sum(), x, method='{LBFGS}', options={{'ftol': 1e3}}",
            f"lambda v: (v ** 4).sum(), x, method='{LBFGS}', options={{'maxfun': 2, 'ftol': 0.0}}",
            "lambda v: (v ** 2).sum(), x[:0], method='BFGS'",
            "lambda v: v.sum(), x, method='BFGS'",
            "lambda v: jnp.nan * v.sum(), x, method='BFGS'",
        )
    ),
    *programs(
        f"""
        {MINIMIZE}(lambda v: (v ** 2).sum(), x, method='BFGS').hess_inv.shape
        {MINIMIZE}(lambda v: (v ** 2).sum(), x, method='{LBFGS}').hess_inv
        {MINIMIZE}(lambda v: (v ** 2).sum(), x, method='BFGS').fun < 1e-9
        {MINIMIZE}(lambda v: (v ** 2).sum(), x, method='BFGS')._fields
        ev.vmap(lambda a: {MINIMIZE}(lambda v: ((v - a) ** 2).sum(), x, method='BFGS').x)(x).round(4)
        ev.jit(lambda a: {MINIMIZE}(lambda v: ((v - a) ** 2).sum(), a, method='BFGS').x)(x).round(4)
        """,
        X1,
        tolerance=32,
    ),
]

# ---------------------------------------------------------------- sparse.linalg

LINALG = module("scipy.sparse.linalg")
SETUP = "(lambda a, b, s: {})(x @ x.T + 3 * jnp.eye(4), y, " + LINALG + ".{})"
SYSTEMS = [
    program(SETUP.format(text, name), Draw((4, 4)), Draw((4,), seed=1), tolerance=tolerance)
    for name in ("cg", "bicgstab", "gmres")
    for text, tolerance in (
        ("s(a, b, tol=1e-7)[0]", 64),
        ("s(lambda v: a @ v, b, tol=1e-7)[0]", 64),
        ("s(a, b, M=jnp.diag(1 / jnp.diag(a)), tol=1e-7)[0]", 64),
        ("s(a, b, jnp.ones(4), tol=1e-7)[0]", 64),
        ("s(a, b, maxiter=0)[0]", 64),
        ("s(a, b * 1j, tol=1e-7)[0]", 64),
        ("s(a, 0 * b)[0]", 8),
        ("s(a, jnp.stack([b, b], 1), tol=1e-7)[0]", 64),
        ("s(lambda t: {'u': 2 * t['u'], 'v': 4 * t['v']}, {'u': b, 'v': b[0]}, tol=1e-7)[0]", 64),
        ("ev.grad(lambda b: s(a, b, tol=1e-7)[0].sum())(b)", 256),
        ("ev.grad(lambda a: s(a, b, tol=1e-7)[0].sum())(a)", 256),
        ("ev.jacfwd(lambda b: s(a, b, tol=1e-7)[0])(b)", 256),
        ("ev.vmap(lambda b: s(a, b, tol=1e-7)[0])(jnp.stack([b, 2 * b]))", 64),
        ("ev.jit(lambda b: s(a, b, tol=1e-7)[0])(b)", 64),
        ("s(a[:2], b)", 8),
        ("s(b, b)", 8),
        ("s('x', b)", 8),
        ("s([[1.0]], b)", 8),
        ("s(a, b, [b])", 8),
        ("s(a, b, b[:2])", 8),
        ("s(lambda v: v[:2], b)", 8),
        ("s(lambda v: [v], b)", 8),
        ("s(a, b, M='x')", 8),
        ("s(a, b[:3])", 8),
        ("s(jnp.eye(0), b[:0])[0]", 8),
    )
] + [
    program(SETUP.format(text, "gmres"), Draw((4, 4)), Draw((4,), seed=1), tolerance=64)
    for text in (
        "s(a, b, tol=1e-7, solve_method='incremental')[0]",
        "int(s(a, b)[1])",
        "s(a, b, tol=1e-7, restart=2)[0]",
        "s(a, b, restart=1, maxiter=1)[0]",
        "s(a, b, restart=1, maxiter=1, solve_method='incremental')[0]",
        "s(a, b, solve_method='x')",
        "s(a, b, restart=0)",
        "ev.grad(lambda b: s(a, b, tol=1e-7, solve_method='incremental')[0].sum())(b)",
    )
]

# ---------------------------------------------------------------- spatial

TRANSFORM = module("scipy.spatial.transform")
ROTATION = (
    f"(lambda R: (lambda r, s: {{}})(R.from_quat(x[0]), R.from_quat(x)))({TRANSFORM}.Rotation)"
)
SEQUENCES = ("xyz", "XYZ", "zyx", "zxz", "ZXZ", "yxy", "YZX")
ROTATIONS = [
    program(ROTATION.format(text), Draw((3, 4)), tolerance=64)
    for text in (
        "r.quat", "s.quat", "len(s)", "len(r)", "s[1].quat", "s[1:].quat", "r[0]", "(r.single, s.single)",
        "(r * r).as_matrix()", "(r * s).as_matrix()", "s.as_matrix()", "s.as_rotvec()",
        "s.as_rotvec(degrees=True)", "s.as_mrp()", "s.as_quat(canonical=True)",
        "s.as_quat(scalar_first=True)", "s.magnitude()", "s.inv().quat", "s.apply(jnp.arange(3.0))",
        "r.apply(x[:, :3], inverse=True)", "r.apply(x[0])", "s.apply(x[:2, :3])",
        "s.mean().as_matrix()", "s.mean(jnp.arange(1.0, 4.0)).as_matrix()", "s.mean(jnp.ones(2))",
        "r.mean()", "R.identity().quat", "R.from_matrix(s.as_matrix()).as_quat(canonical=True)",
        "R.from_matrix(jnp.ones((3, 2)))", "R.from_matrix(jnp.diag(jnp.array([1.0, -1, -1]))).quat",
        "R.from_mrp(s.as_mrp()).as_matrix()", "R.from_rotvec(s.as_rotvec()).as_matrix()",
        "R.from_rotvec(jnp.zeros(3)).quat", "R.from_rotvec(jnp.array([90.0, 0, 0]), degrees=True).quat",
        "R.from_quat([1, 2, 3, 4]).quat", "R.from_quat(x[0, :3])", "R.from_quat(jnp.zeros(4)).quat",
        "R.concatenate([s, s]).quat", "R.concatenate([])", "R.concatenate([r, s]).quat", "r * 3",
        "R.from_euler('x', 0.3).quat", "R.from_euler('z', 90, degrees=True).quat",
        "R.from_euler('xy', x[:, :2]).as_matrix()", "R.from_euler('xyz', x[0, :2])",
        "R.from_euler('xX', x[0, :2])", "R.from_euler('', x[0, :2])", "R.from_euler('abc', x[0, :3])",
        "R.from_euler('xx', x[0, :2])", "r.as_euler('x')", "r.as_euler('xyX')",
        "s.as_euler('xyz', degrees=True)", "s.as_rotvec().dtype", "ev.tree.leaves(r)[0].shape",
        "ev.vmap(lambda r: r.as_rotvec())(s)", "ev.jit(lambda r: r.inv())(r).quat",
        "ev.grad(lambda v: R.from_rotvec(v).as_matrix().sum())(x[0, :3])",
        *(f"s.as_euler('{seq}')" for seq in SEQUENCES),
        *(f"R.from_euler('{seq}', x[:, :3]).as_matrix()" for seq in SEQUENCES),
    )
]  # fmt: skip
SLERP = f"(lambda s, S: {{}})({TRANSFORM}.Rotation.from_quat(x), {TRANSFORM}.Slerp)"
ROTATIONS += [
    program(SLERP.format(text), Draw((3, 4)), tolerance=64)
    for text in (
        "S.init(jnp.arange(3.0), s)(jnp.array([0.0, 0.5, 1.5, 2.0])).as_matrix()",
        "S.init(jnp.arange(3.0), s)(0.5).as_matrix()",
        "S.init(jnp.arange(3.0), s)(jnp.ones((2, 2)))",
        "S.init(jnp.arange(2.0), s)",
        "S.init(jnp.arange(1.0), s[0])",
        "S.init([0, 1, 2], s)([0, 1]).as_matrix()",
        "S.init(jnp.arange(3.0), s).rotvecs",
        "S.init(jnp.arange(3.0), s).timedelta",
    )
]

CASES = [*SMALL, *IMAGES, *INTERPOLATION, *MINIMA, *SYSTEMS, *ROTATIONS]

SHAPED = "evertrace raises for shapes that do not fit, JAX does not look"
STATUS = "JAX has the status of a line search that it starts when it has ended already"

REASONS = {
    "trapezoid(float32[0])": ACCIDENT,
    "cval=2j": LENIENT,
    "map_coordinates(float32[0]": CLASS,
    "x[:2])(jnp.array([[1.5": SHAPED,
    "x[:, 0])(1.5)": LENIENT,
    "bounds_error=True": "JAX does not have it",
    "minimize(lambda v: (v ** 2).sum(), x[None]": CLASS,
    "minimize(lambda v: (v ** 2).sum(), x[0]": CLASS,
    f"method='{LBFGS}', options={{'maxiter': 1}}": STATUS,
    f"method='{LBFGS}', options={{'ftol': 1e3}}": STATUS,
    f"method='{LBFGS}', options={{'maxfun': 2": STATUS,
    "jnp.nan * v.sum()": "a direction that is NaN does not descend; JAX tries steps along it",
    f"s(a, b, b[:2]))(x @ x.T + 3 * jnp.eye(4), y, {LINALG}.gmres": CLASS,
    f"s(jnp.eye(0), b[:0])[0])(x @ x.T + 3 * jnp.eye(4), y, {LINALG}.gmres": ACCIDENT,
    "restart=0": CLASS,
    "r * 3": CLASS,
    "R.from_quat(x[0, :3])": SHAPED,
    "R.concatenate([r, s])": LENIENT,
}

DIFFERENCES = {
    str(case): reason for case in CASES for part, reason in REASONS.items() if part in str(case)
}
