"""Mutable arrays: `Ref`, and the functions that make, read and write one."""
