"""Batches of sparse matrices by rows."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.arrays import JAXSparse as JAXSparse
from evertrace._src.experimental.sparse.coordinates import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
)
from evertrace._src.experimental.sparse.coordinates import (
    SparseEfficiencyWarning as SparseEfficiencyWarning,
)
from evertrace._src.experimental.sparse.formats import BCSR as BCSR
from evertrace._src.experimental.sparse.formats import bcsr_fromdense_p as bcsr_fromdense_p
from evertrace._src.experimental.sparse.formats import bcsr_todense_p as bcsr_todense_p
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

lazy.refuse_others(__name__)
