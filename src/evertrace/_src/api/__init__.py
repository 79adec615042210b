"""The transformations as users call them: flatten, transform, unflatten."""
