"""Sparse arrays by coordinates (`BCOO`) and in other formats, functions of them, and `sparsify`."""

import evertrace._src.experimental.sparse.operators as _  # noqa: F401  gives them their operators
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
from evertrace._src.experimental.sparse.creation import empty as empty
from evertrace._src.experimental.sparse.creation import eye as eye
from evertrace._src.experimental.sparse.creation import random_bcoo as random_bcoo
from evertrace._src.experimental.sparse.derivatives import grad as grad
from evertrace._src.experimental.sparse.derivatives import jacfwd as jacfwd
from evertrace._src.experimental.sparse.derivatives import jacobian as jacobian
from evertrace._src.experimental.sparse.derivatives import jacrev as jacrev
from evertrace._src.experimental.sparse.derivatives import value_and_grad as value_and_grad
from evertrace._src.experimental.sparse.elements import bcoo_extract_p as bcoo_extract_p
from evertrace._src.experimental.sparse.elements import bcoo_fromdense_p as bcoo_fromdense_p
from evertrace._src.experimental.sparse.elements import bcoo_sort_indices_p as bcoo_sort_indices_p
from evertrace._src.experimental.sparse.elements import (
    bcoo_sum_duplicates_p as bcoo_sum_duplicates_p,
)
from evertrace._src.experimental.sparse.elements import bcoo_todense_p as bcoo_todense_p
from evertrace._src.experimental.sparse.formats import BCSR as BCSR
from evertrace._src.experimental.sparse.formats import COO as COO
from evertrace._src.experimental.sparse.formats import CSC as CSC
from evertrace._src.experimental.sparse.formats import CSR as CSR
from evertrace._src.experimental.sparse.formats import bcsr_fromdense_p as bcsr_fromdense_p
from evertrace._src.experimental.sparse.formats import bcsr_todense_p as bcsr_todense_p
from evertrace._src.experimental.sparse.formats import coo_fromdense_p as coo_fromdense_p
from evertrace._src.experimental.sparse.formats import coo_todense_p as coo_todense_p
from evertrace._src.experimental.sparse.formats import csr_fromdense_p as csr_fromdense_p
from evertrace._src.experimental.sparse.formats import csr_todense_p as csr_todense_p
from evertrace._src.experimental.sparse.matrices import (
    bcsr_broadcast_in_dim as bcsr_broadcast_in_dim,
)
from evertrace._src.experimental.sparse.matrices import bcsr_concatenate as bcsr_concatenate
from evertrace._src.experimental.sparse.matrices import bcsr_dot_general as bcsr_dot_general
from evertrace._src.experimental.sparse.matrices import bcsr_dot_general_p as bcsr_dot_general_p
from evertrace._src.experimental.sparse.matrices import bcsr_extract as bcsr_extract
from evertrace._src.experimental.sparse.matrices import bcsr_extract_p as bcsr_extract_p
from evertrace._src.experimental.sparse.matrices import bcsr_fromdense as bcsr_fromdense
from evertrace._src.experimental.sparse.matrices import bcsr_sum_duplicates as bcsr_sum_duplicates
from evertrace._src.experimental.sparse.matrices import bcsr_todense as bcsr_todense
from evertrace._src.experimental.sparse.matrices import coo_fromdense as coo_fromdense
from evertrace._src.experimental.sparse.matrices import coo_matmat as coo_matmat
from evertrace._src.experimental.sparse.matrices import coo_matmat_p as coo_matmat_p
from evertrace._src.experimental.sparse.matrices import coo_matvec as coo_matvec
from evertrace._src.experimental.sparse.matrices import coo_matvec_p as coo_matvec_p
from evertrace._src.experimental.sparse.matrices import coo_todense as coo_todense
from evertrace._src.experimental.sparse.matrices import csr_fromdense as csr_fromdense
from evertrace._src.experimental.sparse.matrices import csr_matmat as csr_matmat
from evertrace._src.experimental.sparse.matrices import csr_matmat_p as csr_matmat_p
from evertrace._src.experimental.sparse.matrices import csr_matvec as csr_matvec
from evertrace._src.experimental.sparse.matrices import csr_matvec_p as csr_matvec_p
from evertrace._src.experimental.sparse.matrices import csr_todense as csr_todense
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
from evertrace._src.experimental.sparse.sparsify import SparseTracer as SparseTracer
from evertrace._src.experimental.sparse.sparsify import sparsify as sparsify
from evertrace._src.experimental.sparse.sparsify import todense as todense
from evertrace._src.experimental.sparse.sparsify import todense_p as todense_p
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

from . import ad as ad
from . import bcoo as bcoo
from . import bcsr as bcsr
from . import coo as coo
from . import csr as csr
from . import linalg as linalg
from . import random as random
from . import transform as transform
from . import util as util

lazy.refuse_others(__name__)

__all__ = [
    "BCOO",
    "BCSR",
    "COO",
    "CSC",
    "CSR",
    "CuSparseEfficiencyWarning",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseTracer",
    "ad",
    "bcoo",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_p",
    "bcoo_dot_general_sampled",
    "bcoo_dot_general_sampled_p",
    "bcoo_dynamic_slice",
    "bcoo_extract",
    "bcoo_extract_p",
    "bcoo_fromdense",
    "bcoo_fromdense_p",
    "bcoo_gather",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_sort_indices_p",
    "bcoo_spdot_general_p",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_sum_duplicates_p",
    "bcoo_todense",
    "bcoo_todense_p",
    "bcoo_transpose",
    "bcoo_transpose_p",
    "bcoo_update_layout",
    "bcsr",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_dot_general_p",
    "bcsr_extract",
    "bcsr_extract_p",
    "bcsr_fromdense",
    "bcsr_fromdense_p",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "bcsr_todense_p",
    "coo",
    "coo_fromdense",
    "coo_fromdense_p",
    "coo_matmat",
    "coo_matmat_p",
    "coo_matvec",
    "coo_matvec_p",
    "coo_todense",
    "coo_todense_p",
    "csr",
    "csr_fromdense",
    "csr_fromdense_p",
    "csr_matmat",
    "csr_matmat_p",
    "csr_matvec",
    "csr_matvec_p",
    "csr_todense",
    "csr_todense_p",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "linalg",
    "random",
    "random_bcoo",
    "sparsify",
    "todense",
    "todense_p",
    "transform",
    "util",
    "value_and_grad",
]
