"""Programs that are exchanged with JAX: the same texts for both, exported, called and compared.

`EXCHANGED` is read by the tests and by `exchange_jax`, which runs in a process that has JAX and no
evertrace: nothing of either is imported here.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections import OrderedDict, namedtuple
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

Point = namedtuple("Point", "x y")
SIZES = {"b": 3, "c": 5}
"""Of the variables in shapes, for calls."""


class Exchanged(NamedTuple):
    """A program.

    Attributes:
      text: of the function, of `m` (JAX or evertrace), `jnp` and `lax`.
      args: of its arguments: a tree of texts, ``"float32[b, 4]"``.
      options: of `export`.
      constraints: of the symbolic sizes.
      vjp: how many orders of derivatives are written.
      devices: how many there are.
      only_by: "jax" or "evertrace" where the other does not export it.
    """

    text: str
    args: Any
    options: Any = MappingProxyType({})
    constraints: tuple[str, ...] = ()
    vjp: int = 0
    devices: int = 1
    only_by: str | None = None


F4, SYM = ("float32[4]",), ("float32[b, 4]",)

# fmt: off
EXCHANGED = {
    "sin": Exchanged("jnp.sin", F4, vjp=2),
    "trees": Exchanged("lambda t, *, n: {'y': [t['a'] * n, None], 'z': (t['b'][0], ())}",
                       ({"a": "float32[4]", "b": ["float32[]"]},), {"kwargs": {"n": "float32[]"}}),
    "nodes": Exchanged("lambda p, o: (p._replace(x=p.y), o)",
                       (Point("float32[2]", "int32[]"), OrderedDict(z="float32[2]", a="int32[]"))),
    "integers": Exchanged("lambda x, n: (jnp.sin(x) * n.sum(), n + 1)", ("float32[4]", "int32[3]"), vjp=2),
    "unused": Exchanged("lambda x, y, z: y * 2", ("float32[4]", "float32[2]", "int32[3]"), vjp=1),
    "nothing": Exchanged("lambda: ()", ()),
    "captured": Exchanged("lambda x: x + np.arange(4, dtype='float32')", F4),
    "platforms": Exchanged("jnp.sort", F4, {"platforms": ("cuda", "cpu", "tpu")}),
    "by platform": Exchanged("lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)", F4,
                             {"platforms": ("cuda", "cpu")}),
    "tpu": Exchanged("jnp.sin", F4, {"platforms": ("tpu",)}),
    "inverse": Exchanged("lambda x: jnp.linalg.inv(x @ x.T + jnp.eye(3))", ("float32[3, 3]",), vjp=1),
    "eigh": Exchanged("lambda x: jnp.linalg.eigh(x @ x.T)[0]", ("float32[3, 3]",)),
    "erfinv": Exchanged("lambda x: m.scipy.special.erfinv(x / 2)", F4),
    "top_k": Exchanged("lambda x: lax.top_k(x, 2)", F4),
    "loops": Exchanged("lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x)", F4),
    "while": Exchanged("lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x)", F4),
    "branches": Exchanged("lambda x: lax.cond(x[0] > 0, jnp.sin, lambda x: -x, x)", F4),
    "fft": Exchanged("lambda x: jnp.fft.fft(x).real", F4),
    "complex": Exchanged("lambda x: x * x.conj()", ("complex64[3]",)),
    "conv": Exchanged("lambda x: lax.conv_general_dilated(x[None, None], jnp.ones((1, 1, 2)), (1,), 'SAME')", F4),
    "bfloat16": Exchanged("lambda x: x * 2", ("bfloat16[4]",)),
    "float8": Exchanged("lambda x: x.astype('float32') + 1", ("float8_e4m3fn[4]",)),
    "small integers": Exchanged("lambda x, y: x.astype('int8') + y.astype('int8')", ("int4[3]", "uint8[3]")),
    "booleans": Exchanged("lambda x: ~x", ("bool[3]",)),
    "key": Exchanged("lambda k: m.random.split(k)", ("key",)),
    "inner jit": Exchanged("lambda x: m.jit(jnp.sin)(x) + m.jit(jnp.sin)(x + 1)", F4),
    "unknown target": Exchanged("lambda x: m.ffi.ffi_call('mine', m.ShapeDtypeStruct((4,), 'float32'))(x)", F4,
                                {"custom_call": "mine"}),
    "two devices": Exchanged("lambda x: (x * 2).sum(0)", ("float32[4, 2]",), devices=2),
    "ordered effect": Exchanged("ordered_effect", F4, only_by="jax"),

    "size": Exchanged("lambda x: x * x.shape[0] + x.size", SYM),
    "product": Exchanged("lambda x: jnp.cumsum(x @ x.T, 0) + 1", SYM, constraints=("b >= 2",), vjp=1),
    "sizes": Exchanged("lambda x, y: (jnp.concatenate([x.sum(1), y.sum(0)]), jnp.arange(x.shape[0] * y.shape[1]))",
                       ("float32[b, 4]", "float32[4, c]"), constraints=("b <= c", "mod(c, 5) == 0")),
    "twice": Exchanged("lambda x: jnp.tanh(x.reshape(-1, 8)).mean(0)", ("float32[2*b, 4]",), vjp=1),
    "softmax": Exchanged("lambda x: m.nn.softmax(x, axis=0)", SYM, vjp=2),
    "attention": Exchanged("lambda x: m.nn.softmax(x @ x.T / 2.0, axis=-1) @ x", SYM),
    "scan sizes": Exchanged("lambda x: lax.scan(lambda c, r: (c + r, c.sum()), jnp.zeros(4), x)", SYM),
    "fori sizes": Exchanged("lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], jnp.zeros(4))", SYM),
    "indices": Exchanged("lambda x: (x[1:], x[-1], x[::2], x.at[0].set(9.), jnp.take(x, jnp.array([0, 0]), axis=0))",
                         SYM, constraints=("b >= 2",)),
    "roll": Exchanged("lambda x: jnp.roll(x, 1, axis=0)", SYM),
    "pad": Exchanged("lambda x: (jnp.pad(x, ((1, 2), (0, 0))), jnp.tile(x, (2, 1)), jnp.stack([x, x]))", SYM),
    "draws": Exchanged("lambda x: x + m.random.normal(m.random.PRNGKey(0), x.shape)", SYM),
    "cholesky": Exchanged("lambda x: jnp.linalg.cholesky(x[:, :, None] * 0 + jnp.eye(4))", SYM),
    "floats and sizes": Exchanged("lambda x, n: (jnp.sin(x) * n.sum(), n)", ("float32[b, 4]", "int32[b]"), vjp=1),
    "sizes by platform": Exchanged("lambda x: jnp.sort(x, axis=0)", SYM, {"platforms": ("cpu", "tpu")}),
}
# fmt: on


def evaluated(module: Any, text: str) -> Any:
    """Return the function of a text, for JAX or for evertrace."""
    if text == "ordered_effect":
        return functools.partial(_with_effect, module)
    names = {
        "m": module,
        "jnp": importlib.import_module(f"{module.__name__}.numpy"),
        "lax": importlib.import_module(f"{module.__name__}.lax"),
        "np": np,
    }
    for name in ("nn", "random", "ffi", "export", "scipy.special"):
        importlib.import_module(f"{module.__name__}.{name}")
    return eval(text, names)


def _with_effect(module, x):
    raise NotImplementedError(module, x)


def leaf_of(module: Any, text: str, is_spec: bool, scope: Any) -> Any:
    """Return the type that a text means, or an array of it."""
    if text == "key":
        return module.random.key(3)
    name, _, shape = text.removesuffix("]").partition("[")
    dtype = np.dtype(getattr(importlib.import_module(f"{module.__name__}.numpy"), name))
    if is_spec:
        sizes = module.export.symbolic_shape(shape, scope=scope) if shape else ()
        return module.ShapeDtypeStruct(sizes, dtype)
    sizes = [eval(n, dict(SIZES)) for n in shape.split(",") if n]
    count = int(np.prod(sizes))
    if dtype.kind == "b":
        return (np.arange(count) % 2 == 0).reshape(sizes)
    whole = np.issubdtype(dtype, np.integer) or name in ("int4", "uint4")
    values = np.arange(count) % 5 if whole else np.cos(np.arange(count, dtype="float32")) / 2
    return values.reshape(sizes).astype(dtype)


def arguments(module: Any, program: Exchanged, is_spec: bool) -> Any:
    """Return the arguments of a program and its keyword arguments, or their types."""
    scope = module.export.SymbolicScope(program.constraints)
    tree = (program.args, program.options.get("kwargs", {}))
    return module.tree.map(lambda text: leaf_of(module, text, is_spec, scope), tree)


def exported(module: Any, program: Exchanged) -> Any:
    """Export a program by JAX or by evertrace."""
    options = {k: v for k, v in program.options.items() if k not in ("kwargs", "custom_call")}
    if "custom_call" in program.options:
        check = module.export.DisabledSafetyCheck.custom_call(program.options["custom_call"])
        options["disabled_checks"] = [check]
    args, kwargs = arguments(module, program, is_spec=True)
    with devices(module, program) as place:
        lying = {} if place is None else {"in_shardings": place}
        jitted = module.jit(evaluated(module, program.text), **lying)
        return module.export.export(jitted, **options)(*args, **kwargs)


@contextlib.contextmanager
def devices(module: Any, program: Exchanged) -> Any:
    """Have as many devices as a program needs; gives how arguments lie over several."""
    simulate = getattr(module, "simulate_devices", contextlib.nullcontext)  # JAX's are there
    if program.devices == 1:
        yield None
        return
    with simulate(program.devices):
        mesh = module.sharding.Mesh(module.devices(), ("x",))
        yield module.sharding.NamedSharding(mesh, module.sharding.PartitionSpec("x"))


@functools.cache
def register(module: Any) -> None:
    """Register the types of nodes."""
    module.export.register_namedtuple_serialization(Point, serialized_name="tests.Point")


def results(module: Any, exported: Any, program: Exchanged) -> list[Any]:
    """Call an exported program; returns its results and those of its derivatives, as arrays."""
    args, kwargs = arguments(module, program, is_spec=False)
    with devices(module, program) as place:
        if place is not None:
            args = module.device_put(args, place)
        return _results(module, exported, program, args, kwargs)


def _results(module, exported, program, args, kwargs):
    leaves = module.tree.leaves(exported.call(*args, **kwargs))
    if program.vjp:
        moving = [x for x in module.tree.leaves((args, kwargs)) if np.dtype(x.dtype).kind == "f"]

        def loss(x, exported=exported):
            given = iter([x])
            changed = module.tree.map(
                lambda y: next(given, y) if np.dtype(y.dtype).kind == "f" else y, (args, kwargs)
            )
            outs = module.tree.leaves(exported.call(*changed[0], **changed[1]))
            return sum((out**2).sum() for out in outs if np.dtype(out.dtype).kind == "f")

        leaves.append(module.grad(loss)(moving[0]))
        if program.vjp > 1:
            leaves.append(module.grad(lambda x: (module.grad(loss)(x) ** 2).sum())(moving[0]))
    return [_as_numpy(module, x) for x in leaves]


def _as_numpy(module, x):
    if module.dtypes.issubdtype(x.dtype, module.dtypes.prng_key):
        x = module.random.key_data(x)
    return np.asarray(x)
