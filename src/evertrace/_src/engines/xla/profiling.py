"""XLA's profiler: sessions that note what runs when, and marks that programs put into them."""

import gzip
from typing import Any

from evertrace._src import errors
from evertrace._src.engines.xla import client, compat


class Session:
    """A running profile; there is one at a time.

    Args:
      options: jaxlib's `ProfileOptions`, or None.
    """

    def __init__(self, options: Any = None):
        """Begin to note."""
        client.get_client()  # what starts later is not noted
        self._raw = compat.profiler_session(options)

    def stop(self, folder: str) -> None:
        """End, and write the files that TensorBoard and XProf read into a folder."""
        self._raw.stop_and_export(folder)


def memory_profile(platform: str | None) -> bytes:
    """Return what is allocated on the devices of a platform, in pprof's format, compressed."""
    return gzip.compress(client.get_client(platform)._raw.heap_profile())


def start_server(port: int) -> Any:
    """Start the server that profilers connect to; it runs while the result lives."""
    try:
        return compat.start_profiler_server(port)
    except compat.BackendError as error:
        raise errors.user_error(
            errors.JaxRuntimeError,
            f"profiler: the server did not start: {error}",
            fix="choose a port that is free.",
        ) from error


def register_subprocess(pid: int, port: int) -> Any:
    """Have profiles include those of another process; returns a function that ends it."""
    try:
        return compat.register_profiled_process(pid, port)
    except compat.BackendError as error:
        raise errors.user_error(
            errors.JaxRuntimeError,
            f"profiler: process {pid} was not registered: {error}",
            fix="call `profiler.start_server(port)` in that process first.",
            anchor="profiler",
        ) from error


def instructions_of_profile(folder: str) -> bytes:
    """Return what a profile says of each instruction, as XLA's message in bytes."""
    try:
        return compat.profiled_instructions(folder)
    except compat.BackendError as error:
        raise errors.user_error(
            errors.JaxRuntimeError,
            f"profiler: {error}",
            fix="pass the folder of one run, `<log_dir>/plugins/profile/<run>`.",
            anchor="profiler",
        ) from error
