"""The functions that are called, and the programs that call them: one line of text for each name."""

import collections
import datetime
import decimal
import fractions
import functools
import hashlib
import importlib
import inspect
import pkgutil
import random as python_random
from array import array
from dataclasses import dataclass, replace

import numpy as np

import evertrace
from evertrace._src.core import operators
from tests.fuzz import hostile, instances, values

SILENT = (
    "evertrace._src", "evertrace.errors", "evertrace.interpreters", "evertrace.version",
)  # fmt: skip
"""Modules that are not walked: not public, classes of errors, and what is only re-exported."""

LEFT_OUT = {
    **dict.fromkeys(
        "register_pytree_node register_pytree_node_class register_pytree_with_keys register_static "
        "register_pytree_with_keys_class register_dataclass register_pytree_node_serialization "
        "register_namedtuple_serialization register_ffi_target register_ffi_type "
        "register_ffi_target_as_batch_partitionable register_ffi_type_id "
        "register_event_listener register_event_duration_secs_listener register_scalar_listener "
        "register_event_time_span_listener clear_event_listeners set_cache_dir reset_cache "
        "unregister_event_listener unregister_event_duration_listener "
        "unregister_event_time_span_listener unregister_scalar_listener record_event "
        "set_printoptions set_mesh register_lowering".split(),
        "changes what later calls of the process mean",
    ),
    **dict.fromkeys(
        "save savez load fromfile run_deserialization run_serialization async_serialize "
        "async_deserialize get_tensorstore_spec save_device_memory_profile "
        "GlobalAsyncCheckpointManager".split(),
        "writes to the files that its arguments name, or reads them, also standard input",
    ),
    **dict.fromkeys(
        "initialize shutdown is_initialized start_server stop_server start_trace stop_trace "
        "profiler.trace register_subprocess colocated_python colocated_cpu_devices ProfileData".split(),
        "opens ports, starts threads or waits for other processes",
    ),
    **dict.fromkeys(["breakpoint"], "waits for somebody who types"),
    **dict.fromkeys(["deserialize_and_load"], "runs machine code that its caller has to trust"),
}
"""Names that are never called, each with the reason; some with their module's name."""


def is_left_out(module, name):
    """Whether a public name has a reason not to be called."""
    return name in LEFT_OUT or f"{module.split('.')[-1]}.{name}" in LEFT_OUT


INDEXED = {
    "index": "({x})[{i}]", "index_set": "({x}).at[{i}].set({y})", "index_add": "({x}).at[{i}].add({y})",
    "index_get": "({x}).at[{i}].get(mode={mode})", "index_max": "({x}).at[{i}].max({y})",
    "plus": "({x}) + ({y})", "matmul": "({x}) @ ({y})", "power": "v.base({x}) ** ({y})", "divided": "({x}) // ({y})",
    "shifted": "({x}) << ({y})", "compared": "({x}) < ({y})", "equal": "({x}) == ({y})", "reflected": "({y}) % ({x})",
    "iterated": "list({x})", "to_int": "int({x})", "to_index": "range({x})", "truth": "bool({x})",
    "from_numpy": "np.add({x}, {y})", "numpy_conversion": "np.asarray({x}, dtype={dtype})",
    "exported": "export.deserialize({bytes})", "ravelled": "flatten_util.ravel_pytree({tree})[1]({y})",
}  # fmt: skip
"""Forms of programs that are no calls of functions."""


@dataclass(frozen=True)
class Program:
    """A call as text: of what, with what, under which transformation, checked against what."""

    target: str
    args: tuple[str, ...] = ()
    kwargs: tuple[tuple[str, str], ...] = ()
    under: str = "eager"
    traced: tuple[int, ...] = ()

    @property
    def text(self):
        """The expression that is evaluated."""
        if self.under == "eager":
            return self._called(self.args)
        names = [f"x{i}" for i in self.traced]
        inner = list(self.args)
        for place, name in zip(self.traced, names, strict=True):
            inner[place] = name
        body = self._called(inner)
        if self.under in ("grad", "jvp"):
            body = f"v.total({body})"
        made = _UNDER[self.under].format(f"lambda {', '.join(names)}: {body}")
        return f"{made}({', '.join(self.args[i] for i in self.traced)})"

    def _called(self, args):
        if self.target in INDEXED:
            places = dict.fromkeys(_fields(self.target))
            return INDEXED[self.target].format(**dict(zip(places, args, strict=True)))
        given = [*args, *(f"{name}={text}" for name, text in self.kwargs)]
        if self.target.startswith("."):
            return f"({given[0]}){self.target}({', '.join(given[1:])})"
        return f"{self.target}({', '.join(given)})"

    def eager(self):
        """The same call without a transformation.

        Methods are those of what is traced: in strict mode, as in JAX, of our arrays.
        """
        args = self.args
        if self.under == "strict" and self.target.startswith(".") and 0 in self.traced:
            args = (f"v.ours({args[0]})", *args[1:])
        return replace(self, args=args, under="eager", traced=())

    def with_arg(self, place, text):
        """The same call with another argument; None drops the keyword argument there."""
        if place < len(self.args):
            args = (*self.args[:place], text, *self.args[place + 1 :])
            return replace(self, args=args)
        kwargs = list(self.kwargs)
        place -= len(self.args)
        kwargs[place : place + 1] = [] if text is None else [(kwargs[place][0], text)]
        return replace(self, kwargs=tuple(kwargs))


_UNDER = {
    "jit": "ev.jit({})", "xla": "ev.jit({}, engine='xla')", "strict": "ev.jit({}, strict=True)",
    "vmap": "ev.vmap({})", "grad": "ev.grad({})", "jvp": "ev.jacfwd({})", "jaxpr": "ev.make_jaxpr({})",
    "shape": "functools.partial(ev.eval_shape, {})",
    "aot": "(lambda f: lambda *a: ev.jit(f).lower(*a).compile()(*a))({})",
}  # fmt: skip

# How often each is drawn: those that wait for XLA's compiler are rare, as it takes 30 ms and more.
_MIX = {
    "eager": 64, "jit": 12, "strict": 3, "vmap": 6, "grad": 5, "jvp": 2, "jaxpr": 3, "shape": 2,
    "aot": 1, "xla": 2,
}  # fmt: skip


def _fields(target):
    return [part.split("}")[0] for part in INDEXED[target].split("{")[1:]]


@functools.cache
def modules():
    """Return the public modules by name."""
    names = [m.name for m in pkgutil.walk_packages(evertrace.__path__, "evertrace.")]
    public = [name for name in names if not name.startswith(SILENT)]
    return {name: importlib.import_module(name) for name in ["evertrace", *public]}


@functools.cache
def targets():
    """Return what is called: text of the callable -> its parameters, None where nobody knows."""
    found, seen = {}, set()
    for name in operators._deferred:  # whose signatures are known once they are loaded
        operators._load(name)
    methods = _methods()
    for module, namespace in modules().items():
        listed = getattr(namespace, "__all__", None) or dir(namespace)
        for name in sorted(n for n in listed if not n.startswith("_")):
            value = getattr(namespace, name)
            if is_left_out(module, name) or not _is_called(name, value) or id(value) in seen:
                continue
            seen.add(id(value))
            if module == "evertrace.extend.core.primitives":
                found[f"prims.{name}.bind"] = _params_of_primitive(value)
            else:
                found[_written(module, name)] = _parameters(value)
    for name in sorted(n for n in dir(evertrace.Array) if n[0] != "_"):
        value = getattr(evertrace.Array, name)
        if callable(value):
            found["." + name] = _parameters(value)
    return {**found, **methods, **{name: None for name in INDEXED}}


def _methods():
    """Return the methods of objects of public classes, as `targets` does."""
    found = {}
    for text in instances.INSTANCES.values():
        made = eval(text, dict(namespace()))
        for name in instances.methods_of(type(made)):
            found[f"({text}).{name}"] = _parameters(getattr(made, name))
    return found


def _is_called(name, value):
    if inspect.ismodule(value):
        return False
    if not inspect.isclass(value) and hasattr(value, "bind") and hasattr(value, "multiple_results"):
        return name.endswith("_p")
    if inspect.isclass(value) and issubclass(value, BaseException):
        return False
    owner = getattr(value, "__module__", None) or ""
    return callable(value) and not owner.startswith(("typing", "builtins", "collections"))


def _written(module, name):
    short = {"evertrace": "ev", "evertrace.numpy": "jnp"}.get(module) or module.replace(
        "evertrace", "ev", 1
    )
    for package in ("lax", "nn", "random", "scipy", "image", "export"):
        if short == f"ev.{package}" or short.startswith(f"ev.{package}."):
            short = short.removeprefix("ev.")
    return f"{short}.{name}"


def _parameters(value):
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    return tuple((p.name, p.default, p.kind) for p in found)


def _params_of_primitive(prim):
    kind = inspect.Parameter.POSITIONAL_ONLY
    operands = (("x", inspect.Parameter.empty, kind), ("y", 1.0, kind))
    for rule in (prim.abstract, prim.host, prim.eager, prim.stage):
        params = [p for p in _parameters(rule) or () if p[2] is inspect.Parameter.KEYWORD_ONLY]
        if params and "dtype" not in [p[0] for p in params if p[1] is not inspect.Parameter.empty]:
            return (*operands, *params)
    return operands


PLANTED = ("v.dies", "v.sleeps", "v.raw", "v.allocates", "v.ends")
"""Targets with faults, of which no program is drawn: what tests the fuzzer itself."""

PER_SEED = 1_000_000  # programs of a target


def drawn(count, seed=0):
    """Return the names of the programs that a seed's first `count` calls are.

    A name is a target and a number of its own. So what is public besides a target does not change
    its programs: a new function puts its own programs among them, and the last ones are left out.
    """
    turn = _turn()
    found = []
    for times in range(-(-count // len(turn))):
        first = seed * PER_SEED
        found += [f"{target}:{first + times * weight + i}" for target, i, weight in turn]
    return found[:count]


def program(name):
    """Return the program of a name, ``TARGET:NUMBER``, the same one each time."""
    target, _, _ = name.rpartition(":")
    if target in PLANTED:
        return Program(target)
    rng = python_random.Random(f"evertrace {name}")
    shape = rng.choice(values.SHAPES)
    dtype = rng.choice(["float32"] * 4 + values.DTYPES)
    args, kwargs = _arguments(rng, target, targets()[target], shape, dtype)
    made = Program(target, tuple(args), tuple(kwargs))
    return _transformed(rng, made)


@functools.cache
def _turn():
    """Return each target as often as it weighs: functions of arrays more than those around them.

    They are in an order that has nothing to do with what they are, and is the same for any others.
    """
    found = []
    for target in targets():
        often = target.startswith(("jnp", "lax", ".")) or target in INDEXED
        weight = 4 if target in INDEXED else 2 if often else 1
        found += [(target, i, weight) for i in range(weight)]
    return sorted(found, key=lambda entry: hashlib.sha256(repr(entry).encode()).digest())


def _arguments(rng, target, parameters, shape, dtype):
    if target in INDEXED:
        names = {
            "x": "x",
            "y": "y",
            "i": "indices",
            "mode": "mode",
            "dtype": "dtype",
            "bytes": "blob",
            "tree": "tree",
        }
        fields = dict.fromkeys(_fields(target))
        return [values.value(rng, names[f], None, shape, dtype) for f in fields], []
    if parameters is None:
        parameters = [(n, inspect.Parameter.empty, inspect.Parameter.POSITIONAL_ONLY) for n in "xy"]
    args, kwargs = [], []
    if target.startswith("."):
        args, parameters = [values.array(rng, shape, dtype)], parameters[1:]
    for name, default, kind in parameters:
        needed = default is inspect.Parameter.empty
        if kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if kind is inspect.Parameter.VAR_POSITIONAL:
            args += [values.value(rng, name, None, shape, dtype) for _ in range(rng.randrange(3))]
        elif (needed and rng.random() < 0.99) or rng.random() < 0.3:
            text = values.value(rng, name, None if needed else default, shape, dtype)
            by_name = kind is inspect.Parameter.KEYWORD_ONLY or not needed or kwargs
            if kind is inspect.Parameter.POSITIONAL_ONLY or not by_name:
                if not kwargs:
                    args.append(text)
            else:
                kwargs.append((name, text))
    if target.endswith("__getitem__") and not args and not kwargs:  # brackets are never empty
        args = [values.value(rng, "index", None, shape, dtype)]
    return args, kwargs


def _transformed(rng, made):
    under = rng.choices(list(_MIX), list(_MIX.values()))[0]
    traced = [
        i for i, text in enumerate(made.args) if text.startswith(("jnp.", "(jnp.", "(np.", "v."))
    ]
    if under == "eager" or not traced:
        return made
    if under in ("grad", "jvp"):
        traced = traced[:1]
    return replace(made, under=under, traced=tuple(traced))


@functools.cache
def namespace():
    """Return the names that programs use."""
    found = {
        "ev": evertrace,
        "jnp": evertrace.numpy,
        "np": np,
        "v": hostile,
        "functools": functools,
    }
    for name in ("lax", "nn", "random", "scipy", "image", "export", "flatten_util"):
        found[name] = modules()[f"evertrace.{name}"]
    found["sparse"] = modules()["evertrace.experimental.sparse"]
    found["prims"] = modules()["evertrace.extend.core.primitives"]
    python = {
        "collections": collections,
        "datetime": datetime,
        "decimal": decimal,
        "fractions": fractions,
    }
    return {
        **found,
        **python,
        "array": inspect.getmodule(array) or importlib.import_module("array"),
    }
