"""Machine code: LLVM's text becomes functions in memory, by llvmlite.

llvmlite is loaded with the first function. Where it is missing nothing is fused. Object files are
kept on disk, see `engines.cache`.
"""

import functools
import importlib.util
import itertools
import time
import weakref
from typing import Any

from evertrace._src.engines import cache
from evertrace._src.lazy import load

LINKED = 32
"""Functions that share a linker."""

RELOCATION, CODE_MODEL = "static", "large"
"""Code names its constants by whole addresses. With distances of 32 bits nothing is measurably
quicker, and where memory is in pieces, the linker, which puts constants farther away, ends the
process."""

_numbers = itertools.count()
_alive: "weakref.WeakSet[Code]" = weakref.WeakSet()


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
        _alive.add(self)


def alive():
    """Return how many functions are in memory."""
    return len(_alive)


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
def processor():
    """Return the name of this processor, and what it can do."""
    return _binding().get_host_cpu_name(), features()


@functools.cache
def _machine(target):
    """Return what makes code for a processor, of which the name and features are given."""
    cpu, able = target
    triple = _binding().Target.from_default_triple()
    return triple.create_target_machine(
        cpu=cpu, features=able, opt=2, reloc=RELOCATION, codemodel=CODE_MODEL
    )


@functools.lru_cache(maxsize=1)
def _linker(batch):
    """Return what links some functions; it leaves a little behind of each, until all are freed."""
    del batch
    return _binding().create_lljit_compiler(_machine(processor()))


def _emitted(text, target):
    """Return the object file of a module in LLVM's text."""
    return _machine(target).emit_object(_binding().parse_assembly(text))


def _linked(image):
    builder = _binding().JITLibraryBuilder().add_object_img(image).export_symbol("kernel")
    number = next(_numbers)
    return Code(builder.link(_linker(number // LINKED), f"kernel{number}"), len(image))


def key_of(text, target):
    """Return the digest that names the object file of a module in the cache on disk."""
    versions = (load("llvmlite").__version__, ".".join(map(str, _binding().llvm_version_info)))
    facts = (*versions, RELOCATION, CODE_MODEL, *target, text)
    return cache.program_key(b"LLVM", *[fact.encode() for fact in facts])


def compiled(text, target=None):
    """Return the `Code` of a module in LLVM's text, whose function is called `kernel`.

    Args:
      text: of the module.
      target: the name and features of the processor that it is for, by default this one.
    """
    target = target or processor()
    key = key_of(text, target)
    image = cache.load(key)
    if image is not None:
        try:
            return _linked(image)
        except (OSError, RuntimeError) as error:
            cache.discard(key, "LLVM", str(error))
    start = time.perf_counter()
    image = _emitted(text, target)
    code = _linked(image)
    cache.store(key, image, time.perf_counter() - start)
    return code
