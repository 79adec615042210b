"""Checks of what only shows when a program runs: `check` in a function, `checkify` around it."""

from evertrace._src import lazy
from evertrace._src.experimental.checkify.check import check as check
from evertrace._src.experimental.checkify.check import check_error as check_error
from evertrace._src.experimental.checkify.check import debug_check as debug_check
from evertrace._src.experimental.checkify.error import Error as Error
from evertrace._src.experimental.checkify.error import ErrorCategory as ErrorCategory
from evertrace._src.experimental.checkify.error import JaxRuntimeError as JaxRuntimeError
from evertrace._src.experimental.checkify.error import all_checks as all_checks
from evertrace._src.experimental.checkify.error import automatic_checks as automatic_checks
from evertrace._src.experimental.checkify.error import div_checks as div_checks
from evertrace._src.experimental.checkify.error import float_checks as float_checks
from evertrace._src.experimental.checkify.error import index_checks as index_checks
from evertrace._src.experimental.checkify.error import init_error as init_error
from evertrace._src.experimental.checkify.error import nan_checks as nan_checks
from evertrace._src.experimental.checkify.error import user_checks as user_checks
from evertrace._src.experimental.checkify.transform import checkify as checkify

lazy.refuse_others(__name__)

__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check",
    "check_error", "checkify", "debug_check", "div_checks", "float_checks", "index_checks",
    "init_error", "nan_checks", "user_checks",
]  # fmt: skip
