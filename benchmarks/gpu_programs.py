"""Time the whole programs with one library on this machine's accelerator; see `gpu.py`.

    python benchmarks/gpu_programs.py LIBRARY SECONDS [NAMES...]

Prints JSON: name -> seconds of the first and of a later call, of those that run there.
"""

import importlib
import json
import sys
import time

from programs import PROGRAMS, measure

library, seconds, *names = sys.argv[1:]
X = importlib.import_module(library)
found = {}
for name in names or PROGRAMS:
    try:
        found[name] = measure(X, name, time.perf_counter, float(seconds))
    except NotImplementedError as error:
        print(name, str(error).splitlines()[0], file=sys.stderr)
print(json.dumps(found))
