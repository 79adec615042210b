"""A small network with named axes, and a part of it that is selected and changed."""

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models import simple_mlp

model = simple_mlp.MLP.from_config(
    name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[3, 8, 1]
)
x = pz.nx.wrap(jnp.ones((4, 3)), "batch", "features")
print("result", *map(float, model(x).unwrap("batch", "features").ravel()))
doubled = pz.select(model).at_instances_of(pz.nn.Linear).apply(lambda layer: layer)
print("parameters", len(pz.unbind_params(doubled)[1]))
loss = jax.jit(lambda x: pz.nx.nmap(jnp.sum)(x.untag("features")).unwrap("batch").sum())
print("sum", float(loss(x)))
