"""L-BFGS, and a derivative through a solution."""

import jax
import jax.numpy as jnp
import jaxopt


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


print(
    "minimum", *map(float, jaxopt.LBFGS(rosenbrock, maxiter=100, tol=1e-6).run(jnp.zeros(3)).params)
)


def ridge(w, penalty, x, y):
    return jnp.mean((x @ w - y) ** 2) + penalty * jnp.sum(w**2)


x = jax.random.normal(jax.random.key(0), (10, 2))
y = x @ jnp.array([1.0, 2.0])
solver = jaxopt.GradientDescent(ridge, maxiter=500, tol=1e-6)
solve = jax.jit(lambda penalty: solver.run(jnp.zeros(2), penalty, x, y).params[0])
print("solution", float(solve(0.1)), "derivative", float(jax.grad(solve)(0.1)))
