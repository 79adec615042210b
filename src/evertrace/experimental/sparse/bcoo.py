"""Sparse arrays by coordinates."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.arrays import BCOO as BCOO
from evertrace._src.experimental.sparse.arrays import JAXSparse as JAXSparse
from evertrace._src.experimental.sparse.arrays import bcoo_extract as bcoo_extract
from evertrace._src.experimental.sparse.arrays import bcoo_fromdense as bcoo_fromdense
from evertrace._src.experimental.sparse.arrays import bcoo_sort_indices as bcoo_sort_indices
from evertrace._src.experimental.sparse.arrays import bcoo_sum_duplicates as bcoo_sum_duplicates
from evertrace._src.experimental.sparse.arrays import bcoo_todense as bcoo_todense
from evertrace._src.experimental.sparse.arrays import bcoo_update_layout as bcoo_update_layout
from evertrace._src.experimental.sparse.coordinates import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
)
from evertrace._src.experimental.sparse.coordinates import (
    SparseEfficiencyError as SparseEfficiencyError,
)
from evertrace._src.experimental.sparse.coordinates import (
    SparseEfficiencyWarning as SparseEfficiencyWarning,
)
from evertrace._src.experimental.sparse.elements import bcoo_extract_p as bcoo_extract_p
from evertrace._src.experimental.sparse.elements import bcoo_fromdense_p as bcoo_fromdense_p
from evertrace._src.experimental.sparse.elements import bcoo_sort_indices_p as bcoo_sort_indices_p
from evertrace._src.experimental.sparse.elements import (
    bcoo_sum_duplicates_p as bcoo_sum_duplicates_p,
)
from evertrace._src.experimental.sparse.elements import bcoo_todense_p as bcoo_todense_p
from evertrace._src.experimental.sparse.products import bcoo_dot_general as bcoo_dot_general
from evertrace._src.experimental.sparse.products import bcoo_dot_general_p as bcoo_dot_general_p
from evertrace._src.experimental.sparse.products import bcoo_multiply_dense as bcoo_multiply_dense
from evertrace._src.experimental.sparse.products import bcoo_multiply_sparse as bcoo_multiply_sparse
from evertrace._src.experimental.sparse.products import bcoo_spdot_general_p as bcoo_spdot_general_p
from evertrace._src.experimental.sparse.shapes import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from evertrace._src.experimental.sparse.shapes import bcoo_concatenate as bcoo_concatenate
from evertrace._src.experimental.sparse.shapes import bcoo_dynamic_slice as bcoo_dynamic_slice
from evertrace._src.experimental.sparse.shapes import bcoo_reduce_sum as bcoo_reduce_sum
from evertrace._src.experimental.sparse.shapes import bcoo_reshape as bcoo_reshape
from evertrace._src.experimental.sparse.shapes import bcoo_rev as bcoo_rev
from evertrace._src.experimental.sparse.shapes import bcoo_slice as bcoo_slice
from evertrace._src.experimental.sparse.shapes import bcoo_squeeze as bcoo_squeeze
from evertrace._src.experimental.sparse.shapes import bcoo_transpose as bcoo_transpose
from evertrace._src.experimental.sparse.shapes import bcoo_transpose_p as bcoo_transpose_p
from evertrace._src.experimental.sparse.windows import (
    bcoo_conv_general_dilated as bcoo_conv_general_dilated,
)
from evertrace._src.experimental.sparse.windows import (
    bcoo_dot_general_sampled as bcoo_dot_general_sampled,
)
from evertrace._src.experimental.sparse.windows import (
    bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p,
)
from evertrace._src.experimental.sparse.windows import bcoo_gather as bcoo_gather

lazy.refuse_others(__name__)
