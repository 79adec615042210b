"""Special functions, one file per theme; `formulas` says how their methods are written."""
