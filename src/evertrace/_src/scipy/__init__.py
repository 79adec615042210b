"""What `evertrace.scipy` offers, one file per theme."""
