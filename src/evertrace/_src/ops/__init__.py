"""What each operation means, one block per primitive, one file per family.

A family's lowering stands in each engine's `rules/<family>.py`.
"""
