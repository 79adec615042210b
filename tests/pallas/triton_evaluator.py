"""A small evaluator of Triton's language: what the text of a kernel does, on NumPy arrays.

It knows the operations that our kernels are written in, and nothing of how they are written: it
reads the text. Programs run one after the other, in any order that is asked for. A load or store
that leaves its array without a mask is an error, as is a name that is not known where it is used.
"""

import math
import re
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

DTYPES: dict[str, Any] = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


class Op(NamedTuple):
    """One operation: names of its results, its own name, what follows, and regions."""

    results: list[str]
    name: str
    rest: str
    regions: list[list["Op"]]


class Pointer(NamedTuple):
    """Places in an array."""

    array: np.ndarray
    offsets: Any


# ------------------------------------------------------------------------ reading


def parse(text):
    """Return the operations of the function in a module, and how many arguments it has."""
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "module {"
    assert lines[1].startswith("tt.func public @")
    body, rest = _region(lines, 2)
    assert [line for line in lines[rest:] if line] == ["}"], lines[rest:]
    return body, len(re.findall(r"%arg\d+:", lines[1]))


def _region(lines, i):
    """Return the operations from a line on to the one that closes the region, and what follows."""
    ops = []
    while not lines[i].startswith("}"):
        op, i = _operation(lines, i)
        ops.append(op)
    return ops, i + 1


def _operation(lines, i):
    line = lines[i]
    results, text = line.split(" = ", 1) if _is_assignment(line) else ("", line)
    if line.startswith("^bb0("):
        return Op([], "^bb0", line, []), i + 1
    names = []
    for name in filter(None, results.split(", ")):
        name, _, count = name.partition(":")
        names += [f"{name}#{k}" for k in range(int(count))] if count else [name]
    name, _, rest = text.replace("scf.condition(", "scf.condition (").partition(" ")
    if text.startswith('"'):
        name, rest = text.split('"')[1], text.split('"', 2)[2]
    regions = []
    i += 1
    if line.endswith("{"):
        while True:
            ops, i = _region(lines, i)
            regions.append(ops)
            closing = lines[i - 1]
            if not closing.endswith("{"):
                rest += closing[1:]
                break
    return Op(names, name, rest, regions), i


def _is_assignment(line):
    return re.match(r"%[\w#:, %]+ = ", line) is not None


# ------------------------------------------------------------------------ running


def run(text, arrays, programs, order=None):
    """Run all programs of a kernel on flat arrays, which are changed."""
    ops, count = parse(text)
    assert count == len(arrays)
    for i in range(programs) if order is None else order:
        env: dict = {f"%arg{k}": Pointer(x, 0) for k, x in enumerate(arrays)}
        env["program"] = np.int32(i)
        with np.errstate(all="ignore"):
            _run_region(ops, env)


def _run_region(ops, env, args=()):
    """Run a region in an environment that only it changes; returns what it yields."""
    env = dict(env)
    for op in ops:
        if op.name == "^bb0":
            env.update(zip(re.findall(r"(%\w+):", op.rest), args, strict=True))
        elif op.name in ("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return"):
            return [env[name] for name in re.findall(r"%[\w#]+", op.rest.split(" : ")[0])]
        elif op.name == "tt.return":
            return []
        else:
            outs = _OPS[op.name](op, env)
            outs = outs if isinstance(outs, list) else [outs] if op.results else []
            for name, value in zip(op.results, outs, strict=True):
                env[name] = value
                env[name.removesuffix("#0")] = value if "#" in name else env[name]
    return []


def _operands(op, env):
    """Return the operands of an operation, and the types behind its colon."""
    head, _, types = re.sub(r"<?\{[^}]*\}>?", "", op.rest).partition(" : ")
    return [env[name] for name in re.findall(r"%[\w#]+", head)], types


def _type(text):
    """Return the shape and element type of a type."""
    text = text.strip()
    if text.startswith("tensor<"):
        *shape, element = _match(r"tensor<((?:\d+x)*)(.*)>$", text).groups()
        return tuple(int(n) for n in shape[0].split("x") if n), element
    return (), text


def _result_type(op):
    return _type(re.split(r"-> | to ", op.rest)[-1].split(" : ")[-1])


def _match(pattern, text):
    """Return a match that has to be there."""
    found = re.match(pattern, text)
    assert found is not None, text
    return found


_OPS: dict[str, Any] = {}


def _op(*names):
    def decorate(fun):
        _OPS.update(dict.fromkeys(names, fun))
        return fun

    return decorate


def _elementwise(name, fun, unsigned=False):
    def run(op, env):
        xs, types = _operands(op, env)
        shape, _ = _type(types)
        assert all(np.shape(x) == shape for x in xs), (op, [np.shape(x) for x in xs])
        dtype = np.asarray(xs[0]).dtype
        assert all(np.asarray(x).dtype == dtype for x in xs), op
        if unsigned:
            xs = [np.asarray(x).view(f"u{dtype.itemsize}") for x in xs]
        out = np.asarray(fun(*xs))
        return out.view(dtype) if unsigned else out.astype(dtype)

    _OPS[name] = run


def _truncated(x, y):
    wide = np.asarray(x).astype(np.int64), np.asarray(y).astype(np.int64)
    safe = np.where(wide[1] == 0, 1, wide[1])
    return np.sign(wide[0]) * np.sign(safe) * (abs(wide[0]) // abs(safe))


for _name, _fun in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
}.items():  # fmt: skip
    _elementwise(f"arith.{_name}f", _fun)
    _elementwise(f"arith.{_name}i", _fun)
for _name, _fun in {
    "arith.divf": np.divide, "arith.remf": np.fmod, "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum, "arith.divsi": _truncated, "arith.maxsi": np.maximum,
    "arith.remsi": lambda x, y: x - _truncated(x, y) * y, "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift, "arith.shrsi": np.right_shift, "math.absf": np.abs,
    "math.exp": np.exp, "math.exp2": np.exp2, "math.log": np.log, "math.sin": np.sin,
    "math.cos": np.cos, "math.sqrt": np.sqrt, "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.floor": np.floor, "math.ceil": np.ceil, "math.erf": np.vectorize(math.erf),
}.items():  # fmt: skip
    _elementwise(_name, _fun)
for _name, _fun in {
    "arith.divui": np.floor_divide, "arith.remui": np.remainder, "arith.maxui": np.maximum,
    "arith.minui": np.minimum, "arith.shrui": np.right_shift,
}.items():  # fmt: skip
    _elementwise(_name, _fun, unsigned=True)

_LIBRARY = {
    "tanh": np.tanh, "tan": np.tan, "log1p": np.log1p, "expm1": np.expm1, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt, "pow": np.power,
    "atan2": np.arctan2, "rint": np.rint, "erfc": np.vectorize(math.erfc),
    "lgamma": np.vectorize(math.lgamma), "nextafter": np.nextafter,
    "round": lambda x: np.copysign(np.floor(abs(x) + 0.5), x),
    "popc": np.vectorize(lambda x: (int(x) & 0xFFFFFFFF).bit_count()),
    "clz": np.vectorize(lambda x: 32 - (int(x) & 0xFFFFFFFF).bit_length()),
}  # fmt: skip


@_op("tt.extern_elementwise")
def _extern(op, env):
    symbol = op.rest.split('symbol = "__nv_')[1].split('"')[0]
    xs = [env[name] for name in re.findall(r"%[\w#]+", op.rest.split("{")[0])]
    dtype = DTYPES[_result_type(op)[1]]
    name = symbol if symbol in _LIBRARY else symbol.removesuffix("f")
    assert (name != symbol) == (np.asarray(xs[0]).dtype == np.float32), symbol
    return np.asarray(_LIBRARY[name](*xs)).astype(dtype)


@_op("arith.constant")
def _constant(op, env):
    text, _, typed = op.rest.partition(" : ")
    shape, element = _type(typed) if typed else ((), "i1")
    text = text.removeprefix("dense<").removesuffix(">")
    dtype = np.dtype(DTYPES[element])
    if text in ("true", "false"):
        value = np.bool_(text == "true")
    elif text.startswith("0x"):
        value = np.asarray(int(text, 16), f"u{dtype.itemsize}").view(dtype)
    else:
        value = np.asarray(float(text) if element[0] != "i" else int(text)).astype(dtype)
    return np.full(shape, value, dtype)


@_op("arith.cmpi", "arith.cmpf")
def _compare(op, env):
    (x, y), types = _operands(op, env)
    assert np.shape(x) == np.shape(y) == _type(types)[0], op
    kind = op.rest.split(",")[0]
    if kind[0] == "u" and op.name == "arith.cmpi":
        x, y = (np.asarray(v).view(f"u{np.asarray(v).dtype.itemsize}") for v in (x, y))
    kind = kind[-2:]
    return {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
        "gt": np.greater, "ge": np.greater_equal,
    }[kind](x, y)  # fmt: skip


@_op("arith.select")
def _select(op, env):
    (mask, x, y), types = _operands(op, env)
    assert np.shape(x) == np.shape(y) == _type(types.split(", ")[-1])[0], op
    assert np.asarray(mask).dtype == np.bool_, op
    assert np.shape(mask) in ((), np.shape(x)), op
    assert (np.shape(mask) == ()) == (not types.startswith("tensor")), op
    return np.where(mask, x, y).astype(np.asarray(x).dtype)


@_op("arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui",
     "arith.extsi", "arith.extui", "arith.trunci")  # fmt: skip
def _convert(op, env):
    (x,), _ = _operands(op, env)
    x = np.asarray(x)
    if op.name in ("arith.uitofp", "arith.extui") and x.dtype != np.bool_:
        x = x.view(f"u{x.dtype.itemsize}")
    dtype = np.dtype(DTYPES[_result_type(op)[1]])
    if op.name == "arith.fptoui":
        return x.astype(f"u{dtype.itemsize}").view(dtype)
    if op.name == "arith.trunci" and dtype == np.bool_:
        return (x & 1).astype(np.bool_)
    return x.astype(dtype)


@_op("tt.bitcast")
def _bitcast(op, env):
    (x,), _ = _operands(op, env)
    return np.asarray(x).view(DTYPES[_result_type(op)[1]])


# ------------------------------------------------------------------------ shapes


@_op("tt.make_range")
def _range(op, env):
    start, end = (int(n) for n in re.findall(r"(?:start|end) = (\d+)", op.rest))
    return np.arange(start, end, dtype=np.int32)


@_op("tt.get_program_id")
def _program_id(op, env):
    assert op.rest == "x : i32"
    return env["program"]


def _shaped(op, env, fun):
    (x,), types = _operands(op, env)
    shape, _ = _result_type(op)
    if isinstance(x, Pointer):
        return x._replace(offsets=fun(x.offsets, shape))
    assert np.shape(x) == _type(types.split(" -> ")[0])[0], op
    out = fun(x, shape)
    assert out.shape == shape, op
    assert all(n & (n - 1) == 0 for n in shape), op
    return out


_OPS["tt.splat"] = lambda op, env: _shaped(op, env, lambda x, shape: np.full(shape, x))
_OPS["tt.reshape"] = lambda op, env: _shaped(op, env, lambda x, shape: x.reshape(shape))
_OPS["tt.broadcast"] = lambda op, env: _shaped(op, env, np.broadcast_to)


@_op("tt.unsplat")
def _unsplat(op, env):
    (x,), _ = _operands(op, env)
    assert x.size == 1
    return x.reshape(())


@_op("tt.expand_dims")
def _expand_dims(op, env):
    axis = int(re.findall(r"axis = (\d+)", op.rest)[0])
    return _shaped(op, env, lambda x, _: np.expand_dims(x, axis))


@_op("tt.trans")
def _trans(op, env):
    order = [int(n) for n in re.findall(r"array<i32: ([\d, ]+)>", op.rest)[0].split(",")]
    return _shaped(op, env, lambda x, _: x.transpose(order))


@_op("tt.join")
def _join(op, env):
    xs, _ = _operands(op, env)
    return np.stack(xs, -1)


@_op("tt.split")
def _split(op, env):
    (x,), _ = _operands(op, env)
    assert x.shape[-1] == 2
    return [x[..., 0], x[..., 1]]


@_op("tt.gather")
def _gather(op, env):
    (x, index), _ = _operands(op, env)
    axis = int(re.findall(r"axis = (\d+)", op.rest)[0])
    assert index.min() >= 0, "a gather leaves its tensor"
    assert index.max() < x.shape[axis], "a gather leaves its tensor"
    return np.take_along_axis(x, index, axis)


# ------------------------------------------------------------------------ memory


@_op("tt.addptr")
def _addptr(op, env):
    (p, x), _ = _operands(op, env)
    assert np.shape(p.offsets) == np.shape(x), op
    return p._replace(offsets=p.offsets + np.asarray(x).astype(np.int64))


def _inside(p, mask):
    mask = np.broadcast_to(True if mask is None else mask, np.shape(p.offsets))
    wrong = mask & ((p.offsets < 0) | (p.offsets >= p.array.size))
    assert not wrong.any(), f"an access leaves an array of {p.array.size}: {p.offsets[wrong]}"
    return mask


@_op("tt.load")
def _load(op, env):
    (p, *more), _ = _operands(op, env)
    mask = _inside(p, more[0] if more else None)
    found = p.array[np.where(mask, p.offsets, 0)]
    return np.where(mask, found, more[1]).astype(found.dtype) if more else found


@_op("tt.store")
def _store(op, env):
    (p, x, *more), _ = _operands(op, env)
    assert np.shape(x) == np.shape(p.offsets), op
    assert np.asarray(x).dtype == p.array.dtype, op
    mask = _inside(p, more[0] if more else None)
    p.array[np.asarray(p.offsets)[mask]] = np.asarray(x)[mask]


_OPS["gpu.barrier"] = lambda op, env: None


# ------------------------------------------------------------------------ regions


@_op("tt.reduce", "tt.scan")
def _reduce(op, env):
    x = env[re.findall(r"\((%[\w#]+)\)", op.rest)[0]]
    axis = int(re.findall(r"axis = (\d+)", op.rest)[0])
    parts = np.moveaxis(x, axis, 0)
    if "reverse = true" in op.rest:
        parts = parts[::-1]
    done = [parts[0]]
    for part in parts[1:]:
        done.append(_combined(op.regions[0], env, done[-1], part))
    if op.name == "tt.reduce":
        return done[-1]
    out = np.stack(done[::-1] if "reverse = true" in op.rest else done)
    return np.moveaxis(out, 0, axis)


def _combined(region, env, x, y):
    """Apply a region of scalars to arrays, element by element."""
    region = [op._replace(rest=_of_shape(op, np.shape(x))) for op in region]
    return _run_region(region, env, (x, y))[0]


def _of_shape(op, shape):
    """Return the text of an operation on scalars, for arrays."""
    if op.name in ("^bb0", "tt.reduce.return", "tt.scan.return") or not shape:
        return op.rest
    head, _, element = op.rest.rpartition(" : ")
    return f"{head} : tensor<{'x'.join(map(str, shape))}x{element}>"


@_op("tt.dot")
def _dot(op, env):
    (x, y, z), _ = _operands(op, env)
    assert min(*x.shape[-2:], *y.shape[-2:]) >= 16, op
    assert x.ndim == y.ndim == z.ndim, op
    wide = np.int32 if x.dtype == np.int8 else np.float32
    return (x.astype(wide) @ y.astype(wide) + z).astype(z.dtype)


@_op("scf.if")
def _if(op, env):
    condition = env[_match(r"(%[\w#]+)", op.rest)[1]]
    if condition:
        return _run_region(op.regions[0], env)
    return _run_region(op.regions[1], env) if len(op.regions) > 1 else []


@_op("scf.for")
def _for(op, env):
    index, *bounds = _match(r"(%\w+) = (\S+) to (\S+) step (\S+)", op.rest).groups()
    lower, upper, step = (int(env[name]) for name in bounds)
    found = re.findall(r"iter_args\((.*?)\)", op.rest)
    pairs = [pair.split(" = ") for pair in found[0].split(", ")] if found else []
    values = [env[init] for _, init in pairs]
    for i in range(lower, upper, step):
        inner = env | {index: np.int32(i)} | dict(zip([n for n, _ in pairs], values, strict=True))
        values = _run_region(op.regions[0], inner)
    return values


@_op("scf.while")
def _while(op, env):
    found = _match(r"\((.*?)\) :", op.rest)[1]
    pairs = [pair.split(" = ") for pair in found.split(", ")] if found else []
    values = [env[init] for _, init in pairs]
    while True:
        inner = env | dict(zip([n for n, _ in pairs], values, strict=True))
        goes_on, *values = _run_region(op.regions[0], inner)
        if not goes_on:
            return values
        values = _run_region(op.regions[1], env, values)
