"""Lowering rules in JAX's signature: they write MLIR by jaxlib's bindings, and call back."""

import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from jaxlib.mlir.dialects import stablehlo as hlo

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.extend.core import Primitive
from evertrace.interpreters import ad, batching, mlir, xla

X = jnp.array([[1.0, -2.0], [3.0, 4.0]])
TABLE = np.array([[1, 2], [3, 4]], np.float32)


def primitive(name, rule, abstract=lambda *avals, **params: avals[0], several=False, **where):
    """Return a primitive whose meaning is a lowering rule."""
    prim = Primitive(name)
    prim.multiple_results = several
    prim.def_abstract_eval(abstract)
    mlir.register_lowering(prim, rule, **where)
    return prim


def add_twice(ctx, x, y):
    assert [a.shape for a in (*ctx.avals_in, *ctx.avals_out)] == [(2, 2)] * 3
    assert ctx.platforms == ctx.module_context.platforms == ("cpu",)
    return [hlo.add(hlo.add(x, y), y)]


def add_number(ctx, x, *, number):
    return hlo.AddOp(x, hlo.broadcast(mlir.ir_constant(np.float32(number)), [2, 2])).results


def add_array(ctx, x):
    return hlo.add(x, mlir.ir_constant(TABLE))


def both(ctx, x):
    (root,) = mlir.lower_fun(jnp.cbrt)(ctx.replace(avals_out=ctx.avals_out[:1]), x)
    return [root, hlo.negate(x)]


def by_shape(ctx, x):
    shape = ir.RankedTensorType(x.type).shape
    target = ir.RankedTensorType.get(shape[::-1], mlir.dtype_to_ir_type(np.dtype(np.float32)))
    assert target == mlir.aval_to_ir_type(ctx.module_context, ctx.avals_out[0])
    return [hlo.transpose(x, mlir.dense_int_array([1, 0]))]


def function_of_its_own(ctx, x):
    kind = x.type
    with ir.InsertionPoint(ctx.module_context.module.body):
        helper = func.FuncOp("helper", ir.FunctionType.get([kind], [kind]), visibility="private")
        with ir.InsertionPoint(helper.add_entry_block()):
            func.ReturnOp([hlo.sqrt(hlo.abs(helper.arguments[0]))])
    assert "helper" in ctx.module_context.symbol_table
    return func.CallOp([kind], "helper", [x])


N = np.asarray(X)
RULES = {
    "operations": (primitive("add_twice", add_twice), (X, X), {}, 3 * N),
    "params": (primitive("add_number", add_number), (X,), {"number": 2.5}, N + 2.5),
    "constants": (primitive("add_array", add_array), (X,), {}, N + TABLE),
    "types": (primitive("by_shape", by_shape), (X,), {}, N.T),
    "functions": (primitive("helper", function_of_its_own), (X,), {}, np.sqrt(abs(N))),
    "platform": (primitive("only_cpu", add_twice, platform="cpu"), (X, X), {}, 3 * N),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_that_write_mlir(name):
    prim, args, params, want = RULES[name]
    np.testing.assert_allclose(prim.bind(*args, **params), want, rtol=1e-6)
    # Twice in one program: two functions, whose names do not collide.
    twice = ev.jit(lambda *a: prim.bind(*a, **params) + 2 * prim.bind(*a, **params))
    np.testing.assert_allclose(twice(*args), 3 * want, rtol=1e-6)


def test_a_rule_with_several_results_calls_a_function_of_arrays():
    prim = primitive("both", both, lambda x: (x, x), several=True)
    for run in (prim.bind, ev.jit(prim.bind)):
        root, negative = run(X)
        np.testing.assert_allclose(root, np.cbrt(N), rtol=1e-6)
        np.testing.assert_array_equal(negative, -N)


def test_a_rule_calls_python():
    seen = []

    def on_host(x, k):
        seen.append((np.shape(x), int(k)))
        return (np.asarray(x) * 10,)

    def rule(ctx, x, k):
        results, token, keepalive = mlir.emit_python_callback(
            ctx, on_host, None, [x, k], ctx.avals_in, ctx.avals_out, has_side_effect=False
        )
        assert token is None
        ctx.module_context.add_keepalive(keepalive)
        return results

    prim = primitive("on_host", rule)
    f = ev.jit(lambda x: prim.bind(x, np.int32(7)) + 1)
    for _ in range(2):
        np.testing.assert_array_equal(f(X), N * 10 + 1)
    assert seen == [((2, 2), 7)] * 2


def test_a_primitive_with_every_rule_of_jaxs():
    prim = primitive("double", lambda ctx, x: [hlo.add(x, x)])
    prim.def_impl(lambda x: xla.apply_primitive(prim, x))
    ad.deflinear2(prim, lambda ct, x: [prim.bind(ct)])
    batching.primitive_batchers[prim] = lambda args, dims: (prim.bind(*args), dims[0])
    per_row = ev.vmap(ev.grad(lambda x: jnp.sum(prim.bind(x) ** 2)))
    for run in (per_row, ev.jit(per_row)):
        np.testing.assert_array_equal(run(X), 8 * N)


def test_a_foreign_call_within_a_rule_of_ones_own():
    def rule(ctx, x):
        (y,) = ev.ffi.ffi_lowering("xla_ffi_of_nobody")(ctx, x)
        return [hlo.negate(y)]

    prim = primitive("foreign", rule)
    text = ev.jit(prim.bind).lower(X).as_text()
    assert "@xla_ffi_of_nobody" in text
    assert "stablehlo.negate" in text


def test_a_rule_for_another_platform_is_not_taken():
    prim = primitive("only_tpu", add_twice, platform="tpu")
    with pytest.raises(NotImplementedError, match="no lowering rule for the platform 'cpu', but"):
        prim.bind(X, X)
    mlir.register_lowering(prim, mlir.lower_fun(lambda x, y: x - y, multiple_results=False))
    np.testing.assert_array_equal(ev.jit(prim.bind)(X, 3 * X), -2 * N)


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("engine", ["native", "fused", "xla"])
def test_numbers_of_programs_that_rules_trace_are_each_their_own(engine):
    """Programs are gone once written, so that the next one's numbers may be at their addresses."""

    def times(x, *, number):
        return x * np.float32(number)

    prim = primitive("times", mlir.lower_fun(times, multiple_results=False))
    f = ev.jit(lambda x: [prim.bind(x, number=n) for n in range(50)], engine=engine)
    np.testing.assert_array_equal(f(jnp.float32(2)), 2.0 * np.arange(50))
