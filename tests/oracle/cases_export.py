"""`export`: calls, derivatives and mistakes. `tests.export.exchange` compares the bytes."""

from tests.oracle.cases import Case

FUN = "ev.jit(lambda x, n: {'y': jnp.sin(x) * n, 'n': n + 1})"
MADE = f"m.export({FUN})(jnp.arange(3.), jnp.int32(2))"

TEXTS = [
    f"{MADE}.call(jnp.ones(3), jnp.int32(2))", f"{MADE}.call(jnp.ones(3), 2)",
    f"ev.jit({MADE}.call)(jnp.ones(3), 2)", f"{MADE}.call(jnp.ones(4), 2)", f"{MADE}.call(jnp.ones(3))",
    f"{MADE}.call(jnp.ones(3, int), 2)", f"{MADE}.call([1.0], 2)", f"{MADE}.call(jnp.ones(3), 2, z=1)",
    f"ev.grad(lambda x: {MADE}.call(x, 2)['y'].sum())(jnp.arange(3.))",
    f"ev.grad(lambda x: ev.grad(lambda x: {MADE}.call(x, 2)['y'].sum())(x).sum())(jnp.arange(3.))",
    f"ev.jit(ev.grad(lambda x: {MADE}.call(x, 2)['y'].sum()))(jnp.arange(3.))",
    f"ev.jvp(lambda x: {MADE}.call(x, 2)['y'], (jnp.ones(3),), (jnp.ones(3),))",
    f"ev.vmap(lambda x: {MADE}.call(x, 2))(jnp.ones((2, 3)))",
    f"{MADE}.fun_name", f"{MADE}.platforms", f"{MADE}.nr_devices", f"{MADE}.has_vjp()",
    f"{MADE}.module_kept_var_idx", f"[a.shape for a in {MADE}.in_avals]", f"str({MADE})",
    "m.export(lambda x: x)", "m.default_export_platform()",
    "m.export(ev.jit(jnp.sin), platforms=['tpu'])(jnp.ones(3)).call(jnp.ones(3))",
    "m.export(ev.jit(jnp.sin), platforms=['tpu', 'cpu'])(jnp.ones(3)).call(jnp.ones(3))",
    "m.export(ev.jit(lambda x, n: x * n, static_argnums=1))(jnp.ones(3), 3).call(jnp.ones(3))",
    "m.export(ev.jit(jnp.linalg.inv))(jnp.eye(3)).call(jnp.eye(3) * 2)",
    "m.DisabledSafetyCheck.custom_call('a').is_custom_call()",
    "m.DisabledSafetyCheck.platform().is_custom_call()",
]  # fmt: skip


def _case(text):
    module = "__import__('importlib').import_module(ev.__name__ + '.export')"
    return Case(f"lambda: (lambda m: ({text}))({module})", (), {}, {}, 8.0, note=text)


CASES = [_case(text) for text in TEXTS]
