"""Concrete arrays over an engine's buffer, and their interchange with NumPy and DLPack."""
