"""Functions of neural networks: activations, normalisations, attention, initializers."""
