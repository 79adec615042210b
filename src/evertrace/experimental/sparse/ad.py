"""Derivatives by sparse arrays."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.arrays import JAXSparse as JAXSparse
from evertrace._src.experimental.sparse.derivatives import grad as grad
from evertrace._src.experimental.sparse.derivatives import jacfwd as jacfwd
from evertrace._src.experimental.sparse.derivatives import jacobian as jacobian
from evertrace._src.experimental.sparse.derivatives import jacrev as jacrev
from evertrace._src.experimental.sparse.derivatives import value_and_grad as value_and_grad

lazy.refuse_others(__name__)
