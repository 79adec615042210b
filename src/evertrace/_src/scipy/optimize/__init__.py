"""Minima of functions by quasi-Newton methods."""
