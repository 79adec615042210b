"""`experimental.random`: a generator with a state draws JAX's numbers."""

from tests.oracle.cases_experimental import using

RNG = "m.stateful_rng({seed})"
DRAWS = (
    "random()", "random(3)", "random((2, 3), jnp.float16)", "uniform()", "uniform(1, 3, 4)",
    "uniform(-1.0, 2, (2, 2))", "uniform(jnp.zeros(2), jnp.ones((3, 1)))", "normal(size=3)",
    "normal(1, 2, (2, 2))", "normal(jnp.arange(3.), 0.5)", "integers(5)", "integers(5, size=6)",
    "integers(-3, 9, (2, 3))", "integers(0, jnp.array([3, 9]))", "integers(0, 200, 4, dtype=jnp.uint8)",
    "key()", "key(3)", "key((2, 2))", "spawn(2)[1].random(2)", "split(3)._base_key",
    "integers(2.5)", "random('a')",
)  # fmt: skip

CASES = [
    using("random", f"{RNG.format(seed=seed)}.{draw}")
    for seed in ("3", "7, impl='rbg'")
    for draw in DRAWS
    if "normal" not in draw or seed == "3"
]
CASES += [
    using("random", f"(lambda r: [{', '.join([f'r.{draw}'] * 3)}])(m.stateful_rng(11))")
    for draw in ("random(2)", "integers(9)", "key()")
]
CASES += [
    using("random", f"(lambda r: ev.jit(lambda: [r.{draw}, r.{draw}])())(m.stateful_rng(11))")
    for draw in ("random(2)", "integers(9)", "normal()")
]
CASES += [
    using(
        "random", "ev.vmap(lambda r, x: x + r.uniform())(m.stateful_rng(5).split(3), jnp.zeros(3))"
    ),
    using("random", "ev.jit(lambda: m.stateful_rng().uniform())()"),
    using("random", "m.stateful_rng('a')"),
]
