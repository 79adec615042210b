"""What is said of 75 mistakes: one frame of ours at most, the user's line, a repair."""

import pytest

import evertrace as ev
from tests.errors.mistakes import MISTAKES, mistaken_line, run, seen

pytestmark = pytest.mark.quotes_lines


@pytest.fixture(autouse=True)
def _as_users_see_them():
    before = ev.config.traceback_filtering
    ev.config.update("traceback_filtering", "auto")
    yield
    ev.config.update("traceback_filtering", before)


def test_there_are_75():
    assert len(MISTAKES) == 75


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(name):
    code, _ = MISTAKES[name]
    error = run(code, "mistake.py")
    assert error is not None
    found = seen(error, "mistake.py", mistaken_line(code))
    assert found["line"], found["message"]
    assert "\n  Fix: " in found["message"]
    assert found["frames"] <= 1, found


@pytest.mark.parametrize("name", MISTAKES)
def test_the_repaired_program_runs(name):
    assert run(MISTAKES[name][1], "repaired.py") is None
