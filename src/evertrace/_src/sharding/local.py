"""Between what one process has of arrays and the arrays over a mesh of several processes."""

from typing import Any

import numpy as np

from evertrace._src.api.devices import device_put
from evertrace._src.arrays.array import Array
from evertrace._src.ops.random import is_key
from evertrace._src.random.keys import key_data, key_impl, wrap_key_data
from evertrace._src.sharding.assembly import make_array_from_process_local_data
from evertrace._src.sharding.layout import NamedSharding


def to_mesh(x, sharding):
    """Return the array of which each process passes what its devices hold.

    One that is over several processes already is laid out so, and means the whole.
    """
    if isinstance(x, Array) and is_key(x.aval):
        return wrap_key_data(to_mesh(key_data(x), sharding), impl=key_impl(x))
    over_all = isinstance(x, Array) and not x.is_fully_addressable
    if over_all or sharding.is_fully_addressable:
        return device_put(x, sharding)
    return make_array_from_process_local_data(sharding, np.asarray(x))


def from_mesh(x, mesh, spec):
    """Return what this process has of an array, over its own part of the mesh."""
    if not isinstance(x, Array) or x.is_fully_addressable:
        return x
    if is_key(x.aval):
        return wrap_key_data(from_mesh(key_data(x), mesh, spec), impl=key_impl(x))
    x = device_put(x, NamedSharding(mesh, spec))
    shards = x.addressable_shards
    data: list[Any] = [s.data for s in shards]
    starts = [[s.index[d].indices(n)[0] for s in shards] for d, n in enumerate(x.shape)]
    places = [sorted({*numbers}) for numbers in starts]
    part = data[0].shape
    shape = [len(p) * n for p, n in zip(places, part, strict=True)]
    whole = np.empty(shape, x.dtype)
    for i, values in enumerate(data):
        at = [p.index(s[i]) * n for p, s, n in zip(places, starts, part, strict=True)]
        index = tuple([slice(a, a + n) for a, n in zip(at, part, strict=True)])
        whole[index] = np.asarray(values)
    return device_put(whole, NamedSharding(mesh.local_mesh, spec))
