"""optax: a regression by Adam with a schedule and clipping, and some of its losses and averages."""

import numpy as np

import evertrace as ev

ev.as_jax()

import jax  # noqa: E402  # these mean evertrace from here on
import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402

assert jax.jit is ev.jit

rng = np.random.default_rng(0)
features = jnp.asarray(rng.normal(size=(64, 3)), jnp.float32)
weights = jnp.array([1.0, -2.0, 3.0])
targets = features @ weights + 0.5


def loss(params):
    """Return the mean squared error."""
    predictions = features @ params["w"] + params["b"]
    return jnp.mean(optax.l2_loss(predictions, targets))


def train(optimizer, steps):
    """Return the parameters after some steps."""
    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        grads = jax.grad(loss)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for _ in range(steps):
        params, state = step(params, state)
    return params


schedule = optax.cosine_decay_schedule(0.1, 400)
assert float(schedule(0)) == np.float32(0.1)
assert float(schedule(400)) == 0
found = train(optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule)), 400)
assert loss(found) < 1e-10, loss(found)
np.testing.assert_allclose(found["w"], weights, atol=1e-4)

for make in (optax.sgd, optax.adamw, optax.rmsprop, optax.lamb):
    assert loss(train(make(0.02), 200)) < 0.5 * loss(train(make(0.02), 0)), make

clipped, _ = optax.clip_by_global_norm(1.0).update({"g": jnp.array([3.0, 4.0])}, optax.EmptyState())
np.testing.assert_allclose(clipped["g"], [0.6, 0.8], rtol=1e-6)
logits, labels = jnp.array([[2.0, 0.0], [0.0, 1.0]]), jnp.array([0, 1])
entropy = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
np.testing.assert_allclose(entropy, np.log1p(np.exp([-2.0, -1.0])), rtol=1e-6)
average = optax.incremental_update({"a": jnp.ones(2)}, {"a": jnp.zeros(2)}, 0.25)
np.testing.assert_array_equal(average["a"], [0.25, 0.25])
