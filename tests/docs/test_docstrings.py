"""Every example in a docstring runs and prints what it says."""

import pytest

import evertrace as ev
from tests.docs.docstrings import has_example, public_objects, run_docstring

OBJECTS = public_objects()

NO_EXAMPLE = {
    "CacheWarning": "is given once in a process, which docs/errors.md shows",
    "UnfollowedStateError": "is shown by the class above it, UnexpectedTracerError",
    "reset_cache": "what it forgets can only be seen where a folder was unusable",
}
"""Names of public objects without an example, each with the reason."""

WITH_EXAMPLES = [name for name, value in OBJECTS.items() if has_example(value)]


@pytest.mark.engine
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run_as_printed(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # an example may write files
    run_docstring(name, OBJECTS[name])


def test_every_public_object_has_an_example():
    missing = [n for n, x in OBJECTS.items() if not has_example(x)]
    assert {n for n in missing if n.split(".")[-1] not in NO_EXAMPLE} == set()


def test_the_list_of_objects_without_an_example_is_current():
    names = [n.split(".")[-1] for n, x in OBJECTS.items() if not has_example(x)]
    assert set(NO_EXAMPLE) <= set(names)


def test_an_example_that_prints_something_else_fails():
    def wrong():
        """Add.

        Example:
          >>> jnp.add(1, 2)
          Array(4, dtype=int32)
        """

    with pytest.raises(AssertionError, match=r"Got:\n +Array\(3, dtype=int32"):
        run_docstring("wrong", wrong)


def test_public_objects_are_found_by_their_names():
    assert OBJECTS["evertrace.grad"] is ev.grad
    assert OBJECTS["evertrace.numpy.cumsum"] is ev.numpy.cumsum
