"""PJRT clients and their devices: one client per platform, made when it is first needed.

The idea: `get_client` is the only door to hardware. Which platform it opens by default follows
the configuration (``platforms``, see `config` for the variables) and otherwise what the
machine has: an accelerator whose plugin is installed and finds devices, else the CPU. Some levers
of XLA's CPU runtime work only before the client exists; they are pulled here, just before.
"""

import ctypes
import os
import re
import threading
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from evertrace._src import config, doors, errors, native
from evertrace._src.engines.xla import compat, leaving, plugins, processes, room
from evertrace._src.support import forkable, in_child

_GPU_PLUGINS = ("cuda", "rocm")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h
_REUSED_BLOCK_LIMIT = 1 << 30  # bytes: larger blocks still go back to the system when freed

_clients: dict[str, "Client"] = {}
_wide_clients: dict[int, "Client"] = {}  # by how many devices they have: see `together`
_former: list["Client"] = []  # of worlds that this process has left: their arrays are there yet
_lost = False  # whether they are those of the process from which this one was forked
_lock = forkable(threading.RLock())


class Device:
    """One device of a client; equal only to itself, so it can be a key.

    Attributes:
      client: the `Client` it belongs to.
      id: number of the device, unique among all processes of its platform.
      platform: "cpu", "gpu" or "tpu".
      device_kind: the maker's name of the model.
      process_index: the process whose memory and programs it serves.
      local_hardware_id: number of the device within its machine.
      device_list, sharding: what jaxlib wants to hear for "this one device".

    Example:
      >>> isinstance(ev.devices()[0], ev.Device), ev.devices()[0].id
      (True, 0)
    """

    __slots__ = (
        "__weakref__",
        "_held",
        "client",
        "device_kind",
        "device_list",
        "id",
        "local_hardware_id",
        "platform",
        "process_index",
        "sharding",
    )

    def __init__(self, client: "Client", raw: Any, number: int | None = None):
        """Wrap one device of jaxlib; what has another number than it is a virtual one."""
        self._held = raw
        self.client: Client = client
        self.id: int = raw.id if number is None else number
        self.platform: str = raw.platform
        self.device_kind: str = raw.device_kind
        self.process_index: int = raw.process_index
        self.local_hardware_id: int | None = raw.local_hardware_id
        self.device_list: Any = compat.DeviceList((raw,))
        self.sharding: Any = compat.replicated_sharding(self.device_list)

    @property
    def is_local(self) -> bool:
        """Whether it belongs to this process."""
        return self.process_index == self.client.process_index

    @property
    def _raw(self) -> Any:
        """The device of jaxlib, where it can be used."""
        check_process()
        return self._held

    @property
    def is_virtual(self) -> bool:
        """Whether it is another name of the first device, given by `simulate_devices`."""
        return self.id != self._held.id

    def addressable_memories(self) -> list["Memory"]:
        """Return the memories that programs on it can use, its ordinary one first."""
        raw, default = self._raw.addressable_memories(), self._raw.default_memory().kind
        kinds = [default, *[m.kind for m in raw if m.kind != default]]
        return [Memory(self, kind) for kind in kinds]

    def default_memory(self) -> "Memory":
        """Return its ordinary memory, where arrays are unless another one is named."""
        return self.addressable_memories()[0]

    def memory(self, kind: str) -> "Memory":
        """Return the memory of a kind, such as ``"pinned_host"``.

        Raises:
          ValueError: it has none.
        """
        found = {m.kind: m for m in self.addressable_memories()}
        if kind not in found:
            raise errors.user_error(
                ValueError,
                f"memory: {self} has no memory {doors.shown(kind)}.",
                fix=f"use one of {', '.join(map(repr, found))}.",
                anchor="choice",
            )
        return found[kind]

    def memory_stats(self) -> dict[str, int] | None:
        """Counters of the device's allocator in bytes; None where it keeps none (the CPU)."""
        return self._raw.memory_stats()

    def __repr__(self) -> str:
        """Show the platform and the number, as ``CpuDevice(id=0)``."""
        return f"CpuDevice(id={self.id})" if self.is_virtual else repr(self._held)

    def __str__(self) -> str:
        """Show the short form, as ``cpu:0``."""
        return f"cpu:{self.id}" if self.is_virtual else str(self._held)


class Memory(NamedTuple):
    """A memory that programs on a device can use.

    Attributes:
      device: the device.
      kind: "device" for the ordinary one of a CPU or accelerator, "pinned_host", "unpinned_host".

    Example:
      >>> [memory.kind for memory in ev.devices()[0].addressable_memories()]
      ['device', 'pinned_host', 'unpinned_host']
    """

    device: Device
    kind: str

    @property
    def platform(self) -> str:
        """The platform of the device."""
        return self.device.platform

    @property
    def process_index(self) -> int:
        """The process whose memory it is."""
        return self.device.process_index

    def addressable_by_devices(self) -> list[Device]:
        """Return the devices whose programs can use it."""
        return [self.device]

    def __repr__(self) -> str:
        """Show the device and the kind, as ``Memory(cpu:0, 'pinned_host')``."""
        return f"Memory({self.device}, {self.kind!r})"


class Client:
    """A platform's runtime, and the devices that it manages.

    Attributes:
      platform: "cpu", "gpu" or "tpu".
      platform_version: the runtime's own description of itself.
      process_index: number of this process among those that share the devices.
      devices: all devices; local_devices: those of this process.
    """

    __slots__ = (
        "__weakref__",
        "_held",
        "_seeming",
        "devices",
        "local_devices",
        "platform",
        "platform_version",
        "process_index",
    )

    def __init__(self, raw: Any):
        """Wrap one client of jaxlib."""
        self._held = raw
        self.platform: str = raw.platform
        self.platform_version: str = raw.platform_version
        self.process_index: int = raw.process_index()
        self.devices: tuple[Device, ...] = tuple(Device(self, device) for device in raw.devices())
        self.local_devices: tuple[Device, ...] = tuple(
            device for device in self.devices if device.process_index == self.process_index
        )
        self._seeming = self.devices

    def seeming_devices(self) -> tuple[Device, ...]:
        """All devices, as many as are simulated where that is asked for."""
        count = config.current().simulated_devices
        if count is None or self.platform != "cpu":
            return self.devices
        with _lock:
            more = range(len(self._seeming), count)
            raw = self.devices[0]._held
            self._seeming += tuple([Device(self, raw, number) for number in more])
        return self._seeming[:count]

    @property
    def _raw(self) -> Any:
        """The client of jaxlib, where it can be used."""
        check_process()
        return self._held

    def __repr__(self) -> str:
        """Show the platform and how many devices there are."""
        return f"Client({self.platform}, {len(self.devices)} devices)"


def get_client(platform: str | None = None) -> Client:
    """Return the client of a platform, making it at the first call.

    Args:
      platform: "cpu", "gpu", "cuda", "rocm", "tpu" or the name of a plugin. By default the first
        of the configured platforms, else the best that this machine has.

    Raises:
      RuntimeError: there is no such platform here, or it failed to start.
    """
    name = platform or config.first_platform()
    client = _clients.get(name)
    if client is None:
        with _lock:
            client = _clients.get(name)
            if client is None:
                leaving.prepare()
                client = _clients[name] = _best_client() if name == "" else _open(name)
    return client


def devices(platform: str | None = None) -> list[Device]:
    """All devices of a platform, those of other processes included."""
    return list(get_client(platform).seeming_devices())


def local_devices(process_index: int | None = None, platform: str | None = None) -> list[Device]:
    """The devices of one process, by default of this one."""
    client = get_client(platform)
    wanted = client.process_index if process_index is None else process_index
    found = [device for device in client.seeming_devices() if device.process_index == wanted]
    if not found and process_index is not None:
        indices = sorted({device.process_index for device in client.seeming_devices()})
        raise errors.user_error(
            ValueError,
            f"local_devices: there is no process {process_index!r} with devices of the platform "
            f"{client.platform}.",
            fix=f"use one of {', '.join(map(str, indices))}.",
            anchor="devices",
        )
    return found


def device_count(platform: str | None = None) -> int:
    """How many devices a platform has in all processes."""
    return len(get_client(platform).seeming_devices())


def together(devices: Sequence[Device]) -> tuple[Any, list[Any]]:
    """Return jaxlib's client and devices for programs that run on all these devices.

    A virtual device runs its own programs on the first one. Programs of several devices, some of
    them virtual, run on a client that has enough. It is opened when the first of them is compiled,
    and follows from the devices, so that arrays and programs of the same ones meet on one client.
    """
    if len(devices) == 1 or not any([device.is_virtual for device in devices]):
        return devices[0].client._raw, [device._raw for device in devices]
    most = max([device.id for device in devices])
    count = max(8, 1 << most.bit_length())
    with _lock:
        if count not in _wide_clients:
            _wide_clients[count] = _open_cpu(count)
        client = _wide_clients[count]
    return client._raw, [client.devices[device.id]._raw for device in devices]


def is_open() -> bool:
    """Whether a client was made already."""
    return bool(_clients)


def leave_world() -> None:
    """Have devices of the CPU asked for anew: this process is to be one of other processes.

    What was computed stays on the devices that it is on, and can be read.
    """
    with _lock:
        kept = {name: client for name, client in _clients.items() if client.platform != "cpu"}
        _former.extend({*_clients.values()} - {*kept.values()})
        _clients.clear()
        _clients.update(kept)


def is_of_former_world(device: Device) -> bool:
    """Whether a device is one of those before this process left others."""
    return device.client in _former


def default_backend() -> str:
    """The platform of the default client: "cpu", "gpu" or "tpu"."""
    return get_client().platform


def process_index(platform: str | None = None) -> int:
    """Number of this process among those that share a platform's devices."""
    return get_client(platform).process_index


def process_count(platform: str | None = None) -> int:
    """How many processes share a platform's devices."""
    return 1 + max(device.process_index for device in get_client(platform).devices)


def trim_host_memory() -> bool:
    """Give freed host memory back to the system; False where the C library cannot.

    With ``host_allocator_reuse`` the process otherwise keeps the most that it ever used.
    """
    trim = getattr(_c_library(), "malloc_trim", None)
    return bool(trim and trim(0))


def _best_client() -> Client:
    """The first accelerator that starts and has devices, else the CPU."""
    for plugin in plugins.discover():
        try:
            client = get_client(plugin.name)
        except RuntimeError as error:
            warnings.warn(f"{plugin.name} is installed but did not start: {error}", stacklevel=2)
            continue
        if client.devices:
            return client
    return get_client("cpu")


def _open(name: str) -> Client:
    """Make the client of a named platform, or find it under its other name."""
    if name == "cpu":
        return _open_cpu(_configured_count())
    available = plugins.discover()
    accepted = _GPU_PLUGINS if name == "gpu" else (name,)
    for plugin in available:
        if plugin.name in accepted:
            # "gpu" and "cuda" must be one client: two would compete for the device's memory.
            return get_client(plugin.name) if plugin.name != name else _open_plugin(plugin)
    known = ", ".join(["cpu", *(plugin.name for plugin in available)])
    raise errors.user_error(
        RuntimeError,
        f"Unknown backend {name}: the available platforms are {known}.",
        fix="install the plugin of that platform, or choose one of those named.",
        anchor="devices",
    )


def _open_plugin(plugin: plugins.Plugin) -> Client:
    """Start the client of a PJRT plugin."""
    try:
        return Client(plugins.start(plugin))
    except compat.BackendError as error:
        raise errors.user_error(
            errors.JaxRuntimeError,
            f"the {plugin.name} platform did not start: {error}",
            fix="check the driver and that plugin and jaxlib have the same version, "
            'or set EVERTRACE_PLATFORMS="cpu".',
        ) from error


def _configured_count() -> int:
    """How many devices the CPU is divided into."""
    count = config.current().num_cpu_devices
    if count is not None:
        return count
    flags = os.environ.get("XLA_FLAGS", "")
    forced = re.search(r"--xla_force_host_platform_device_count=(\d+)", flags)
    return int(forced[1]) if forced else 1


def _open_cpu(count: int) -> Client:
    """Pull the levers that work only now, then start a CPU client with so many devices."""
    room.check_client(count)
    if count > 1:
        # Each device of a running collective holds a thread of XLA's pool while it waits for the
        # others. With fewer threads than waiting devices of all programs in flight they wait for
        # ever; twice as many threads as devices was enough in practice, four times is margin.
        # A client reads the number when it starts.
        threads = max(os.cpu_count() or 1, 4 * count, int(os.environ.get("PJRT_NPROC") or 0))
        os.environ["PJRT_NPROC"] = str(threads)
    options = config.current()
    if options.host_allocator_reuse:
        _keep_freed_memory()
    member, more = processes.membership(), {}
    if member is not None:
        more = {
            "distributed_client": member.client,
            "node_id": member.index,
            "num_nodes": member.count,
            "collectives": member.collectives,
        }
    asynchronous = options.cpu_enable_async_dispatch
    return Client(compat.make_cpu_client(asynchronous=asynchronous, num_devices=count, **more))


def _c_library() -> Any:
    """The C library as a ctypes object; None on systems without one that can be opened so."""
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):  # TypeError: Windows
        return None


def _keep_freed_memory() -> None:
    """Make glibc keep large freed blocks for the next result, where glibc is what we run on.

    XLA takes its results from malloc, which maps each large block anew and gives it back when it
    is freed; touching fresh pages then costs more than computing. Programs limited by memory
    become 2 to 10 times faster.
    """
    mallopt = getattr(_c_library(), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _REUSED_BLOCK_LIMIT)
        mallopt(_M_TRIM_THRESHOLD, _REUSED_BLOCK_LIMIT)


def _lose_clients() -> None:
    """Note, in a forked child, that the threads of the clients do not exist here."""
    global _lost
    if (_clients or _former) and not _lost:
        _lost = True
        for client in (*_clients.values(), *_wide_clients.values(), *_former):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(client._held))  # ending would wait for them
        native.refuse_programs(check_process)


in_child(_lose_clients)


def has_lost_threads() -> bool:
    """Whether this process was forked from one in which XLA ran: see `check_process`."""
    return _lost


def check_process() -> None:
    """Raise if this process was forked from one in which XLA ran: it would wait for ever.

    Raises:
      RuntimeError: it was.
    """
    if _lost:
        raise errors.user_error(
            RuntimeError,
            "XLA: this process was forked from one that had compiled programs by XLA, whose "
            "threads do not exist here.",
            fix="use the spawn start method of multiprocessing, fork before the first program is "
            'compiled, or give `jit` the option engine="native".',
            anchor="fork",
        )
