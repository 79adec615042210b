"""Programs for other processes: exported functions, their bytes and their trees."""
