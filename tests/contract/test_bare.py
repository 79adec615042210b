"""Programs that are all that a process has loaded, but for evertrace: as in plain Python."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.contract.bare import PROGRAMS, REFUSED

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def found():
    script = pathlib.Path(__file__).with_name("bare.py")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_in_a_bare_process_is_as_in_plain_python(found, name):
    outcomes, stderr = found
    plain, jitted = outcomes[name]
    assert plain == jitted != "died", stderr


@pytest.mark.parametrize("name", REFUSED)
def test_program_in_a_bare_process_is_refused(found, name):
    outcomes, stderr = found
    assert outcomes[name][1] == "ImpurityError", stderr
