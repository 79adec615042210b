"""Higher-order primitives: calls, branches, loops, custom rules; their rules use `transforms`."""
