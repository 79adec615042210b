"""What may still change its name or meaning."""

from evertrace._src.api.callback import io_callback as io_callback

__all__ = ["io_callback"]
