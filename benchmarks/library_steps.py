"""Steps as people write them with libraries: a program that times one of them, by its name.

It prints JSON: processor time of the first step, the least time of a later one, some results.
"""

import importlib
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

DATA = jnp.asarray(np.random.default_rng(0).normal(size=(64, 16)), jnp.float32)
TARGET = jnp.sin(DATA.sum(1, keepdims=True))
OPTIMIZER = optax.adam(1e-2)
LATER = 200


def trained(apply, params):
    """Return a step of a model that is a function of parameters."""

    @jax.jit
    def update(params, state, x, y):
        def loss(params):
            return jnp.mean((apply(params, x) - y) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        updates, state = OPTIMIZER.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    kept = [params, OPTIMIZER.init(params)]

    def step():
        kept[0], kept[1], value = update(*kept, DATA, TARGET)
        return value

    return step


def flax_linen():
    """A network of flax.linen."""
    nn = importlib.import_module("flax.linen")
    model = nn.Sequential([nn.Dense(64), nn.relu, nn.Dense(64), nn.relu, nn.Dense(1)])
    return trained(model.apply, model.init(jax.random.key(0), DATA))


def flax_nnx():
    """A network of flax.nnx, with its own jit."""
    nnx = importlib.import_module("flax.nnx")
    rngs = nnx.Rngs(0)
    layers = [nnx.Linear(16, 64, rngs=rngs), nnx.Linear(64, 64, rngs=rngs)]
    model = nnx.Sequential(layers[0], nnx.relu, layers[1], nnx.relu, nnx.Linear(64, 1, rngs=rngs))
    optimizer = nnx.Optimizer(model, OPTIMIZER, wrt=nnx.Param)

    @nnx.jit
    def update(model, optimizer, x, y):
        value, grads = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
        optimizer.update(model, grads)
        return value

    return lambda: update(model, optimizer, DATA, TARGET)


def equinox():
    """A network of equinox, with its own jit."""
    eqx = importlib.import_module("equinox")
    model = eqx.nn.MLP(16, 1, 64, 2, key=jax.random.key(0))

    @eqx.filter_jit
    def update(model, state, x, y):
        def loss(model):
            return jnp.mean((jax.vmap(model)(x) - y) ** 2)

        value, grads = eqx.filter_value_and_grad(loss)(model)
        updates, state = OPTIMIZER.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, value

    kept = [model, OPTIMIZER.init(eqx.filter(model, eqx.is_array))]

    def step():
        kept[0], kept[1], value = update(*kept, DATA, TARGET)
        return value

    return step


def haiku():
    """A network of haiku."""
    hk = importlib.import_module("haiku")
    model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([64, 64, 1])(x)))
    return trained(model.apply, model.init(jax.random.key(0), DATA))


def numpyro():
    """NUTS of numpyro: a step is a run of 100 and 100 samples."""
    infer = importlib.import_module("numpyro.infer")
    sample = importlib.import_module("numpyro").sample
    dist = importlib.import_module("numpyro.distributions")
    x = DATA[:, :3]
    y = x @ jnp.array([1.0, -2.0, 0.5])

    def model(x, y=None):
        weights = sample("weights", dist.Normal(0, 1).expand([3]).to_event(1))
        sample("y", dist.Normal(x @ weights, sample("noise", dist.HalfNormal(1))), obs=y)

    nuts = infer.NUTS(model)
    mcmc = infer.MCMC(nuts, num_warmup=100, num_samples=100, progress_bar=False)

    def step():
        mcmc.run(jax.random.key(0), x, y)
        return jnp.round(mcmc.get_samples()["weights"].mean(), 1)

    return step


def diffrax():
    """An ODE of diffrax and the derivative of its solution."""
    dfx = importlib.import_module("diffrax")

    @jax.jit
    @jax.value_and_grad
    def solved(rate):
        solution = dfx.diffeqsolve(
            dfx.ODETerm(lambda t, y, rate: -rate * y), dfx.Tsit5(), 0.0, 3.0, 0.1, 1.0, rate,
            stepsize_controller=dfx.PIDController(1e-5, 1e-5),
        )  # fmt: skip
        return solution.ys[-1]

    rate = jnp.float32(0.5)
    return lambda: solved(rate)[1]


def main(name):
    """Time the first step and later ones."""
    step = globals()[name]()
    before = time.process_time()
    results = [float(step())]
    first, later = time.process_time() - before, []
    for _ in range(LATER if name != "numpyro" else 3):
        before = time.perf_counter()
        value = jax.block_until_ready(step())
        later.append(time.perf_counter() - before)
        if len(results) < 5:
            results.append(float(value))
    print(json.dumps({"first": first, "later": min(later), "results": results}))


if __name__ == "__main__":
    main(sys.argv[1])
