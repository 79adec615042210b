"""What XLA's plugin for CUDA makes of kernels: PTX for GPUs of three kinds, without a GPU.

`golden` has all of one kernel's, and `instructions.txt` how many instructions there are of each
kind in all others: a product that leaves the units for matrices, or a load that is no longer done
by vectors, is another line. They are written anew by

    EVERTRACE_TEST_GOLDEN=write python -m pytest -m ptx tests/pallas

Where the plugin is to be found, and how it is installed, is in `ptx.py`.
"""

import pytest

from tests.pallas import ptx
from tests.pallas.golden_kernels import COMPILED, GOLDEN, compare, modules

pytestmark = [
    pytest.mark.ptx,
    pytest.mark.slow,
    pytest.mark.skipif(ptx.plugin() is None, reason=str(ptx.why_not())),
]

as_recorded = pytest.mark.skipif(ptx.why_other() is not None, reason=str(ptx.why_other()))
CAPABILITIES = ("8.0", "9.0", "10.0")


@pytest.fixture(scope="module")
def compiled():
    """The PTX of each kernel for each capability, one for each of its modules."""
    texts = {name: modules(make()) for name, make in COMPILED.items()}
    texts["golden"] = [GOLDEN["softmax"]()]
    keys = [(name, i, c) for name, found in texts.items() for i in range(len(found))
            for c in CAPABILITIES]  # fmt: skip
    asm = ptx.compile_all([[texts[name][i], c] for name, i, c in keys])
    return dict(zip(keys, asm, strict=True))


def test_each_kernel_becomes_one_function(compiled):
    assert {name for name, _, _ in compiled} == {*COMPILED, "golden"}
    for asm in compiled.values():
        assert asm.count(".visible .entry") == 1


@as_recorded
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_ptx(compiled, capability):
    text = "\n".join(ptx.lines(compiled["golden", 0, capability])) + "\n"
    compare(f"softmax.sm_{capability.replace('.', '')}.ptx", text)


@as_recorded
def test_instructions(compiled):
    found = ["".join([f"{'':24}", *[f"{c:>7}" for c in CAPABILITIES]])]
    for name, i in dict.fromkeys((name, i) for name, i, _ in compiled if name != "golden"):
        counts = [ptx.census(compiled[name, i, c]) for c in CAPABILITIES]
        found.append(f"{name} {i + 1}")
        for kind in sorted(set().union(*counts)):
            found.append("".join([f"  {kind:22}", *[f"{count[kind]:7}" for count in counts]]))
    compare("instructions.txt", "\n".join(found) + "\n")


@pytest.mark.parametrize("name", ["attention", "backward", "cross_entropy"])
def test_products_of_blocks_are_done_by_units_for_matrices(compiled, name):
    for capability, unit in zip(CAPABILITIES, ["mma.sync", "wgmma", "tcgen05"], strict=True):
        assert unit in compiled[name, 0, capability]


def test_small_products_are_done_by_smaller_units(compiled):
    # Blocks of 32 rows are too small for `wgmma` and `tcgen05`.
    assert all("mma.sync" in compiled["matmul", 0, c] for c in CAPABILITIES)
