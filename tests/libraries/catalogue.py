"""The libraries: how pip calls them, the programs that stand for their READMEs, their own tests."""

from typing import NamedTuple


class Library(NamedTuple):
    """A library that was written for JAX.

    Attributes:
      name: of its distribution.
      programs: files in `programs`, without their ending.
      tests: where its own tests are: modules of the installed package, or files and folders of the
        source distribution or the repository, all in one folder there (with a slash at the end of
        folders); none where they are not run.
      repository: where its tests are that its source distribution lacks, for git.
      tag: of a version there.
      options: for pytest.
      needs: further distributions that its tests import.
      remark: what the table says of the tests.
    """

    name: str
    programs: tuple[str, ...]
    tests: tuple[str, ...] = ()
    repository: str = ""
    tag: str = "v{version}"
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    remark: str = ""


LIBRARIES = (
    Library("optax", ("optax",), ("optax",), needs=("scikit-learn",), remark="all"),
    Library("chex", ("chex",), ("chex",), remark="all"),
    Library(
        "flax",
        ("flax_linen", "flax_nnx"),
        (
            "tests/linen/",
            "tests/nnx/",
            "tests/core/",
            "tests/configurations_test.py",
            "tests/cursor_test.py",
            "tests/early_stopping_test.py",
            "tests/jax_utils_test.py",
            "tests/pickle_test.py",
            "tests/serialization_test.py",
            "tests/struct_test.py",
            "tests/traceback_util_test.py",
            "tests/traverse_util_test.py",
        ),
        repository="https://github.com/google/flax",
        needs=("cloudpickle",),
        remark="linen, nnx, core and nine files of its repository",
    ),
    Library(
        "equinox",
        ("equinox",),
        ("tests/",),
        repository="https://github.com/patrick-kidger/equinox",
        needs=("beartype",),
        remark="all",
    ),
    Library(
        "numpyro",
        ("numpyro",),
        (
            "test/test_handlers.py",
            "test/test_optimizers.py",
            "test/test_compile.py",
            "test/test_constraints.py",
            "test/test_diagnostics.py",
            "test/test_distributions_util.py",
            "test/test_distributions_mixture.py",
            "test/test_flows.py",
            "test/test_nn.py",
            "test/test_transforms.py",
            "test/test_util.py",
            "test/test_distributions.py",
        ),
        repository="https://github.com/pyro-ppl/numpyro",
        tag="{version}",
        remark="12 files of 17 in its repository",
    ),
    Library(
        "jaxopt",
        ("jaxopt",),
        ("tests/",),
        repository="https://github.com/google/jaxopt",
        tag="jaxopt-v{version}",
        needs=("scikit-learn",),
        remark="all",
    ),
    Library(
        "dm-haiku",
        ("haiku",),
        ("haiku",),
        remark="all that are installed",
    ),
    Library(
        "diffrax",
        ("diffrax",),
        ("test/test_term.py", "test/test_global_interpolation.py", "test/test_misc.py"),
        repository="https://github.com/patrick-kidger/diffrax",
        remark="three files of 23",
    ),
    Library(
        "lineax",
        ("lineax",),
        ("tests/",),
        repository="https://github.com/patrick-kidger/lineax",
        remark="all",
    ),
    Library(
        "optimistix",
        ("optimistix",),
        ("tests/",),
        repository="https://github.com/patrick-kidger/optimistix",
        needs=("diffrax",),
        remark="all",
    ),
    Library("blackjax", ("blackjax",), ("tests/",), remark="all"),
    Library(
        "distrax",
        ("distrax",),
        ("distrax",),
        remark="all",
    ),
    Library(
        "penzai",
        ("penzai",),
        ("tests/",),
        remark="all",
    ),
    Library(
        "treescope",
        ("treescope",),
        ("tests/",),
        repository="https://github.com/google-deepmind/treescope",
        needs=("omegaconf", "pydantic"),
        remark="all",
    ),
    Library(
        "jaxtyping",
        ("jaxtyping",),
        ("test/",),
        repository="https://github.com/patrick-kidger/jaxtyping",
        needs=("beartype", "cloudpickle", "typeguard<3"),
        remark="all",
    ),
    Library("jraph", ("jraph",), ("jraph",), remark="all"),
    Library("rlax", ("rlax",), ("rlax",), remark="all"),
    Library("mctx", ("mctx",), ("mctx",), remark="all"),
    Library("e3nn-jax", ("e3nn_jax",), ("tests/",), remark="all"),
    # Released versions of tensorflow-probability ask JAX for what it no longer has.
    Library(
        "tfp-nightly",
        ("tensorflow_probability",),
        remark="278 files of 379 in its repository, rewritten, see below",
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
