"""The check that no random key is used twice, by the option `debug_key_reuse`.

JAX's module has no public names either: it documents the option. While it is on, an operation that
draws from a key, or splits it, consumes the key; another one with the same key raises
`KeyReuseError`::

    with ev.debug_key_reuse():
        key = ev.random.key(0)
        x = ev.random.normal(key)
        y = ev.random.normal(key)  # KeyReuseError

Jitted functions run operation by operation under it, so it sees into them, and is for debugging.
"""

from evertrace._src import lazy
from evertrace._src.config import debug_key_reuse as debug_key_reuse
from evertrace._src.errors import KeyReuseError as KeyReuseError

lazy.refuse_others(__name__)

__all__ = ["KeyReuseError", "debug_key_reuse"]
