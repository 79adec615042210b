"""A small library of kernels."""
