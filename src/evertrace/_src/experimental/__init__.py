"""What may still change its name or meaning."""
