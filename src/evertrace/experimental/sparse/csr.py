"""Sparse matrices by rows or columns."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.arrays import JAXSparse as JAXSparse
from evertrace._src.experimental.sparse.coordinates import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
)
from evertrace._src.experimental.sparse.formats import CSC as CSC
from evertrace._src.experimental.sparse.formats import CSR as CSR
from evertrace._src.experimental.sparse.formats import csr_fromdense_p as csr_fromdense_p
from evertrace._src.experimental.sparse.formats import csr_todense_p as csr_todense_p
from evertrace._src.experimental.sparse.matrices import csr_fromdense as csr_fromdense
from evertrace._src.experimental.sparse.matrices import csr_matmat as csr_matmat
from evertrace._src.experimental.sparse.matrices import csr_matmat_p as csr_matmat_p
from evertrace._src.experimental.sparse.matrices import csr_matvec as csr_matvec
from evertrace._src.experimental.sparse.matrices import csr_matvec_p as csr_matvec_p
from evertrace._src.experimental.sparse.matrices import csr_todense as csr_todense

lazy.refuse_others(__name__)
