"""Which engine runs a program: what is asked for, what is chosen, and what is refused."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import extend, lax, nn

pytestmark = [
    pytest.mark.usefixtures("needs_native", "rules"),
]

X = np.linspace(-1, 2, 6, dtype=np.float32)
TALL = np.ones((3000, 1500), np.float32)

OTHER = frozenset({ev.core.Effect("Other")})
OTHER_P = extend.Primitive("other", abstract=lambda x: x, effects=lambda **_: OTHER)
extend.register_lowering(OTHER_P, extend.lower_fun(lambda x: x, multiple_results=False))


def engine_of(f, *args):
    """Return what `explain` says of the engine after a call."""
    f(*args)
    (variant,) = f.explain().variants
    return variant.engine


def double(x):
    return x * 2 + 1


def test_small_programs_are_native():
    assert re.fullmatch(
        r"native, for a call is estimated at [\d.]+ us of work, [\d.]+ us with XLA, "
        r"which would compile for \d+ ms",
        engine_of(ev.jit(double), X),
    )


CHOICES = {
    "asked for": (lambda x: x + 1, {"engine": "xla"}, X, "that is asked for"),
    "no kernel": (lambda x: lax.igamma(x, x), {}, X, "igamma has no native kernel"),
    "no kernel in a loop": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: lax.igamma(c, c), x), {}, X,
        "igamma has no native kernel",
    ),
    "much work": (
        lambda x: nn.softmax(x, 0), {}, TALL,
        r"a call is estimated at [\d.]+ ms of work, [\d.]+ ms with XLA, which compiles for \d+ ms",
    ),
    "another effect": (
        lambda x: (OTHER_P.bind(x), x + 1)[1], {}, X,
        "it has effects other than those of callbacks",
    ),
    "options of XLA": (
        lambda x: x + 1, {"compiler_options": {"xla_embed_ir_in_executable": True}}, X,
        "it was given options of XLA",
    ),
}  # fmt: skip


LOOPS = {
    "until something holds": (lambda x, n: lax.while_loop(lambda v: v < n, lambda v: v * 2, x), 1),
    "of arrays": (lambda x, n: lax.fori_loop(0, n, lambda i, v: v + i, x), np.ones(17, int)),
    "of known length": (lambda x, n: lax.fori_loop(0, 9, lambda i, v: v + i + n, x), 1),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_are_taken_to_be_short(name):
    fun, x = LOOPS[name]
    assert engine_of(ev.jit(fun), x, 5).startswith("native")


@pytest.mark.parametrize("name", CHOICES)
def test_programs_for_xla(name):
    fun, options, x, why = CHOICES[name]
    found = engine_of(ev.jit(fun, **options), x)
    assert re.fullmatch(f"xla on .*, for {why}", found), found


def test_the_option():
    with ev.engine("xla"):
        assert "asked for" in engine_of(ev.jit(lambda x: x + 2), X)
        assert "native" in engine_of(ev.jit(lambda x: x + 2, engine="auto"), X)


def test_another_value_of_the_option_is_another_trace():
    f = ev.jit(lambda x: x * 2 + 1)
    f(X)
    with ev.engine("xla"):
        f(X)
    assert [v.engine.split()[0] for v in f.explain().variants] == ["native,", "xla"]


def test_wrong_names():
    with pytest.raises(ValueError, match="jit: there is no engine 'fast'"):
        ev.jit(double, engine="fast")
    with pytest.raises(ValueError, match="engine"):
        ev.config.update("engine", "fast")


def test_the_native_engine_names_what_it_lacks():
    f = ev.jit(lambda x: lax.igamma(x, x), engine="native")
    with pytest.raises(ValueError, match="this program: igamma has no native kernel") as e:
        f(X)
    assert "test_engine.py" in str(e.value)


def test_the_native_engine_takes_long_programs_if_it_must():
    f = ev.jit(lambda x: x.T @ x, engine="native")
    assert engine_of(f, np.ones((600, 400), np.float32)).startswith("native")


def test_kernels_may_be_turned_off():
    before = ev.config.native_kernels
    ev.config.update("native_kernels", False)
    try:
        assert "native_kernels is off" in engine_of(ev.jit(lambda x: x + 3), X)
    finally:
        ev.config.update("native_kernels", before)


def test_arrays_elsewhere_go_to_xla():
    device = ev.devices("cpu")[-1]
    if device is ev.devices()[0]:
        pytest.skip("there is one device")
    f = ev.jit(double)
    np.testing.assert_array_equal(f(ev.device_put(X, device)), X * 2 + 1)
    with pytest.raises(ValueError, match="runs on the first CPU device"):
        ev.jit(double, engine="native")(ev.device_put(X, device))


def test_results_of_one_engine_go_to_the_other():
    native_f, xla_f = ev.jit(double, engine="native"), ev.jit(double, engine="xla")
    want = X
    x = X
    for f in (native_f, xla_f, native_f, native_f, xla_f):
        x, want = f(x), want * 2 + 1
        np.testing.assert_array_equal(x, want)


def test_arguments_of_all_kinds():
    f = ev.jit(lambda x, n, b: x * n + b, engine="native")
    for args in ((X, 2, True), (jnp.asarray(X), 2.5, False), (X[::-1], np.float32(2), np.bool_(1))):
        np.testing.assert_array_equal(f(*args), np.asarray(args[0]) * args[1] + args[2])


def test_donated_arguments_are_deleted():
    x = jnp.asarray(X) + 0
    f = ev.jit(lambda x: x + 1, donate_argnums=0, engine="native")
    np.testing.assert_array_equal(f(x), X + 1)
    assert x.is_deleted()


def test_nans_are_found():
    f = ev.jit(lambda x: jnp.log(x))
    f(X)
    with ev.debug_nans(), pytest.raises(FloatingPointError):
        f(X)


def test_eager_loops_and_derivatives_of_jitted_functions():
    f = ev.jit(lambda x: jnp.sum(lax.fori_loop(0, 50, lambda i, c: c * 1.01, x)))
    np.testing.assert_allclose(ev.grad(f)(X), np.full(6, 1.01**50), rtol=1e-5)
    out = lax.fori_loop(0, 10_000, lambda i, c: c + 1, jnp.zeros(3))
    np.testing.assert_array_equal(out, [10_000] * 3)


def test_ahead_of_time_programs_take_the_engine_of_a_call():
    f = ev.jit(lambda x: jnp.sin(x) * jnp.exp(x))
    lowered = f.lower(X)
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(X), f(X))  # to the bit
    assert not compiled._program.executables
    assert "HloModule" in compiled.as_text()
    assert len(compiled._program.executables) == 1
    by_xla = lowered.compile({"xla_cpu_enable_fast_math": False})
    assert len(by_xla._program.executables) == 1
    np.testing.assert_allclose(by_xla(X), f(X), rtol=1e-6)


def test_a_program_that_is_compiled_for_another_device_is_xlas():
    device = ev.devices("cpu")[-1]
    with ev.default_device(device):
        compiled = ev.jit(double).lower(X).compile()
        assert len(compiled._program.executables) == (device is not ev.devices()[0])
        np.testing.assert_array_equal(compiled(X), X * 2 + 1)
    place = compiled.input_shardings[0][0]
    assert place.device_set == {device}
