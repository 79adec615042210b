"""Several processes that work together: only one is supported, and errors say so."""

from evertrace._src import errors
from evertrace._src.support import set_module

public = set_module("evertrace.distributed")

_initialized = [False]


@public
def initialize(
    coordinator_address=None,
    num_processes=None,
    process_id=None,
    local_device_ids=None,
    cluster_detection_method=None,
    initialization_timeout=300,
    heartbeat_timeout_seconds=100,
    shutdown_timeout_seconds=300,
    coordinator_bind_address=None,
    slice_index=None,
    partition_index=None,
):
    """Set up the work of several processes: here, of one.

    Args:
      coordinator_address: of the first process; not needed, like all that follows, for one.
      num_processes: None or 1.
      process_id: None or 0.
      local_device_ids: of no effect.
      cluster_detection_method: of no effect.
      initialization_timeout: of no effect.
      heartbeat_timeout_seconds: of no effect.
      shutdown_timeout_seconds: of no effect.
      coordinator_bind_address: of no effect.
      slice_index: of no effect.
      partition_index: of no effect.

    Raises:
      NotImplementedError: more processes are asked for.
      RuntimeError: it was called before.

    Example:
      >>> ev.distributed.initialize(num_processes=1, process_id=0)
      >>> ev.distributed.is_initialized(), ev.process_count()
      (True, 1)
      >>> ev.distributed.shutdown()
    """
    if num_processes not in (None, 1) or process_id not in (None, 0):
        raise errors.user_error(
            NotImplementedError,
            f"distributed.initialize: {num_processes} processes (this one being {process_id}) are "
            "asked for, and programs of several processes are not built yet.",
            fix="run one process; a mesh of its local devices works.",
            anchor="distributed",
        )
    if _initialized[0]:
        raise errors.user_error(
            RuntimeError,
            "distributed.initialize: it has been called before.",
            fix="call it once, or `shutdown` in between.",
            anchor="distributed",
        )
    _initialized[0] = True


@public
def is_initialized():
    """Return whether `initialize` has been called, and not `shutdown` since.

    Example:
      >>> ev.distributed.is_initialized()
      False
    """
    return _initialized[0]


@public
def shutdown():
    """Undo `initialize`; without one, do nothing.

    Example:
      >>> ev.distributed.shutdown()
    """
    _initialized[0] = False
