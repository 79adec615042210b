"""Factors and spectra in the texts of programs for CUDA: which kernels are called, and how.

Nothing runs: both packages lower programs for a platform that is not here. Of each call its target,
attributes, layouts, aliases and types are compared; how a call is written differs in two words.
"""

import itertools

from tests.oracle.cases import Case

DTYPES = ["float32", "float64", "complex64", "complex128"]
BATCHES = [(), (2,), (2, 3)]

CALLS = (
    "sorted([__import__('re').sub("
    r"r'%[\w#:]+|api_version = 4 : i32, |backend_config = \"\", mhlo\.|"
    r", sdy\.sharding_rule = .*custom>', '', line).strip() "
    "for line in text.splitlines() if 'custom_call @' in line])"
)


def lowered(text: str, *operands: tuple[tuple[int, ...], str]) -> Case:
    """Lower a function, written in `L`, of arrays of these shapes and dtypes."""
    specs = ", ".join(f"ev.ShapeDtypeStruct({shape}, {dtype!r})" for shape, dtype in operands)
    program = (
        f"lambda: (lambda text: {CALLS})((lambda L: ev.jit({text}))(lax.linalg)"
        f".trace({specs}).lower(lowering_platforms=('cuda',)).as_text())"
    )
    shown = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in operands)
    return Case(program, config={"enable_x64": True}, note=f"{text} of {shown}")


def everywhere(text: str, *shapes: tuple[int, ...], dtypes: list[str] = DTYPES) -> list[Case]:
    """Lower a function for each dtype and for stacks of no, one and two dimensions."""
    return [
        lowered(text, *[((*batch, *shape), dtype) for shape in shapes])
        for dtype, batch in itertools.product(dtypes, BATCHES)
    ]


SQUARE, TALL, WIDE = (4, 4), (5, 3), (3, 5)

CASES = [
    *everywhere("L.cholesky", SQUARE),
    *[case for shape in (SQUARE, TALL, WIDE) for case in everywhere("L.lu", shape)],
    *everywhere("lambda a: L.lu_pivots_to_permutation(a, 6)", (4,), dtypes=["int32"]),
    *everywhere("lambda dl, d, du, b: L.tridiagonal_solve(dl, d, du, b)", (4,), (4,), (4,), (4, 2)),
    *everywhere("lambda a, b: L.triangular_solve(a, b, left_side=True)", SQUARE, (4, 2)),
    *everywhere("lambda a, taus: L.householder_product(a, taus)", TALL, (3,)),
    *[
        case
        for text in (
            "lambda a: L.qr(a)",
            "lambda a: L.qr(a, full_matrices=False)",
            "lambda a: L.qr(a, pivoting=True)",
        )
        for shape in (TALL, WIDE)
        for case in everywhere(text, shape)
    ],
    *[
        lowered(f"lambda a: L.qr(a, pivoting=True, use_magma={magma})", (TALL, "float32"))
        for magma in (True, False)
    ],
    *everywhere("lambda a, taus, c: L.ormqr(a, taus, c)", TALL, (3,), (5, 2)),
    *everywhere(
        "lambda a, taus, c: L.ormqr(a, taus, c, left=False, transpose=True)", TALL, (3,), (2, 5)
    ),
    *everywhere("lambda a: L.eigh(a)", SQUARE),
    *everywhere("lambda a: L.eigh(a, lower=False, symmetrize_input=False)", SQUARE),
    *[
        lowered(f"lambda a: L.eigh(a, implementation=L.EighImplementation.{name})", (shape, dtype))
        for name in ("QR", "JACOBI", "QDWH")
        for shape, dtype in [(SQUARE, "float32"), ((2, *SQUARE), "complex128")]
    ],
    *[
        case
        for algorithm in ("DEFAULT", "QR", "POLAR")
        for options in ("", "full_matrices=False, ", "compute_uv=False, ")
        for shape in (TALL, WIDE)
        for case in everywhere(
            f"lambda a: L.svd(a, {options}algorithm=L.SvdAlgorithm.{algorithm})", shape
        )
    ],
    *[
        lowered(f"lambda a: L.svd(a{options})", (shape, "float32"))
        for options in ("", ", full_matrices=False", ", compute_uv=False")
        for shape in [
            *[(32, 33), (33, 32), (33, 33), (2, 40, 1024), (1024, 1024), (1025, 3), (3, 1025)],
            *[(2, 2000, 1500), (0, 3, 3), (0, 3), (3, 0)],
        ]
    ],
    *[
        lowered(f"lambda a: L.svd(a, algorithm=L.SvdAlgorithm.{name})", (TALL, "float32"))
        for name in ("JACOBI", "DIVIDE_AND_CONQUER")
    ],
    *[
        case
        for left, right in itertools.product((False, True), repeat=2)
        for case in everywhere(
            f"lambda a: L.eig(a, compute_left_eigenvectors={left}, "
            f"compute_right_eigenvectors={right})",
            SQUARE,
        )
    ],
    *[
        lowered(f"lambda a: L.eig(a, implementation=L.EigImplementation.{name})", (SQUARE, dtype))
        for name in ("MAGMA", "LAPACK")
        for dtype in DTYPES
    ],
    *everywhere("lambda a: L.tridiagonal(a)", SQUARE),
    *everywhere("lambda a: L.tridiagonal(a, lower=False)", SQUARE),
    *[lowered(f"lambda a: L.{name}(a)", (SQUARE, "float32")) for name in ("schur", "hessenberg")],
    *[
        lowered(f"lambda *xs: ev.numpy.linalg.{name}(*xs)", *[(s, "float64") for s in shapes])
        for name, *shapes in [
            ("inv", SQUARE), ("solve", SQUARE, (4, 2)), ("det", SQUARE), ("svd", TALL), ("qr", TALL),
            ("eigh", SQUARE), ("eigvals", SQUARE), ("cholesky", SQUARE), ("svdvals", TALL),
        ]
    ],
]  # fmt: skip
