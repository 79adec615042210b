"""Random small programs: each is a Python function of arrays, the same one for the same seed.

A program is a list of steps. A step is a function from the values so far to one more value; it was
chosen by looking at example values, so shapes and dtypes always fit, whatever trace runs it. Steps
with bodies (branches, loops, custom rules, checkpoints, jit) hold programs of their own, which get
some values as arguments and close over others.
"""

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.compose.steps import FLAT_KINDS, Builder, Program, Unfit, kind_of, random_array

SIZES = (0, 1, 1, 2, 2, 3, 3, 3)
MAX_ELEMENTS = 64  # of one value: everything stays fast
MAX_DEPTH = 2  # of bodies inside of bodies


def make_program(seed, *, exact=True, num_steps=None):
    """Return the program of a seed.

    Args:
      seed: an int.
      exact: whether all floats are float64 (to be used under `enable_x64`), so that numerical
        derivatives make sense.
      num_steps: how many steps; by default 3 to 9.
    """
    rng = np.random.default_rng(seed)
    floats = (np.float64,) if exact else (np.float32, np.float32, jnp.bfloat16)
    ints = (np.int32, np.int32, np.uint8, np.bool_)
    inputs = [_random_input(rng, floats, ints) for _ in range(rng.integers(1, 5))]
    if not any(hasattr(x, "aval") and kind_of(x.dtype) == "float" for x in inputs):
        inputs[0] = random_array(rng, (2,), floats[0])
    return build(rng, inputs, floats, ints, num_steps or int(rng.integers(3, 10)), MAX_DEPTH)


def _random_input(rng, floats, ints):
    if rng.random() < 0.1:
        return float(rng.normal()) if rng.random() < 0.6 else int(rng.integers(5))
    shape = tuple(int(rng.choice(SIZES)) for _ in range(rng.integers(0, 4)))
    choices = floats if rng.random() < 0.75 else ints
    return random_array(rng, shape, choices[rng.integers(len(choices))])


def build(rng, inputs, floats, ints, num_steps, depth):
    """Return a program of steps that fit the example inputs."""
    program = Program(list(inputs))
    b = Builder(rng, program, list(inputs), floats, ints, depth)
    while len(program.steps) < num_steps:
        kinds = KINDS if depth > 0 else FLAT_KINDS
        try:
            what, step = b.choose(kinds)(b)
        except Unfit:
            continue
        value = step(b.values)
        if getattr(value, "size", 1) > MAX_ELEMENTS:
            continue
        program.steps.append((what, step))
        b.values.append(value)
    count = int(rng.integers(1, 4))
    indices = range(len(b.values) - 1, len(inputs) - 1, -1)
    program.outputs = sorted(indices[:1]) + [b.choose(indices) for _ in range(count - 1)]
    if rng.random() < 0.1:
        program.outputs.append(0)  # an input as an output
    return program


# ------------------------------------------------------------------ steps with bodies


def body_of(b, *examples, kind="any"):
    """Return a program over values like `examples` and one more, which it closes over.

    Returns it as text, and as a function from the list of all values to the function of the
    arguments.
    """
    closed = b.array(kind)
    inputs = [*examples, b.values[closed]]
    inner = build(b.rng, inputs, b.floats, b.ints, b.below(3) + 1, b.depth - 1)
    b.program.reverse &= inner.reverse
    b.program.forward &= inner.forward
    text = "; ".join(str(inner).split("\n")[1:])
    return text, lambda v: lambda *xs: inner(*xs, v[closed])


def like(x, target):
    """Return `x` as an array of the shape and dtype of `target`, depending smoothly on both."""
    if kind_of(target.dtype) != "float":
        return (abs(jnp.sum(x)) % 3).astype(target.dtype) + target * False
    x = jnp.tanh(jnp.sum(x)).astype(target.dtype)
    return (x + 0.5 * jnp.sin(target)).astype(target.dtype)


def _call(b):
    """Call a body through jit, checkpoint, or custom rules that are what they would be anyway."""
    i, j = b.array("float"), b.pick()
    name = b.choose(list(WRAPPERS))
    # What a custom rule closes over becomes arguments, if it is differentiated.
    kind = "float" if name.startswith("custom") else "any"
    text, body = body_of(b, b.values[i], b.values[j], kind=kind)
    _check_mode(b, name)

    def step(v):
        return WRAPPERS[name](lambda x, y: body(v)(x, y)[0])(v[i], v[j])

    return f"{name}(v{i}, v{j}) {{{text}}}", step


# Custom rules must not close over what is differentiated: it becomes arguments.


def with_jvp(fun):
    """Return `fun` with the rule that is its own derivative."""

    def wrapped(x, y):
        converted, consts = ev.closure_convert(fun, x, y)
        custom = ev.custom_jvp(converted)
        custom.defjvp(lambda primals, tangents: ev.jvp(converted, primals, tangents))
        return custom(x, y, *consts)

    return wrapped


def with_vjp(fun):
    """Return `fun` with forward and backward functions that are its own derivative."""

    def wrapped(x, y):
        converted, consts = ev.closure_convert(fun, x, y)
        custom = ev.custom_vjp(converted)
        custom.defvjp(
            lambda *xs: (converted(*xs), xs), lambda xs, ct: ev.vjp(converted, *xs)[1](ct)
        )
        return custom(x, y, *consts)

    return wrapped


WRAPPERS = {
    "jit": ev.jit,
    "jit_of_jit": lambda f: ev.jit(ev.jit(f)),
    "checkpoint": ev.checkpoint,
    "checkpoint_keep": lambda f: ev.checkpoint(
        f, policy=ev.checkpoint_policies.everything_saveable
    ),
    "custom_jvp": with_jvp,
    "custom_vjp": with_vjp,
    "vmap": lambda f: lambda x, y: ev.vmap(f, in_axes=(0, None))(jnp.stack([x, 0.5 * x]), y),
    "vmap_out": lambda f: (
        lambda x, y: ev.vmap(f, in_axes=(-1, None), out_axes=-1)(
            jnp.stack([x, jnp.cos(x), x], -1), y
        )
    ),
    "grad": lambda f: lambda x, y: ev.grad(lambda z: jnp.sum(jnp.sin(f(z, y) * 1.0)))(x),
    "jvp": lambda f: lambda x, y: ev.jvp(lambda z: f(z, y) * 1.0, (x,), (jnp.cos(x),))[1],
    "linearize": lambda f: lambda x, y: ev.linearize(lambda z: f(z, y) * 1.0, x)[1](jnp.cos(x)),
}


def _check_mode(b, name):
    """Note or refuse what limits the modes in which a program can be differentiated."""
    if name in ("grad", "linearize", "custom_vjp") and not b.program.reverse:
        raise Unfit
    if name in ("jvp", "linearize", "custom_jvp") and not b.program.forward:
        raise Unfit
    if name == "custom_vjp":
        b.program.forward = False


def _cond(b):
    i, j, k = b.array(), b.array("float"), b.array("float")
    text, on_true = body_of(b, b.values[j], b.values[k])
    other, on_false = body_of(b, b.values[j], b.values[k])
    target = k
    count = b.choose([2, 2, 3])

    def step(v):
        branches = [
            lambda x, y: like(on_true(v)(x, y)[0], v[target]),
            lambda x, y: like(on_false(v)(x, y)[0], y),
            lambda x, y: y,
        ]
        which = v[i].sum() if v[i].ndim else v[i]
        if count == 2:
            return lax.cond(which > 0, *branches[:2], v[j], v[k])
        return lax.switch(which.astype("int32"), branches, v[j], v[k])

    return f"cond v{i} (v{j}, v{k}) {{{text}}} {{{other}}}", step


def _scan(b):
    i, j, k = b.array("float"), b.array(), b.array("any", 1)
    if not b.values[k].shape[0] and b.rng.random() < 0.7:
        raise Unfit
    x = b.values[k]
    text, body = body_of(b, b.values[i], b.values[j], jnp.zeros(x.shape[1:], x.dtype))
    reverse = bool(b.rng.random() < 0.4)
    unroll = b.choose([1, 1, 2])
    use_ys = bool(b.rng.random() < 0.5)

    def step(v):
        def turn(carry, row):
            c, d, count = carry
            out = body(v)(c, d, row)[0]
            return (like(out, c), like(out, d), count + 1), (out, c)

        init = (v[i] * 1.0, v[j], 0)
        init = (init[0].astype(v[i].dtype), init[1], init[2])
        last, ys = lax.scan(turn, init, v[k], reverse=reverse, unroll=unroll)
        return ys[0] if use_ys else last[0] * last[2]

    return f"scan (v{i}, v{j}) over v{k} reverse={reverse} unroll={unroll} {{{text}}}", step


def _fori(b):
    i = b.array("float")
    text, body = body_of(b, b.values[i])
    turns = b.below(4)

    def step(v):
        return lax.fori_loop(0, turns, lambda t, c: like(body(v)(c)[0], c) * (t + 1) % 7.0, v[i])

    return f"fori {turns} v{i} {{{text}}}", step


def _while(b):
    i, j = b.array("float"), b.array("int")
    text, body = body_of(b, b.values[i])
    b.program.reverse = False

    def step(v):
        limit = (v[j].sum() % 3).astype("int32")
        carry = (jnp.zeros((), "int32"), v[i])
        return lax.while_loop(
            lambda c: c[0] < limit, lambda c: (c[0] + 1, like(body(v)(c[1])[0], c[1])), carry
        )[1]

    return f"while v{i} v{j} {{{text}}}", step


def _map(b):
    i = b.array("any", 1)
    x = b.values[i]
    if not x.shape[0]:
        raise Unfit
    text, body = body_of(b, x[0])
    return f"map v{i} {{{text}}}", lambda v: lax.map(lambda row: body(v)(row)[0], v[i])


KINDS = [*FLAT_KINDS, _call, _call, _call, _call, _cond, _cond, _scan, _scan, _fori, _while, _map]
