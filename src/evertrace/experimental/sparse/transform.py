"""Functions of arrays on sparse ones."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.arrays import BCOO as BCOO
from evertrace._src.experimental.sparse.formats import BCSR as BCSR
from evertrace._src.experimental.sparse.products import bcoo_multiply_dense as bcoo_multiply_dense
from evertrace._src.experimental.sparse.products import bcoo_multiply_sparse as bcoo_multiply_sparse
from evertrace._src.experimental.sparse.sparsify import SparseTracer as SparseTracer
from evertrace._src.experimental.sparse.sparsify import sparsify as sparsify

lazy.refuse_others(__name__)
