"""The XLA engine: StableHLO text compiled and run through jaxlib's PJRT clients."""
