"""What kernels each operation becomes, one file per family of `ops` and `control`."""

import importlib
import pkgutil


def load_rules():
    """Import every file of this package, each of which registers its family's rules."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
