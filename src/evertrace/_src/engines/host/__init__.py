"""The host engine: runs each operation at once on CPU memory; the reference semantics."""
