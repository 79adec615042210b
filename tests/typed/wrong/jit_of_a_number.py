"""jit takes functions."""

import evertrace as ev

f = ev.jit(3)  # wrong
