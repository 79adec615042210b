"""Arrays over many hosts on disks: names that raise when they are used."""

from evertrace._src import lazy
from evertrace._src.experimental.left_out import LeftOut as _LeftOut
from evertrace._src.experimental.left_out import left_out as _left_out

_HERE = "evertrace.experimental.array_serialization"
_WHY = "it needs tensorstore; `pytree_serialization` saves and loads trees of arrays"
GlobalAsyncCheckpointManager: _LeftOut = _left_out(
    _HERE, "serialization.GlobalAsyncCheckpointManager", _WHY
)
async_deserialize: _LeftOut = _left_out(_HERE, "serialization.async_deserialize", _WHY)
async_serialize: _LeftOut = _left_out(_HERE, "serialization.async_serialize", _WHY)
run_deserialization: _LeftOut = _left_out(_HERE, "serialization.run_deserialization", _WHY)
run_serialization: _LeftOut = _left_out(_HERE, "serialization.run_serialization", _WHY)
get_tensorstore_spec: _LeftOut = _left_out(_HERE, "serialization.get_tensorstore_spec", _WHY)

__all__: list[str] = []

lazy.refuse_others(__name__)
