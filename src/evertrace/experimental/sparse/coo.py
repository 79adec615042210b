"""Sparse matrices by coordinates."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.arrays import JAXSparse as JAXSparse
from evertrace._src.experimental.sparse.coordinates import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
)
from evertrace._src.experimental.sparse.formats import COO as COO
from evertrace._src.experimental.sparse.formats import coo_fromdense_p as coo_fromdense_p
from evertrace._src.experimental.sparse.formats import coo_todense_p as coo_todense_p
from evertrace._src.experimental.sparse.matrices import coo_fromdense as coo_fromdense
from evertrace._src.experimental.sparse.matrices import coo_matmat as coo_matmat
from evertrace._src.experimental.sparse.matrices import coo_matmat_p as coo_matmat_p
from evertrace._src.experimental.sparse.matrices import coo_matvec as coo_matvec
from evertrace._src.experimental.sparse.matrices import coo_matvec_p as coo_matvec_p
from evertrace._src.experimental.sparse.matrices import coo_todense as coo_todense

lazy.refuse_others(__name__)
