"""What was exchanged with JAX: recorded, or asked anew.

    EVERTRACE_JAX_PYTHON=<a Python with tests/oracle/requirements.txt> \
        .venv/bin/python -m tests.export.exchanged

records all programs of `tests.export.exchange` in ``exchanged.json``: the bytes that JAX has
written, those of evertrace that JAX has read, and what both compute, by JAX.
"""

import base64
import json
import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import evertrace as ev
from tests.export import exchange
from tests.oracle.oracle import ROOT, find_interpreter

RECORDED = Path(__file__).with_name("exchanged.json")


def ask_jax(export: list[str], run: dict[str, bytes]) -> dict[str, Any] | None:
    """Have JAX export programs and call others; None where it, or `flatbuffers`, is missing."""
    python = find_interpreter()
    if python is None:
        return None
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    has = subprocess.run([python, "-c", "import jax, flatbuffers"], env=env, capture_output=True)
    if has.returncode:
        return None
    done = subprocess.run(
        [python, "-m", "tests.export.exchange_jax"],
        input=pickle.dumps({"export": export, "run": run}),
        stdout=subprocess.PIPE,
        check=True,
        env=env,
        cwd=ROOT,
    )
    return pickle.loads(done.stdout)


def recorded() -> dict[str, Any]:
    """Return what was recorded of each program: ``jax`` and ``ours``, bytes, and ``results``."""
    return {name: _decoded(data) for name, data in json.loads(RECORDED.read_text()).items()}


def _decoded(data):
    results = [np.frombuffer(_unpacked(b), dtype).reshape(s) for dtype, s, b in data["results"]]
    blobs = {key: data[key] and _unpacked(data[key]) for key in ("jax", "ours")}
    return {**blobs, "results": results, "error": data["error"]}


def _unpacked(text):
    return zlib.decompress(base64.b64decode(text))


def _packed(data):
    return base64.b64encode(zlib.compress(data, 9)).decode()


def main() -> None:
    """Record all programs."""
    exchange.register(ev)
    programs = exchange.EXCHANGED
    ours = {
        name: bytes(exchange.exported(ev, p).serialize(vjp_order=p.vjp, format="jax"))
        for name, p in programs.items()
        if p.only_by != "jax"
    }
    answer = ask_jax([n for n, p in programs.items() if p.only_by != "evertrace"], ours)
    if answer is None:
        sys.exit("no JAX with flatbuffers: set EVERTRACE_JAX_PYTHON")
    lines = []
    for name in programs:
        blob, results = answer["export"][name]
        error = results if isinstance(results, str) else None
        again = answer["run"].get(name, results)
        if error is None:
            assert not isinstance(again, str), (name, again)
            for want, got in zip(results, again, strict=True):
                np.testing.assert_allclose(
                    got.astype("complex64"), want.astype("complex64"), 2e-5, 2e-5, err_msg=name
                )
        data = {
            "jax": _packed(blob),
            "ours": name in ours and _packed(ours[name]),
            "error": error,
            "results": []
            if error
            else [[x.dtype.name, x.shape, _packed(x.tobytes())] for x in results],
        }
        lines.append(f"{json.dumps(name)}: {json.dumps(data)}")
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
