"""The libraries: how pip calls them, the programs that stand for their READMEs, their own tests."""

from typing import NamedTuple


class Library(NamedTuple):
    """A library that was written for JAX.

    Attributes:
      name: of its distribution.
      programs: files in `programs`, without their ending.
      tests: where its own tests are: modules of the installed package, or files and folders of the
        source distribution (with a slash at the end of folders); none where it ships none.
      options: for pytest.
      needs: further distributions that its tests import.
      remark: what the table says of the tests.
    """

    name: str
    programs: tuple[str, ...]
    tests: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    remark: str = ""


NONE = "none in its source distribution"

LIBRARIES = (
    Library("optax", ("optax",), ("optax",), remark="all"),
    Library("chex", ("chex",), ("chex",), remark="all"),
    Library(
        "flax",
        ("flax_linen", "flax_nnx"),
        ("tests/linen/linen_test.py", "tests/nnx/module_test.py", "tests/nnx/rngs_test.py"),
        needs=("cloudpickle",),
        remark="three files of 100",
    ),
    Library("equinox", ("equinox",), remark=NONE),
    Library(
        "numpyro",
        ("numpyro",),
        ("test/test_handlers.py", "test/test_optimizers.py"),
        remark="two files of 17",
    ),
    Library("jaxopt", ("jaxopt",), remark=NONE),
    Library(
        "dm-haiku",
        ("haiku",),
        ("haiku._src.basic_test", "haiku._src.base_test", "haiku._src.transform_test"),
        remark="three files of 62",
    ),
    Library("diffrax", ("diffrax",), remark=NONE),
    Library("lineax", ("lineax",), remark=NONE),
    Library("optimistix", ("optimistix",), remark=NONE),
    Library(
        "blackjax", ("blackjax",), ("tests/mcmc/test_integrators.py",), remark="one file of 75"
    ),
    Library(
        "distrax",
        ("distrax",),
        ("distrax._src.distributions.normal_test", "distrax._src.bijectors.lambda_bijector_test"),
        remark="two files of 68",
    ),
    Library(
        "penzai",
        ("penzai",),
        ("tests/core/named_axes_test.py", "tests/core/selectors_test.py"),
        remark="two files of 48",
    ),
    Library("treescope", ("treescope",), remark=NONE),
    Library("jaxtyping", ("jaxtyping",), remark=NONE),
    Library("jraph", ("jraph",), ("jraph",), remark="all"),
    Library("rlax", ("rlax",), ("rlax",), remark="all"),
    Library("mctx", ("mctx",), ("mctx",), remark="all"),
    Library("e3nn-jax", ("e3nn_jax",), ("tests/",), remark="all"),
    # Released versions of tensorflow-probability ask JAX for what it no longer has.
    Library(
        "tfp-nightly",
        ("tensorflow_probability",),
        remark="its tests need TensorFlow",
    ),
    Library("einops", ("einops",), ("einops.tests",), remark="all"),
    Library(
        "array-api-compat",
        ("array_api_compat",),
        ("array_api_compat.tests",),
        options=("-k", "jax"),
        remark="those of JAX",
    ),
)
