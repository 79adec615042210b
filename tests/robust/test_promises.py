"""The page of promises is true: each names a test that is there; some are shown here."""

import ast
import os
import re
import sys
import warnings
from pathlib import Path

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.jit import stores

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^- (.*)$", PAGE, re.MULTILINE)
SAID = ("**Not promised:**", "Code is trusted")  # what says that there is no promise


def named_in(promise):
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", promise)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: re.sub(r"\W+", " ", p)[:50])
def test_each_promise_names_a_test_that_is_there(promise):
    found = named_in(promise)
    assert bool(found) != promise.startswith(SAID)
    for path, name in found:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {x.name for x in tree.body if isinstance(x, ast.FunctionDef)}


def test_the_page_has_promises():
    assert len([p for p in PROMISES if named_in(p)]) > 30


# ------------------------------------------------------------------------ memory


def test_a_function_keeps_a_bounded_number_of_variants(monkeypatch):
    monkeypatch.setattr(stores, "MAX_VARIANTS", 20)
    f = ev.jit(lambda x, name: x * len(name))
    with warnings.catch_warnings(action="ignore", category=ev.errors.RetraceWarning):
        for n in range(50):
            f(1.0, "n" * n)
    assert f.cache_info().currsize == 20


# ------------------------------------------------------------------------ the same results

SUMS = """
import os
os.sched_setaffinity(0, {processors})
import hashlib
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
x = jnp.asarray(np.random.default_rng(0).standard_normal(3_000_017).astype(np.float32))
y = x[:1_000_000].reshape(1000, 1000)
f = ev.jit(lambda x, y: (jnp.sin(x).sum(), y.sum(0), y @ y[:, :7]), engine="native")
found = [*f(x, y), x.sum(), y.mean(1), jnp.cumsum(x), jnp.sort(x), jnp.exp(x).sum()]
print(hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in found)).hexdigest())
"""


@pytest.mark.usefixtures("needs_native")
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs sched_setaffinity")
def test_sums_are_the_same_with_any_number_of_processors(run_python):
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2:
        pytest.skip("needs two processors")
    choices = [available[:1], available[:2], available]
    assert len({run_python(SUMS.format(processors=c)) for c in choices}) == 1


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_programs_give_the_same_bits_each_time(request, engine):
    if engine == "native":
        request.getfixturevalue("needs_native")
    f = ev.jit(
        lambda x: (jnp.sin(x) * x).sum() + (x.reshape(100, -1) @ x[:5000]).sum(), engine=engine
    )
    x = ev.random.normal(ev.random.key(0), (500_000,))
    assert len({float(f(x)).hex() for _ in range(20)}) == 1


# ------------------------------------------------------------------------ what is written where

WATCHED = """
import os, sys, threading
for name in ("EVERTRACE_COMPILATION_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
    os.environ.pop(name, None)
sys.dont_write_bytecode = True
seen = []
def watch(event, args):
    if event == "open":
        path, mode, flags = args
        if type(path) is not int and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            seen.append(f"open {path}")
    elif event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.fork"):
        seen.append(event)
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link"):
        seen.append(f"{event} {args[0]}")
sys.addaudithook(watch)
import evertrace as ev, evertrace.numpy as jnp
ev.config.update("compilation_cache_min_compile_seconds", 0)
"""
PROGRAMS = """
for engine in ("auto", "xla"):
    f = ev.jit(lambda x: jnp.sort(jnp.sin(x)) @ x, engine=engine)
    f(jnp.ones(5)).block_until_ready()
ev.grad(lambda x: x * x)(1.0)
ev.random.normal(ev.random.key(0), (3,))
try:
    ev.jit(lambda x: x if x > 0 else -x)(jnp.ones(3))
except ev.errors.TracerBoolConversionError as error:
    str(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="where caches are depends on the system")
def test_nothing_is_written_but_the_cache(run_python, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    program = f"{WATCHED}{PROGRAMS}\nprint(chr(10).join(seen))"
    found = run_python(program, HOME=str(home), TMPDIR=str(home)).splitlines()
    cache = home / ".cache" / "evertrace" / "xla"
    made = {f"os.mkdir {x}" for x in (cache, *cache.parents) if home in x.parents}
    others = [x for x in found if x not in made]
    entry = re.compile(r"(open|os\.rename) [0-9a-f]{64}\.xla(\.[0-9a-f]{16}\.tmp)?$")
    assert others
    assert [x for x in others if not entry.match(x)] == []
    files = [x for x in home.rglob("*") if x.is_file()]
    assert files
    assert {x.parent for x in files} == {cache}


def test_nothing_is_written_without_the_cache(run_python, tmp_path):
    program = WATCHED + 'ev.config.update("compilation_cache_dir", "")' + PROGRAMS
    assert run_python(f"{program}\nprint(seen)", HOME=str(tmp_path)) == "[]"


@pytest.mark.usefixtures("needs_native")
@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_small_programs_start_no_thread(run_python):
    found = run_python(
        """
import os
before = len(os.listdir("/proc/self/task"))
import evertrace as ev, evertrace.numpy as jnp
f = ev.jit(lambda x: jnp.sin(x) * 2 + x.sum())
f(jnp.ones(5)), f(jnp.ones(6)), jnp.sort(jnp.ones(3)), ev.grad(lambda x: x * x)(2.0)
after = len(os.listdir("/proc/self/task"))
print(after - before)
""",
        OPENBLAS_NUM_THREADS="1",
    )
    assert found == "0"
