"""Algorithms and classes as textbooks have them, written without a thought of `jit`."""
