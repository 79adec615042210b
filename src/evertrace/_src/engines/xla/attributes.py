"""Attributes of MLIR from Python values."""

import re

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.text import bool_attr, mlir_type, scalar_text


def text(value):
    """Return a string as MLIR writes it."""
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}" for c in value)
    return f'"{escaped}"'


def string(escaped):
    """Return a string that MLIR writes so, without its quotes: the inverse of `text`."""
    return re.sub(r"\\([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), escaped)


def fields(pairs):
    """Return a dictionary of names and values."""
    return f"{{{', '.join(f'{text(key)} = {attribute(value)}' for key, value in pairs)}}}"


def attribute(value):
    """Return a number, a string, an array or a sequence of them."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return bool_attr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(attribute, value))}]"
    host = np.asarray(value)
    kind = mlir_type(ShapedArray(host.shape, host.dtype))
    if host.shape == () and not isinstance(value, np.ndarray):
        return f"{scalar_text(host, host.dtype)} : {kind[len('tensor<') : -1]}"
    elements = ", ".join(scalar_text(x, host.dtype) for x in host.reshape(-1))
    return f"dense<[{elements}]> : tensor<{host.size}x{kind.rsplit('x', 1)[-1]}"
