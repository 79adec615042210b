"""A search by Gumbel MuZero in a small game."""

import jax
import jax.numpy as jnp
import mctx


def recurrent(params, key, action, embedding):
    embedding = embedding + action
    return (
        mctx.RecurrentFnOutput(
            reward=(embedding % 3 == 0).astype(jnp.float32),
            discount=jnp.full(action.shape, 0.9),
            prior_logits=jnp.zeros((*action.shape, 4)),
            value=jnp.zeros(action.shape),
        ),
        embedding,
    )


@jax.jit
def search(key):
    root = mctx.RootFnOutput(
        prior_logits=jnp.zeros((2, 4)), value=jnp.zeros(2), embedding=jnp.array([1, 2])
    )
    return mctx.gumbel_muzero_policy((), key, root, recurrent, num_simulations=16)


found = search(jax.random.PRNGKey(0))
print("actions", *map(int, found.action))
print("weights", *map(float, found.action_weights.ravel()))
