"""The implementation; what is public is re-exported by the packages above."""
