"""Higher-order primitives: calls, branches, loops, custom rules. Their rules use transformations."""
