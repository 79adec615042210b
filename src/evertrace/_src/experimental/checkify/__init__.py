"""Run-time checks as values: `checkify` turns failed checks into an `Error` that is returned."""
