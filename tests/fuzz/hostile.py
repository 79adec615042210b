"""Values that programs of the fuzzer name as ``v``: legal, odd, and hostile ones of every kind."""

import os
import time

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp


class Sub(np.ndarray):
    """A subclass of NumPy's arrays that changes nothing."""


class Raising:
    """Raises when it is asked for what is named; for all else it is an array of 3 numbers."""

    def __init__(self, *names):
        self.names = names

    def _ask(self, name, answer):
        if name in self.names:
            raise ZeroDivisionError(f"the value's own {name}")
        return answer

    def __array__(self, dtype=None, copy=None):
        return self._ask("array", np.arange(3.0).astype(dtype or "float32"))

    def __jax_array__(self):
        return self._ask("jax_array", jnp.arange(3.0))

    def __len__(self):
        return self._ask("len", 3)

    def __index__(self):
        return self._ask("index", 1)

    def __iter__(self):
        return self._ask("iter", iter([0.0, 1.0, 2.0]))

    def __bool__(self):
        return self._ask("bool", True)

    def __hash__(self):
        return self._ask("hash", 1)

    def __eq__(self, other):
        return self._ask("eq", self is other)

    def __repr__(self):
        return self._ask("repr", "<a value that raises>")


class Mutating(list):
    """A list that grows when it is asked for its length or an item."""

    def __len__(self):
        self.append(1.0)
        return super().__len__()

    def __getitem__(self, place):
        self.append(1.0)
        return super().__getitem__(place)


class Lying:
    """Has the attributes of arrays, with values that they cannot have."""

    shape = (-1, "x")
    dtype = "no dtype"
    ndim = None

    def __array__(self, dtype=None, copy=None):
        return "no array"


def ring():
    """A list that contains itself."""
    found = [1.0]
    found.append(found)
    return found


def ring_dict():
    """A dict that contains itself."""
    found = {"x": 1.0}
    found["y"] = found
    return found


def deep(levels=100):
    """A list in a list in a list."""
    value = 1.0
    for _ in range(levels):
        value = [value]
    return value


def strided(*shape):
    """A view of every second element, backwards."""
    return np.arange(2.0 * np.prod(shape, dtype=int)).reshape(*shape[:-1], -1)[..., ::-2]


def unaligned(n=3):
    """Floats that begin at an odd address."""
    return np.frombuffer(bytearray(4 * n + 1), dtype="u1")[1:].view("f4")


def read_only(n=3):
    """An array that may not be written to."""
    found = np.arange(float(n))
    found.flags.writeable = False
    return found


def deleted():
    """An array whose memory is gone."""
    found = jnp.arange(3.0)
    found.delete()
    return found


def donated():
    """An array that was given away to a jitted call."""
    found = jnp.arange(3.0)
    ev.jit(lambda x: x + 1, donate_argnums=0)(found)
    return found


def leaked():
    """A tracer whose trace has ended."""
    seen = []
    ev.jit(lambda x: seen.append(x * 2) or x, strict=True)(jnp.arange(3.0))
    return seen[0]


def capsule():
    """A DLPack capsule, whose consumer is free to take it."""
    return np.arange(3.0).__dlpack__()


def used_capsule():
    """A DLPack capsule that somebody took."""
    found = np.arange(3.0).__dlpack__()

    class Once:
        def __dlpack__(self, **_):
            return found

        def __dlpack_device__(self):
            return (1, 0)

    np.from_dlpack(Once())
    return found


def total(tree):
    """The sum of all that can be differentiated, for gradients of anything."""
    leaves = [x for x in ev.tree.leaves(tree) if hasattr(x, "dtype")]
    floats = [x for x in leaves if jnp.issubdtype(x.dtype, jnp.floating)]
    return sum((jnp.sum(x).astype("float32") for x in floats), jnp.float32(0))


def ours(x):
    """What stands for a value in a strictly jitted function, with the contents of the value."""
    return jnp.asarray(x) if isinstance(x, np.ndarray | np.generic) else x


def base(x):
    """What a power is taken of: Python itself would take for ever to raise an int to 2**64."""
    return jnp.asarray(x) if type(x) is int and abs(x) < 2**31 else x


def fails(*args, **kwargs):
    """A function of the user's that raises."""
    raise ZeroDivisionError("the function's own")


def grown(x, *rest):
    """A function whose result has another shape than its argument."""
    return jnp.concatenate([jnp.ravel(x), jnp.zeros(1)])


def nothing(*args, **kwargs):
    """A function that returns nothing."""


def same(*args, **kwargs):
    """A function that returns its argument, or arguments."""
    return args[0] if len(args) == 1 else args


def both(x, y=1.0, *rest):
    """A function of one or two arrays."""
    return x + y


def pair(carry, x=None):
    """A step of a scan."""
    return carry, x


def dies():
    """End the process as a crash does."""
    os.abort()


def sleeps():
    """Wait for longer than a call may take."""
    time.sleep(3600)


def raw():
    """Call a function of the package, which nobody should call so, and which raises a raw error."""
    return ev._src.support.partition([True], 3)


def allocates():
    """Ask for more memory than a process may have."""
    return bytearray(1 << 45)


def ends():
    """End the process without a word."""
    os._exit(3)
