"""Servers that send arrays between processes that share no programs: names that raise."""

from evertrace._src import lazy
from evertrace._src.experimental.left_out import LeftOut as _LeftOut
from evertrace._src.experimental.left_out import left_out as _left_out

_HERE = "evertrace.experimental"
_WHY = (
    "processes that share no programs send each other nothing; those of one "
    "`distributed.initialize` move arrays by `device_put` and `multihost_utils`"
)
start_transfer_server: _LeftOut = _left_out(_HERE, "transfer.start_transfer_server", _WHY)
make_error_array: _LeftOut = _left_out(_HERE, "transfer.make_error_array", _WHY)
TransferServer: _LeftOut = _left_out(_HERE, "transfer.TransferServer", _WHY)
TransferConnection: _LeftOut = _left_out(_HERE, "transfer.TransferConnection", _WHY)

__all__: list[str] = []

lazy.refuse_others(__name__)
