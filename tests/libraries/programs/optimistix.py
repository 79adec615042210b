"""A root, a minimum and a least-squares fit."""

import jax.numpy as jnp
import optimistix as optx

newton = optx.Newton(rtol=1e-6, atol=1e-6)
print("root", float(optx.root_find(lambda y, args: y**2 - args, newton, jnp.array(1.0), 2.0).value))

bfgs = optx.BFGS(rtol=1e-5, atol=1e-5)
found = optx.minimise(lambda y, args: jnp.sum((y - args) ** 4 + y**2), bfgs, jnp.zeros(2), 1.0)
print("minimum", *map(float, found.value))

x = jnp.linspace(0.0, 1.0, 10)
fit = optx.least_squares(
    lambda p, y: p[0] * jnp.exp(p[1] * x) - y,
    optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5),
    jnp.ones(2),
    2 * jnp.exp(-x),
)
print("fit", *map(float, fit.value))
