"""Programs whose printed jaxprs are JAX's; `make_golden_jaxprs.py` writes down what JAX prints.

Each program is a function of a library (evertrace or JAX) that returns a jaxpr. Only functions
whose equations the two libraries have in common are used.
"""

import numpy as np

X = np.ones((2, 3), np.float32)
V = np.ones(3, np.float32)
SCALAR = np.float32(1)
PROGRAMS = {}


def program(fun):
    """Add a function of a library to the programs."""
    PROGRAMS[fun.__name__] = fun
    return fun


@program
def straight_line(lib):
    lax = lib.lax
    return lib.make_jaxpr(lambda x, y: lax.add(lax.mul(lax.sin(x), y), x))(V, V)


@program
def no_equations(lib):
    return lib.make_jaxpr(lambda x, y: (y, x))(V, SCALAR)


@program
def no_inputs(lib):
    return lib.make_jaxpr(lambda: lib.lax.full((2,), np.float32(3)))()


@program
def literals(lib):
    lax = lib.lax

    def f(x, n):
        y = lax.mul(x, 2.0)
        return lax.add(y, np.float32(0.5)), lax.add(n, 3), 1, True, 2.5

    return lib.make_jaxpr(f)(V, np.int32(1))


@program
def special_literals(lib):
    lax = lib.lax

    def f(x):
        return [lax.mul(x, c) for c in (0.1, -0.0, float("inf"), float("nan"), 1e-30, 1e20)]

    return lib.make_jaxpr(f)(V)


@program
def unused(lib):
    lax = lib.lax

    def f(x, y, z):
        lax.sin(y)
        return lax.cos(x)

    return lib.make_jaxpr(f)(V, V, V)


@program
def captured_constant(lib):
    lax = lib.lax
    c = lib.device_put(np.arange(3, dtype=np.float32))
    d = lib.device_put(np.arange(6, dtype=np.float32).reshape(2, 3))
    return lib.make_jaxpr(lambda x: (lax.add(x, c), lax.sub(c, x), d))(V)


@program
def parameters(lib):
    lax = lib.lax

    def f(x):
        y = lax.broadcast_in_dim(x, (4, 2, 3), (1, 2))
        y = lax.transpose(y, (2, 0, 1))
        y = lax.reshape(y, (3, 8))
        y = lax.pad(y, np.float32(0), ((1, 2, 0), (0, 1, 1)))
        y = lax.slice(y, (1, 0), (3, 4))
        y = lax.concatenate([y, y], 0)
        return lax.squeeze(lax.slice_in_dim(lax.rev(y, (1,)), 0, 1), (0,))

    return lib.make_jaxpr(f)(X)


@program
def conversions(lib):
    lax = lib.lax

    def f(x):
        n = lax.convert_element_type(x, np.int32)
        b = lax.gt(n, lax.full_like(n, 0))
        return (
            lax.select(b, x, lax.neg(x)),
            lax.integer_pow(x, 3),
            lax.bitcast_convert_type(x, np.uint32),
        )

    return lib.make_jaxpr(f)(V)


@program
def many_variables(lib):
    def f(x):
        for _ in range(30):
            x = lib.lax.sin(x)
        return x

    return lib.make_jaxpr(f)(V)


@program
def nested_jit(lib):
    lax = lib.lax

    @lib.jit
    def inner(x, y):
        return lax.add(lax.sin(x), y)

    return lib.make_jaxpr(lambda a, b: lax.mul(inner(a, b), inner(b, a)))(V, V)


@program
def nested_jit_with_new_names(lib):
    lax = lib.lax

    @lib.jit
    def inner(x):
        z = lax.cos(lax.sin(x))
        return lax.tanh(z), z

    def f(x):
        y, _ = inner(lax.exp(x))
        return inner(y)[1]

    return lib.make_jaxpr(f)(V)


@program
def nested_twice(lib):
    lax = lib.lax

    @lib.jit
    def innermost(x):
        return lax.sin(x)

    @lib.jit
    def middle(x):
        return lax.mul(innermost(x), 2.0)

    return lib.make_jaxpr(lib.jit(lambda x: middle(innermost(x))))(V)


@program
def jit_with_literal_argument(lib):
    @lib.jit
    def inner(x, y):
        return lib.lax.mul(x, y)

    return lib.make_jaxpr(lambda x: inner(x, 2.0))(SCALAR)


@program
def jit_returns_its_argument(lib):
    @lib.jit
    def inner(x, y):
        return x, lib.lax.sin(y), y

    return lib.make_jaxpr(inner)(V, V)


@program
def long_jit(lib):
    @lib.jit
    def inner(x):
        for _ in range(8):
            x = lib.lax.mul(lib.lax.sin(x), x)
        return x

    return lib.make_jaxpr(lambda x: lib.lax.neg(inner(x)))(X)


@program
def two_functions_of_one_name(lib):
    lax = lib.lax
    f = lib.jit(lambda x: lax.sin(x))
    g = lib.jit(lambda x: lax.mul(f(f(x)), 2.0))
    return lib.make_jaxpr(lambda x: g(g(x)))(V)


@program
def dropped_results(lib):
    lax = lib.lax

    @lib.jit
    def inner(x):
        y = lax.sin(x)
        return x, y, lax.cos(x), y

    def f(x):
        _, y, _, _ = inner(x)
        return inner(y)[3]

    return lib.make_jaxpr(f)(V)


@program
def one_argument_twice(lib):
    return lib.make_jaxpr(lambda x: lib.jit(lib.lax.mul)(x, x))(V)


@program
def many_inputs(lib):
    inner = lib.jit(lambda *xs: [lib.lax.sin(x) for x in xs])
    return lib.make_jaxpr(lambda *xs: (inner(*xs)[0], xs[3]))(*[V] * 15)


@program
def many_outputs(lib):
    return lib.make_jaxpr(lambda *xs: xs)(*[V] * 15)


@program
def forward_mode(lib):
    lax = lib.lax

    def f(x, t):
        return lib.jvp(lambda x: lax.neg(lax.sin(lax.mul(x, x))), (x,), (t,))

    return lib.make_jaxpr(f)(V, V)


@program
def branches(lib):
    lax = lib.lax
    f = lib.jit(lambda x: lax.mul(x, 2.0))

    def g(i, x):
        return lax.cond(i, lambda x: f(f(x)), lambda x: x, x)

    return lib.make_jaxpr(g)(True, V)


@program
def loops(lib):
    lax = lib.lax

    def body(carry, x):
        for _ in range(12):
            carry = lax.sin(carry)
        return carry, lax.neg(x)

    def f(x, xs):
        x, ys = lax.scan(body, x, xs)
        return lax.while_loop(lambda c: lax.lt(c, 3.0), lambda c: lax.add(c, 1.0), x), ys

    return lib.make_jaxpr(f)(SCALAR, V)


@program
def vectorised(lib):
    lax = lib.lax
    return lib.make_jaxpr(lib.vmap(lambda x, y: lax.mul(lax.sin(x), y), (0, None)))(X, SCALAR)


@program
def weak_types(lib):
    return lib.make_jaxpr(lambda x, n: (lib.lax.mul(x, x), lib.lax.add(n, n)))(1.0, 1)


@program
def dtypes(lib):
    def f(*xs):
        return [lib.lax.eq(x, x) for x in xs]

    names = ("bool", "int8", "uint32", "float16", "complex64")
    return lib.make_jaxpr(f)(*[np.zeros(2, name) for name in names])
