"""The options `dump_ir_to` and `dump_ir_modes`: programs as files, for who looks into them."""

from __future__ import annotations

import collections
import itertools
import os
from collections.abc import Iterable, Iterator

from evertrace._src import config, errors, source
from evertrace._src.core.jaxpr import Eqn, Jaxpr, subjaxprs
from evertrace._src.lazy import load

_numbers = itertools.count()


def stablehlo(text: str) -> None:
    """Write what XLA gets, if that is asked for."""
    if _is_wanted("stablehlo"):
        start = text.find("module @") + len("module @")
        _write(text[start : text.find(" ", start)], "mlir", text.encode())


def program(jaxpr: Jaxpr, name: str) -> None:
    """Write a program, and how many equations come of which line, as far as that is asked for."""
    if not config.current().dump_ir_to:
        return
    if _is_wanted("jaxpr"):
        _write(name, "jaxpr", f"{jaxpr}\n".encode())
    if _is_wanted("eqn_count_pprof"):
        gzip = load("gzip")  # which a first call does without
        _write(name, "pprof.gz", gzip.compress(equation_counts(jaxpr)))


def _is_wanted(mode: str) -> bool:
    now = config.current()
    return bool(now.dump_ir_to) and mode in now.dump_ir_modes.split(",")


def _write(name: str, ending: str, contents: bytes) -> None:
    """Write a file named by a program and a number; a call never fails for it."""
    folder = config.current().dump_ir_to
    name = "".join(c if c.isalnum() else "_" for c in name)[:80]
    name = f"evertrace_ir{next(_numbers):04d}_{os.getpid()}_{name}.{ending}"
    file = os.path.join(folder, name)
    try:
        os.makedirs(folder, exist_ok=True)
        with open(file, "wb") as out:
            out.write(contents)
    except OSError as error:
        errors.user_warning(
            RuntimeWarning,
            f"dump_ir_to: {file} cannot be written: {error.strerror}.",
            fix='name a folder that this process may write to, or "" for none.',
            anchor="config",
        )


# ---------------------------------------------------------------- counts, in pprof's format


def equation_counts(jaxpr: Jaxpr) -> bytes:
    """Return how many equations each line makes, by primitive, as a message of pprof's format.

    Source: https://github.com/google/pprof/blob/main/proto/profile.proto.
    """
    counts = collections.Counter((_place(eqn), eqn.primitive.name) for eqn in _equations(jaxpr))
    strings = {"": 0, "equations": 1, "count": 2}

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    out = [_field(1, _message((1, 1), (2, 2)))]
    places: dict[tuple[str, str, int], int] = {}
    for ((file, function, line), primitive), count in counts.items():
        stack = []
        for frame in ((primitive, "", 0), (function, file, line)):
            if frame not in places:
                places[frame] = at = len(places) + 1
                out.append(
                    _field(5, _message((1, at), (2, number(frame[0])), (4, number(frame[1]))))
                )
                out.append(_field(4, _message((1, at), (4, _message((1, at), (2, frame[2]))))))
            stack.append((1, places[frame]))
        out.append(_field(2, _message(*stack, (2, count))))
    return b"".join(out + [_field(6, text.encode()) for text in strings])


def _equations(jaxpr: Jaxpr) -> Iterator[Eqn]:
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in subjaxprs(eqn.params):
            yield from _equations(inner)


def _place(eqn: Eqn) -> tuple[str, str, int]:
    """Return the file, function and line that an equation comes of."""
    if eqn.src is None:
        return "", "", 0
    code = eqn.src[0]
    return code.co_filename, code.co_name, source.line_of(eqn.src)


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    """Return a message of protocol buffers."""
    return b"".join(itertools.starmap(_field, fields))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    groups: Iterable[int] = range(0, max(value.bit_length(), 1), 7)
    digits = [value >> shift & 0x7F for shift in groups]
    return bytes([*[d | 0x80 for d in digits[:-1]], digits[-1]])
