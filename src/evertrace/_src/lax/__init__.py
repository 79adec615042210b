"""Functions over `ops` and `control` that check and convert their arguments but do not promote."""
