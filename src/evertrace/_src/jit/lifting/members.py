"""Members of enumerations that a trace makes: `Flag` keeps those of several bits in its class.

There is one of each value, so they are made for good, as plain Python makes them the first time.
But a call that raises makes none, and what the class knows them by are plain values.
"""

from evertrace._src.jit.lifting.entered import instance_dict
from evertrace._src.jit.lifting.host import is_host, plain

_TABLES = "_value2member_map_", "_member_map_"


class Members:
    """The enumerations that one trace has reached, and the members that they had."""

    def __init__(self):
        self._before = {}

    def reach(self, cls):
        """Note the members of an enumeration."""
        if cls not in self._before:
            self._before[cls] = [(table, {**table}) for table in _tables(cls)]

    def clear(self):
        """Forget the enumerations."""
        self._before.clear()

    def _made(self):
        """Return triples (table, key, member) of the members that were made."""
        return [
            (table, key, member)
            for tables in self._before.values()
            for table, before in tables
            for key, member in list(table.items())
            if before.get(key) is not member
        ]

    def settle(self):
        """Have those that were made known by plain values, as code in C has taken them."""
        for table, key, member in self._made():
            attributes = instance_dict(member) or {}
            attributes.update({k: plain(x) for k, x in attributes.items() if is_host(x)})
            if is_host(key):
                del table[key]
                table[plain(key)] = member

    def take_back(self):
        """Have no members that were not there before."""
        for table, key, _ in self._made():
            del table[key]


def _tables(cls):
    return [vars(cls)[name] for name in _TABLES if type(vars(cls).get(name)) is dict]
