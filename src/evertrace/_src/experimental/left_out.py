"""Names that libraries import for what one process on one host has no meaning for."""

from collections.abc import Callable
from typing import Any, NoReturn

from evertrace._src import errors
from evertrace._src.support import set_module

LeftOut = Callable[..., NoReturn]


def left_out(package: str, name: str, reason: str) -> LeftOut:
    """Return a function that raises when it is used.

    Args:
      package: where the module of the name is.
      name: what people write: ``module.name``.
      reason: why it has no meaning here.
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: {reason}.",
            fix="use what the library offers for one process.",
            anchor="as-jax",
        )

    module, _, refuse.__name__ = name.rpartition(".")
    refuse.__qualname__ = refuse.__name__
    refuse.__doc__ = _DOC.format(package=package, module=module, name=name, reason=reason)
    return set_module(f"{package}.{module}")(refuse)


_DOC = """Raise NotImplementedError: {reason}.

    Example:
      >>> from {package} import {module}
      >>> {name}()
      Traceback (most recent call last):
        ...
      NotImplementedError: {name}: {reason}.
        ...
    """
