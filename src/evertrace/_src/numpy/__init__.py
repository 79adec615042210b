"""The NumPy front end: promotion, ufuncs, indexing, creation, reductions and what they carry."""
