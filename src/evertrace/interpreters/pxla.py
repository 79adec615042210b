"""Programs over several devices: only names that libraries import for what they do not use here."""

from typing import Any

global_result_handlers: dict[type, Any] = {}
"""Types of results that libraries have added; nothing reads them."""

__all__ = ["global_result_handlers"]
