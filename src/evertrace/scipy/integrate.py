"""Integrals of sampled functions."""

from evertrace._src.numpy.calculus import trapezoid as trapezoid

__all__ = ["trapezoid"]
