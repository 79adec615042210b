"""Run evertrace on the accelerator of this machine, and write what became of it: see `scripts/gpu`.

    python benchmarks/gpu.py OUT [--seconds N] [--jax-python PATH] [--programs NAMES...]

Needs no network. Each step is a process of its own, so that one that fails leaves the others; what
a step has printed last is in the report. Writes OUT/report.json, report.txt and report.svg.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TAIL = 4000

DEVICES = """
import json, sys, evertrace as ev, jaxlib
devices = [f"{d.device_kind} ({d})" for d in ev.devices()]
print(json.dumps({"devices": devices, "jaxlib": jaxlib.__version__, "python": sys.version}))
"""

# Kernels of each library, float32 and bfloat16: name -> function of X, like NumPy, and arrays.
KERNELS = """
import json, sys, time
library, seconds = sys.argv[1], float(sys.argv[2])
if library == "torch":
    import torch
    device = "cuda" if torch.cuda.is_available() else "cpu"
    def make(*shape): return torch.ones(shape, device=device) / 8
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    jit, tanh, softmax = (lambda f: f), torch.tanh, (lambda x: torch.softmax(x, -1))
    half = lambda x: x.to(torch.bfloat16)
else:
    import importlib
    X = importlib.import_module(library); np = importlib.import_module(library + ".numpy")
    def make(*shape): return np.ones(shape, "float32") / 8
    jit, tanh, softmax = X.jit, np.tanh, X.nn.softmax
    half, last = (lambda x: x.astype("bfloat16")), [None]
    wait = lambda: X.block_until_ready(last)
    if library == "evertrace": jit = lambda f: X.jit(f)
size = int(sys.argv[3])
x, q = make(size, size), make(8, size // 4, 64)
CASES = {
    "matmul": (lambda x: x @ x, x),
    "matmul in bfloat16": (lambda x: x @ x, half(x)),
    "tanh of a product": (lambda x: tanh(x @ x + x), x),
    "attention": (lambda q: softmax(q @ q.swapaxes(-1, -2) / 8) @ q, q),
    "elementwise": (lambda x: tanh(x) * x + x * x, x),
}
found = {}
for name, (f, x) in CASES.items():
    f = jit(f)
    begin = time.perf_counter(); out = f(x)
    if library != "torch": last[0] = out
    wait()
    first, best, end = time.perf_counter() - begin, 1e9, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(10): out = f(x)
        if library != "torch": last[0] = out
        wait()
        best = min(best, (time.perf_counter() - begin) / 10)
    found[name] = [first, best]
print(json.dumps(found))
"""


def run(command, limit, **more):
    """Run a process; returns exit status, what it has printed at last, and seconds."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, cwd=ROOT, env=env, check=False
        )
        status, out = done.returncode, done.stdout
        said = (done.stdout + done.stderr)[-TAIL:]
    except (OSError, subprocess.TimeoutExpired) as error:
        status, out, said = -1, "", str(error)
    return {"status": status, "said": said, "seconds": round(time.monotonic() - start, 1)}, out


def build(folder):
    """Build the extension module for this interpreter, beside the sources."""
    if shutil.which("cmake") is None:
        return {"status": -1, "said": "there is no cmake", "seconds": 0}
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    steps = [
        ["cmake", "-S", "src/native", "-B", str(folder), *generator, "-DCMAKE_BUILD_TYPE=Release",
         f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_INSTALL_PREFIX={ROOT / 'src'}"],
        ["cmake", "--build", str(folder), "-j", str(os.cpu_count())],
        ["cmake", "--install", str(folder)],
    ]  # fmt: skip
    for command in steps:
        found, _ = run(command, 900)
        if found["status"]:
            break
    return found


def measured(command, limit):
    """Run what prints JSON in its last line; returns the step and what it printed, or None."""
    step, out = run(command, limit)
    lines = out.strip().splitlines()
    return step, json.loads(lines[-1]) if step["status"] == 0 and lines else None


def table(report):
    """Return the report as text."""
    lines = [f"devices: {report['devices']}"]
    for name, step in report["steps"].items():
        word = "ok" if step["status"] == 0 else f"FAILED ({step['status']})"
        lines.append(f"{name:28} {word:12} {step['seconds']:8.1f} s")
    for group in ("kernels", "programs"):
        libraries = report[group]
        names = sorted({n for found in libraries.values() for n in found})
        lines.append("")
        lines.append(f"{group:28}" + "".join(f"{library:>14}" for library in libraries))
        for name in names:
            cells = [found.get(name) for found in libraries.values()]
            texts = ["-" if c is None else f"{1e6 * c[1]:.4g} us" for c in cells]
            lines.append(f"{name:28}" + "".join(f"{text:>14}" for text in texts))
    return "\n".join(lines) + "\n"


def picture(report):
    """Return bars of the time of each kernel and program over JAX's, as SVG."""
    rows = []
    for group in ("kernels", "programs"):
        libraries = report[group]
        ours, theirs = libraries.get("evertrace", {}), libraries.get("jax", {})
        rows += [(name, ours[name][1] / theirs[name][1]) for name in ours if name in theirs]
    height = 22 * len(rows) + 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}">']
    parts.append('<text x="8" y="18" font-family="sans-serif">time over JAX (line: equal)</text>')
    for i, (name, ratio) in enumerate(rows):
        y, width = 30 + 22 * i, min(ratio, 4) * 120
        colour = "#2a7" if ratio <= 1 else "#c63"
        parts.append(f'<rect x="220" y="{y}" width="{width:.1f}" height="16" fill="{colour}"/>')
        parts.append(
            f'<text x="8" y="{y + 13}" font-family="sans-serif" font-size="12">{name}</text>'
        )
        parts.append(
            f'<text x="{228 + width:.1f}" y="{y + 13}" font-family="sans-serif" font-size="12">'
            f"{ratio:.2f}</text>"
        )
    parts.append(f'<line x1="340" y1="26" x2="340" y2="{height}" stroke="black"/></svg>')
    return "\n".join(parts)


def main():
    """Take all steps, and write the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=0.5, help="of repeats of each program")
    parser.add_argument("--size", type=int, default=4096, help="of the kernels' matrices")
    parser.add_argument("--jax-python", help="a Python that has JAX, by default this one if it has")
    parser.add_argument("--skip", nargs="*", default=[], help="steps to leave out")
    parser.add_argument("--programs", nargs="*", default=[], help="by default all")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    has = {name: importlib.util.find_spec(name) is not None for name in ("jax", "torch", "pytest")}
    jax = options.jax_python or (sys.executable if has["jax"] else None)
    python, steps = sys.executable, {}
    report = {"devices": None, "steps": steps, "kernels": {}, "programs": {}}
    if "build" not in options.skip:
        steps["build"] = build(options.out / "build")
        shutil.rmtree(options.out / "build", ignore_errors=True)
    steps["devices"], report["devices"] = measured([python, "-c", DEVICES], 120)
    if has["pytest"] and "tests" not in options.skip:
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        steps["tests"], _ = run([*command, "-m", "device", "tests"], 900)
        for shared in (ROOT.parent / "shared", ROOT / "shared"):
            for folder in sorted(shared.glob("acceptance*")):
                steps[folder.name], _ = run([*command, str(folder)], 900)
    libraries = {"evertrace": python, "jax": jax, "torch": python if has["torch"] else None}
    for library, found in libraries.items():
        if found is None:
            continue
        command = [found, "-c", KERNELS, library, str(options.seconds), str(options.size)]
        steps[f"kernels, {library}"], report["kernels"][library] = measured(command, 600)
        if library != "torch":
            command = [found, "benchmarks/gpu_programs.py", library, str(options.seconds)]
            command += options.programs
            steps[f"programs, {library}"], report["programs"][library] = measured(command, 900)
    for group in ("kernels", "programs"):
        report[group] = {library: found or {} for library, found in report[group].items()}
    (options.out / "report.json").write_text(json.dumps(report, indent=1))
    (options.out / "report.txt").write_text(table(report))
    (options.out / "report.svg").write_text(picture(report))
    print(table(report))
    return int(any(step["status"] for step in steps.values()))


if __name__ == "__main__":
    sys.exit(main())
