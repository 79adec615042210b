"""Foreign calls, of jaxlib's LAPACK and of our own kernels under names of their own."""

import ctypes
import os

import numpy as np
import pytest

import evertrace as ev
from evertrace import ffi, lax
from evertrace import numpy as enp
from evertrace._src import kernels
from evertrace._src.control.ffi import attribute
from evertrace._src.engines.xla import solvers
from evertrace.errors import JaxRuntimeError
from evertrace.extend.core import Primitive
from evertrace.interpreters import mlir

pytestmark = pytest.mark.engine

solvers.prepare("lapack_")
RNG = np.random.default_rng(0)
S = ev.ShapeDtypeStruct
UPPER, LOWER = np.uint8(ord("U")), np.uint8(ord("L"))


def positive(*shape):
    """Draw positive definite matrices."""
    a = RNG.standard_normal(shape).astype(np.float32)
    return a @ np.swapaxes(a, -1, -2) + 3 * np.eye(shape[-1], dtype=np.float32)


def cholesky(a, **options):
    """Factorise by LAPACK, to which our rows are columns."""
    results = S(a.shape, a.dtype), S(a.shape[:-2], np.int32)
    call = ffi.ffi_call("lapack_spotrf_ffi", results, input_output_aliases={0: 0}, **options)
    return call(a, uplo=UPPER)


A = positive(3, 3)
BATCH = positive(4, 3, 3)


@pytest.mark.parametrize("run", [cholesky, ev.jit(cholesky)])
def test_a_handler_is_called(run):
    factor, info = run(enp.asarray(A))
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(A), rtol=1e-5)
    assert info == 0
    assert isinstance(run(enp.asarray(A)), tuple)


def test_what_an_alias_overwrites_is_copied_where_it_is_needed():
    a = enp.asarray(A)
    factor, kept = ev.jit(lambda a: (cholesky(a)[0], a))(a)
    np.testing.assert_array_equal(kept, A)
    np.testing.assert_array_equal(a, A)
    assert not np.array_equal(factor, A)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "broadcast_all"])
@pytest.mark.parametrize("in_axes", [0, 1])
def test_vmap(method, in_axes):
    mapped = ev.vmap(lambda a: cholesky(a, vmap_method=method)[0], in_axes=in_axes)
    found = mapped(np.moveaxis(BATCH, 0, in_axes))
    np.testing.assert_allclose(np.tril(found), np.linalg.cholesky(BATCH), rtol=1e-4)


@pytest.mark.parametrize(
    ("method", "shape"),
    [
        ("sequential", (3,)),
        ("expand_dims", (1, 3)),
        ("broadcast_all", (4, 3)),
        ("legacy_vectorized", (3,)),
    ],
)
def test_unbatched_operands_get_the_dimension_that_is_asked_for(method, shape):
    call = ffi.ffi_call("none", S((3,), np.float32), vmap_method=method)
    mapped = ev.vmap(lambda x, y: call(y, x), in_axes=(0, None))
    eqn = ev.make_jaxpr(mapped)(np.ones((4, 3), np.float32), np.ones(3, np.float32)).eqns[-1]
    if method == "sequential":
        assert eqn.primitive.name == "scan"
        eqn = eqn.params["jaxpr"].jaxpr.eqns[-1]
    assert eqn.invars[0].aval.shape == shape


def test_vmap_without_a_method():
    with pytest.raises(NotImplementedError, match="vmap_method is None"):
        ev.vmap(cholesky)(BATCH)
    with pytest.raises(ValueError, match="vmap_method is 'all'"):
        ffi.ffi_call("none", S((), np.float32), vmap_method="all")


def test_derivatives_are_unknown_and_can_be_given():
    with pytest.raises(ValueError, match="derivative of 'lapack_spotrf_ffi', a foreign function"):
        ev.grad(lambda a: cholesky(a)[0].sum())(A)

    @ev.custom_jvp
    def factor(a):
        return enp.tril(cholesky(a)[0])

    factor.defjvp(lambda primals, tangents: (factor(*primals), tangents[0]))
    np.testing.assert_array_equal(ev.grad(lambda a: factor(a).sum())(A), np.ones((3, 3)))


# ---------------------------------------------------------------- our own handlers


@pytest.fixture(scope="module")
def sort_target(needs_native):
    """Return the name of a handler registered by the public function."""
    ffi.register_ffi_target("test_sort", kernels.xla_handlers()["evertrace_sort_1"])
    return "test_sort"


def test_a_registered_handler_gets_attributes(sort_target):
    keys, values = np.array([2, 1, 2, 1], np.int32), np.array([4, 3, 2, 1], np.float32)
    types = [S((4,), np.int32), S((4,), np.float32)]
    for num_keys, order in ((1, [1, 3, 0, 2]), (2, [3, 1, 2, 0])):
        found = ffi.ffi_call(sort_target, types)(keys, values, num_keys=num_keys)
        assert isinstance(found, list)
        np.testing.assert_array_equal(found[1], values[order])


def test_one_result_stands_alone(sort_target):
    x = np.array([3.0, 1.0, 2.0], np.float32)
    call = ffi.ffi_call(sort_target, S((3,), np.float32), input_layouts=[(0,)], output_layouts=(0,))
    np.testing.assert_array_equal(ev.jit(lambda x: call(x, num_keys=1))(x), [1, 2, 3])
    x = np.array([[3.0, 1.0], [5.0, 4.0]], np.float32)
    call = ffi.ffi_call(sort_target, S((2,), np.float32), vmap_method="expand_dims")
    np.testing.assert_array_equal(ev.vmap(lambda x: call(x, num_keys=1))(x), np.sort(x))


def test_a_handler_of_another_type_of_attribute_is_not_called(sort_target):
    call = ffi.ffi_call(sort_target, S((3,), np.float32))
    with pytest.raises(JaxRuntimeError, match="the attribute num_keys is of another type"):
        call(np.ones(3, np.float32), num_keys=1.0)


@pytest.mark.parametrize("has_side_effect", [False, True])
def test_calls_that_nobody_reads(sort_target, has_side_effect):
    call = ffi.ffi_call(sort_target, S((3,), np.float32), has_side_effect=has_side_effect)

    def f(x):
        call(x, num_keys=1)
        return lax.fori_loop(0, 3, lambda i, y: (call(y, num_keys=1), 2 * y)[1], x)

    x = np.ones(3, np.float32)
    assert (sort_target in ev.jit(f).lower(x).compile().as_text()) is has_side_effect
    np.testing.assert_array_equal(ev.jit(f)(x), 8 * x)


def test_a_primitive_lowered_to_a_handler(sort_target):
    prim = Primitive("my_sort")
    prim.def_abstract_eval(lambda x, **_: x)
    mlir.register_lowering(prim, ffi.ffi_lowering(sort_target, backend_config={"num_keys": 1}))
    x = enp.asarray([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(prim.bind(x), [1, 2, 3])
    np.testing.assert_array_equal(ev.jit(prim.bind)(x), [1, 2, 3])


def test_a_capsule_is_made_of_a_pointer():
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: None)
    assert "xla._CUSTOM_CALL_TARGET" in repr(ffi.pycapsule(handler))
    assert os.path.isfile(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))


@pytest.mark.parametrize("how", ["type", "id"])
def test_types_get_an_id_of_xla(how):
    number = ctypes.c_int64(0)
    capsule = ffi.pycapsule(ctypes.pointer(number))
    name = f"test_state_{how}_{id(number)}"  # the process keeps it
    if how == "type":
        ffi.register_ffi_type(name, {"type_id": capsule})
    else:
        ffi.register_ffi_type_id(name, capsule)
    assert number.value > 0
    with pytest.raises(JaxRuntimeError, match="registering the type 'wrong'"):
        ffi.register_ffi_type("wrong", {})


def test_python_numbers_that_are_traced_are_attributes(sort_target):
    call = ffi.ffi_call(sort_target, S((3,), np.float32))
    jitted = ev.jit(lambda x, n: call(x, num_keys=n))
    if not ev.config.strict:
        np.testing.assert_array_equal(jitted(np.arange(3.0)[::-1].astype(np.float32), 1), [0, 1, 2])
    else:
        with pytest.raises(TypeError, match="attribute 'num_keys' is of type"):
            jitted(np.ones(3, np.float32), 1)


def test_a_target_that_may_be_divided_is_called_as_before(sort_target):
    ffi.register_ffi_target_as_batch_partitionable(sort_target)
    call = ffi.ffi_call(sort_target, S((2, 3), np.float32))
    x = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], np.float32)
    np.testing.assert_array_equal(ev.jit(lambda x: call(x, num_keys=1))(x), np.sort(x))


# ---------------------------------------------------------------- attributes and mistakes


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "x = 3 : i64"),
        (1.5, "x = 1.500000e+00 : f64"),
        (True, "x = true"),
        (np.bool_(False), "x = false"),
        (np.int8(3), "x = 3 : i8"),
        (np.float32(2), "x = 2.000000e+00 : f32"),
        ('a "b"', r'x = "a \22b\22"'),
        (b"ab", 'x = "ab"'),
        (np.arange(3), "x = dense<[0, 1, 2]> : tensor<3xi64>"),
        ((1, "a"), 'x = [1, "a"]'),
        ({"a": 1, "b": (2.0,)}, "x = {a = 1 : i64, b = [2.000000e+00]}"),
    ],
)
def test_attributes_are_written_by_their_type(value, text):
    call = ffi.ffi_call("none", S((), np.float32))
    assert text in ev.jit(lambda x: call(x, x=value)).lower(1.0).as_text()


def test_equal_numbers_of_other_types_are_other_attributes():
    made = [attribute("here", "x", x) for x in (1, 1.0, True, np.uint8(1), np.int64(1))]
    assert [made[0] == x for x in made] == [True, False, False, False, True]


@pytest.mark.parametrize("value", [None, 1j, object(), enp.ones(())])
def test_other_attributes_are_refused(value):
    with pytest.raises(TypeError, match="attribute 'x' is of type"):
        ffi.ffi_call("none", S((), np.float32))(1.0, x=value)


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (NotImplementedError, r"input_layouts\[0\] is \(1, 0\)", {"input_layouts": [(1, 0)]}),
        (NotImplementedError, r"output_layouts\[0\] is \(1, 0\)", {"output_layouts": (1, 0)}),
        (ValueError, "input_layouts has 2 entries for 1 arrays", {"input_layouts": [None, None]}),
        (ValueError, "there are 1 arguments and 1 results", {"input_output_aliases": {0: 3}}),
        (ValueError, "cannot share memory", {"input_output_aliases": {0: 0}}),
        (NotImplementedError, "only the typed interface", {"custom_call_api_version": 1}),
        (ValueError, "only the typed interface", {"legacy_backend_config": "x"}),
    ],
)
def test_options_that_do_not_fit(error, text, options):
    with pytest.raises(error, match=text):
        ffi.ffi_call("none", S((3, 2), np.float32), **options)(np.ones((2, 3), np.float32))


def test_a_target_that_is_not_registered():
    with pytest.raises(JaxRuntimeError, match=r"(?s)not_registered.*ffi[.]register_ffi_target"):
        ffi.ffi_call("not_registered", S((), np.float32))(1.0)


def test_what_is_no_handler_cannot_be_registered():
    with pytest.raises(JaxRuntimeError, match=r"(?s)capsule.*by stage, got 3.*ffi[.]pycapsule"):
        ffi.register_ffi_target("number", 3)
    with pytest.raises(JaxRuntimeError, match="a handler is a capsule, or a dict of them by stage"):
        ffi.register_ffi_target("number", {"execute": "libnorm.so"})


def test_a_lowering_rule_with_layouts():
    with pytest.raises(NotImplementedError, match="ffi_lowering: layouts"):
        ffi.ffi_lowering("none", operand_layouts=[(0, 1)])
