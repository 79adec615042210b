"""Images in other sizes."""

from evertrace._src import lazy
from evertrace._src.image.resize import ResizeMethod as ResizeMethod
from evertrace._src.image.resize import resize as resize
from evertrace._src.image.resize import scale_and_translate as scale_and_translate

lazy.refuse_others(__name__)

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
