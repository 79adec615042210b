"""Python functions that write their results into memory that they are given."""

from evertrace._src import lazy
from evertrace._src.experimental.buffers import Buffer as Buffer
from evertrace._src.experimental.buffers import ExecutionContext as ExecutionContext
from evertrace._src.experimental.buffers import ExecutionStage as ExecutionStage
from evertrace._src.experimental.buffers import buffer_callback as buffer_callback

lazy.refuse_others(__name__)

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
