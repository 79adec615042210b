"""NumPy scalars that are made of the host's numbers while a function is traced.

`np.float32(n)`, `np.sqrt(n)` and their kind are recorded like arithmetic, and give what stands for
a NumPy scalar: the prologue makes it anew at each call. It is a `HostArray`, so beside arrays it is
an input; with numbers and scalars of its own kind it is computed with on the host, by NumPy.
"""

import functools

import numpy as np

from evertrace._src.jit.lifting import asking
from evertrace._src.jit.lifting.host import STAND_INS, is_computed, op
from evertrace._src.jit.lifting.hostarray import HostArray, aval_of_numpy
from evertrace._src.jit.lifting.hostmodules import real

_SCALARS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128, np.longlong, np.ulonglong,
)  # fmt: skip


def provide(recorder):
    """Have a trace's prologue make stand-ins of the NumPy scalars that it computes."""
    recorder.prologue.scalar = functools.partial(_stand_in, recorder)


def _stand_in(recorder, slot, value):
    """Return the stand-in of a NumPy scalar in a slot of the prologue."""
    prologue, name = recorder.prologue, f"numpy.{type(value).__name__}(...)"
    made = HostArray(
        value,
        aval_of_numpy(value),
        lambda aval: recorder.inputs.add(aval, ("slot", slot), name),
        lambda: prologue.demand(_bytes_of, made),
        _unused,
    )
    made.prologue, made.slot = prologue, slot
    recorder.effects.arrays.append(made)
    return made


def _unused(*_):
    """Stand for what is asked of arrays only."""


def _bytes_of(x):
    return x.tobytes()


def _constructor(kind):
    """Return what is called in place of a scalar type of NumPy's."""

    def make(*args, **kwargs):
        is_one = len(args) == 1 and not kwargs
        return op(kind, *args) if is_one and is_computed(args[0]) else kind(*args, **kwargs)

    return functools.update_wrapper(make, kind, ("__name__", "__qualname__", "__doc__"), updated=())


def _in_place_of(name, kind):
    """Return what gives the type of a module of NumPy's, or whatever else has such an attribute."""

    def get(owner):
        found = getattr(owner, name)
        return asking.constructors[kind] if found is kind else found

    return get


for _kind in _SCALARS:
    STAND_INS[_kind] = lambda prologue, slot, value: prologue.scalar(slot, value)
    asking.constructors[_kind] = _constructor(_kind)
    real[asking.constructors[_kind]] = _kind
asking.methods.update(
    {
        name: _in_place_of(name, kind)
        for name, kind in vars(np).items()
        if type(kind) is type and kind in asking.constructors
    }
)
