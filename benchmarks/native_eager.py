"""What eager operations on small arrays cost, beside NumPy, and JAX by ``--jax-python PATH``.

Prints, per expression, nanoseconds of ours and the ratios of the others to it: the best of many
short runs, in one process per library. A busy machine slows all of them: ratios mean something,
times little.
"""

import argparse
import json
import subprocess
import sys
import time

# (expression of ours and JAX's, NumPy's); `x` has 8 floats, `i` 8 integers, `m` is 2 x 4.
EXPRESSIONS = [
    ("x + 1", None),
    ("x + x", None),
    ("2.5 * x", None),
    ("i // 3", None),
    ("x ** 2", None),
    ("x < 3", None),
    ("-x", None),
    ("m + x[:4]", None),
    ("np.sin(x)", None),
    ("np.add(x, x)", None),
    ("np.where(x > 2, x, 0)", None),
    ("x.sum()", None),
    ("np.max(m, axis=1)", None),
    ("x[0]", None),
    ("x[2:5]", None),
    ("m[:, 0]", None),
    ("x.at[0].set(1.0)", "assigned(x, 0, 1.0)"),
    ("x.at[2:5].add(x[:3])", None),
    ("float(s)", None),
    ("m.T", None),
    ("x.reshape(2, 4)", None),
    ("list(x)", None),
    ("loop(x)", None),
]

LIBRARIES = {"evertrace": "evertrace.numpy", "numpy": "numpy", "jax": "jax.numpy"}


def loop(x):
    """Do a thousand operations one after the other."""
    for _ in range(250):
        x = (x + 1.0) * 0.5 - x * 0.25
    return x


def assigned(x, index, value):
    """Return a changed copy of a NumPy array."""
    x = x.copy()
    x[index] = value
    return x


def best(expression, names, seconds):
    """Return nanoseconds per run."""
    source = f"def run(n):\n  for _ in range(n): {expression}"
    exec(source, names)
    run, count, found = names["run"], 1, float("inf")
    run(3)
    while True:  # so many that a run takes a twentieth of a millisecond
        start = time.perf_counter()
        run(count)
        if time.perf_counter() - start > 5e-5:
            break
        count *= 2
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        run(count)
        found = min(found, (time.perf_counter() - start) / count)
    return found * 1e9


def measure(library, seconds):
    """Return the time of each expression in a library, None where it has no such thing."""
    np = __import__(LIBRARIES[library], fromlist=["arange"])
    x = np.arange(8, dtype="float32")
    names = {
        "np": np,
        "x": x,
        "i": np.arange(8, dtype="int32"),
        "m": x.reshape(2, 4),
        "s": x[3],
        "loop": loop,
        "assigned": assigned,
    }
    times = []
    for ours, of_numpy in EXPRESSIONS:
        expression = (of_numpy or ours) if library == "numpy" else ours
        is_possible = library != "numpy" or ".at[" not in expression
        times.append(best(expression, names, seconds) if is_possible else None)
    return times


def main():
    """Measure each library in a process of its own and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="a Python that has JAX")
    parser.add_argument("--seconds", type=float, default=0.2, help="per expression and library")
    parser.add_argument("--library", help="measure this one and print times as JSON")
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measure(options.library, options.seconds)))
        return
    pythons = {"evertrace": sys.executable, "numpy": sys.executable, "jax": options.jax_python}
    found = {}
    for library, python in pythons.items():
        if python:
            command = [python, __file__, "--library", library, "--seconds", str(options.seconds)]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[library] = json.loads(text)
    print(f"{'expression':26} {'ns':>8}" + "".join(f"{name:>9}" for name in list(found)[1:]))
    for k, (expression, _) in enumerate(EXPRESSIONS):
        ours, *others = (times[k] for times in found.values())
        ratios = "".join(f"{'-' if t is None else f'{t / ours:.1f}x':>9}" for t in others)
        print(f"{expression:26} {ours:8.0f}{ratios}")


if __name__ == "__main__":
    main()
