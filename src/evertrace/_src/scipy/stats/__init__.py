"""Distributions, one module each, and statistics of samples."""
