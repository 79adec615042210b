"""The name ``jax``, lent by evertrace; importing it puts evertrace's modules in its place."""

import sys

import evertrace

del sys.modules[__name__]  # a module of this name that is there already would be the real JAX
evertrace.as_jax()
