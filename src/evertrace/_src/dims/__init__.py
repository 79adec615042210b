"""Sizes as expressions: what a shape holds where a program is for all sizes at once."""

from evertrace._src.dims.expression import Dim as Dim
from evertrace._src.dims.expression import bare as bare
from evertrace._src.dims.expression import evaluate as evaluate
from evertrace._src.dims.expression import max_of as max_of
from evertrace._src.dims.expression import min_of as min_of
from evertrace._src.dims.expression import size_of as size_of
from evertrace._src.dims.expression import writing_holes as writing_holes
from evertrace._src.dims.sizes import broadcast_shapes as broadcast_shapes
from evertrace._src.dims.sizes import ceildiv as ceildiv
from evertrace._src.dims.sizes import estimated as estimated
from evertrace._src.dims.sizes import is_below as is_below
from evertrace._src.dims.sizes import is_dim as is_dim
from evertrace._src.dims.sizes import is_same_shape as is_same_shape
from evertrace._src.dims.sizes import is_unknown as is_unknown
from evertrace._src.dims.sizes import least_of as least_of
from evertrace._src.dims.sizes import most_of as most_of
from evertrace._src.dims.sizes import shown as shown
from evertrace._src.dims.sizes import slice_bounds as slice_bounds
