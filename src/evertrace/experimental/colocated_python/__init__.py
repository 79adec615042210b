"""Functions of Python that run where arrays are."""

from evertrace._src import lazy
from evertrace._src.experimental.colocated import colocated_cpu_devices as colocated_cpu_devices
from evertrace._src.experimental.colocated import colocated_python as colocated_python
from evertrace._src.experimental.colocated import colocated_python_class as colocated_python_class

from . import func as func
from . import serialization as serialization

lazy.refuse_others(__name__)

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]
