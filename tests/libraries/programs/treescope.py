"""Trees and arrays as text."""

import jax
import jax.numpy as jnp
import treescope

tree = {"weights": jnp.arange(6.0).reshape(2, 3), "key": jax.random.PRNGKey(0), "names": ["a", "b"]}
text = treescope.render_to_text(tree)
print("weights" in text, "(2, 3)" in text, "['a', 'b']" in text)
