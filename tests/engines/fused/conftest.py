"""What the tests of the fused engine share: they need the extension module and llvmlite."""

import pytest

from evertrace._src import config
from evertrace._src.engines.fused import machine


@pytest.fixture(autouse=True)
def _needs_kernels(needs_native):
    if not machine.is_there():
        pytest.skip("kernels are made by llvmlite, which is not installed")


@pytest.fixture(autouse=True)
def _no_cache():
    """Have all kernels compiled."""
    with config.override(compilation_cache_dir=""):
        yield
