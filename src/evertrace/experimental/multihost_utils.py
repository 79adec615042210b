"""What programs for several processes ask of the others."""

from evertrace._src import lazy
from evertrace._src.experimental.multihost import assert_equal as assert_equal
from evertrace._src.experimental.multihost import broadcast_one_to_all as broadcast_one_to_all
from evertrace._src.experimental.multihost import (
    global_array_to_host_local_array as global_array_to_host_local_array,
)
from evertrace._src.experimental.multihost import (
    host_local_array_to_global_array as host_local_array_to_global_array,
)
from evertrace._src.experimental.multihost import live_devices as live_devices
from evertrace._src.experimental.multihost import process_allgather as process_allgather
from evertrace._src.experimental.multihost import (
    reached_preemption_sync_point as reached_preemption_sync_point,
)
from evertrace._src.experimental.multihost import sync_global_devices as sync_global_devices

lazy.refuse_others(__name__)

__all__ = [
    "assert_equal", "broadcast_one_to_all", "global_array_to_host_local_array",
    "host_local_array_to_global_array", "live_devices", "process_allgather",
    "reached_preemption_sync_point", "sync_global_devices",
]  # fmt: skip
