"""`simulate_devices`: as many devices as a program asks for, on any machine, at any time."""

import operator
from typing import Any

from evertrace._src import config, errors
from evertrace._src.sharding import distributed
from evertrace._src.support import set_module

top = set_module("evertrace")

_MOST = 2048  # numbers of devices of one process; those of the next one begin there


@top
class simulate_devices:  # called like a function
    """Let the CPU seem to have so many devices.

    As a function it does so from now on, for the whole process, and at any time, also after
    something was computed; as a context, ``with simulate_devices(8):``, for the block. Arrays that
    are on devices stay valid when these are no longer listed.

    Devices beyond those that there are share the memory and the threads of the first one: arrays
    over them are laid out in name, and programs run as fast as on one device, so neither a device
    nor a thread is made for them. Only ``jit(f, engine="spmd")``, which really divides a program,
    has XLA make as many when it first compiles one.

    Args:
      count: how many.

    Raises:
      ValueError: it is less than 1 or more than 2048.
      TypeError: it is no integer.
      RuntimeError: `distributed.initialize` has joined this process with others.

    Differs from JAX: the option ``num_cpu_devices`` and ``XLA_FLAGS``, which have to be set before
    the first computation, make that many devices of XLA's, with threads of their own.

    Example:
      >>> with ev.simulate_devices(8):
      ...     mesh = ev.make_mesh((4, 2), ("x", "y"))
      ...     x = ev.device_put(jnp.ones((8, 4)), ev.NamedSharding(mesh, ev.P("x", "y")))
      >>> (x + 1).sharding.spec, x.addressable_shards[0].data.shape
      (P('x', 'y'), (2, 2))
    """

    def __init__(self, count: Any) -> None:
        number = operator.index(count)
        check_count("simulate_devices", number)
        if distributed.membership() is not None:
            raise errors.user_error(
                RuntimeError,
                "simulate_devices: this process was joined with others, which know its devices.",
                fix="call `ev.config.update('num_cpu_devices', n)` before "
                "`distributed.initialize`, the same in each process.",
                anchor="simulated-devices",
            )
        self._before = config.current().simulated_devices
        config.update("simulated_devices", number)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> Any:
        config.update("simulated_devices", self._before)


def check_count(where: Any, number: Any) -> Any:
    """Raise unless so many devices can be simulated."""
    if not 1 <= number <= _MOST:
        raise errors.user_error(
            ValueError,
            f"{where}: {number} devices cannot be simulated.",
            fix=f"ask for 1 to {_MOST}.",
            anchor="simulated-devices",
        )
