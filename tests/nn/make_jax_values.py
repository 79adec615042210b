"""Writes jax_values.json: what JAX computes. Never run by a test.

Where JAX is installed, from the root of the repository: ``python -m tests.nn.make_jax_values``.

Each case is an expression in `nn`, `key`, `np` and the arrays of `INPUTS`. The file holds dtype,
shape and contents of the result, complex numbers as pairs.
"""

import json
import pathlib

import jax
import numpy as np
from jax import nn

from tests.support.recorded import record

RNG = np.random.default_rng(0)
INPUTS = {
    "x": np.array([-90, -9, -2, -1, -0.5, 0, 0.5, 1, 2, 7, 90], np.float32),
    "m": RNG.normal(size=(3, 4)).astype(np.float32),
    "mask": np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1]], bool),
    "q": RNG.normal(size=(2, 3, 4, 5)).astype(np.float32),
    "k": RNG.normal(size=(2, 6, 2, 5)).astype(np.float32),
    "v": RNG.normal(size=(2, 6, 2, 5)).astype(np.float32),
    "bias": RNG.normal(size=(2, 4, 3, 6)).astype(np.float32),
}
ELEMENTWISE = [
    "celu", "elu", "gelu", "hard_sigmoid", "hard_silu", "hard_tanh", "leaky_relu", "log_sigmoid",
    "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus",
    "sparse_sigmoid", "squareplus",
]  # fmt: skip
ATTENTION = "nn.dot_product_attention(q, k, v"
CASES = [
    *[f"nn.{name}(x)" for name in ELEMENTWISE],
    *[f"ev.vmap(ev.grad(nn.{name}))(x)" for name in ELEMENTWISE],
    "nn.gelu(x, approximate=False)",
    "nn.relu(np.arange(-2, 3))",
    "nn.relu6(x.astype('float16'))",
    "nn.elu(x, 2.0)",
    "nn.leaky_relu(x, 0.2)",
    "nn.log1mexp(np.float32([0.01, 0.5, 0.7, 3]))",
    "nn.glu(m)",
    "nn.glu(m, axis=1)",
    "nn.softmax(m)",
    "nn.softmax(m, axis=0)",
    "nn.softmax(m, axis=(0, 1))",
    "nn.softmax(m * 1000)",
    "nn.softmax(m, where=mask)",
    "nn.log_softmax(m)",
    "nn.log_softmax(m, where=mask)",
    "nn.logsumexp(m)",
    "nn.logsumexp(m, axis=0, keepdims=True)",
    "nn.logsumexp(m, axis=1, b=m)",
    "nn.logsumexp(m, axis=1, b=m, return_sign=True)[1]",
    "nn.logsumexp(m, axis=1, where=mask)",
    "nn.logsumexp(np.full(3, -np.inf, np.float32))",
    "nn.logsumexp(np.float32([1, np.inf]))",
    "nn.logmeanexp(m, axis=1)",
    "nn.logmeanexp(m, axis=1, where=mask)",
    "nn.standardize(m)",
    "nn.standardize(m, axis=0, epsilon=0.1, algorithm='stable')",
    "nn.standardize(m, where=mask)",
    "nn.one_hot(np.array([0, 3, -1, 4]), 4)",
    "nn.one_hot(np.array([[0, 1]]), 3, axis=0, dtype='int8')",
    f"{ATTENTION})",
    f"{ATTENTION}, is_causal=True)",
    f"{ATTENTION}, bias, bias > -1, scale=0.3)",
    f"{ATTENTION}, query_seq_lengths=np.array([1, 3]), key_value_seq_lengths=np.array([2, 5]))",
    f"{ATTENTION}, local_window_size=(1, 2))",
    f"{ATTENTION}, return_residual=True)[1]",
    "nn.dot_product_attention(q[0], k[0], v[0])",
    *[
        f"nn.initializers.{name}()(key, (3, 4))"
        for name in (
            "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal",
            "lecun_uniform", "normal", "truncated_normal", "uniform",
        )
    ],
    "nn.initializers.zeros(key, (2,), 'int32')",
    "nn.initializers.ones(key, (2,))",
    "nn.initializers.constant(np.float32([1, 2]))(key, (3, 2))",
    "nn.initializers.glorot_normal(in_axis=0, out_axis=(1, 2))(key, (2, 3, 4))",
    "nn.initializers.he_normal()(key, (3, 3, 2, 4), 'bfloat16')",
    "nn.initializers.variance_scaling(2.0, 'fan_geo_avg', 'normal')(key, (2, 8))",
    *[
        f"nn.initializers.variance_scaling(1.0, 'fan_in', '{name}')(key, (2, 3), 'complex64')"
        for name in ("uniform", "normal", "truncated_normal")
    ],
]  # fmt: skip


def main():
    """Write the file next to this one."""
    names = {"nn": nn, "ev": jax, "np": np, "key": jax.random.key(0), **INPUTS}
    lines = [f"  {json.dumps(case)}: {json.dumps(record(eval(case, names)))}" for case in CASES]
    inputs = [f"  {json.dumps(name)}: {json.dumps(record(x))}" for name, x in INPUTS.items()]
    text = '{\n "inputs": {\n' + ",\n".join(inputs) + '\n },\n "results": {\n'
    text += ",\n".join(lines) + "\n }\n}\n"
    pathlib.Path(__file__).with_name("jax_values.json").write_text(text)


if __name__ == "__main__":
    main()
