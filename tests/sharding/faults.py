"""What can go wrong with a process among others, and how soon the others know: a table.

Each row starts processes on this machine, has one of them go wrong at a known time, and notes when
each of the others has its error. ``python -m tests.sharding.faults`` measures all rows and prints
the table, with ``--write`` into `docs/tutorial/17-many-hosts.md`; `test_faults.py` holds each row
to its limit.
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from tests.sharding.processes import free_address, start

LIMIT = 5.0  # seconds
PAGE = Path(__file__).parents[2] / "docs/tutorial/17-many-hosts.md"
BEGIN, END = "| what goes wrong | ", "\nTwo or three processes of one machine"

# `wrong` is called by the process that goes wrong, before it does; the others say when they know.
COMMON = """
def wrong():
    (met / "wrong").write_text(repr(time.time()))
def know(text):
    print("KNOWN", repr(time.time()), text, flush=True)
    os._exit(0)  # no goodbye: what is measured is what the error alone takes
def work(seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = text_of(lambda: float(total(a)))
        if type(text) is str: know(text)
"""


class Fault(NamedTuple):
    """One row.

    Attributes:
      code: what all processes run.
      says: what the errors of the others match.
      victims: the processes that go wrong, of whom nothing is asked.
      count, devices: of processes, and of devices of each.
    """

    code: str
    says: str
    victims: tuple[int, ...] = (1,)
    count: int = 2
    devices: int = 1


def by_one(action, rank=1, others="work()"):
    """Write what one process does, while the others compute together."""
    return f"if rank == {rank}:\n    time.sleep(0.3)\n    wrong()\n    {action}\n{others}\n"


GONE = r"PeerLostError: .*process {} \(pid \d+ on .*\), one of {}, is gone since [\d.]+ s: {}"
MISMATCH = r"PeerMismatchError: .*process \d is in .* at <string>:\d+.*, and this one, process \d"
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
CLOSED = GONE.format(1, "\\d", "its connection was closed")
STUCK = GONE.format(
    1, 2, r"it lives, and has not come for 2 s \(`peer_timeout`\): it is in <string>:\d+ in busy"
)
TIMEOUT = 'ev.config.update("peer_timeout", 2.0)'
BUSY = f"""{TIMEOUT}
def busy():
    end = time.monotonic() + 20
    while time.monotonic() < end: pass
"""
SLEEP = f"""{TIMEOUT}
def busy():
    time.sleep(20)
"""
THEN_WORK = """while not (met / "wrong").exists(): time.sleep(0.001)
work()"""

FAULTS = {
    "killed (SIGKILL)": Fault(by_one(KILL), CLOSED),
    "killed, two devices each": Fault(by_one(KILL), CLOSED, devices=2),
    "killed, one of three": Fault(by_one(KILL), CLOSED, count=3),
    "killed, while the others meet at `sync_global_devices`": Fault(
        "from evertrace.experimental import multihost_utils as m\n"
        + by_one(KILL, others="know(text_of(m.sync_global_devices, 'here'))"),
        CLOSED,
    ),
    "the first process is killed": Fault(
        by_one(KILL, rank=0), GONE.format(0, 2, "its connection was closed"), victims=(0,)
    ),
    "raises": Fault(
        by_one("raise KeyError('no such batch')"),
        GONE.format(1, 2, r"KeyError: 'no such batch' at <string>:\d+ in <module>"),
    ),
    "exits (`sys.exit(3)`)": Fault(
        by_one("sys.exit(3)"), GONE.format(1, 2, "its program has ended")
    ),
    "stopped (SIGSTOP)": Fault(
        by_one("os.kill(os.getpid(), signal.SIGSTOP)"),
        GONE.format(1, 2, r"it was stopped for 2 s \(SIGSTOP\)"),
    ),
    "lives and sleeps, with `peer_timeout=2`": Fault(
        SLEEP + by_one("busy()", others=THEN_WORK), STUCK
    ),
    "lives and turns in a loop, with `peer_timeout=2`": Fault(
        BUSY + by_one("busy()", others=THEN_WORK), STUCK
    ),
    "lives and turns in a loop, two devices each": Fault(
        BUSY + by_one("busy()", others=THEN_WORK), STUCK, devices=2
    ),
    "runs another program": Fault(
        "f = ev.jit(lambda a: (2 * a).sum()) if rank else ev.jit(lambda a: a.max())\n"
        "if rank:\n    time.sleep(0.3)\n    wrong()\n"
        "know(text_of(f, a))",
        MISMATCH,
        victims=(),
    ),
    "passes arrays of other shapes": Fault(
        "b = ev.make_array_from_process_local_data(rows, np.ones(4 + rank, np.float32))\n"
        "if rank:\n    time.sleep(0.3)\n    wrong()\n"
        "know(text_of(ev.jit(lambda b: b.sum(), out_shardings=whole), b))",
        MISMATCH,
        victims=(),
    ),
}


def measure(name):
    """Return the seconds until the last of the others knew, and what each of them was told."""
    fault = FAULTS[name]
    processes = start(COMMON + fault.code, fault.count, free_address(), fault.devices)
    others = [p for i, p in enumerate(processes) if i not in fault.victims]
    try:
        texts = [p.communicate(timeout=60)[0] for p in others]
        when = float((processes.met / "wrong").read_text())
    finally:
        for process in processes:
            process.kill()  # also one that is stopped
            process.communicate()
    found = [re.search(r"^KNOWN ([\d.]+) (.*)", text, re.MULTILINE) for text in texts]
    assert all(found), texts
    return max(float(m[1]) for m in found) - when, [m[2] for m in found]


def table(rounds):
    """Measure all rows; returns the table, with the least and the greatest seconds of each."""
    lines = [f"{BEGIN}seconds until the others know | what they are told |", "|---|---|---|"]
    for name in FAULTS:
        runs = [measure(name) for _ in range(rounds)]
        times = sorted(seconds for seconds, _ in runs)
        text = re.sub(r"\(pid \d+ on [^)]*\)", "(pid ... on ...)", runs[0][1][0])
        lines.append(f"| {name} | {times[0]:.2f} to {times[-1]:.2f} | `{text.replace('`', '')}` |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main():
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each row is measured")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    options = parser.parse_args()
    made = table(options.rounds)
    if options.write:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN, 1)
        PAGE.write_text(before + made + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()
