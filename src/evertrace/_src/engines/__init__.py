"""Engines: what runs operations and programs. They do not know each other."""
