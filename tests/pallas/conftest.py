"""The engines that kernels run on."""

import pytest

from evertrace._src.engines.fused import machine


@pytest.fixture(params=["native", "fused", "xla"])
def engine(request):
    """Each engine; those that are made of C++, or of llvmlite, where these are there."""
    if request.param != "xla":
        request.getfixturevalue("needs_native")
    if request.param == "fused" and not machine.is_there():
        pytest.skip("kernels are made by llvmlite, which is not installed")
    return request.param
