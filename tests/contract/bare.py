"""Run by `test_bare.py`: programs in children of a process that has loaded evertrace alone.

What a test process has loaded, pytest's imports and those of other tests, is not there for a user
whose first lines are a program's: each child has only the modules that its program imports.
"""

import json
import os
import sys

import evertrace as ev

PROGRAMS = {
    "clock": "import time\ndef f(x): o.drawn = time.perf_counter(); return x + 1",
    "time since": "import time\nbegin = time.time()\ndef f(x): o.drawn = time.time() - begin; return x",
    "date": "import datetime\ndef f(x): o.drawn = datetime.datetime.now(); return x",
    "random": "import random\ndef f(x): o.drawn = random.random(); return x",
    "own random": "import random\nrng = random.Random(0)\ndef f(x): o.a = rng.random(); return x * o.a",
    "numpy.random": "import numpy as np\ndef f(x): o.drawn = np.random.rand(); return x",
    "generator": "import numpy as np\nrng = np.random.default_rng(0)\ndef f(x): return x * rng.random()",
    "print": "def f(x): o.n += 1; print('call', o.n); return x * o.n",
    "environment": "import os\ndef f(x): return x * len(os.environ.get('HOME', ''))",
    "logging": "import logging\ndef f(x): logging.getLogger('a').warning('%d', o.n); o.n += 1; return x",
    "warning": "import warnings\ndef f(x): warnings.warn('once', stacklevel=1); return x",
    "decimal": "import decimal\ndef f(x): o.n += 1; return x * float(decimal.Decimal('1.5') * o.n)",
    "fraction": "import fractions\ndef f(x): o.n += 1; o.a = fractions.Fraction(o.n, 3); return x * float(o.a)",
    "thread": "import threading\ndef f(x): return x * len(threading.current_thread().name)",
    "deque": "import collections\nlast = collections.deque(maxlen=2)\ndef f(x): last.append(x); return sum(last)",
    "NumPy array": "import numpy as np\na = np.zeros(3)\ndef f(x): a[0] += 1; return x * a",
    "array": "import array\na = array.array('f', [1, 2])\ndef f(x): a[0] += 1; return x * a[0]",
    "text": "def f(x): o.a = f'{o.n:03d}'; o.n += 1; return x * o.n",
    "json": "import json\ndef f(x): o.a = json.dumps({'n': o.n}); o.n += 1; return x",
    "path": "import pathlib\ndef f(x): o.a = str(pathlib.Path('a') / str(o.n)); return x",
    "pattern": "import re\ndef f(x): return x * len(re.sub('a', 'bb', 'aa'))",
    "exception": "def f(x):\n  try: raise ValueError(o.n)\n  except ValueError as e: o.a = e.args\n  return x",
    "context": "import contextlib\ndef f(x):\n  with contextlib.suppress(KeyError): {}['a']\n  return x",
    "context variable": "import contextvars\nc = contextvars.ContextVar('c', default=2)\ndef f(x): return x * c.get()",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass D:\n  a: object\ndef f(x): return dataclasses.replace(D(x), a=x + 1).a",
    "enumeration": "import enum\nclass E(enum.Enum): A = 1\ndef f(x): o.a = E.A.name; return x * E.A.value",
    "copy": "import copy\ndef f(x): return copy.deepcopy({'a': x})['a']",
    "pickle": "import pickle\ndef f(x): return x * pickle.loads(pickle.dumps(2))",
    "weak reference": "import weakref\nr = weakref.ref(o)\ndef f(x): r().n += 1; return x * r().n",
    "cache": "import functools\n@functools.lru_cache\ndef g(n): return n + 1\ndef f(x): return x * g(o.n)",
    "accumulate": "import itertools\ndef f(x): return x * sum(itertools.accumulate([1, 2]))",
    "math": "import math\ndef f(x): o.n += 1; return x * math.sin(o.n)",
    "statistics": "import statistics\ndef f(x): o.n += 1; return x * statistics.mean([1, o.n])",
    "heap": "import heapq\nh = [3, 5]\ndef f(x): o.n += 1; heapq.heappush(h, o.n); return x * h[0]",
    "sleep": "import time\ndef f(x): time.sleep(0); return x",
    "identity": "def f(x): return x * (id(o) > 0)",
    "gradient": "def f(x): o.a = ev.grad(lambda v: (v**2).sum())(x * 1.0); return o.a",
    "loop": "def f(x): return ev.lax.scan(lambda c, v: (c + v, c), 0, x)[1]",
    "callback": "def f(x): return ev.pure_callback(lambda v: v + o.n, x, x)",
    "debug.print": "def f(x): ev.debug.print('x {}', x); return x",
}
REFUSED = {
    "clock read": "import time\ndef f(x): return x * (time.time() > 0)",
    "uuid": "import uuid\ndef f(x): o.a = uuid.uuid4(); return x",
    "file": "def f(x): open(os.devnull).close(); return x",
    "input": "def f(x): return x * len(input())",
}
BEFORE = "class O: n = 0\no = O()\n"


def outcome(program, jit):
    """Run a program three times; return what it returns and leaves, or the class of its error."""
    names = {"ev": ev, "os": os, "__name__": "program"}
    exec(BEFORE + program, names)
    f, x = jit(names["f"]), ev.numpy.arange(3)
    try:
        results = [str(f(x)) for _ in range(3)]
    except ev.errors.EvertraceError as error:
        return type(error).__name__
    left = {k: type(v).__name__ if k == "drawn" else str(v) for k, v in vars(names["o"]).items()}
    return [results, left, bool(jit is not ev.jit or str(f.explain()))]


def in_child(program, jit):
    """Return the outcome of a program in a child of this process, which has done nothing yet."""
    read, write = os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            os.dup2(2, 1)  # what programs print
            os.write(write, json.dumps(outcome(program, jit)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.wait()
    return json.loads(said) if said else "died"


if __name__ == "__main__":
    found = {
        name: [in_child(program, jit) for jit in (lambda f: f, ev.jit)]
        for name, program in {**PROGRAMS, **REFUSED}.items()
    }
    json.dump(found, sys.stdout)
