"""Machine code: LLVM's text becomes functions in memory, by llvmlite.

llvmlite is loaded with the first function. Where it is missing nothing is fused.
"""

import functools
import importlib.util
import itertools
from typing import Any

from evertrace._src.lazy import load

_numbers = itertools.count()


class Code:
    """A function in memory, which is freed with this object.

    Attributes:
      address: of the function.
      size: bytes of the object file that it was read from.
    """

    __slots__ = ("__weakref__", "_library", "address", "size")

    def __init__(self, library, size):
        self._library, self.size = library, size
        self.address = library["kernel"]


@functools.cache
def is_there():
    """Whether llvmlite is installed; it is not loaded."""
    return importlib.util.find_spec("llvmlite") is not None


@functools.cache
def _binding() -> Any:
    binding = load("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@functools.cache
def features():
    """Return what this processor can do, as LLVM writes it."""
    return _binding().get_host_cpu_features().flatten()


@functools.cache
def _machine(processor):
    """Return what makes code for a (processor, features), by default for this one."""
    binding = _binding()
    if processor is None:
        processor = binding.get_host_cpu_name(), features()
    cpu, able = processor
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=cpu, features=able, opt=2, reloc="pic", codemodel="small"
    )


@functools.cache
def _linker():
    return _binding().create_lljit_compiler(_machine(None))


def compiled(text, processor=None):
    """Return the `Code` of a module in LLVM's text, whose function is called `kernel`."""
    binding = _binding()
    image = _machine(processor).emit_object(binding.parse_assembly(text))
    builder = binding.JITLibraryBuilder().add_object_img(image).export_symbol("kernel")
    return Code(builder.link(_linker(), f"kernel{next(_numbers)}"), len(image))
