"""What the C++ declares of XLA's interface of custom calls is what jaxlib's own header says."""

import pathlib
import shutil
import subprocess

import pytest

from evertrace import ffi

SOURCES = pathlib.Path(__file__).parents[2] / "src" / "native"
COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)

# Our structure -> XLA's, and our fields -> XLA's; all that are not named begin with these two.
BOTH = {"struct_size": "struct_size", "extensions": "extension_start"}
STRUCTURES = {
    "Extension": ("Extension_Base", {"struct_size": "struct_size", "kind": "type", "next": "next"}),
    "Version": ("Api_Version", BOTH | {"major": "major_version", "minor": "minor_version"}),
    "Metadata": (
        "Metadata",
        {"struct_size": "struct_size", "version": "api_version", "traits": "traits"}
        | {"state_type": "state_type_id"},
    ),
    "MetadataExtension": (
        "Metadata_Extension",
        {"base": "extension_base", "metadata": "metadata"},
    ),
    "Text": ("ByteSpan", {"data": "ptr", "size": "len"}),
    "Scalar": ("Scalar", {"type": "dtype", "value": "value"}),
    "Buffer": (
        "Buffer",
        BOTH | {"type": "dtype", "data": "data", "rank": "rank", "dims": "dims"},
    ),
    "Operands": ("Args", BOTH | {"size": "size", "kinds": "types", "values": "args"}),
    "Attributes": (
        "Attrs",
        BOTH | {"size": "size", "kinds": "types", "names": "names", "values": "attrs"},
    ),
    "ErrorArgs": ("Error_Create_Args", BOTH | {"message": "message", "code": "errc"}),
    "Api": (
        "Api",
        BOTH
        | {"version": "api_version", "internal": "internal_api"}
        | {"create_error": "XLA_FFI_Error_Create"},
    ),
    "CallFrame": (
        "CallFrame",
        BOTH
        | {"api": "api", "context": "ctx", "stage": "stage", "arguments": "args"}
        | {"results": "rets", "attributes": "attrs"},
    ),
}
GROWN = {"Api", "CallFrame"}  # which we have the beginning of
CONSTANTS = {
    "kMetadata": "Extension_Metadata",
    "kExecute": "ExecutionStage_EXECUTE",
    "kBuffer": "ArgType_BUFFER",
    "kScalar": "AttrType_SCALAR",
    "kText": "AttrType_STRING",
    "kPred": "DataType_PRED",
    "kInt64": "DataType_S64",
    "kInvalidArgument": "Error_Code_INVALID_ARGUMENT",
    "kOutOfResources": "Error_Code_RESOURCE_EXHAUSTED",
}


def checked(change=lambda text: text):
    """Return what a compiler says of both headers side by side."""
    ours = change((SOURCES / "xla" / "interface.h").read_text(encoding="utf-8"))
    lines = [ours, '#include "xla/ffi/api/c_api.h"', "using namespace evertrace::xla;"]
    for name, (theirs, fields) in STRUCTURES.items():
        for field, of_xla in fields.items():
            at = f"offsetof({name}, {field}) == offsetof(XLA_FFI_{theirs}, {of_xla})"
            size = f"sizeof {name}::{field} == sizeof XLA_FFI_{theirs}::{of_xla}"
            lines.append(f"static_assert({at} && {size});")
        if name not in GROWN:
            lines.append(f"static_assert(sizeof({name}) == sizeof(XLA_FFI_{theirs}));")
    lines += [f"static_assert({ours} == XLA_FFI_{xla});" for ours, xla in CONSTANTS.items()]
    lines.append("static_assert(kMajor == XLA_FFI_API_MAJOR && kMinor <= XLA_FFI_API_MINOR);")
    command = [COMPILER, "-std=c++17", "-fsyntax-only", "-x", "c++", "-Wno-invalid-offsetof"]
    return subprocess.run(
        [*command, f"-I{ffi.include_dir()}", "-"],
        input="\n".join(lines), capture_output=True, text=True, check=False,
    )  # fmt: skip


pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler, which compares them")


def test_the_interface_is_xlas():
    done = checked()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("void* context;", "int context;"),
        ("int* kinds;\n  Text** names;", "Text** names;"),
        ("kExecute = 3", "kExecute = 2"),
        ("kMinor = 3", "kMinor = 99"),
    ],
)
def test_another_interface_is_seen(before, after):
    done = checked(lambda text: text.replace(before, after))
    assert "static assertion failed" in done.stderr or "static_assert" in done.stderr


def test_dtypes_have_xlas_numbers():
    """The table in handlers.cc, by the names of the enumeration in XLA's header."""
    text = (SOURCES / "xla" / "handlers.cc").read_text(encoding="utf-8")
    table = text.partition("kDTypes[] = {")[2].partition("}")[0]
    ours = [name.strip().removeprefix("DType::k") for name in table.split(",") if name.strip()]
    header = pathlib.Path(ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    short = {
        "Bool": "PRED", "Int": "S", "UInt": "U", "Float": "F", "BFloat": "BF", "Complex": "C",
    }  # fmt: skip
    for number, name in enumerate(ours):
        if name == "Unknown":
            continue
        kind = name.rstrip("0123456789")
        assert f"XLA_FFI_DataType_{short[kind]}{name[len(kind) :]} = {number}," in header
    assert len([name for name in ours if name != "Unknown"]) == 15
