"""How XLA executes each operation, one file per family of `ops` and `control`; see `lower`."""
