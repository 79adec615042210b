"""What JAX answered to the cases of the tables, kept in the repository.

JAX compiles each operation of each case, which takes a quarter of an hour for ten thousand; its
answers do not change. So `answers/<table>.jsonl` has one line for each case of a table, in the
order of the table: its name, a key, and the outcome in numbers that can be read. The key is a hash
of what is called and with what, so that a changed case counts as unanswered. The first line is the
version of JAX, which is that of `requirements.txt`.

``python -m tests.oracle.record [--all] [TABLE...]`` asks JAX what was not answered yet, or
everything, and drops the answers to cases that are gone. An answer that JAX still gives, within
the tolerance of its case, stays as it is written; so another processor's last digits are no change.
"""

import argparse
import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle.cases import Case, Leaf, Outcome, numpy_dtype
from tests.oracle.compare import differences
from tests.oracle.oracle import VARIABLE, Oracle, find_interpreter
from tests.oracle.registry import TABLES

HERE = Path(__file__).parent
FOLDER = HERE / "answers"
MESSAGE = 300  # characters of an error's message, which only a report of a difference shows
FLOAT0 = np.dtype([("float0", np.void, 0)])


def key(case: Case) -> str:
    """Return a hash of what JAX is asked: what is called, with what, under which options."""
    asked = (case.function, case.args, dict(case.kwargs), dict(case.config))
    if case.devices > 1:
        asked += (case.devices,)
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:16]


def required_version() -> str:
    """Return the version of JAX that the record is made with."""
    return re.findall(r"^jax==(\S+)", (HERE / "requirements.txt").read_text(), re.MULTILINE)[0]


class Answers:
    """The recorded outcomes of one table; `version` is the version of JAX, None before any."""

    def __init__(self, path: Path) -> None:
        """Read the lines; their outcomes are decoded when they are asked for."""
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ["{}"]
        self.version: str | None = json.loads(lines[0]).get("jax")
        self.lines = {json.loads(line)["key"]: line for line in lines[1:]}

    def get(self, case: Case) -> Outcome | None:
        """Return the outcome of a case, or None if JAX was not asked yet."""
        line = self.lines.get(key(case))
        return None if line is None else decode(json.loads(line))


@functools.cache
def answers(table: str) -> Answers:
    """Return the recorded outcomes of a table."""
    return Answers(FOLDER / f"{table}.jsonl")


def disagreement(case: Case, live: Outcome, recorded: Outcome) -> list[str]:
    """Say how an outcome is not the recorded one: another error, or values that are too far."""
    if live.error != recorded.error:
        return [f"{live.error or 'a result'} ({live.message}), not {recorded.error or 'a result'}"]
    return [] if live.error else differences(case, live, recorded)


# ------------------------------------------------------------------------- outcomes as lines


def encode(case: Case, outcome: Outcome) -> str:
    """Write an outcome as a line, from which `decode` reads the same."""
    line: dict[str, Any] = {"case": str(case), "key": key(case)}
    if outcome.error:
        message = re.sub(r"\b0x[0-9a-f]{6,}", "0x...", outcome.message)
        message = re.sub(
            r"(?<![\w.])/[\w.-]+/[^\s\"']*", "...", message
        )  # where this machine has JAX
        line |= {"error": outcome.error, "message": message[:MESSAGE]}
    else:
        line |= {"structure": outcome.structure, "leaves": [*map(_encode_leaf, outcome.leaves)]}
    return json.dumps(line, ensure_ascii=False)


def decode(line: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a line."""
    if "error" in line:
        return Outcome(error=tuple(line["error"]), message=line["message"])
    return Outcome(line["structure"], tuple(map(_decode_leaf, line["leaves"])))


def _encode_leaf(leaf: Leaf) -> dict[str, Any]:
    weak = {"weak": True} if leaf.weak_type else {}
    if isinstance(leaf.value, str):
        return {"dtype": leaf.dtype, **weak, "text": leaf.value}
    value = leaf.value
    name = "float0" if value.dtype == FLOAT0 else value.dtype.name
    stored = {} if name == leaf.dtype else {"as": name}  # keys, Python's numbers
    line = {"dtype": leaf.dtype, **weak, **stored, "shape": value.shape, "values": _numbers(value)}
    again = _decode_leaf(json.loads(json.dumps(line))).value
    assert isinstance(again, np.ndarray)
    assert again.dtype == value.dtype, (again.dtype, value.dtype)
    assert np.all((again == value) | ((again != again) & (value != value))), "a number is lost"
    return line


def _decode_leaf(line: Mapping[str, Any]) -> Leaf:
    weak = line.get("weak", False)
    if "text" in line:
        return Leaf(line["text"], line["dtype"], weak)
    name, values = line.get("as", line["dtype"]), line["values"]
    dtype = FLOAT0 if name == "float0" else numpy_dtype(name)
    if dtype == FLOAT0:
        return Leaf(np.zeros(line["shape"], dtype), line["dtype"], weak)
    if dtype.kind == "c":
        values = [complex(*pair) for pair in values]
    wide = _wide(dtype)
    value = np.asarray(values, wide).astype(dtype).reshape(line["shape"])
    return Leaf(value, line["dtype"], weak)


def _numbers(value: np.ndarray) -> list[Any]:
    """Return the values in order, floats with the fewest digits that mean them."""
    if value.dtype == FLOAT0:
        return []
    if value.dtype.kind == "c":
        parts = value.reshape(-1, 1).view(np.finfo(value.dtype).dtype)
        return [_numbers(pair) for pair in parts]
    wide = _wide(value.dtype)
    if wide != np.float64:
        return value.astype(wide).ravel().tolist()
    narrow = np.float64 if value.dtype == np.float64 else np.float32
    return [float(str(x)) for x in value.astype(narrow).ravel()]


def _wide(dtype: np.dtype) -> type:
    """Return the dtype of NumPy that holds a dtype's numbers."""
    kinds = {"b": np.bool_, "i": np.int64, "u": np.uint64, "c": np.complex128}
    small = {"int": np.int64, "uint": np.uint64}.get(dtype.name.rstrip("0123456789"), np.float64)
    return kinds.get(dtype.kind, small)


# ----------------------------------------------------------------------------------- recording


def record(table: str, cases: Sequence[Case], oracle: Oracle, *, everything: bool) -> str:
    """Ask JAX about a table, write its answers, and return what happened in a few words."""
    path = FOLDER / f"{table}.jsonl"
    known = Answers(path)
    old = known.lines if known.version == oracle.version else {}
    asked = {key(c): c for c in cases if everything or key(c) not in old}
    lines, new = dict(old), 0
    for case, outcome in zip(asked.values(), oracle.run([*asked.values()]), strict=True):
        before = old.get(key(case))
        if before is None or disagreement(case, outcome, decode(json.loads(before))):
            lines[key(case)] = encode(case, outcome)
            new += 1
    wanted = _keys(cases)
    text = "\n".join([json.dumps({"jax": oracle.version}), *(lines[k] for k in wanted)])
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return f"{len(asked)} asked, {new} new or changed, {len(old.keys() - set(wanted))} gone"


def main() -> None:
    """Bring the record up to date."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.record", description=main.__doc__)
    parser.add_argument("--all", action="store_true", help="ask what was answered before, too")
    parser.add_argument("table", nargs="*", help="by default every table")
    arguments = parser.parse_args()
    python = find_interpreter()
    if python is None:
        parser.error(f"no JAX to ask: set {VARIABLE} to a Python that has it")
    for table in arguments.table or TABLES:
        if not arguments.all and _is_up_to_date(table):
            continue
        with Oracle(python) as oracle:  # a new one, since JAX keeps all that it ever compiled
            if oracle.version != required_version():
                parser.error(f"this is JAX {oracle.version}, not {required_version()}")
            what = record(table, TABLES[table], oracle, everything=arguments.all)
            print(f"{table}: {what}", flush=True)


def _is_up_to_date(table: str) -> bool:
    known = answers(table)
    return known.version == required_version() and [*known.lines] == _keys(TABLES[table])


def _keys(cases: Sequence[Case]) -> list[str]:
    return list(dict.fromkeys(map(key, cases)))


if __name__ == "__main__":
    main()
