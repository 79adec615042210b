"""jaxopt: minima by L-BFGS and gradient descent, a line search, and implicit derivatives."""

import numpy as np

import evertrace as ev

ev.as_jax()

import jax  # noqa: E402  # these mean evertrace from here on
import jax.numpy as jnp  # noqa: E402
import jaxopt  # noqa: E402


def rosenbrock(x):
    """Return the function whose minimum, 0, is at all ones."""
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


found = jaxopt.LBFGS(fun=rosenbrock, maxiter=200).run(jnp.zeros(4))
assert found.state.value < 1e-8, found.state
np.testing.assert_allclose(found.params, 1, atol=1e-3)

descent = jaxopt.GradientDescent(fun=lambda x, a: jnp.sum((x - a) ** 2), maxiter=100)
goal = jnp.arange(3.0)
np.testing.assert_allclose(descent.run(jnp.zeros(3), a=goal).params, goal, atol=1e-4)
slope = jax.grad(lambda a: jnp.sum(descent.run(jnp.zeros(3), a=a).params ** 2))(goal)
np.testing.assert_allclose(slope, 2 * goal, atol=1e-4)  # the minimum is at `a`

root = jaxopt.Bisection(lambda x, c: x**3 - c, 0.0, 3.0, tol=1e-6)
np.testing.assert_allclose(root.run(c=8.0).params, 2, atol=1e-4)
