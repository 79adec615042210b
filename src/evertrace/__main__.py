"""Tools on the command line: ``python -m evertrace --help`` lists them."""

import sys

from evertrace._src.tools.command import main as _main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(_main())
