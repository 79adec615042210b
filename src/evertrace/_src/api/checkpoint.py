"""`checkpoint` as users call it: outside of `jit` too, what changes is changed once."""

import functools

from evertrace._src.control.checkpoint import checkpoint as traced_checkpoint
from evertrace._src.jit.observe import stateful


@functools.wraps(traced_checkpoint)
def checkpoint(fun, **options):
    return stateful(traced_checkpoint(fun, **options))
