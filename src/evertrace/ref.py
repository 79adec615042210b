"""Mutable arrays: places for an array that functions read and write in place."""

from evertrace._src import lazy
from evertrace._src.ref.functions import addupdate as addupdate
from evertrace._src.ref.functions import empty_ref as empty_ref
from evertrace._src.ref.functions import free_ref as free_ref
from evertrace._src.ref.functions import freeze as freeze
from evertrace._src.ref.functions import get as get
from evertrace._src.ref.functions import new_ref as new_ref
from evertrace._src.ref.functions import set as set
from evertrace._src.ref.functions import swap as swap
from evertrace._src.ref.ref import AbstractRef as AbstractRef
from evertrace._src.ref.ref import Ref as Ref

lazy.refuse_others(__name__)

__all__ = [
    "AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set",
    "swap",
]  # fmt: skip
