"""SciPy's linear algebra: what `numpy.linalg` has no room for."""
