"""Runs a program in several processes of one machine: ``python -m evertrace.launch -n 4 train.py``.

``ev.distributed.initialize()`` in the program joins them; arguments after the program are its own.
What a process prints stands after its number. When one fails, the others get ``--grace`` seconds to
end, then are ended; the last line says which one failed first and why, and the exit status is its
own. Ctrl-C ends all of them.
"""

import sys

from evertrace._src.sharding.launcher import main as _main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(_main())
