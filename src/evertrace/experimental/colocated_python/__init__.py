"""Python beside the devices of other hosts: names that raise when they are used."""

from evertrace._src.experimental.left_out import LeftOut as _LeftOut
from evertrace._src.experimental.left_out import left_out as _left_out

from . import func as func
from . import serialization as serialization

_HERE = "evertrace.experimental"
_WHY = "programs of Python beside the devices of other hosts are not built"
colocated_python: _LeftOut = _left_out(_HERE, "colocated_python.colocated_python", _WHY)
colocated_python_class: _LeftOut = _left_out(_HERE, "colocated_python.colocated_python_class", _WHY)
colocated_cpu_devices: _LeftOut = _left_out(_HERE, "colocated_python.colocated_cpu_devices", _WHY)

__all__: list[str] = []
