"""Looking into functions while they run, also when they are transformed and compiled."""
