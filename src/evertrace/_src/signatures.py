"""Signatures of functions that users wrote."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

_options: dict[str, Any] = {}

if sys.version_info >= (3, 14):
    # Annotations are programs there, which run when somebody asks for the values. They may name
    # what is not there: what only type checkers import, or a class that is defined further down.
    import annotationlib

    _options["annotation_format"] = annotationlib.Format.STRING


def signature_of(fun: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a callable; its annotations are not evaluated.

    Raises:
      TypeError: It cannot be called, or its kind of callable has no signature.
      ValueError: It has none that can be found.
    """
    return inspect.signature(fun, **_options)
