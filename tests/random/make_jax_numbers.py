"""Writes jax_numbers.json: what JAX draws. Never run by a test.

Where JAX is installed, at the root of the repository: ``python -m tests.random.make_jax_numbers``

Each case is an expression in `random`, `key` and `np`. The file holds, per mode (stream of bits,
x64) and case, dtype, shape and contents of the result; complex numbers as pairs.
"""

import json
import pathlib

import jax
import numpy as np
from jax import random

from tests.support.recorded import record

KEYS = [
    "random.key_data(random.key(0))",
    "random.key_data(random.key(-1))",
    "random.key_data(random.key(2**40 + 5))",
    "random.key_data(random.key(np.int8(-3)))",
    "random.key_data(random.key(np.uint32(2**32 - 1)))",
    "random.PRNGKey(7)",
    *[f"random.key_data(random.split(key, {n}))" for n in ("0", "1", "2", "7", "(2, 3)")],
    "random.split(random.key_data(key), 3)",
    "random.key_data(random.fold_in(key, 0))",
    "random.key_data(random.fold_in(key, 2**32 - 1))",
    "random.fold_in(random.key_data(key), 3)",
    "random.bits(key)",
]
BITS = [
    f"random.bits(key, {shape}, 'uint{width}')"
    for width in (8, 16, 32)
    for shape in ((), (0,), (1,), (3,), (4, 5), (1, 37))
]
CONTINUOUS = [
    *[f"random.uniform(key, (9,), '{d}')" for d in ("bfloat16", "float16", "float32")],
    "random.uniform(key, (3, 3))",
    "random.uniform(key, (7,), minval=-2.0, maxval=5.0)",
    "random.uniform(key, (2, 3), minval=np.float32([1, 2, 3]), maxval=np.float32([[4], [8]]))",
    *[f"random.normal(key, (9,), '{d}')" for d in ("bfloat16", "float16", "float32", "complex64")],
    "random.normal(key)",
    "random.truncated_normal(key, -1.0, 2.0, (9,))",
    "random.truncated_normal(key, np.float32([0, 3, -9]), np.float32([1, 4, -7]))",
    "random.lognormal(key, 0.5, (5,))",
    *[
        f"random.{name}(key, (9,))"
        for name in ("cauchy", "exponential", "gumbel", "laplace", "logistic", "maxwell")
    ],
    "random.gumbel(key, (9,), mode='high')",
    "random.double_sided_maxwell(key, 1.0, 2.0, (5,))",
    "random.pareto(key, np.float32([1, 2, 3]))",
    "random.rayleigh(key, 2.0, (5,))",
    "random.triangular(key, 0.0, 0.5, 2.0, (9,))",
    "random.wald(key, np.float32([0.5, 1, 2]))",
    "random.weibull_min(key, 2.0, 3.0, (5,))",
]
DISCRETE = [
    "random.bernoulli(key, 0.3, (20,))",
    "random.bernoulli(key, np.float32([0.1, 0.5, 0.9]))",
    "random.bernoulli(key, 0.3, (20,), mode='high')",
    "random.rademacher(key, (9,))",
    "random.rademacher(key, (9,), 'float32')",
    "random.randint(key, (9,), 0, 10)",
    "random.randint(key, (9,), -5, 2**31 - 1)",
    "random.randint(key, (9,), -2**31, 2**31 - 1)",
    "random.randint(key, (9,), 5, 5)",
    "random.randint(key, (3,), np.arange(3), np.arange(3) * 10)",
    *[f"random.randint(key, (9,), 0, 10, '{d}')" for d in ("int8", "uint8", "int16", "uint32")],
    "random.randint(key, (9,), 0, 256, 'uint8')",
    "random.randint(key, (9,), -1000, 1000, 'int8')",
    "random.randint(key, (9,), np.uint32(0), np.uint32(2**32 - 1), 'uint32')",
    "random.categorical(key, np.float32([[0, 1, 2], [2, 1, 0]]))",
    "random.categorical(key, np.float32([[0, 1, 2], [2, 1, 0]]), axis=0)",
    "random.categorical(key, np.float32([[0, 1, 2], [2, 1, 0]]), shape=(4, 2))",
    "random.categorical(key, np.float32([0, 1, 2, 3]), shape=(3,), replace=False)",
    "random.categorical(key, np.float32([0, 1, 2]), shape=(5,), mode='high')",
    "random.geometric(key, 0.3, (9,))",
]
SAMPLING = [
    "random.permutation(key, 10)",
    "random.permutation(key, np.arange(12).reshape(4, 3))",
    "random.permutation(key, np.arange(12).reshape(4, 3), axis=1)",
    "random.permutation(key, np.arange(12).reshape(4, 3), independent=True)",
    "random.choice(key, 10, (5,))",
    "random.choice(key, 10, (2, 3), replace=False)",
    "random.choice(key, np.arange(12).reshape(4, 3), (2,), axis=1)",
    "random.choice(key, np.arange(12).reshape(4, 3), (2,), replace=False, axis=1)",
    "random.choice(key, 4, (9,), p=np.float32([0.1, 0.2, 0.3, 0.4]))",
    "random.choice(key, 4, (3,), replace=False, p=np.float32([0.1, 0.2, 0.3, 0.4]))",
    "random.choice(key, 4)",
]
GAMMA = [
    "random.gamma(key, np.float32([0.3, 1, 2.5, 7, 50]))",
    "random.gamma(key, 0.5, (20,))",
    "random.loggamma(key, np.float32([0.01, 0.3, 1, 2.5]))",
    "random.beta(key, 2.0, 0.5, (5,))",
    "random.dirichlet(key, np.float32([1, 2, 3]), (2,))",
    "random.chisquare(key, 3.0, (5,))",
    "random.f(key, 2.0, 5.0, (5,))",
    "random.t(key, 3.0, (5,))",
    "random.generalized_normal(key, 3.0, (5,))",
    "random.ball(key, 3, 1.5, (2,))",
    *[f"random.poisson(key, {lam}, (20,))" for lam in ("0.0", "3.5", "9.9", "10.0", "1e4")],
    "random.poisson(key, np.float32([0.5, 30, 2]))",
    "random.multinomial(key, np.float32([10, 50]), np.float32([[0.2, 0.3, 0.5], [0.9, 0.1, 0]]))",
    "random.binomial(key, 10, 0.3, (20,))",
    "random.binomial(key, np.float32([100, 1000, 5]), np.float32([0.4, 0.9, 1]))",
]
WIDE = [
    "random.key_data(random.key(-1))",
    "random.key_data(random.key(2**40 + 5))",
    "random.bits(key, (3,))",
    "random.bits(key, (5,), 'uint64')",
    "random.uniform(key, (5,))",
    "random.normal(key, (5,))",
    "random.normal(key, (3,), 'complex128')",
    "random.randint(key, (5,), 0, 2**40)",
    "random.randint(key, (5,), 0, 10)",
    "random.rademacher(key, (5,))",
    "random.categorical(key, np.float64([0, 1, 2]), shape=(5,))",
    "random.permutation(key, 5)",
]
MODES = {
    "partitionable": (True, False, KEYS + BITS + CONTINUOUS + DISCRETE + SAMPLING + GAMMA),
    "original": (False, False, KEYS + BITS + CONTINUOUS[:9] + DISCRETE[:6] + SAMPLING),
    "x64": (True, True, WIDE),
    "original, x64": (False, True, WIDE),
}


def main():
    """Write the file next to this one."""
    table = {}
    for mode, (partitionable, x64, cases) in MODES.items():
        with jax.threefry_partitionable(partitionable), jax.enable_x64(x64):
            names = {"random": random, "np": np, "key": random.key(1701)}
            table[mode] = {case: record(eval(case, names)) for case in cases}
    modes = []
    for mode, results in table.items():
        lines = [f"  {json.dumps(case)}: {json.dumps(found)}" for case, found in results.items()]
        modes.append(f" {json.dumps(mode)}: {{\n" + ",\n".join(lines) + "\n }")
    text = "{\n" + ",\n".join(modes) + "\n}\n"
    pathlib.Path(__file__).with_name("jax_numbers.json").write_text(text)


if __name__ == "__main__":
    main()
