"""Meshes of devices, how arrays are laid out over them, and functions of one device's part."""
