"""The NumPy front end: promotion, ufuncs, indexing, creation, reductions and what is built on them."""
