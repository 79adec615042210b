"""Themes of the random programs: templates about one thing, of which a program has a few.

The templates are those of `grammar.py`. A program draws its themes first, so that what belongs
together meets often enough.
"""

from tests.contract.families import (
    ambient,
    asking,
    caches,
    callbacks,
    class_state,
    classes,
    containers,
    exact,
    functions,
    memory,
    raising,
    records,
    steps,
    values,
    wrappers,
)

FAMILIES = (
    *ambient.FAMILIES,
    *asking.FAMILIES,
    *caches.FAMILIES,
    *callbacks.FAMILIES,
    *class_state.FAMILIES,
    *classes.FAMILIES,
    *containers.FAMILIES,
    *exact.FAMILIES,
    *functions.FAMILIES,
    *memory.FAMILIES,
    *raising.FAMILIES,
    *records.FAMILIES,
    *steps.FAMILIES,
    *values.FAMILIES,
    *wrappers.FAMILIES,
)
