"""A graph network on a small graph."""

import jax
import jax.numpy as jnp
import jraph

graph = jraph.GraphsTuple(
    nodes=jnp.arange(6.0).reshape(3, 2),
    edges=jnp.ones((4, 1)),
    senders=jnp.array([0, 1, 2, 0]),
    receivers=jnp.array([1, 2, 0, 2]),
    globals=jnp.zeros((1, 1)),
    n_node=jnp.array([3]),
    n_edge=jnp.array([4]),
)
network = jraph.GraphNetwork(
    update_edge_fn=lambda e, sent, received, g: e + sent.sum(-1, keepdims=True),
    update_node_fn=lambda n, sent, received, g: n + received,
    update_global_fn=lambda n, e, g: g + n.sum(-1, keepdims=True),
)
out = jax.jit(network)(jraph.pad_with_graphs(graph, 5, 6))
print("nodes", *map(float, out.nodes.ravel()))
print("globals", *map(float, out.globals.ravel()))
