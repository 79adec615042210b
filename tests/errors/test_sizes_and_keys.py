"""Numbers that do not fit, arrays larger than memory, keys used as numbers: errors, no crashes."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn, random
from evertrace._src import extension
from evertrace._src.errors import out_of_memory
from evertrace.extend.core import primitives as prims

HUGE = 10**15

NUMBERS = {
    "scalar type": (lambda: jnp.int32(2**40), "Python integer 1099511627776 is out of bounds"),
    "array": (lambda: jnp.array(2**70), "too large to convert to int32"),
    "nested": (lambda: jnp.array([1, 2**70]), "too large to convert"),
    "operand": (lambda: jnp.arange(3) + 2**40, "Python int 1099511627776 too large to convert"),
    "full": (lambda: jnp.full(3, 2**40, "int32"), "too large to convert to int32"),
    "negative": (lambda: jnp.ones(3, "uint8") - 2**70, "too large to convert to int32"),
    "jitted operand": (lambda: ev.jit(lambda x: jnp.arange(3) + x)(2**70), "too large to convert"),
}

SIZES = {
    "ones": lambda: jnp.ones(HUGE) * 2,
    "arange": lambda: jnp.arange(HUGE),
    "random": lambda: random.normal(random.key(0), (HUGE,)),
    "broadcast": lambda: jnp.ones(10**8)[:, None] + jnp.ones(10**8),
    "jitted zeros": lambda: ev.jit(lambda: jnp.zeros((2**24, 2**24)))(),
    "jitted": lambda: ev.jit(lambda: jnp.ones(10**14) * 2)(),
    "argument": lambda: ev.jit(lambda x: x + 1)(jnp.ones(HUGE)),
    "outer product": lambda: jnp.outer(jnp.ones(2**24), jnp.ones(2**24)),
    "one_hot": lambda: nn.one_hot(jnp.arange(2**24), 2**24),
    "tile": lambda: jnp.tile(jnp.ones(1000), HUGE),
    "asarray": lambda: np.asarray(jnp.ones(HUGE) + 1),
    "jacobian": lambda: ev.jacfwd(jnp.sin)(jnp.ones(2**22)),
    "jacobian backwards": lambda: ev.jacrev(jnp.sin)(jnp.ones(2**22)),
    "hessian": lambda: ev.hessian(lambda x: (x**2).sum())(jnp.ones(2**22)),
}

KEY_USES = {
    "add": lambda k: k + 1,
    "radd": lambda k: 1 + k,
    "negative": lambda k: -k,
    "compare": lambda k: k < 1,
    "sin": jnp.sin,
    "sum": jnp.sum,
    "dot": lambda k: jnp.dot(k, k),
    "sort": lambda k: jnp.sort(random.split(k)),
    "index": lambda k: jnp.arange(3)[k],
    "float": float,
    "bool": bool,
    "NumPy": np.asarray,
    "astype": lambda k: k.astype("float32"),
    "lax": lambda k: lax.add(k, k),
    "grad": ev.grad(lambda k: 1.0),
    "concatenate": lambda k: jnp.concatenate([random.split(k), jnp.ones(2)]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_do_not_fit(name):
    call, text = NUMBERS[name]
    with pytest.raises(OverflowError, match=text):
        call()


@pytest.mark.parametrize("name", SIZES)
def test_arrays_larger_than_memory(name):
    said = (
        r"(?s)RESOURCE_EXHAUSTED: Out of memory.*; this machine has .*  at .*test_sizes_and_keys.py"
    )
    with pytest.raises(ev.errors.JaxRuntimeError, match=said):
        SIZES[name]()


@pytest.mark.parametrize(
    ("size", "text"),
    [(-1, "in a compiled program"), (100, "for an array of 100 bytes"),
     (3 << 40, "for an array of 3 TiB; this machine has 4 GiB"),
     (5 << 29, "for an array of 2.5 GiB")],
)  # fmt: skip
def test_the_size_of_what_has_no_room_is_named(size, text, monkeypatch):
    monkeypatch.setattr("evertrace._src.errors.machine_memory", lambda: 4 << 30)
    what, place, *_ = str(out_of_memory(size)).splitlines()
    assert what == f"RESOURCE_EXHAUSTED: Out of memory {text}."
    assert "test_sizes_and_keys.py" in place


TOO_LARGE = {
    "at once": lambda: jnp.ones((200_000, 1_000_000)),
    "jitted": lambda: ev.jit(lambda: jnp.ones((200_000, 1_000_000)))(),
    "jitted, of an argument": lambda: ev.jit(lambda x: x + jnp.ones((200_000, 1_000_000)))(1.0),
    "by XLA": lambda: ev.jit(lambda: jnp.ones((200_000, 1_000_000)), engine="xla")(),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_cannot_be_held_fails_with_what_was_asked_and_what_there_is(name, monkeypatch):
    monkeypatch.setattr("evertrace._src.errors.machine_memory", lambda: 4 << 30)
    said = "for an array of 745.1 GiB; this machine has 4 GiB.\n  at .*test_sizes_and_keys.py"
    with pytest.raises(ev.errors.JaxRuntimeError, match=said):
        TOO_LARGE[name]()


def test_what_is_large_only_on_the_way_is_computed(monkeypatch):
    monkeypatch.setattr("evertrace._src.errors.machine_memory", lambda: 1 << 20)
    total = ev.jit(lambda x: (x + jnp.ones((2**13, 2**12))).sum(), engine="xla")(1.0)
    assert float(total) == 2.0**26


@pytest.mark.skipif(not extension.is_built(), reason="tapes need the extension module")
def test_results_of_a_tape_larger_than_memory():
    # Each is as large as values of a tape may be; all of them no machine can address.
    fun = ev.jit(
        lambda x: [jnp.broadcast_to(x + i, (2**20, 2**20)) for i in range(40)], engine="native"
    )
    for _ in range(2):
        with pytest.raises(ev.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED: Out of memory"):
            fun(1.0)


@pytest.mark.parametrize("name", KEY_USES)
def test_keys_are_no_numbers(name):
    with pytest.raises(TypeError, match=r"key<fry>"):
        KEY_USES[name](random.key(0))


def test_device_get_leaves_keys_as_they_are():
    key = random.key(0)
    assert ev.device_get({"key": key, "x": jnp.ones(1)})["key"] is key


@pytest.mark.parametrize(
    "compile_",
    [
        lambda f, options: ev.jit(f, compiler_options=options)(jnp.ones(())),
        lambda f, options: ev.jit(f).lower(1.0).compile(options),
    ],
)
def test_unknown_compiler_option(compile_):
    with pytest.raises(ev.errors.JaxRuntimeError) as raised:
        compile_(lambda x: x + 1, {"xla_cpu_enable_fast_mth": True})
    message = str(raised.value)
    assert "No such compile option: 'xla_cpu_enable_fast_mth'" in message
    assert "Fix: did you mean 'xla_cpu_enable_fast_math'" in message
    with pytest.raises(ev.errors.JaxRuntimeError, match="see the flags of this version of XLA"):
        compile_(lambda x: x + 1, {"zzzz": True})


def test_raw_keys_under_legacy_prng_key():
    raw = random.PRNGKey(0)
    with ev.legacy_prng_key("error"), pytest.raises(ValueError, match=r"raw uint32 array, u32\[2"):
        random.normal(raw)
    with ev.legacy_prng_key("warn"), pytest.warns(ev.errors.EvertraceWarning, match="normal: the"):
        random.normal(raw)
    with ev.legacy_prng_key("error"):
        random.normal(random.key(0))


def nest(x, levels=20_000):
    for _ in range(levels):
        x = [x]
    return x


DEEP = {
    "an argument": lambda: ev.jit(lambda x: 1.0)(nest(jnp.ones(2))),
    "a captured list": lambda: (lambda deep: ev.jit(lambda: deep)())(nest(jnp.ones(2))),
    "a result": lambda: ev.jit(nest)(jnp.ones(2)),
    "what is left behind": lambda log=[]: ev.jit(lambda x: log.append(nest(x)))(jnp.ones(2)),
}


@pytest.mark.parametrize("name", DEEP)
def test_too_many_levels(name):
    with pytest.raises(RecursionError, match=r"(?s)jit\(.*\): .* is nested too deeply.*  at "):
        DEEP[name]()


@pytest.mark.parametrize("kind", [int, float])
def test_complex_numbers_are_no_real_ones(kind):
    with pytest.raises(TypeError) as caught:
        kind(jnp.zeros((), complex))
    what, place, *_ = str(caught.value).splitlines()
    assert what == f"{kind.__name__}: a complex array is no {kind.__name__}."
    assert "test_sizes_and_keys.py" in place
    assert kind(jnp.zeros((), complex).real) == 0


ROWS = np.broadcast_to(1.0, (2**20, 3))  # a million, of which a message shows the first

MANY = {
    "gather": lambda: prims.gather_p.bind(
        jnp.ones(3), jnp.zeros((1, 1), int),
        dimension_numbers=lax.GatherDimensionNumbers((), (0,), (0,)), slice_sizes=ROWS,
        unique_indices=False, indices_are_sorted=False, mode="clip", fill_value=None,
    ),
    "convolution": lambda: ev.example_libraries.stax.Conv(3, ROWS),
    "slice": lambda: prims.slice_p.bind(
        jnp.ones(3), start_indices=ROWS, limit_indices=(1,), strides=None
    ),
    "pad": lambda: prims.pad_p.bind(jnp.ones(3), 0.0, padding_config=ROWS),
    "permutation": lambda: prims.transpose_p.bind(jnp.ones((2, 3)), permutation=ROWS),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY)
def test_arrays_in_place_of_sizes_are_shown_in_part(name):
    with pytest.raises((TypeError, ValueError)) as caught:
        MANY[name]()
    assert len(str(caught.value)) < 5000
