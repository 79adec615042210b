"""Several processes that work together: how they are joined."""

from __future__ import annotations

import os
from typing import Any

from evertrace._src import config, errors
from evertrace._src.engines import runtime
from evertrace._src.sharding.clusters import METHODS
from evertrace._src.support import set_module

public = set_module("evertrace.distributed")

_initialized = [0]  # how many processes there are since `initialize`
# Where launchers say what was not passed: coordinator, number of processes, number of this one.
_VARIABLES = (
    ("JAX_COORDINATOR_ADDRESS", "COORDINATOR_ADDRESS"),
    ("JAX_NUM_PROCESSES", "NUM_PROCESSES"),
    ("JAX_PROCESS_ID", "PROCESS_ID"),
)


@public
def initialize(
    coordinator_address: Any = None,
    num_processes: Any = None,
    process_id: Any = None,
    local_device_ids: Any = None,
    cluster_detection_method: Any = None,
    initialization_timeout: Any = 300,
    heartbeat_timeout_seconds: Any = 100,
    shutdown_timeout_seconds: Any = 300,
    coordinator_bind_address: Any = None,
    slice_index: Any = None,
    partition_index: Any = None,
) -> None:
    """Join several processes, so that `devices` are those of all of them.

    Each process calls it, before it computes anything. What is not passed is taken from the
    environment: ``JAX_COORDINATOR_ADDRESS``, ``JAX_NUM_PROCESSES`` and ``JAX_PROCESS_ID``; or else
    from what SLURM says to the processes that ``srun`` starts, Open MPI to those of ``mpirun``, or
    Kubernetes to the pods of an indexed job.

    Args:
      coordinator_address: host and port, ``"10.0.0.1:4000"``, of a port that is free on the machine
        of the first process, which starts a small process there that outlives the others.
      num_processes: how many there are; None or 1 for one, which needs none of this.
      process_id: number of this one, from 0 on.
      local_device_ids: not supported: each process has its own devices.
      cluster_detection_method: "slurm", "ompi" or "k8s" to look for nothing else than the
        variables of that one, which have to be there then, "deactivate" to leave them out. In a job
        of Kubernetes ``JOB_COMPLETIONS`` says how many pods there are.
      initialization_timeout: seconds to wait for the others.
      heartbeat_timeout_seconds: of no effect: that a process has died is noticed at once.
      shutdown_timeout_seconds: of no effect: nobody waits for others to end.
      coordinator_bind_address: address at which the coordinator listens, if it is another.
      slice_index: of no effect.
      partition_index: of no effect.

    Raises:
      ValueError: the address or the number of this process is missing or makes no sense.
      RuntimeError: it was called before, something was computed before, or the others do not come
        in time. Later, when a process has died, what waits for it raises `PeerLostError`.

    Differs from JAX: no process is ended because another one has died. Nothing is asked but
    variables of the environment; where they do not say it, pass the first three arguments.

    Example:
      >>> ev.distributed.initialize(num_processes=1, process_id=0)
      >>> ev.distributed.is_initialized(), ev.process_count()
      (True, 1)
      >>> ev.distributed.shutdown()
    """
    if local_device_ids is not None:
        raise errors.unsupported("distributed.initialize", "local_device_ids", local_device_ids)
    if _initialized[0]:
        raise errors.user_error(
            RuntimeError,
            "distributed.initialize: it has been called before.",
            fix="call it once, or `shutdown` in between.",
            anchor="distributed",
        )
    given = coordinator_address, num_processes, process_id
    address, count, index = _found(given, cluster_detection_method)
    if coordinator_address is not None:
        _check_address(coordinator_address, count)
    count = 1 if count is None else _number("num_processes", count, 1)
    if count > 1:
        if runtime.is_open() or config.current().simulated_devices is not None:
            raise errors.user_error(
                RuntimeError,
                "distributed.initialize: devices have been asked for or used before.",
                fix="call it first of all.",
                anchor="distributed",
            )
        index = _number("process_id", -1 if index is None else index, 0)
        if index >= count or address is None or ":" not in address:
            raise _argument_error(address, count, index)
        seconds = int(initialization_timeout)
        runtime.processes().join(address, count, index, coordinator_bind_address, seconds)
    _initialized[0] = count


def _found(given, method):
    """Return address, number of processes and of this one: as given, or from the environment."""
    if method not in (None, "deactivate", *METHODS):
        raise errors.unsupported("distributed.initialize", "cluster_detection_method", method)
    clusters = (find(os.environ) for name, find in METHODS.items() if method in (None, name))
    cluster = next(filter(None, clusters), None)
    if method in METHODS and cluster is None:
        raise errors.user_error(
            ValueError,
            f"distributed.initialize: the environment says nothing of {method}.",
            fix="start the processes with the scheduler (`srun` for SLURM, `mpirun` for Open MPI, "
            "an indexed job with JOB_COMPLETIONS for Kubernetes), or pass the first three "
            "arguments.",
            anchor="distributed",
        )
    named = [_from_environment(names) if method not in METHODS else None for names in _VARIABLES]
    return [
        next((x for x in values if x is not None), None)
        for values in zip(given, named, cluster or (None,) * 3, strict=True)
    ]


def _from_environment(names):
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _number(name, value, least):
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < least:
        raise errors.user_error(
            ValueError,
            f"distributed.initialize: {name} must be an integer from {least} on, got {value!r}.",
            fix="pass the number of processes, and of this one, counted from 0.",
            anchor="distributed",
        )
    return number


def _check_address(address, count):
    """Refuse a coordinator that was passed in vain."""
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not (host and port.isdecimal()):
        what = f"{address!r} is no address of a coordinator"
    elif count is None:
        what = f"there is a coordinator, {address!r}, but nothing says how many processes there are"
    else:
        return
    raise errors.user_error(
        ValueError,
        f"distributed.initialize: {what}.",
        fix='pass `initialize("host:port", num_processes, process_id)`, numbers counted from 0.',
        anchor="distributed",
    )


def _argument_error(address, count, index):
    return errors.user_error(
        ValueError,
        f"distributed.initialize: process {index} of {count} with the coordinator {address!r}.",
        fix='pass `initialize("host:port", num_processes, process_id)`, numbers counted from 0.',
        anchor="distributed",
    )


@public
def is_initialized() -> bool:
    """Return whether `initialize` has been called, and not `shutdown` since.

    Example:
      >>> ev.distributed.is_initialized()
      False
    """
    return _initialized[0] > 0


def membership() -> Any:
    """Return this process as one of several, or None where it is alone."""
    return runtime.processes().membership() if _initialized[0] > 1 else None


@public
def shutdown() -> None:
    """Leave the other processes; without `initialize`, do nothing.

    Those who go on may then form a world anew, by `initialize` with a number of processes and
    numbers of their own: `devices` are those of that one. Meshes are to be made again; arrays of
    several processes are read part by part (`addressable_shards`), or from a checkpoint.

    Example:
      >>> ev.distributed.shutdown()
    """
    if _initialized[0] > 1:
        runtime.processes().leave()
        runtime.leave_world()
    _initialized[0] = 0
