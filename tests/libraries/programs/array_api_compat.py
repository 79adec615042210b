"""The namespace of the array API standard that an array belongs to."""

import array_api_compat
import jax
import jax.numpy as jnp


def standardise(x):
    xp = array_api_compat.array_namespace(x)
    return (x - xp.mean(x)) / xp.std(x)


x = jnp.array([1.0, 2.0, 4.0])
print("is", array_api_compat.is_jax_array(x), array_api_compat.is_numpy_array(x))
print("standardised", *map(float, standardise(x)), *map(float, jax.jit(standardise)(x)))
print("device", array_api_compat.to_device(x, array_api_compat.device(x)).shape)
