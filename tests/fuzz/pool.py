"""Workers side by side: one that dies is a verdict on its program, and gets a successor."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import evertrace
from tests.fuzz.verdicts import CRASH, HANG, Verdict

ROOT = Path(__file__).parents[2]
SECONDS = 20
"""How long a call may take."""

LIFE = 10_000
"""How many programs a process judges before another goes on: what it keeps is bounded so.

To begin takes as long as a thousand calls: the imports, and the first call of each function.
"""


def judge(names, workers=2):
    """Judge the programs of a list of names; yields pairs of a name and its verdict."""
    found = queue.Queue()
    threads = [
        threading.Thread(target=_lane, args=(names[k::workers], found), daemon=True)
        for k in range(workers)
    ]
    for thread in threads:
        thread.start()
    for _ in names:
        yield found.get()


def _lane(names, found):
    while names:
        done = _life(names[:LIFE], found)
        names = names[done:]


def _life(names, found):
    """Run one process over names until it ends, and return how many of them have a verdict."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+") as told,
        tempfile.TemporaryFile("w+") as said,
    ):
        json.dump(names, told)
        told.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker"],
            stdin=told, stdout=subprocess.PIPE, stderr=said, text=True, cwd=folder,
            env={**os.environ, "PYTHONPATH": _path(), "OMP_NUM_THREADS": "1",
                 "EVERTRACE_COMPILATION_CACHE_DIR": folder},
        )  # fmt: skip
        lines = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        done = 0
        for name in names:
            verdict = _next(lines, process, said)
            found.put((name, verdict))
            done += 1
            if verdict.kind in (CRASH, HANG):
                break
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
    return done


def _read(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put("")


def _next(lines, process, said):
    """Return the verdict on the program that the process is at."""
    for wait in (60, SECONDS):  # until it has begun, which the first time means imports, and ended
        line = _soon(lines)
        while line is None:
            before = _cpu_seconds(process.pid)
            try:
                line = lines.get(timeout=wait)
            except queue.Empty:
                # On a machine that has more to do, a process may get no time to answer in.
                if not 0 < _cpu_seconds(process.pid) - before < wait / 4:
                    threads = _threads(process.pid)
                    process.send_signal(signal.SIGABRT)  # it says where it is
                    _, text = _last_words(process, said)
                    cause = f"no answer within {wait} s {_place(text)}"
                    return Verdict(HANG, cause, f"{threads}\n{text[-2000:]}")
        if not line:
            status, text = _last_words(process, said)
            return Verdict(CRASH, f"exit status {status} {_place(text)}", text[-2000:])
    return Verdict(*json.loads(line))


def _soon(lines):
    """Return the next line, or None: nearly all come at once, and nobody looks at the clock."""
    try:
        return lines.get(timeout=1)
    except queue.Empty:
        return None


def _last_words(process, said):
    """Return the exit status of a process that ends, and what it has said."""
    try:
        status = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    said.seek(0)
    return status, said.read()


def _place(text):
    """Return in one line where a process was, which has said it as it ended."""
    lines = [x.strip() for x in text.split("\n")]
    return " ".join([x for x in lines if x.startswith(("File", "F0", "Fatal"))][:3])[:300]


def _threads(pid):
    """Return in one line what each thread of a process does: its name, state, CPU time and wait."""
    found = []
    for folder in sorted(Path(f"/proc/{pid}/task").glob("*")):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            fields, wait = rest.split(), (folder / "wchan").read_text()
        except OSError:
            continue  # it has ended
        found.append(f"{name} {fields[0]} {int(fields[11]) + int(fields[12])} {wait}")
    return "; ".join(found)


def _cpu_seconds(pid):
    """Return how long a process has computed; 0 where nobody can tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _path():
    return os.pathsep.join([str(Path(evertrace.__file__).parents[1]), str(ROOT)])
