"""Programs over several devices: only names that libraries import for what they do not use here."""

global_result_handlers: dict = {}
"""Types of results that libraries have added; nothing reads them."""

__all__ = ["global_result_handlers"]
