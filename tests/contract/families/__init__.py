"""Themes of the random programs: templates about one thing, of which a program has a few.

The templates are those of `grammar.py`. A program draws its themes first, so that what belongs
together meets often enough.
"""

from tests.contract.families import (
    ambient,
    callbacks,
    classes,
    containers,
    exact,
    memory,
    raising,
    steps,
    values,
    wrappers,
)

FAMILIES = (
    *ambient.FAMILIES,
    *callbacks.FAMILIES,
    *classes.FAMILIES,
    *containers.FAMILIES,
    *exact.FAMILIES,
    *memory.FAMILIES,
    *raising.FAMILIES,
    *steps.FAMILIES,
    *values.FAMILIES,
    *wrappers.FAMILIES,
)
