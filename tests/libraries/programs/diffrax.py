"""An ordinary differential equation with adaptive steps, and the derivative of its solution."""

import diffrax
import jax
import jax.numpy as jnp


@jax.jit
def solve(rate):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: -args * y),
        diffrax.Tsit5(),
        t0=0.0,
        t1=2.0,
        dt0=0.1,
        y0=jnp.array([1.0, 2.0]),
        args=rate,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 2.0, 5)),
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5),
    )
    return solution.ys


print("solution", *map(float, solve(1.0)[:, 0]))
print("derivative", float(jax.grad(lambda k: solve(k)[-1].sum())(1.0)))
