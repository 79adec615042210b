"""NumPy arrays of all dtypes, written in place, returned, and written again by the caller."""

from tests.contract.families.family import Family

# For each dtype: how arrays of it start. 64-bit values are such as 32 bits cannot hold.
_STARTS = {
    "ints": ["np.array([2**40 + 1, 3, -2**35][:<n>])", "np.arange(<n>)"],
    "reals": ["np.array([0.1, 1e300, -2.5][:<n>])", "np.zeros(<n>)", "np.array(<list>)"],
    "bytes": ["np.arange(<n>, dtype=np.int8)", "np.array([-128, 127, 5][:<n>], np.int8)"],
    "longs": ["np.array([2**63 + 1, 7, 2**53 + 1][:<n>], np.uint64)"],
    "flags": ["np.array([True, False, True][:<n>])"],
    "halves": ["np.array([0.1, 6e4, -2][:<n>], np.float16)"],
    "cplx": ["np.array([1 + 2j, 0.1, 1e300j][:<n>])"],
    "plane": ["np.arange(2.0 * <n>).reshape(2, <n>) + 0.1"],
}
_NUMBERS = ("ints", "reals", "bytes", "halves")


def _writes(kind, value):
    """Return the statements that write numbers into arrays of a kind."""
    a, b, v = f"<{kind}.>", f"<{kind}.:a>", f"<{value}>"
    return (
        f"{a}[<int> % <n>] = {v}",
        f"{a}[-1] = {v}",
        f"{a}[:] = {v}",
        f"{a}[1:] = {v}",
        f"{a}[::-1] = [{v}, <lit>, 1][:<n>]",
        f"{b}[<:a> > <lit>] = {v}",
        f"{a}[[0, 1]] = {v}",
        f"{b}[[0, -1]] = <:a>[[-1, 0]]",
        f"{a}[0] += {v}",
        f"{a}[:] *= 2",
        f"{a}[...] = {a}",
        f"{a}.fill({v})",
        f"{b}[0], <:a>[1] = <:a>[1], <:a>[0]",
    )


_EXACT = Family(
    "integers of NumPy",
    expressions={
        "num": [
            "int(<ints.>[<int> % <n>]) % 7",
            "<ints.>.max().item() % 5",
            "<ints.>[0] % 3",
            "int(<bytes.>.sum())",
            "<bytes.>[-1] * 0.5",
            "int(<longs.>[0]) % 9",
        ],
        "arr": ["<arr.> + <ints.>[0] % 7", "<arr.> * <bytes.>", "jnp.asarray(<ints.> % 5) * 0.5"],
        "bool": ["<ints.>[0] > 2**33", "bool((<ints.> == <int>).any())", "<longs.>[0] > 2**60"],
    },
    statements=(
        *_writes("ints", "int"),
        *_writes("bytes", "int"),
        "<longs.>[<int> % <n>] = <int.>",
        "<longs.>[1:] = 2**62 + <int> % 3",
        "<ints.>[0] = 2**45 + <int.>",
        "<ints.>[1] = <num>",
        "<ints.>.sort()",
        "np.add(<ints.:a>, <int>, out=<:a>)",
        "<ints.>.put(0, <int>)",
        "np.copyto(<ints.>, <int>)",
        "<ints!> = np.array([<int>, 2**40 + 1, 3][:<n>])",
        "<ints!> = <ints.> + <int>",
        "<bytes.>[0] = 200",
    ),
    results=("<ints.>", "<bytes.>", "<longs.>", "(<ints.>, <arr>)", "<ints.>[1:]", "[<ints.>] * 2"),
    start=_STARTS,
    attributes={"ids": "ints", "codes": "bytes", "mask": "longs"},
    globals={"IDS": "ints", "CODES": "bytes"},
    arguments={"i": "ints"},
    shared=frozenset({"ints", "bytes", "longs"}),
)

_FLOATS = Family(
    "floats of NumPy",
    expressions={
        "num": [
            "float(<reals.>[<int> % <n>]) % 3",
            "<reals.>.min().item()",
            "<reals.>[0] * 0.5",
            "float(<halves.>[0])",
            "float(np.sin(<reals.>).sum())",
            "float(<plane.>[1, <int> % <n>])",
            "np.float64(<num.>)",
            "<cplx.>[0].real",
        ],
        "arr": [
            "<arr.> + jnp.sin(<halves.>)",
            "<arr.> * (<reals.> < 1)",
            "<arr.> + <plane.>[0]",
            "<arr.> + <plane.>.sum(0)",
            "<arr.> - np.take(<reals.> % 2, [0] * <n>)",
        ],
        "bool": ["<reals.>[0] > 1e200", "bool(<flags.>[<int> % <n>])", "bool(<flags.>.all())"],
    },
    statements=(
        *_writes("reals", "num"),
        *_writes("halves", "num"),
        "<flags.>[<int> % <n>] = <bool>",
        "<flags.:a>[:] = ~<:a>",
        "<cplx.>[<int> % <n>] = <num>",
        "<cplx.>[0] *= 2j",
        "<plane.>[<int> % 2] = <num>",
        "<plane.>[:, <int> % <n>] = <num>",
        "<plane.>[0, 1] += <num>",
        "<plane.>[<int> % 2] = <reals.>",
        "<reals.>[:] = <arr.>",
        "<reals.>[0] = <arr.>[0]",
        "<reals.>[0] = 1e300",
        "<reals.>[1] = float('nan')",
        "np.multiply(<reals.:a>, 0.5, out=<:a>)",
        "<reals.>.flat[0] = <num>",
        "view = <reals.>[1:]\nview[0] = <num>\ndel view",
        "<reals!> = np.array([<num>, 1e-300, 2.5][:<n>])",
        "<reals!> = <reals.>.copy()",
        "<reals!> = <reals.>",
        "np.clip(<reals.:a>, -2, 2, out=<:a>)",
        "for <+int:v> in range(<n>):\n    <reals.>[<:v>] += <num>",
    ),
    results=(
        "<reals.>",
        "<flags.>",
        "<halves.>",
        "(<reals.>, <arr>)",
        "<reals.>[:]",
        "<plane.>[0]",
        "{'r': <reals.>, 't': <plane.>.T}",
    ),
    start=_STARTS,
    attributes={"trail": "reals", "half": "halves", "ok": "flags", "z": "cplx", "m": "plane"},
    globals={"TRAIL": "reals", "M": "plane"},
    arguments={"r": "reals", "g": "plane"},
    shared=frozenset({"reals", "halves", "flags", "plane"}),
)

FAMILIES = (_EXACT, _FLOATS)
