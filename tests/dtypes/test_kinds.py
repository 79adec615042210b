"""Names, canonical forms, kinds and scalars of every dtype."""

import enum
import inspect

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
import evertrace.dtypes as public
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config, dtypes
from evertrace._src.dtypes import KeyType, kinds
from evertrace._src.errors import DTypeError

KEY = KeyType("threefry2x32")

SHORT_NAMES = {
    "bool": "bool",
    "int4": "i4",
    "uint2": "u2",
    "int8": "i8",
    "int64": "i64",
    "uint32": "u32",
    "bfloat16": "bf16",
    "float16": "f16",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
    "float4_e2m1fn": "f4_e2m1fn",
    "float6_e3m2fn": "f6_e3m2fn",
    "float8_e4m3b11fnuz": "f8_e4m3b11fnuz",
}


@pytest.mark.parametrize("name", SHORT_NAMES)
def test_short_name(name):
    assert dtypes.short_name(np.dtype(name)) == SHORT_NAMES[name]


def test_short_name_of_what_numpy_does_not_have():
    assert dtypes.short_name(dtypes.float0) == "float0"
    assert dtypes.short_name(KEY) == "key<fry>"


@pytest.mark.parametrize("name", kinds.NAMES)
def test_canonical_form(name):
    narrowed = {"int64": "int32", "uint64": "uint32", "float64": "float32"}
    narrowed["complex128"] = "complex64"
    assert dtypes.canonicalize_dtype(name) == np.dtype(narrowed.get(name, name))
    with config.enable_x64():
        assert dtypes.canonicalize_dtype(np.dtype(name)) is kinds.named(name)


def test_canonical_form_of_special_dtypes():
    assert dtypes.canonicalize_dtype(None) == np.float32
    assert dtypes.canonicalize_dtype(int) == np.int32
    assert dtypes.canonicalize_dtype(dtypes.float0) == dtypes.float0
    assert dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True) is KEY
    with pytest.raises(ValueError, match="key<fry> is an extended dtype"):
        dtypes.canonicalize_dtype(KEY)
    with pytest.raises(TypeError):
        dtypes.canonicalize_dtype("no such dtype")


@pytest.mark.parametrize("dtype", ["g", "G"])
def test_no_array_has_the_longest_floats(dtype):
    x = np.ones(3, dtype)
    for make in (jnp.asarray, jnp.sin, lax.sin, lambda x: lax.full((2,), x[0]), ev.device_put):
        with pytest.raises(DTypeError, match=rf"arrays cannot have dtype {x.dtype}"):
            make(x)
        with pytest.raises(DTypeError, match=rf"arrays cannot have dtype {x.dtype}"):
            ev.jit(lambda: make(x), strict=True)()  # noqa: B023 (called at once)


def test_types_of_c_with_the_same_bits_are_one_dtype():
    with config.enable_x64():
        assert dtypes.canonicalize_dtype(np.longlong) is dtypes.canonicalize_dtype(np.int64)


@pytest.mark.parametrize(
    "bad", [object, "S3", "U3", "datetime64[s]", ">f4", [("a", "f4")], np.longdouble, None]
)
def test_unsupported_dtype_is_refused(bad):
    with pytest.raises(DTypeError, match=r"^zeros: arrays cannot have dtype"):
        dtypes.check_user_dtype_supported(bad, "zeros")


def test_unavailable_dtype_is_a_warning():
    with pytest.warns(UserWarning, match="zeros: the requested dtype int64 is not available") as w:
        assert dtypes.check_user_dtype_supported("int64", "zeros") == np.int32
    assert "EVERTRACE_ENABLE_X64" in str(w[0].message)
    with config.enable_x64():
        assert dtypes.check_user_dtype_supported("int64", "zeros") == np.int64


@pytest.mark.parametrize("quiet", [int, float, complex, bool, np.int8, "bfloat16", KEY])
def test_available_dtype_is_no_warning(quiet):
    expected = dtypes.canonicalize_dtype(quiet, allow_extended_dtype=True)
    assert dtypes.check_user_dtype_supported(quiet, "zeros") == expected


ABSTRACT = {
    np.generic: "all",
    np.number: "iufc",
    np.integer: "iu",
    np.signedinteger: "i",
    np.unsignedinteger: "u",
    np.inexact: "fc",
    np.floating: "f",
    np.complexfloating: "c",
    np.bool_: "b",
    dtypes.extended: "k",
    dtypes.prng_key: "k",
}
KINDS = {**{name: name.removeprefix("b")[0] for name in kinds.NAMES}, "bool": "b"}
KINDS |= {"bfloat16": "f", int: "i", float: "f", complex: "c", bool: "b", KEY: "k"}
KINDS |= {dtypes.float0: "v"}


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_kinds(dtype):
    for abstract, members in ABSTRACT.items():
        expected = members == "all" or KINDS[dtype] in members
        assert dtypes.issubdtype(dtype, abstract) == expected, abstract


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (int, np.int32, False),
        (np.int64, int, True),
        (float, np.float64, True),
        (np.float32, float, False),
        ("float32", "float32", True),
        ("bfloat16", ml_dtypes.bfloat16, True),
        (np.int32, ml_dtypes.int4, False),
        (np.floating, np.number, True),
        (np.floating, "f4", False),
        (KEY, KEY, True),
        (np.float32, KEY, False),
        (dtypes.prng_key, dtypes.extended, True),
    ],
)
def test_issubdtype_of_concrete_dtypes(a, b, expected):
    assert dtypes.issubdtype(a, b) is expected


@pytest.mark.parametrize("name", kinds.NAMES)
def test_scalar_type_and_width(name):
    scalar_type = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[KINDS[name]]
    assert dtypes.scalar_type_of(np.dtype(name)) is scalar_type
    digits = name.removeprefix("bfloat").lstrip("abcdefghijklmnopqrstuvwxyz").split("_")[0]
    assert dtypes.itemsize_bits(name) == int(digits or 8)


@pytest.mark.parametrize("bad", [KEY, dtypes.float0])
def test_no_scalar_type_and_no_width(bad):
    with pytest.raises(TypeError, match="no Python scalar"):
        dtypes.scalar_type_of(bad)
    with pytest.raises(ValueError, match="no width"):
        dtypes.itemsize_bits(bad)


def test_limits():
    assert (dtypes.iinfo("int4").min, dtypes.iinfo("int4").max) == (-8, 7)
    assert dtypes.finfo("bfloat16").bits == 16


@pytest.mark.parametrize(
    ("name", "numeric", "inexact", "complex_"),
    [
        ("bool", "int32", "float32", "complex64"),
        ("int2", "int2", "float32", "complex64"),
        ("uint16", "uint16", "float32", "complex64"),
        ("int64", "int64", "float64", "complex128"),
        ("bfloat16", "bfloat16", "bfloat16", "complex64"),
        ("float8_e4m3fn", "float8_e4m3fn", "float8_e4m3fn", "complex64"),
        ("float64", "float64", "float64", "complex128"),
        ("complex64", "complex64", "complex64", "complex64"),
        ("complex128", "complex128", "complex128", "complex128"),
    ],
)
def test_nearest_dtype_of_a_kind(name, numeric, inexact, complex_):
    assert dtypes.to_numeric_dtype(name) == np.dtype(numeric)
    assert dtypes.to_inexact_dtype(name) == np.dtype(inexact)
    assert dtypes.to_complex_dtype(name) == np.dtype(complex_)


class Color(enum.IntEnum):
    """An int that is not exactly an int."""

    RED = 1


@pytest.mark.parametrize(
    ("value", "name", "weak"),
    [
        (True, "bool", False),
        (1, "int32", True),
        (1.0, "float32", True),
        (1j, "complex64", True),
        (Color.RED, "int32", True),
        (int, "int32", True),
        (np.bool_(True), "bool", False),
        (np.float64(1), "float32", False),
        (np.zeros(2, np.int64), "int32", False),
        (np.zeros((), ml_dtypes.int4), "int4", False),
        ("float16", "float16", False),
        (np.int8, "int8", False),
    ],
)
def test_dtype_of_a_value(value, name, weak):
    assert dtypes.dtype(value) == np.dtype(name)
    assert dtypes.is_weakly_typed(value) is weak


@pytest.mark.parametrize("bad", [[1, 2], None, np.array("text"), object()])
def test_what_has_no_dtype(bad):
    with pytest.raises(TypeError, match="is neither an array, a number nor a dtype"):
        dtypes.dtype(bad)


@pytest.mark.parametrize("name", ["int4", "uint2", "int8", "uint8", "int32", "uint32", "int64"])
def test_integers_must_fit(name):
    limits = dtypes.iinfo(name)
    for value in (limits.min, limits.max):
        scalar = dtypes.coerce_python_scalar(value, name)
        assert scalar.dtype == np.dtype(name)
        assert int(scalar) == value
    for value in (limits.min - 1, limits.max + 1):
        with pytest.raises(OverflowError, match=rf"^Python int {value} too large to convert to "):
            dtypes.coerce_python_scalar(value, name)


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [(7.9, "int8", 7), (True, "int8", 1), (3, "bool", True), (0.5, "bfloat16", 0.5), (2, "c8", 2)],
)
def test_scalars_are_converted(value, name, expected):
    scalar = dtypes.coerce_python_scalar(value, name)
    assert scalar.dtype == np.dtype(name)
    assert scalar == expected


@pytest.mark.parametrize("name", ["float32", "int32"])
def test_complex_is_not_real(name):
    with pytest.raises(TypeError):
        dtypes.coerce_python_scalar(1j, name)


def test_a_flag_that_is_an_array_is_named():
    with pytest.raises(ValueError, match=r"^result_type: .*return_weak_type_flag=ndarray"):
        public.result_type(1.0, return_weak_type_flag=np.ones(2))


def test_public_names():
    assert public.float0 is dtypes.float0
    for name in public.__all__:  # some stand behind a door
        found, inner = (inspect.unwrap(getattr(module, name)) for module in (public, dtypes))
        assert found is inner, name
