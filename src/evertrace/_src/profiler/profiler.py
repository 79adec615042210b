"""Profiles of programs by XLA's profiler, for TensorBoard, XProf and Perfetto."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from evertrace._src import errors
from evertrace._src.api.arguments import check_callable
from evertrace._src.engines import runtime
from evertrace._src.engines.xla import compat, profiling
from evertrace._src.lazy import LazyModule
from evertrace._src.profiler import spans
from evertrace._src.support import forkable, set_module

links: Any = LazyModule("evertrace._src.profiler.links")

public = set_module("evertrace.profiler")


class _State:
    """What runs now: there is one session and one server per process."""

    session: Any = None
    folder = ""
    began: Any = ()  # what `spans.begin` returned
    wants_file = wants_link = False  # in Perfetto's form
    server: Any = None
    lock = forkable(threading.Lock())


@public
def start_trace(
    log_dir: Any,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Begin a profile, which `stop_trace` writes.

    It names functions of Python, compilation, XLA's programs and their kernels, and the calls that
    run no Python: jitted functions that the native engine runs, operations on arrays, each with
    the line that called it. One profile is taken at a time.

    Args:
      log_dir: folder for the profile; it is read by ``tensorboard --logdir``.
      create_perfetto_link: whether `stop_trace` prints a link that opens the profile in Perfetto's
        viewer, and waits until it was opened.
      create_perfetto_trace: whether `stop_trace` writes ``perfetto_trace.json.gz``, too, which that
        viewer reads, beside the profile.
      profiler_options: a `ProfileOptions`.

    Raises:
      RuntimeError: a profile is running.

    Example:
      >>> import pathlib
      >>> from evertrace import profiler
      >>> profiler.start_trace("profile")
      >>> ev.jit(jnp.sin)(jnp.zeros(2))
      Array([0., 0.], dtype=float32)
      >>> profiler.stop_trace()
      >>> len(list(pathlib.Path("profile").rglob("*.xplane.pb")))
      1
    """
    with _State.lock:
        if _State.session is not None:
            raise errors.user_error(
                RuntimeError,
                f"profiler: a profile is running, for {_State.folder!r}.",
                fix="end it first with `profiler.stop_trace()`.",
                anchor="profiler",
            )
        _State.session, _State.folder = profiling.Session(profiler_options), os.fspath(log_dir)
        _State.wants_file, _State.wants_link = create_perfetto_trace, create_perfetto_link
        _State.began = spans.begin()


@public
def stop_trace() -> None:
    """End the profile that `start_trace` began, and write it.

    Raises:
      RuntimeError: no profile is running.

    Example:
      >>> from evertrace import profiler
      >>> profiler.stop_trace()
      Traceback (most recent call last):
          ...
      RuntimeError: profiler: no profile is running...
    """
    with _State.lock:
        if _State.session is None:
            raise errors.user_error(
                RuntimeError,
                "profiler: no profile is running.",
                fix="begin one with `profiler.start_trace(folder)`.",
                anchor="profiler",
            )
        session, _State.session = _State.session, None
        noted, before = spans.end(), spans.files(_State.folder)
        session.stop(_State.folder)
        for path in spans.files(_State.folder) - before:
            spans.add(path, noted, _State.began)
            if _State.wants_file or _State.wants_link:
                made = spans.write_perfetto(path)
                if _State.wants_link:
                    links.serve(made)


@public
@contextlib.contextmanager
def trace(
    log_dir: Any,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Profile a ``with`` block; the arguments are those of `start_trace`.

    Example:
      >>> import pathlib
      >>> from evertrace import profiler
      >>> with profiler.trace("profile"):
      ...     y = jnp.sin(jnp.zeros(2))
      >>> len(list(pathlib.Path("profile").rglob("*.xplane.pb")))
      1
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


ProfileOptions: Any = compat.profile_options()
ProfileData: Any = compat.profile_data().ProfileData
ProfileEvent: Any = compat.profile_data().ProfileEvent
ProfilePlane: Any = compat.profile_data().ProfilePlane


if TYPE_CHECKING:

    class _Mark:
        def __init__(self, name: Any, **facts: Any) -> None: ...
        def __enter__(self) -> Any: ...
        def __exit__(self, *exception: object) -> None: ...

else:
    _Mark = compat.trace_mark()


@public
class TraceAnnotation(_Mark):
    """Mark the time of a ``with`` block in the running profile, if there is one.

    Args:
      name: of the mark.
      **kwargs: what to note with it.

    Example:
      >>> from evertrace import profiler
      >>> with profiler.TraceAnnotation("load"):
      ...     x = jnp.ones(3)
    """


@public
class StepTraceAnnotation(TraceAnnotation):
    """Mark a step of training, with its number as `step_num`.

    Example:
      >>> from evertrace import profiler
      >>> total = jnp.float32(0)
      >>> for step in range(3):
      ...     with profiler.StepTraceAnnotation("train", step_num=step):
      ...         total = total + step
      >>> total
      Array(3., dtype=float32)
    """

    def __init__(self, name: Any, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)  # _r: profilers group what happens by this mark


@public
def annotate_function(
    func: Any, name: str | None = None, **decorator_kwargs: Any
) -> Callable[..., Any]:
    """Return `func` with its calls marked in the running profile.

    Args:
      func: any function.
      name: of the mark, by default the function's.
      **decorator_kwargs: what to note with it.

    Example:
      >>> from evertrace import profiler
      >>> profiler.annotate_function(lambda x: x + 1, name="increment")(1)
      2
    """
    check_callable("annotate_function", func)
    name = name or getattr(func, "__qualname__", type(func).__name__)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with TraceAnnotation(name, **decorator_kwargs):
            return func(*args, **kwargs)

    return wrapper


@public
def device_memory_profile(backend: Any = None) -> bytes:
    """Return what is allocated on the devices, as bytes for the program pprof.

    What made it is the program, not the line of Python, which jaxlib would have to remember for
    each array.

    Args:
      backend: platform, by default the best one.

    Example:
      >>> from evertrace import profiler
      >>> import gzip
      >>> x = ev.block_until_ready(ev.jit(jnp.sin)(jnp.ones(1000)))
      >>> b"buffer" in gzip.decompress(profiler.device_memory_profile())
      True
    """
    runtime.devices(backend)
    return profiling.memory_profile(backend)


@public
def save_device_memory_profile(filename: Any, backend: Any = None) -> None:
    """Write `device_memory_profile` to a file.

    Example:
      >>> import os
      >>> from evertrace import profiler
      >>> profiler.save_device_memory_profile("memory.prof")
      >>> os.path.getsize("memory.prof") > 0
      True
    """
    with open(filename, "wb") as file:
        file.write(device_memory_profile(backend))


@public
def start_server(port: Any, requires_backend: bool = True) -> Any:
    """Start a server that TensorBoard and XProf connect to for profiles of this process.

    Args:
      port: number of the port.
      requires_backend: whether the devices are opened first, without which nothing is noted.

    Raises:
      ValueError: a server is running.

    Example:
      >>> import socket
      >>> from evertrace import profiler
      >>> with socket.create_server(("localhost", 0)) as free:
      ...     port = free.getsockname()[1]
      >>> server = profiler.start_server(port)
      >>> profiler.stop_server()
    """
    if _State.server is not None:
        raise errors.user_error(
            ValueError,
            "profiler: a server is running; there is one at a time.",
            fix="stop it first with `profiler.stop_server()`.",
            anchor="profiler",
        )
    if requires_backend:
        runtime.devices()
    _State.server = profiling.start_server(port)
    return _State.server


@public
def register_subprocess(pid: Any, port: Any) -> Any:
    """Have profiles of this process include those of another one that runs a `start_server`.

    Args:
      pid: number of the process, usually a worker that this one has started.
      port: of its server.

    Returns:
      A function that ends it when it is called, or no longer kept.

    Raises:
      evertrace.errors.JaxRuntimeError: there is no server at the port, or the process is
        registered.

    Example:
      >>> from evertrace import profiler
      >>> profiler.register_subprocess(pid=1, port=1)  # doctest: +SKIP
    """
    return profiling.register_subprocess(operator.index(pid), operator.index(port))


@public
def stop_server() -> None:
    """Stop the server.

    Raises:
      ValueError: none is running.

    Example:
      >>> from evertrace import profiler
      >>> profiler.stop_server()
      Traceback (most recent call last):
          ...
      ValueError: profiler: no server is running...
    """
    if _State.server is None:
        raise errors.user_error(
            ValueError,
            "profiler: no server is running.",
            fix="start one with `profiler.start_server(port)`.",
            anchor="profiler",
        )
    _State.server = None
