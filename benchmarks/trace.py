"""What tracing and lowering cost, beside JAX: first in a process, and again.

Each program is traced and lowered in a process of its own, which has compiled ``x + 1`` before:
once ("first", which loads and fills whatever this kind of program needs), then for functions that
differ in a constant ("again"). Figures are minima, over processes and over repetitions; only ratios
of one run mean anything on a shared machine.

  python benchmarks/trace.py --jax-python /path/to/python
"""

import argparse
import importlib
import itertools
import json
import math
import os
import subprocess
import sys
import time

import numpy as np

REPEATS = 12


def mlp(library, jnp, random):
    """Loss and gradients of a perceptron of 20 layers."""
    sizes = [64] * 20 + [10]
    params = [{"w": random(n, m), "b": random(m)} for n, m in itertools.pairwise(sizes)]

    def loss(params, x, y):
        for layer in params[:-1]:
            x = library.nn.relu(x @ layer["w"] + layer["b"])
        return cross_entropy(library, jnp, x @ params[-1]["w"] + params[-1]["b"], y)

    return gradient(library, loss), (params, random(32, 64), np.arange(32, dtype=np.int32) % 10)


def transformer(library, jnp, random):
    """Training step of a transformer of 4 blocks."""
    vocab, length, dim, heads = 100, 32, 64, 4
    shapes = {
        "g1": (dim,),
        "b1": (dim,),
        "g2": (dim,),
        "b2": (dim,),
        "qkv": (dim, 3 * dim),
        "proj": (dim, dim),
        "up": (dim, 4 * dim),
        "upb": (4 * dim,),
        "down": (4 * dim, dim),
        "downb": (dim,),
    }
    params = {
        "embedding": random(vocab, dim),
        "position": random(length, dim),
        "out": random(dim, vocab),
        "blocks": [{k: random(*shape) for k, shape in shapes.items()} for _ in range(4)],
    }
    tokens = (np.arange(2 * length, dtype=np.int32) % vocab).reshape(2, length)

    def norm(x, gain, bias):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
        return (x - mean) * library.lax.rsqrt(variance + 1e-5) * gain + bias

    def attention(x, block, mask):
        h = norm(x, block["g1"], block["b1"]) @ block["qkv"]
        q, k, v = (
            part.reshape(*x.shape[:2], heads, dim // heads).transpose(0, 2, 1, 3)
            for part in jnp.split(h, 3, axis=-1)
        )
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(dim // heads)
        weights = library.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
        mixed = jnp.einsum("bhqk,bhkd->bhqd", weights, v).transpose(0, 2, 1, 3)
        return mixed.reshape(x.shape) @ block["proj"]

    def loss(params, tokens, targets):
        x = params["embedding"][tokens] + params["position"][: tokens.shape[1]]
        mask = jnp.tril(jnp.ones((length, length), dtype=bool))
        for block in params["blocks"]:
            x = x + attention(x, block, mask)
            h = norm(x, block["g2"], block["b2"]) @ block["up"] + block["upb"]
            x = x + library.nn.gelu(h) @ block["down"] + block["downb"]
        return cross_entropy(library, jnp, x @ params["out"], targets)

    def make(constant):
        def step(params, tokens, targets):
            value, grads = library.value_and_grad(loss)(params, tokens, targets)
            new = library.tree_util.tree_map(lambda p, g: p - (0.1 + constant) * g, params, grads)
            return value, new

        return step

    return make, (params, tokens, tokens)


def recurrent(library, jnp, random):
    """Loss and gradients of a recurrent network of 50 steps, unrolled."""

    def loss(p, h, x):
        for t in range(50):
            h = jnp.tanh(h @ p["w"] + x[t] @ p["u"] + p["b"])
        return jnp.mean(h**2)

    return gradient(library, loss), recurrent_arguments(random)


def scanned(library, jnp, random):
    """The same as a scan."""

    def loss(p, h, x):
        def body(h, x):
            return jnp.tanh(h @ p["w"] + x @ p["u"] + p["b"]), None

        return jnp.mean(library.lax.scan(body, h, x)[0] ** 2)

    return gradient(library, loss), recurrent_arguments(random)


def trivial(library, jnp, random):
    """A product and a sum."""
    return (lambda constant: lambda x: x * (2.0 + constant) + 1.0), (random(8),)


PROGRAMS = {
    "mlp20": mlp,
    "transformer4": transformer,
    "rnn50": recurrent,
    "rnn50 scan": scanned,
    "trivial": trivial,
}


def cross_entropy(library, jnp, logits, targets):
    """Return the mean cross entropy of classes."""
    chosen = jnp.take_along_axis(library.nn.log_softmax(logits), targets[..., None], axis=-1)
    return -jnp.mean(chosen)


def gradient(library, loss):
    """Return what makes a function that computes a loss and its gradients."""
    return lambda constant: library.value_and_grad(lambda *args: (1.0 + constant) * loss(*args))


def recurrent_arguments(random):
    """Return parameters, state and inputs."""
    params = {"w": random(32, 32), "u": random(16, 32), "b": random(32)}
    return params, random(8, 32), random(50, 8, 16)


def measure(name, module, strict):
    """Return milliseconds of tracing and lowering, first and again."""
    library = importlib.import_module(module)
    jnp = importlib.import_module(f"{module}.numpy")
    rng = np.random.default_rng(0)
    make, args = PROGRAMS[name](
        library, jnp, lambda *shape: (0.1 * rng.standard_normal(shape)).astype(np.float32)
    )
    args = library.tree_util.tree_map(jnp.asarray, args)
    if strict:
        library.strict().__enter__()
    if name != "trivial":
        library.jit(lambda x: x + 1.0).lower(jnp.zeros(3)).compile()
    times = []
    for i in range(1 + REPEATS):
        fun = make(1e-3 * i)
        start = time.thread_time()
        traced = library.jit(fun).trace(*args)
        middle = time.thread_time()
        traced.lower()
        times.append([1e3 * (middle - start), 1e3 * (time.thread_time() - middle)])
    return {"first": times[0], "again": [min(column) for column in zip(*times[1:], strict=True)]}


def run(python, name, module, options):
    """Return the least figures of several processes."""
    command = [python, __file__, "--worker", name, "--module", module]
    command += ["--strict"] if options.strict and module == "evertrace" else []
    found = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(options.rounds)
    ]
    return {
        when: [min(column) for column in zip(*(f[when] for f in found), strict=True)]
        for when in ("first", "again")
    }


def show(name, ours, theirs):
    """Print the lines of one program."""
    for when in ("first", "again"):
        cells = [f"{name:14}{when:8}"]
        cells += [
            f"{trace:9.2f} +{lower:8.2f}"
            for trace, lower in filter(None, map(lambda r: r and r[when], (ours, theirs)))
        ]
        if theirs:
            cells.append(f"{sum(ours[when]) / sum(theirs[when]):8.3f}")
        print("".join(cells), flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jax-python", help="a Python with JAX, to be compared with")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each program")
    parser.add_argument("--only", default="", help="part of a program's name")
    parser.add_argument("--strict", action="store_true", help="trace by JAX's own rules")
    parser.add_argument("--worker", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--module", default="evertrace", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker, options.module, options.strict)))
        return
    os.environ.update(JAX_PLATFORMS="cpu", EVERTRACE_PLATFORMS="cpu")
    print("ms, trace + lower     " + "ours".rjust(12) + "JAX".rjust(19) + "ratio".rjust(15))
    for name in PROGRAMS:
        if options.only in name:
            ours = run(sys.executable, name, "evertrace", options)
            jax = options.jax_python
            show(name, ours, run(jax, name, "jax", options) if jax else None)


if __name__ == "__main__":
    main()
