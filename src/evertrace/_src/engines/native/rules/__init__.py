"""What kernels each operation becomes, one file per family of `ops` and `control`; see `emit`."""
