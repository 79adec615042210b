"""Where in the user's code an operation comes from."""

from evertrace._src.api.source_exclusions import register_exclusion as register_exclusion

__all__ = ["register_exclusion"]
