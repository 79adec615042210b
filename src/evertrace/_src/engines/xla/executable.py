"""Compiling StableHLO text, and running the result.

The idea: `compile_text` asks the cache on disk before it asks XLA. An `Executable` runs on one
device and takes raw buffers of it and host arrays in any mix; it prepares everything that does
not depend on the arguments once, so that a call is a loop over the arguments and two calls of
jaxlib.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from evertrace._src import errors
from evertrace._src.engines import cache, dump
from evertrace._src.engines.xla import buffers, compat, leaving, room
from evertrace._src.engines.xla.client import Device, check_process, together
from evertrace._src.engines.xla.failures import fail, fail_compile, remembering
from evertrace._src.engines.xla.options import Options


class Aval(Protocol):
    """What is asked of the type of an output."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        ...

    @property
    def dtype(self) -> Any:
        """Its dtype in memory."""
        ...

    @property
    def weak_type(self) -> bool:
        """Whether it yields to other dtypes in promotion."""
        ...


class MemoryStats(NamedTuple):
    """Bytes that one run of a program takes, by what for; on the device and on its host."""

    generated_code_size_in_bytes: int
    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    peak_memory_in_bytes: int
    host_generated_code_size_in_bytes: int
    host_argument_size_in_bytes: int
    host_output_size_in_bytes: int
    host_alias_size_in_bytes: int
    host_temp_size_in_bytes: int


class Inspected:
    """What can be asked of any compiled program."""

    __slots__ = ()

    _raw: Any

    def text(self) -> str:
        """The program as XLA optimised it, in HLO's text form."""
        return "\n\n".join(module.to_string() for module in self._raw.hlo_modules())

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates by name, e.g. "flops" and "bytes accessed"; of one device."""
        costs: Mapping[str, float] = self._raw.cost_analysis()
        return dict(costs)

    def memory_analysis(self) -> MemoryStats:
        """The bytes that one run takes on one device."""
        raw = self._raw.get_compiled_memory_stats()
        return MemoryStats(*[getattr(raw, name) for name in MemoryStats._fields])


class Executable(Inspected):
    """A compiled program on one device.

    Attributes:
      device: where it runs and where its buffers must be.
      input_text: the StableHLO text it was compiled from.
      output_avals: the types of its outputs.
      compile_seconds: how long it took to compile or to load.
      from_cache: whether it came from the cache on disk.
      calls_back: whether it calls Python functions.
    """

    __slots__ = (
        "__weakref__",
        "_execute",
        "_handlers",
        "_raw",
        "_written",
        "calls_back",
        "compile_seconds",
        "device",
        "from_cache",
        "input_text",
        "output_avals",
    )

    def __init__(
        self,
        raw: Any,
        text: str,
        device: Device,
        output_avals: Sequence[Aval],
        compile_seconds: float,
        from_cache: bool,
        calls_back: bool = False,
        written: Callable[[], bytes] | None = None,
    ):
        """Wrap a loaded executable of jaxlib.

        XLA does not write what it has loaded from bytes: `written` returns these, or like ones.
        """
        self._written = written
        self._raw = raw
        self.calls_back = calls_back
        self._execute = self._execute_to_end if calls_back else raw.execute_sharded
        self._handlers = [compat.result_handler(aval, device.sharding) for aval in output_avals]
        self.device = device
        self.input_text = text
        self.output_avals = tuple(output_avals)
        self.compile_seconds = compile_seconds
        self.from_cache = from_cache

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Start the program; returns its output buffers, which may not be computed yet.

        A program that calls back is run to its end.

        Args:
          args: one raw buffer on `device` or one host array per parameter. Aligned host arrays
            are read in place, so nobody may write to them any more. Donated buffers are deleted.

        Raises:
          DeletedArrayError: a buffer was donated or deleted before.
          JaxRuntimeError: the device has too little memory, or the program failed.
          Exception: what a callback raised.
        """
        check_process()
        raws = [self.as_buffer(arg, i, len(args)) for i, arg in enumerate(args)]
        try:
            return self._execute(raws).consume_with_handlers(self._handlers)
        except compat.BackendError as error:
            fail(error, "running a program")

    def as_buffer(self, arg: Any, position: int, count: int) -> Any:
        """Return an argument as a buffer that is there; `position` and `count` are for errors."""
        if isinstance(arg, np.ndarray):
            return buffers.put(arg, self.device, may_alias=True)
        if arg.is_deleted():
            raise _deleted_error(arg, position, count)
        return arg

    collect_garbage = staticmethod(compat.collect_garbage)

    def failed(self, error: Exception, raws: Sequence[Any]) -> NoReturn:
        """Raise what a call of jaxlib's has raised as one of our errors."""
        del raws
        if isinstance(error, compat.BackendError):
            fail(error, "running a program")
        raise error

    def _execute_to_end(self, raws: Sequence[Any]) -> Any:
        """Run the program to its end: its callbacks have happened then, and fail here if at all."""
        check_may_call_back()
        results = self._raw.execute_sharded(raws, with_tokens=True)
        results.consume_token().block_until_ready()
        return results

    def serialize(self) -> bytes:
        """The compiled program, for `revive`; not of one that calls Python functions back."""
        if self._written is not None:
            return self._written()
        return compat.serialize_executable(self.device.client._raw, self._raw)


def compile_text(
    text: str,
    *,
    device: Device,
    num_outputs: int,
    output_avals: Sequence[Aval],
    options: Options | None = None,
    callbacks: Sequence[Callable[..., Any]] = (),
) -> Executable:
    """Compile a program, or load it from the cache on disk.

    Args:
      text: StableHLO text with a public function ``@main``. Locations in it are part of the key in
        the cache, so they are best left out.
      device: where it will run.
      num_outputs: how many results ``@main`` has.
      output_avals: their types in memory; the output buffers carry these very objects.
      options: how to compile it.
      callbacks: the Python functions that it calls by index, from arrays to a tuple of arrays of
        exactly the dtypes and shapes that the program states. Such programs are not kept on disk.

    Raises:
      JaxRuntimeError: XLA rejects the text or an option.
      MemoryError: the address space that this process is allowed has no room for it.
    """
    assert len(output_avals) == num_outputs, (len(output_avals), num_outputs)
    options = options or Options()
    raw, seconds, from_cache = obtain(text, [device], options, callbacks)
    client = device.client._raw

    def compiled_anew():
        return compat.serialize_executable(client, _compile(text, [device], options, ()))

    return Executable(
        raw,
        text,
        device,
        output_avals,
        seconds,
        from_cache,
        bool(callbacks),
        compiled_anew if from_cache else None,
    )


def program_key(text: str, options_key: bytes, device: Device) -> bytes:
    """Return the digest that names a program's entry in the cache.

    Args:
      text: the StableHLO text.
      options_key: `Options.key` of the options it is compiled with.
      device: a device of the kind that will run it.
    """
    kind = (device.client.platform_version, device.device_kind, os.environ.get("XLA_FLAGS", ""))
    facts = (compat.JAXLIB_VERSION, *kind, text)
    return cache.program_key(b"XLA", options_key, *[fact.encode() for fact in facts])


def obtain(
    text: str,
    devices: Sequence[Device],
    options: Options,
    callbacks: Sequence[Callable[..., Any]] = (),
    is_kept: bool = True,
) -> tuple[Any, float, bool]:
    """Compile a program for devices, or load it from the cache on disk.

    Args:
      text: as for `compile_text`.
      devices: where it will run, in order.
      options: how to compile it.
      callbacks: as for `compile_text`.
      is_kept: whether it may come from the cache, and go there.

    Returns:
      jaxlib's executable, how long it took, and whether it came from the cache.
    """
    room.check_program()
    dump.stablehlo(text)
    first, start = devices[0], time.perf_counter()
    key = None
    if is_kept and not callbacks:
        key = program_key(text, options.key(first.platform), first)
    raw = _load(key, devices, options) if key else None
    from_cache = raw is not None
    if raw is None:
        raw = _compile(text, devices, options, callbacks)
    seconds = time.perf_counter() - start
    if key and not from_cache:
        cache.store(key, compat.serialize_executable(together(devices)[0], raw), seconds)
    return raw, seconds, from_cache


def revive(blob: bytes, text: str, *, device: Device, output_avals: Sequence[Aval]) -> Executable:
    """Load a program that `Executable.serialize` returned.

    Args:
      blob: the bytes.
      text: what it was compiled from.
      device: where it will run, of the kind that it was compiled for.
      output_avals: as for `compile_text`.

    Raises:
      JaxRuntimeError: XLA cannot load it: another XLA wrote it, or for another device.
    """
    room.check_program()
    try:
        raw = compat.deserialize_executable(
            device.client._raw, blob, device.device_list, Options().to_raw([device._raw])
        )
    except compat.BackendError as error:
        fail(error, "loading a compiled program")
    return Executable(raw, text, device, output_avals, 0.0, from_cache=True, written=lambda: blob)


def _compile(
    text: str, devices: Sequence[Device], options: Options, callbacks: Sequence[Callable[..., Any]]
) -> Any:
    """Have XLA compile a program; returns jaxlib's executable.

    A pass of XLA's that fails on a right program, since it takes away what a callback still reads,
    is left out in a second attempt.
    """
    client, raws = together(devices)
    placed = compat.DeviceList(tuple(raws))
    called = [leaving.parkable(remembering(_noting(callback))) for callback in callbacks]
    try:
        return compat.compile_program(client, text, placed, options.to_raw(raws), called)
    except compat.BackendError as error:
        if "is live and cannot be removed" not in str(error):
            fail_compile(error, text)
    options = options.without_pass("dot-library-rewriter")
    try:
        return compat.compile_program(client, text, placed, options.to_raw(raws), called)
    except compat.BackendError as error:
        fail_compile(error, text)


class _Thread(threading.local):
    """Per thread: whether it is in a callback now."""

    in_callback = False


_thread = _Thread()


def _noting(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a callback so that programs know when they are run by one."""

    def noted(*args: Any) -> Any:
        _thread.in_callback = True
        try:
            return callback(*args)
        finally:
            _thread.in_callback = False

    return noted


def check_may_call_back() -> None:
    """Refuse what can wait for ever: XLA's threads would all be in outer callbacks."""
    if _thread.in_callback:
        raise errors.user_error(
            RuntimeError,
            "callback: a Python function that a compiled program called back ran another compiled "
            "program with callbacks of its own.",
            fix="run the inner function without compiling it, under `disable_jit()`, or take the "
            "callbacks (`debug.print` is one) out of it.",
            anchor="callback",
        )


def _load(key: bytes, devices: Sequence[Device], options: Options) -> Any:
    """Load a program from the cache; returns jaxlib's executable, or None."""
    blob = cache.load(key)
    if blob is None:
        return None
    client, raws = together(devices)
    try:
        return compat.deserialize_executable(
            client, blob, compat.DeviceList(tuple(raws)), options.to_raw(raws)
        )
    except compat.BackendError as error:
        cache.discard(key, "XLA", str(error))
        return None


def _deleted_error(raw: Any, position: int, count: int) -> errors.DeletedArrayError:
    """Name the argument that no longer exists."""
    return errors.user_error(
        errors.DeletedArrayError,
        f"argument {position} of {count}: Array has been deleted; "
        f"it was a {buffers.type_text(raw.aval)}.",
        fix="pass the array before it is donated or deleted, or do not donate it.",
    )
