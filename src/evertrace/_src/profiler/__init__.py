"""Finding out where time and memory go."""
