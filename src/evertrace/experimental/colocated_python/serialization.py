"""Functions as bytes for other hosts: nothing, for there are none."""

from evertrace._src import lazy
from evertrace._src.experimental.left_out import LeftOut as _LeftOut
from evertrace._src.experimental.left_out import left_out as _left_out

_HERE = "evertrace.experimental.colocated_python"

DeviceList: _LeftOut = _left_out(
    _HERE,
    "serialization.DeviceList",
    "programs of Python beside the devices of other hosts are not built",
)

__all__: list[str] = []

lazy.refuse_others(__name__)
