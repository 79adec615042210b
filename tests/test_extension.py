"""The extension module in C++ where it is not there, not wanted, or insisted on."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evertrace as ev
from evertrace._src import extension

WITHOUT = """
import sys, warnings
sys.modules["evertrace._src._native"] = None  # as if it had not been built
import evertrace as ev, evertrace.numpy as jnp
from evertrace._src import config, extension, kernels
assert not extension.is_built()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {program}
for warning in caught:
    print(warning.category.__name__, warning.message)
"""

JITTED = """
    for n in (1, 2):
        assert ev.jit(lambda x: x + n)(jnp.ones(2))[0] == 1 + n
""".strip()

EAGER = """
    few, many = jnp.arange(9), jnp.zeros(kernels._MISSED_FROM)
    jnp.argsort(few)
    with config.override(native_kernels=False):
        jnp.argsort(many)
    assert not caught
    jnp.argsort(many)
    jnp.argsort(many)
""".strip()

SAID = """\
PerformanceWarning evertrace was installed without its C++ extension module. Everything works, but \
each jitted program waits for XLA, small calls take tens of times as long, and sorting, searching \
and running sums of large arrays are up to a hundred times slower.
  at <stdin>:{line} in <module>
  Fix: install a C++ compiler, then `pip install --force-reinstall --no-cache-dir evertrace` (pip \
keeps what it has built), or set EVERTRACE_NATIVE=0 in the environment to accept it.
  See `python -m evertrace docs native-kernels`
"""


def run_without(program, **environment):
    inherited = {k: v for k, v in os.environ.items() if k != "EVERTRACE_NATIVE"}
    source = Path(ev.__file__).parents[1]
    return subprocess.run(
        [sys.executable],
        env={**inherited, "PYTHONPATH": str(source), **environment},
        input=WITHOUT.format(program=program),  # Python 3.13 would quote the lines of -c
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.engine
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, SAID.format(line=10)),
        ({"EVERTRACE_NATIVE": "0"}, ""),
        ({"EVERTRACE_NATIVE_KERNELS": "0"}, ""),
    ],
)
def test_an_installation_without_it_works_and_says_so_once(environment, said):
    done = run_without(JITTED, **environment)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == (said, "")


def test_one_file_asks_whether_it_is_there():
    source = Path(ev.__file__).parent
    asks = re.compile(r"_?native is (not )?None|import _native\b|\bnative and\b")
    found = {path.name for path in source.rglob("*.py") if asks.search(path.read_text())}
    assert found == {"extension.py"}


@pytest.mark.usefixtures("needs_native")
def test_what_stands_beside_it_is_chosen_by_name():
    assert extension.twin(len, "tree_flatten") is extension.native.tree_flatten
    assert extension.call("has_kernel", "loop", "no such", (), 0) is False
    with pytest.raises(ImportError, match="no_such"):
        extension.twin(None, "no_such")


@pytest.mark.usefixtures("needs_native")
def test_an_enum_has_the_numbers_of_its_names_and_no_others():
    assert extension.codes("PATTERNS") == {"scalar": 0, "row": 1, "column": 2}
    with pytest.raises(KeyError, match="diagonal"):
        extension.codes("PATTERNS")["diagonal"]
    with pytest.raises(ImportError, match="NO_SUCH"):
        extension.codes("NO_SUCH")


def test_without_it_twins_are_used_and_calls_return_nothing(monkeypatch):
    monkeypatch.setattr(extension, "native", None)
    assert extension.twin(len, "tree_flatten") is len
    assert extension.call("tree_flatten", 1) is None
    assert extension.codes("PATTERNS")["row"] == -1


def test_where_it_has_to_be_there_its_absence_is_an_error():
    done = run_without(JITTED, EVERTRACE_NATIVE="1")
    assert done.returncode == 1
    assert "ModuleNotFoundError: import of evertrace._src._native halted" in done.stderr


def test_large_arrays_outside_of_jit_say_so_too():
    done = run_without(EAGER)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == (SAID.format(line=14), "")


OTHER = """
import sys, types
other = sys.modules["evertrace._src._native"] = types.ModuleType("_native")
other.__file__ = "other.so"
try:
    from evertrace import jit
except ImportError as error:
    print(error)
"""


def test_a_module_of_other_sources_is_an_error_with_a_cure():
    environment = {k: v for k, v in os.environ.items() if k != "EVERTRACE_NATIVE"}
    done = subprocess.run(
        [sys.executable, "-c", OTHER], env=environment, capture_output=True, text=True, timeout=120
    )
    assert not done.stderr
    assert re.fullmatch(
        r"evertrace's extension module has no \w+: it was built from other sources than the Python "
        r"code that it stands beside \(other\.so\)\.\n"
        r"  Fix: install again, by `pip install \.`, or `pip install -e \.` in a clone; without a "
        r"compiler, set EVERTRACE_NATIVE=0 in the environment\.\n",
        done.stdout,
    )
