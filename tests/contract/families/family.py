"""What a theme of the random programs consists of."""

from typing import NamedTuple


class Family(NamedTuple):
    """Templates about one thing; the tables mean what those of the same name in `grammar` mean.

    All templates of a theme are equally likely.
    """

    name: str
    source: str = ""  # definitions that the templates use
    expressions: dict = {}  # noqa: RUF012 - none of these is ever changed
    statements: tuple = ()
    results: tuple = ()
    start: dict = {}  # noqa: RUF012
    parts_of: dict = {}  # noqa: RUF012
    attributes: dict = {}  # noqa: RUF012
    globals: dict = {}  # noqa: RUF012
    arguments: dict = {}  # noqa: RUF012
    outside: tuple = ()  # changes that are only made between the calls
    shared: frozenset = frozenset()
    entries: tuple = ()  # jitted functions of the source: a call's text, and its parameters
