"""Sinks, constraints, the hidden generator, foreign calls, narrow sums, quantised products."""

from tests.oracle.cases import Asarray, Case, Draw
from tests.oracle.differences import CLASS
from tests.oracle.tables import X1, N, X, program, programs

ROWS = Draw((3, 3))
B16 = Asarray([1.0, 2.0, 3.0], "bfloat16")
SUNK = "lambda x: (lax.dce_sink(jnp.sin(x)), x * 2)[1]"
FOREIGN = "ev.ffi.ffi_call('none', ev.ShapeDtypeStruct((4,), 'float32'){})"

CASES = [
    *programs(
        f"""
        lax.dce_sink(x)
        lax.dce_sink((x, 1.0), prevent_mlir_dce=True)
        ({SUNK})(x)
        ev.jit({SUNK})(x)
        ev.vmap({SUNK})(x)
        ev.grad(lambda x: ({SUNK})(x).sum())(x)
        ev.jvp({SUNK}, (x,), (x,))
        lax.scan(lambda c, y: (c + y, ({SUNK})(y)), 0.0, x)
        str(ev.make_jaxpr({SUNK})(x))
        str(ev.make_jaxpr(ev.vmap({SUNK}))(x))
        str(ev.make_jaxpr(lambda x: ev.jvp({SUNK}, (x,), (x,)))(x))
        str(ev.make_jaxpr(lambda x: lax.dce_sink(dict(a=x, b=2.0), prevent_mlir_dce=True))(x))
        lax.dce_sink('a')
        lax.dce_sink(x, True)
        lax.rng_uniform(0.0, 1.0, (2, 3)).shape
        lax.rng_uniform(0, 5, (2, 3)).dtype
        lax.rng_uniform(2, 3, (2, 3))
        ev.jit(lambda: lax.rng_uniform(2, 3, (5,)))()
        lax.rng_uniform(0.0, 1, (2,))
        lax.rng_uniform(x, 1.0, (2,))
        lax.rng_uniform(0.0, 1.0, (-2,))
        lax.rng_uniform(0.0, 1.0, ())[0]
        ev.grad(lambda a: lax.rng_uniform(a, 2.0, (3,)).sum())(1.0)
        ev.vmap(lambda a: lax.rng_uniform(a, 2.0, (3,)))(x)
        str(ev.make_jaxpr(lambda a: lax.rng_uniform(a, 2.0, (3,)))(1.0))
        lax.index_in_dim(x, 4)
        lax.index_in_dim(x, -4)
        lax.index_in_dim(x, -5)
        lax.index_in_dim(x, 0, 1)
        lax.index_in_dim(x, 1.5)
        ev.vmap(lambda x: 2 * x, sum_match=True)(x)
        """,
        X1,
        tolerance=2,
    ),
    *programs(
        """
        lax.index_in_dim(x, 5)
        lax.index_in_dim(x, 3, 1)
        lax.index_in_dim(x, -1, -1, keepdims=False)
        lax.index_in_dim(x[:0], 0)
        """,
        X,
        tolerance=0,
    ),
    *[
        Case(f"lambda x: ({text})", (B16,), {}, {"allow_f16_reductions": allowed}, 0.0)
        for allowed in (True, False)
        for text in (
            "lax.reduce_sum(x, (0,))",
            "ev.jit(lambda x: lax.reduce_sum(x, (0,)))(x)",
            "jnp.sum(x)",
            "x.sum(dtype='bfloat16')",
            "jnp.mean(x)",
            "jnp.max(x)",
            "jnp.prod(x)",
            "x @ x",
            "lax.reduce_sum(x.astype('float16'), (0,))",
            "lax.reduce_sum(x.astype('int16'), (0,))",
            "ev.grad(lambda y: (x * y).astype('float32').sum())(x[0])",
            "ev.jit(ev.grad(lambda y: (x * y).astype('float32').sum()))(x[0])",
        )
    ],
    *programs(
        f"""
        ev.eval_shape({FOREIGN.format("")}, x).shape
        ev.eval_shape(ev.vmap({FOREIGN.format(", vmap_method='broadcast_all'")}), x).shape
        ev.eval_shape(ev.vmap({FOREIGN.format(", vmap_method='sequential'")}), x).shape
        ev.eval_shape(ev.vmap({FOREIGN.format("")}), x)
        ev.eval_shape(ev.grad(lambda x: {FOREIGN.format("")}(x).sum()), x)
        {FOREIGN.format("")}(x)
        {FOREIGN.format(", vmap_method='all'")}(x)
        {FOREIGN.format(", input_layouts=[None, None]")}(x)
        {FOREIGN.format(", input_output_aliases={{0: 3}}")}(x)
        {FOREIGN.format(", input_output_aliases={{0: 0}}")}(x[0, :3])
        {FOREIGN.format(", legacy_backend_config='x'")}(x)
        {FOREIGN.format("")}(x, a=None)
        {FOREIGN.format("")}(x, a=1j)
        ev.ffi.ffi_call('none', 1)(x)
        ev.ffi.register_ffi_target('number', 3)
        """,
        X,
    ),
    *programs(
        """
        ev.nn.scaled_dot_general(x, y, (((1,), (0,)), ((), ())))
        ev.nn.scaled_dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type='bfloat16')
        ev.nn.get_scaled_dot_general_config('mxfp8').block_size
        ev.nn.get_scaled_dot_general_config('nvfp4').block_size
        ev.nn.get_scaled_dot_general_config('nvfp4').global_scale
        ev.nn.get_scaled_dot_general_config('mxfp8', 0.5).global_scale
        ev.nn.get_scaled_dot_general_config('nvfp4', 0.5).global_scale
        ev.nn.get_scaled_dot_general_config('fp8')
        """,
        ROWS,
        ROWS,
    ),
]
CASES += [
    program(f"lax.index_in_dim(x, {i}, {axis}, keepdims={keep})", N, tolerance=0)
    for i, axis in ((0, 0), (2, 0), (-3, 0), (3, 1), (-4, 1))
    for keep in (True, False)
]

DIFFERENCES = {
    "ev.ffi.ffi_call('none', 1)(x)": CLASS,
    "lambda x: (x.sum(dtype='bfloat16'))([1.0, 2.0, 3.0]) allow_f16_reductions=False": (
        "evertrace adds in 32 bits and rounds the result to the dtype that is asked for"
    ),
}
