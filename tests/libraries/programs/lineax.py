"""Linear solves by a matrix, by a function, and their derivative."""

import jax
import jax.numpy as jnp
import lineax as lx

matrix = jnp.array([[4.0, 1.0], [1.0, 3.0]])
vector = jnp.array([1.0, 2.0])
operator = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)
print("cholesky", *map(float, lx.linear_solve(operator, vector, lx.Cholesky()).value))

function = lx.FunctionLinearOperator(
    lambda x: matrix @ x, jax.eval_shape(lambda: vector), lx.positive_semidefinite_tag
)
print("cg", *map(float, lx.linear_solve(function, vector, lx.CG(rtol=1e-6, atol=1e-6)).value))


@jax.jit
def total(m):
    return lx.linear_solve(lx.MatrixLinearOperator(m), vector).value.sum()


print("derivative", *map(float, jax.grad(total)(matrix).ravel()))
