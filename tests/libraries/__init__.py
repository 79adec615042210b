"""Libraries written for JAX, on evertrace and on JAX: see `scripts/libraries`."""
