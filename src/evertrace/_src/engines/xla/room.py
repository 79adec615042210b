"""Whether a process whose address space is limited has room for XLA.

XLA ends the process where a thread of its own cannot be started, or gets no memory. It starts most
of them, each with a stack and an arena of malloc, with the client and the first program; later a
program takes little. So what that will take is asked for before, of what `ulimit -v` leaves.
"""

import os

from evertrace._src import errors

try:
    import resource
except ImportError:  # no POSIX: nothing limits it
    resource = None

CLIENT = 256 << 20  # bytes for each processor: the stacks of its threads, and their arenas
DEVICE = 72 << 20  # bytes for each device beyond the first: likewise, with eight threads
FIRST = 512 << 20  # bytes for each processor: their arenas, and the threads that compile
NEXT = 64 << 20

_started = False  # whether a program has been compiled or loaded


def check_client(devices: int) -> None:
    """Raise if there is no room for the client of the CPU with so many devices."""
    _check(CLIENT * processors() + DEVICE * (devices - 1), "starts")


def check_program() -> None:
    """Raise if there is no room to compile or load a program."""
    global _started
    _check(NEXT if _started else FIRST * processors(), "compiles a program")
    _started = True


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check(needed: int, act: str) -> None:
    if resource is None:
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    try:
        with open("/proc/self/statm", "rb") as file:
            left = limit - int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux
        return
    if left < needed:
        raise errors.user_error(
            MemoryError,
            f"XLA takes {needed >> 20} MiB of address space where it {act}, and of what this "
            f"process is allowed {max(left, 0) >> 20} MiB are left.",
            fix='allow it more (`ulimit -v`), or give `jit` the option engine="native".',
            anchor="address-space",
        )
