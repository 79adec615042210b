"""Kernels compute what eager operations do, in the same bits on every processor and thread."""

import ctypes
import gc
import itertools
import os
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import extend, lax
from evertrace._src.engines.fused import groups, machine
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.engines.fused.programs import (
    ON_MATRICES,
    SIZES,
    accelerations,
    assert_close,
    drawn,
    escapes,
    layer_norm,
    nearest,
    reversed_differences,
)
from tests.support.runtime import array, jaxpr_of, to_numpy

PROCESSORS = {
    "sse2": ("x86-64", ""),
    "avx2": ("haswell", "+avx2,+fma"),
    "avx512": ("skylake-avx512", "+avx512f,+avx512vl,+avx512bw,+avx512dq,+fma"),
}


def run(fused, arrays, processor=None, pieces=1):
    """Run the code of a kernel that reads arrays in their own order; returns its results."""
    code = machine.compiled(fused.text, processor)
    ins = [x if order is None else x.transpose(order) for (_, order), x in arrays]
    outs = [np.empty(v.aval.shape, v.aval.dtype) for v in fused.outvars]
    ins = [np.ascontiguousarray(x) for x in ins]
    pointers = (ctypes.c_void_p * (len(ins) + len(outs)))(*[x.ctypes.data for x in [*ins, *outs]])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.address)
    ends = [fused.units * i // pieces for i in range(pieces + 1)]
    for begin, end in itertools.pairwise(ends):
        if begin < end:
            function(ctypes.addressof(pointers), begin, end)
    return outs


def kernel_of(fun, *args):
    """Return the one kernel that a function becomes, and (slot, array) pairs of what it reads."""
    jaxpr = ev.make_jaxpr(fun)(*args).jaxpr
    (fused,) = groups.divided(jaxpr, groups.of_several(2)).parts
    known = dict(zip(jaxpr.invars, map(np.asarray, args), strict=True))
    return fused, [(slot, known[slot[0]]) for slot in fused.inputs]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", ON_MATRICES)
def test_kernels_are_eager(name, size, dtype):
    with ev.enable_x64():
        x = jnp.asarray(drawn(size, dtype))
        fun = ON_MATRICES[name]
        got, want = ev.jit(fun, engine="fused")(x), fun(x)
        for a, b in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
            assert_close(a, b)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0, 1e38, 1e-42])
@pytest.mark.parametrize("name", ON_MATRICES)
def test_special_numbers_go_through(name, special):
    x = drawn((9, 37))
    x[4, 20] = x[0, 0] = special
    fun = ON_MATRICES[name]
    got, want = ev.jit(fun, engine="fused")(x), fun(jnp.asarray(x))
    for a, b in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        assert_close(a, b)


ONE_KERNEL = {
    "accelerations": (accelerations, (drawn((150, 3)), drawn(150))),
    "layer_norm": (layer_norm, (drawn((30, 77)), drawn(77), drawn(77))),
    "softmax": (ON_MATRICES["softmax"], (drawn((50, 32)),)),
    "long softmax": (ON_MATRICES["softmax"], (drawn((5, 3001)),)),
    "nearest": (nearest, (drawn((100, 8)), drawn((64, 8)))),
    "column_norms": (ON_MATRICES["column_norms"], (drawn((300, 45)),)),
    "total": (ON_MATRICES["total"], (drawn((300, 45)),)),
    "reversed_differences": (reversed_differences, (drawn((30, 45)),)),
    "wide rows": (layer_norm, (drawn((5, 1303)), drawn(1303), drawn(1303))),
    "wide columns": (ON_MATRICES["column_norms"], (drawn((100, 301)),)),
    "wide sum": (lambda x: jnp.sqrt(jnp.sum(x * x)), (drawn((40, 999)),)),
    "wide loop": (escapes, (drawn((3, 201)),)),
    "looked up": (lambda x, i: jnp.tanh(x[i % 30]), (drawn((30, 45)), np.arange(99))),
    "halves": (
        lambda x: (x.astype(np.float16) * 3 + jnp.exp(x).astype(jnp.bfloat16) * 3).T,
        (drawn((30, 45)),),
    ),
    "cumulative": (lambda x: jnp.cumsum(jnp.exp(x), 0), (drawn((90, 45)),)),
    "running logsumexp": (lambda x: lax.cumlogsumexp(x * 2, 1), (drawn((20, 45)),)),
    "windows": (
        lambda x: lax.reduce_window(x * x, 0.0, lax.add, (3, 5), (1, 2), "VALID"),
        (drawn((30, 81)),),
    ),
    "other functions": (
        lambda x: lax.erf_inv(x / 9) + jnp.cosh(x) * jnp.cbrt(x) - jnp.arcsinh(x) / lax.erfc(x),
        (drawn((30, 45)),),
    ),
    "put in its place": (
        lambda x, i: jnp.zeros(30).at[i % 30].add(x * 3),
        (drawn(99), np.arange(99)),
    ),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_program_is_one_kernel(name):
    fun, args = ONE_KERNEL[name]
    made = compile_jaxpr(ev.make_jaxpr(fun)(*args).jaxpr, is_wanted=True, fuses=2)
    assert made.tape.counts()["functions"] == 1
    assert made.tape.counts()["loops"] == 0


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_bits_do_not_depend_on_the_processor(name):
    fun, args = ONE_KERNEL[name]
    fused, arrays = kernel_of(fun, *args)
    (want,) = run(fused, arrays, PROCESSORS["sse2"])
    np.testing.assert_array_equal(run(fused, arrays, PROCESSORS["avx2"])[0], want)
    own = machine.features()
    if "+avx512f" in own and "+avx512vl" in own:
        np.testing.assert_array_equal(run(fused, arrays, PROCESSORS["avx512"])[0], want)
    np.testing.assert_array_equal(run(fused, arrays)[0], want)


def test_bits_of_doubles_do_not_depend_on_the_processor():
    def fun(x, y):
        return jnp.sin(x) * jnp.tan(y) + jnp.abs(x) ** (y / 9) + lax.erf(y) * jnp.sinh(y)

    with ev.enable_x64():
        y = np.random.default_rng(0).normal(size=300)
        fused, arrays = kernel_of(fun, y * 10.0 ** np.arange(-50, 250), y)
        (want,) = run(fused, arrays, PROCESSORS["sse2"])
        assert np.isfinite(want).all()
        np.testing.assert_array_equal(run(fused, arrays, PROCESSORS["avx2"])[0], want)
        np.testing.assert_array_equal(run(fused, arrays)[0], want)


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_bits_do_not_depend_on_the_pieces(name):
    fun, args = ONE_KERNEL[name]
    fused, arrays = kernel_of(fun, *args)
    (want,) = run(fused, arrays)
    for pieces in (2, 3, 8):
        np.testing.assert_array_equal(run(fused, arrays, None, pieces)[0], want)


LANES = {
    "softmax": 16, "total": 16, "layer_norm": 32, "accelerations": 32,
    "wide rows": 64, "wide columns": 64, "wide sum": 64, "wide loop": 64,
}  # fmt: skip
"""Elements of a vector: the fewer instructions a loop has, and the longer it is, the more."""


@pytest.mark.parametrize("name", LANES)
def test_vectors_of_short_loops_are_wide(name):
    fun, args = ONE_KERNEL[name]
    assert kernel_of(fun, *args)[0].group.lanes == LANES[name]


KEPT = {"long softmax": 1, "softmax": 0, "accelerations": 0, "layer_norm": 0}
"""How many values several loops need that are dear: exponentials; differences are not."""


@pytest.mark.parametrize("name", KEPT)
def test_what_is_dear_is_computed_once(name):
    fun, args = ONE_KERNEL[name]
    fused, _ = kernel_of(fun, *args)
    assert fused.text.count(" alloca ") == KEPT[name]


def test_without_llvmlite_a_tape_runs_it(monkeypatch):
    monkeypatch.setattr(machine, "is_there", lambda: False)
    x = jnp.asarray(drawn((9, 37)))
    made = compile_jaxpr(ev.make_jaxpr(layer_norm)(x, x[0], x[1]).jaxpr, is_wanted=True, fuses=2)
    assert made.tape.counts()["functions"] == 0
    assert_close(made.tape.run([x, x[0], x[1]])[0], layer_norm(x, x[0], x[1]))


def test_code_is_freed_with_its_tape(monkeypatch):
    alive, compiled = [], machine.compiled

    def noted(*args):
        code = compiled(*args)
        alive.append(weakref.ref(code))
        return code

    monkeypatch.setattr(machine, "compiled", noted)
    x = jnp.asarray(drawn((9, 37)))
    jaxpr = ev.make_jaxpr(layer_norm)(x, x[0], x[1]).jaxpr
    made = compile_jaxpr(jaxpr, is_wanted=True, fuses=2)
    del jaxpr
    gc.collect()
    assert [ref() is not None for ref in alive] == [True]
    assert_close(made.tape.run([x, x[0], x[1]])[0], layer_norm(x, x[0], x[1]))
    del made
    gc.collect()
    assert [ref() for ref in alive] == [None]


def test_a_forked_child_runs_and_makes_kernels():
    x = jnp.asarray(drawn((9, 37)))
    f = ev.jit(ON_MATRICES["softmax"], engine="fused")
    want = np.asarray(f(x))
    child = os.fork()
    if not child:
        again = np.asarray(f(x))
        other = np.asarray(ev.jit(ON_MATRICES["log_sum_exp"], engine="fused")(x))
        os._exit(0 if np.array_equal(again, want) and np.isfinite(other).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_loop_runs_a_kernel_in_each_turn():
    def steps(x):
        return ev.lax.fori_loop(0, 5, lambda _, y: layer_norm(y, x[0], x[1]), x)

    x = jnp.asarray(drawn((9, 37)))
    assert_close(ev.jit(steps, engine="fused")(x), steps(x))


@pytest.mark.parametrize("width", [18, 20, 36, 47, 70, 90])
def test_sums_of_vectors_of_several_lengths_are_in_one_loop(width):
    x = array(np.random.default_rng(0).integers(0, 9, size=(5, 40, width)).astype(np.float32))
    jaxpr, _ = jaxpr_of(lambda x: (abs(x) - 1).sum(1) * 2, x)
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    assert tape.counts()["functions"] == 1
    assert (to_numpy(tape.run([x])[0]) == (abs(to_numpy(x)) - 1).sum(1) * 2).all()


def test_no_two_kernels_read_from_each_other():
    def fun(alive, wanted):
        numbers = alive.astype(np.float32)
        return numbers, numbers.argmin(0), ~wanted, alive & ~wanted

    args = [array(drawn((17, 16)) > 0), array(drawn((16,)) > 0)]
    jaxpr, _ = jaxpr_of(fun, *args)
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    for got, want in zip(tape.run(args), fun(*args), strict=True):
        assert (to_numpy(got) == to_numpy(want)).all()


def test_dimensions_of_one_are_added_without_dividing_vectors():
    """The elements of a vector that lies at a fixed place were computed one by one."""

    def rows(x):
        return (jnp.exp(x) + x).reshape(1, 64)

    def alone(x):
        return jnp.exp(x) + x

    x = jnp.asarray(drawn(64))
    fused, arrays = kernel_of(rows, x)
    plain, others = kernel_of(alone, x)
    assert fused.work <= 1.1 * plain.work
    np.testing.assert_array_equal(run(fused, arrays)[0], run(plain, others)[0][None])


def test_primitives_that_functions_compile_are_within_kernels():
    wave = extend.Primitive("wave", abstract=lambda x: x)
    extend.register_lowering(wave, extend.lower_fun(lambda x: jnp.sin(x) + 1, False))
    table = extend.Primitive("table", abstract=lambda x: x)
    captured = jnp.arange(64, dtype=jnp.float32)
    extend.register_lowering(table, extend.lower_fun(lambda x: x + captured, False))

    def fun(x):
        return 2 * wave.bind(x * 3) - 1, table.bind(x) * 2

    x = array(drawn(64))
    jaxpr, _ = jaxpr_of(fun, x)
    made = compile_jaxpr(jaxpr, is_wanted=True, fuses=1)
    assert "left to the tape: table (it has no rule)" in made.why
    assert "wave" not in made.why
    for got, want in zip(made.tape.run([x]), fun(x), strict=True):
        assert_close(got, want)
