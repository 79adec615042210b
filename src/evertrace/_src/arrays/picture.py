"""An array as notebooks show it: what it is, how its values lie, a picture of them, its text."""

from typing import Any

import numpy as np

from evertrace._src import dtypes, markup

_SIDE = 48  # cells of the picture, in either direction
_CELL = 5  # pixels of one
_LITTLE = 8  # elements that need no picture
_MOST = 10**7  # elements that are all looked at
_ALONG = ("rows", "columns")


def page(x: Any) -> str:
    """Return an array as HTML."""
    text = f"<pre>{markup.escaped(repr(x))}</pre>"
    is_here = not x.is_deleted() and x.is_fully_addressable
    if not is_here or isinstance(x.aval.dtype, dtypes.ExtendedDType):
        return text
    facts = markup.dim(_facts(x))
    host = np.asarray(x._contents())
    if host.size <= _LITTLE:
        return text + facts
    spread = markup.dim(_spread(_real(host))) if host.size <= _MOST else ""
    values = markup.folded("values", text, is_open=host.size <= 100)
    return f"<div>{facts}</div><div>{spread}</div>{_picture(host)}{values}"


def summary(x: Any) -> str:
    """Return what an array is and how its values lie, in one line of text."""
    is_here = not x.is_deleted() and x.is_fully_addressable
    if not is_here or isinstance(x.aval.dtype, dtypes.ExtendedDType) or x.size > _MOST:
        return x.aval.str_short()
    return f"{_facts(x)} · {_spread(_real(np.asarray(x._contents())))}"


def _facts(x: Any) -> str:
    return f"{x.aval.str_short()} · {_bytes(x.nbytes)} · {_devices(x)}"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def _devices(x: Any) -> str:
    devices = sorted(map(str, x.devices()))
    return devices[0] if len(devices) == 1 else f"{len(devices)} devices, {x.sharding}"


def _real(host: Any) -> Any:
    """Return values that can be compared and drawn: of complex numbers the absolute values."""
    return np.abs(host) if np.iscomplexobj(host) else host.astype(np.float64)


def _spread(values: Any) -> str:
    """Return how values lie, in words: those that are no numbers are counted."""
    finite = values[np.isfinite(values)]
    parts = []
    if finite.size:
        low, mean, high = finite.min(), finite.mean(), finite.max()
        parts.append(f"min {low:.4g} · mean {mean:.4g} · max {high:.4g}")
    odd = {"zero": values == 0, "NaN": np.isnan(values), "inf": np.isinf(values)}
    for name, is_it in odd.items():
        if count := int(is_it.sum()):
            parts.append(f"{count} {name}")
    return " · ".join(parts)


def _picture(host: Any) -> str:
    """Return values as cells: blue is below 0, orange above, red is no number."""
    rows = host.reshape(-1, host.shape[-1]) if host.ndim > 1 else host.reshape(1, -1)
    steps = [max(-(-n // _SIDE), 1) for n in rows.shape]
    rows = _real(rows[:: steps[0], :: steps[1]])
    finite = np.abs(rows[np.isfinite(rows)])
    top = float(finite.max()) if finite.size and finite.max() else 1.0
    cells = [
        f'<rect x="{_CELL * j}" y="{_CELL * i}" width="{_CELL}" height="{_CELL}" '
        f"{_colour(value, top)}/>"
        for (i, j), value in np.ndenumerate(rows)
        if value != 0
    ]
    height, width = (_CELL * n for n in rows.shape)
    shown = [f"one of {step} {what}" for step, what in zip(steps, _ALONG, strict=True) if step > 1]
    note = markup.dim(", ".join(shown)) if shown else ""
    return (
        f'<div><svg width="{width}" height="{height}" shape-rendering="crispEdges">'
        f'<rect width="100%" height="100%" fill="gray" fill-opacity=".12"/>{"".join(cells)}</svg>'
        f"</div>{note}"
    )


def _colour(value: float, top: float) -> str:
    if not np.isfinite(value):
        return 'fill="#e00"'
    hue = 25 if value > 0 else 215
    return f'fill="hsl({hue} 85% 52%)" fill-opacity="{abs(value) / top:.2f}"'
