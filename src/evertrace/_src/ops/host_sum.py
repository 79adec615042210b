"""Sums on the host that stay accurate along every axis.

NumPy adds pairwise along the contiguous axis only, and one after another along the others, where
the error of float32 grows with the length. Here long axes are summed in blocks, whose sums are
summed in turn (N. J. Higham, "The accuracy of floating point summation", 1993, section 2), at the
same speed.
"""

import numpy as np

from evertrace._src import kernels

BLOCK = 128  # as long as NumPy's own base case


def host_sum(x, axes):
    """Return the sum of an array over a tuple of axes, in its own dtype."""
    dtype = x.dtype
    if kernels.reduces(x) and dtype.kind != "b":
        return kernels.reduce("reduce_sum", x, axes, dtype)
    if dtype.itemsize < 4 and dtype.kind not in "iub" and dtype.name.startswith(("float", "bf")):
        return host_sum(x.astype(np.float32), axes).astype(dtype)
    if dtype.kind not in "fc" or all(x.shape[a] <= 2 * BLOCK for a in axes):
        return np.add.reduce(x, axis=axes, dtype=dtype)
    for axis in sorted(axes, reverse=True):
        if axis == x.ndim - 1 and x.strides[axis] == x.itemsize:
            x = np.add.reduce(x, axis=axis)
        else:
            x = _blocked(np.moveaxis(x, axis, 0))
    return x


def _blocked(x):
    """Return the sum over the first axis."""
    count = x.shape[0] // BLOCK
    if count < 2:
        return np.add.reduce(x, axis=0)
    whole = count * BLOCK
    blocks = np.add.reduce(x[:whole].reshape(count, BLOCK, *x.shape[1:]), axis=1)
    rest = np.add.reduce(x[whole:], axis=0)
    return _blocked(np.concatenate([blocks, rest[None]]))
