"""What is raised and warned of sparse arrays."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.coordinates import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
)
from evertrace._src.experimental.sparse.coordinates import (
    SparseEfficiencyError as SparseEfficiencyError,
)
from evertrace._src.experimental.sparse.coordinates import (
    SparseEfficiencyWarning as SparseEfficiencyWarning,
)

lazy.refuse_others(__name__)
