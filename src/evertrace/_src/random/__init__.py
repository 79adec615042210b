"""Random numbers: keys (`keys`), and what is drawn with them, one module per kind."""
