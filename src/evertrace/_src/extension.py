"""The extension module in C++, or None where it was not built or is not wanted.

With ``EVERTRACE_NATIVE=0`` in the environment it is ignored: everything then runs by the Python
code that it stands beside, which says what its parts mean. With ``EVERTRACE_NATIVE=1`` it has to be
there: why it cannot be loaded is then an error.
"""

import os
from typing import Any

native: Any = None

_wanted = os.environ.get("EVERTRACE_NATIVE")

is_wanted = _wanted != "0"
"""Whether to do without it was not asked for."""

failure = ""
"""Why it could not be loaded, in Python's words."""

if is_wanted:
    try:
        from evertrace._src import _native  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError as error:  # it was not built, or for another Python
        failure = str(error)
        if _wanted == "1":
            raise
    else:
        native = _native
