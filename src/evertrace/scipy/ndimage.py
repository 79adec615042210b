"""Images of any number of dimensions."""

from evertrace._src import lazy
from evertrace._src.scipy.ndimage import map_coordinates as map_coordinates

lazy.refuse_others(__name__)

__all__ = ["map_coordinates"]
