"""Images of any number of dimensions."""

from evertrace._src.scipy.ndimage import map_coordinates as map_coordinates

__all__ = ["map_coordinates"]
