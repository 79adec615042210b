"""Factors and spectra in compiled programs: kernels of LAPACK on CPUs, of CUDA's plugin on GPUs.

Both are custom calls that take stacks of matrices by columns, which is said with layouts: XLA then
fuses the transposition into what makes or reads the matrix. jaxlib finds LAPACK through SciPy,
whose import takes a fifth of a second; so what needs it is registered when a program that calls it
is written, not before. The plugin's kernels are registered when its client is made (`plugins.py`).
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.foreign import TYPED_FFI, alias
from evertrace._src.engines.xla.text import bool_attr, ints, quoted


def _character(letter):
    return f"{ord(letter)} : ui8"


def _triangle(lower):
    return {"uplo": _character("L" if lower else "U")}


def _spectrum(lower, algorithm):
    return {"mode": _character("V"), **_triangle(lower)}


def _vectors(compute_uv, full_matrices):
    return {"mode": _character(("A" if full_matrices else "S") if compute_uv else "N")}


def _sides(left, right, magma):
    sides = {"compute_left": left, "compute_right": right}
    return {name: _character("V" if wanted else "N") for name, wanted in sides.items()}


def _triangular(left_side, lower, kind, unit_diagonal):
    return {
        "diag": _character("U" if unit_diagonal else "N"),
        "side": _character("L" if left_side else "R"),
        "trans_x": _character(kind[0]),
        **_triangle(lower),
    }


def _schur(compute_schur_vectors):
    return {"mode": _character("V" if compute_schur_vectors else "N"), "sort": _character("N")}


def _all_rows(size):
    return {"high": f"{size} : i32", "low": "1 : i32"}


def _as_given(**options):
    """Return options as the attributes that the plugin's kernels call by the same names."""
    return {
        name: quoted(value) if isinstance(value, str) else bool_attr(value)
        for name, value in options.items()
    }


def _algorithm(algorithm, **options):
    return {"algorithm": f"{algorithm} : ui8", **_as_given(**options)}


def _no_options(**options):
    return {}


class Kernel(NamedTuple):
    """A kernel of one kind of devices.

    Attributes:
      target: its name; for LAPACK's without the letter for the dtype.
      attributes: function from the options of `call` to names and MLIR texts of attributes.
    """

    target: str
    attributes: Callable[..., dict[str, str]] = _no_options


class Solver(NamedTuple):
    """What is computed by a kernel, where there is one; else by other operations, or not at all.

    Attributes:
      name: as errors call it.
      cpu, gpu: the kernels, by the kind of devices.
    """

    name: str
    cpu: Kernel | None = None
    gpu: Kernel | None = None


CHOLESKY = Solver(
    "cholesky", cpu=Kernel("potrf", _triangle), gpu=Kernel("cusolver_potrf_ffi", _as_given)
)
LU = Solver("lu", cpu=Kernel("getrf"), gpu=Kernel("cusolver_getrf_ffi"))
LU_PIVOTS_TO_PERMUTATION = Solver(
    "lu_pivots_to_permutation", gpu=Kernel("cu_lu_pivots_to_permutation")
)
TRIANGULAR_SOLVE = Solver("triangular_solve", cpu=Kernel("trsm", _triangular))
TRIDIAGONAL_SOLVE = Solver(
    "tridiagonal_solve", cpu=Kernel("gtsv"), gpu=Kernel("cusparse_gtsv2_ffi")
)
GEQRF = Solver("geqrf", cpu=Kernel("geqrf"), gpu=Kernel("cusolver_geqrf_ffi"))
PIVOTED_QR = Solver("pivoted_qr", cpu=Kernel("geqp3"), gpu=Kernel("cuhybrid_geqp3", _as_given))
HOUSEHOLDER_PRODUCT = Solver(
    "householder_product", cpu=Kernel("orgqr"), gpu=Kernel("cusolver_orgqr_ffi")
)
ORMQR = Solver("ormqr", cpu=Kernel("ormqr", _as_given), gpu=Kernel("cusolver_ormqr_ffi", _as_given))
EIGH = Solver("eigh", cpu=Kernel("syevd", _spectrum), gpu=Kernel("cusolver_syevd_ffi", _algorithm))
SVD = Solver("svd", cpu=Kernel("gesdd", _vectors), gpu=Kernel("cusolver_gesvdj_ffi", _as_given))
SVD_BY_QR = Solver(
    "svd_by_qr", cpu=Kernel("gesvd", _vectors), gpu=Kernel("cusolver_gesvd_ffi", _as_given)
)
SVD_BY_POLAR = Solver("svd_by_polar", gpu=Kernel("cusolver_gesvdp_ffi", _as_given))
EIG = Solver("eig", cpu=Kernel("geev", _sides))
EIG_OF_REAL = Solver("eig_of_real", gpu=Kernel("cuhybrid_eig_real", _as_given))
EIG_OF_COMPLEX = Solver("eig_of_complex", gpu=Kernel("cuhybrid_eig_comp", _as_given))
SCHUR = Solver("schur", cpu=Kernel("gees", _schur))
HESSENBERG = Solver("hessenberg", cpu=Kernel("gehrd", _all_rows))
TRIDIAGONAL = Solver(
    "tridiagonal", cpu=Kernel("sytrd", _triangle), gpu=Kernel("cusolver_sytrd_ffi", _as_given)
)


_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def _lapack_target(name, dtype):
    if dtype.kind == "c":
        name = _COMPLEX_NAMES.get(name, name)
    return f"lapack_{_PREFIXES[dtype.char]}{name}_ffi"


_register_lapack = functools.cache(compat.register_lapack)


def prepare(text):
    """Make the kernels that need LAPACK known to XLA, once per process.

    Args:
      text: of a program, or the name of a target; what it calls is looked for.
    """
    if "lapack_" in text:
        _register_lapack()
    if "cuhybrid_" in text:  # LAPACK on the host, or MAGMA
        compat.initialize_hybrid_kernels()


def has(b, solver):
    """Return whether there is a kernel where a program is for."""
    return getattr(solver, b.module.platform, None) is not None


def call(b, solver, operands, outs, batch, overwrites=None, row_major=False, **options):
    """Write the call of a kernel.

    Args:
      b: the builder.
      solver: what is computed.
      operands: list of `Val`s; the first has the dtype that is computed in.
      outs: list of avals.
      batch: how many leading dimensions are batch dimensions.
      overwrites: operand -> result that may take its memory, as indices.
      row_major: whether matrices lie by rows: the kernel sees them transposed.
      **options: what the kernel's attributes are made of.

    Returns:
      A list of `Val`s.

    Raises:
      NotImplementedError: there is no such kernel for the platform of the program.
    """
    platform = b.module.platform
    if not has(b, solver):
        raise _not_built(solver.name, platform, b.src)
    target, attributes = getattr(solver, platform)
    if platform == "cpu":
        target = _lapack_target(target, operands[0].dtype)
    prepare(target)
    fields = ", ".join(f"{k} = {v}" for k, v in attributes(**options).items())
    aliases = ", ".join(alias(i, o, len(outs)) for i, o in (overwrites or {}).items())
    ins = [x.aval for x in operands]
    attrs = {
        "api_version": TYPED_FFI,
        "backend_config": f"{{{fields}}}",
        "call_target_name": quoted(target),
        "has_side_effect": bool_attr(False),
        # Of stacks that devices share, each computes its own matrices.
        "mhlo.frontend_attributes": f"{{num_batch_dims = {quoted(str(batch))}}}",
        "operand_layouts": _layouts(ins, batch, row_major),
        "output_operand_aliases": f"[{aliases}]",
        "result_layouts": _layouts(outs, batch, row_major),
    }
    if b.module.sizes and batch:
        attrs["sdy.sharding_rule"] = _sharing(ins, outs, batch)
    return b.op("stablehlo.custom_call", operands, outs, attrs)


def _not_built(name, platform, src):
    """Build the error of what no kernel computes on a platform."""
    where = "CUDA" if platform == "gpu" else platform.upper()
    return errors.user_error(
        NotImplementedError,
        f"{name}: not built for {where}: this decomposition is LAPACK's, which runs on CPUs only.",
        fix="run this part on a CPU device, e.g. under `with default_device(devices('cpu')[0]):`.",
        anchor="devices",
        src=src,
    )


def _layouts(avals, batch, row_major):
    """Return the layouts: dimensions from the fastest varying one."""
    texts = []
    for aval in avals:
        order = list(reversed(range(aval.ndim)))
        if aval.ndim - batch == 2 and not row_major:
            order[:2] = order[1::-1]
        shape = f"tensor<{aval.ndim}xindex>"
        texts.append(f"dense<{order if order else ''}> : {shape}")
    return f"[{', '.join(texts)}]"


def _sharing(ins, outs, batch):
    """Return Shardy's rule of a call: batch dimensions are divided together, others not at all."""
    sizes = {}

    def factors(aval):
        names = []
        for i, size in enumerate(aval.shape):
            # Shardy's names of factors: i, j, ..., z, z_1, z_2 and so on.
            number = i if i < batch else len(sizes)
            name = chr(ord("i") + number) if number < 18 else f"z_{number - 17}"
            sizes[name] = size
            names.append(name)
        return f"[{', '.join(names)}]"

    operands, results = (", ".join(map(factors, avals)) for avals in (ins, outs))
    whole = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return f"#sdy.op_sharding_rule<({operands})->({results}) {{{whole}}}, custom>"


def or_nan(b, info, values):
    """Write `values` where ``info == 0``, and NaN for the examples where a routine failed."""
    ok = b.compare("EQ", info, b.full_like(info, 0))
    return [_where(b, ok, x) for x in values]


def _where(b, ok, x):
    spread = ok.aval.update(shape=x.shape)
    kept = {"broadcast_dimensions": ints(range(ok.aval.ndim))}
    pred = b.op("stablehlo.broadcast_in_dim", [ok], spread, kept)
    nan = np.nan if x.dtype.kind == "f" else complex(np.nan, np.nan)
    return b.op("stablehlo.select", [pred, x, b.full_like(x, nan)], x.aval)
