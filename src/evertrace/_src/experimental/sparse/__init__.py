"""Sparse arrays in batched coordinate format, and functions of them."""
