"""The typed IR: avals, primitives, tracers, jaxprs, and the hooks to the layers above."""
