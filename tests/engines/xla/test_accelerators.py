"""What accelerators are given: programs without kernels of the host, and no tapes.

There is none on most machines, so texts are looked at; `scripts/gpu` runs them where there is one.
"""

import importlib
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import extension
from evertrace._src.engines import choice, runtime
from evertrace._src.engines.protocol import Request
from evertrace._src.engines.xla import compat, plugins, solvers
from evertrace._src.engines.xla.lower import lower_jaxpr
from evertrace._src.transforms.staging import hoist_consts
from tests.pallas import ptx

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
# What CUDA's plugin registers, of jax-cuda13-plugin 0.10.2: `scripts/nightly` asks it.
REGISTERED = [
    "cu_cholesky_update_ffi", "cu_lu_pivots_to_permutation", "cu_tridiagonal_solve_perturbed",
    "cuhybrid_eig_comp", "cuhybrid_eig_real", "cuhybrid_geqp3", "cusolver_csrlsvqr_ffi",
    "cusolver_geev_ffi", "cusolver_geqrf_ffi", "cusolver_gesvd_ffi", "cusolver_gesvdj_ffi",
    "cusolver_gesvdp_ffi", "cusolver_getrf_ffi", "cusolver_orgqr_ffi", "cusolver_ormqr_ffi",
    "cusolver_potrf_ffi", "cusolver_syevd_ffi", "cusolver_syrk_ffi", "cusolver_sytrd_ffi",
    "cusparse_coo_fromdense_ffi", "cusparse_coo_matmat_ffi", "cusparse_coo_matvec_ffi",
    "cusparse_coo_todense_ffi", "cusparse_csr_fromdense_ffi", "cusparse_csr_matmat_ffi",
    "cusparse_csr_matvec_ffi", "cusparse_csr_todense_ffi", "cusparse_gtsv2_ffi",
]  # fmt: skip


@pytest.fixture(scope="module")
def programs():
    """The module that makes benchmark programs, from a folder that is no package."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("programs")
    finally:
        sys.path.remove(str(BENCHMARKS))


def kernels_of_gpus():
    """Return the names of all kernels that programs for GPUs may call."""
    found = [x for x in vars(solvers).values() if type(x) is solvers.Solver]
    return {x.gpu.target for x in found if x.gpu is not None}


def test_benchmark_programs_lower_for_gpus_without_kernels_of_the_host(programs):
    called = set()
    for name in programs.PROGRAMS:
        fun, args = programs.made(ev, name)
        jaxpr = hoist_consts(ev.make_jaxpr(fun)(*args).jaxpr)
        text, callbacks = lower_jaxpr(jaxpr, name, platform="gpu")
        assert compat.parse_module(text).operation.verify(), name
        called |= {*re.findall(r'call_target_name = "([^"]*)"', text)}
        assert callbacks == [], name
    kernels = kernels_of_gpus()
    assert "cusolver_getrf_ffi" in called <= kernels


def test_kernels_that_are_called_are_those_that_the_plugin_registers():
    assert kernels_of_gpus() <= {*REGISTERED}


@pytest.mark.ptx
@pytest.mark.skipif(ptx.why_other() is not None, reason=str(ptx.why_other()))
def test_the_plugin_registers_them_without_a_gpu():
    code = (
        "from evertrace._src.engines.xla import compat; compat.register_gpu_solvers('CUDA'); "
        "compat.initialize_hybrid_kernels(); "
        "print(*sorted(name for name, *_ in compat.gpu_solvers('CUDA')))"
    )
    env = {**os.environ, "PYTHONPATH": ptx.FOLDER}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == REGISTERED


@pytest.mark.parametrize(
    ("name", "said"), [("cuda", "cusolver_getrf_ffi"), ("rocm", "hipsolver_getrf_ffi")]
)
def test_a_plugin_is_started_with_its_kernels(monkeypatch, name, said):
    """Programs' texts have CUDA's names on both platforms."""
    platform, told, batched = name.upper(), [], []
    extension = types.SimpleNamespace(
        register_custom_type=print,
        register_custom_call_target=print,
        ffi_types=dict,
        ffi_handlers=lambda: {"mine": "handler"},
    )
    for module in ("gpu_solver", "gpu_linalg", "gpu_sparse"):
        kernels = [(said, "kernel", 1)] if module == "gpu_solver" else []
        fake = types.SimpleNamespace(
            registrations=lambda kernels=kernels: {"CUDA": [], "ROCM": [], platform: kernels},
            batch_partitionable_targets=lambda kernels=kernels: [k[0] for k in kernels],
        )
        monkeypatch.setitem(sys.modules, f"jaxlib.{module}", fake)
    fake = types.SimpleNamespace(
        register_custom_type_handler=lambda *args: None,
        register_custom_call_handler=lambda where, handler: told.append((where, "handler")),
        register_custom_call_target=lambda *args, **kwargs: told.append((*args, *kwargs.values())),
        register_custom_call_as_batch_partitionable=batched.append,
        generate_pjrt_gpu_plugin_options=dict,
        make_c_api_client=lambda name, options: "client",
    )
    monkeypatch.setattr(compat, "xla_client", fake)
    monkeypatch.setattr(compat, "load_plugin", lambda name, library: "api")
    monkeypatch.setattr(plugins, "_preload_cuda_libraries", lambda: None)
    monkeypatch.setattr(plugins, "_import_kernels", lambda plugin: extension)
    assert plugins.start(plugins.Plugin(name, "/opt/library.so", "kernels")) == "client"
    assert told == [
        (platform, "handler"),  # before what is handed to it
        ("mine", "handler", platform, 1),
        ("cusolver_getrf_ffi", "kernel", platform, 1),
    ]
    assert batched == ["cusolver_getrf_ffi"]


@pytest.mark.parametrize("name", ["schur", "hessenberg"])
def test_what_is_lapacks_alone_is_refused_for_gpus(name):
    def program(a):
        return getattr(lax.linalg, name)(a)

    traced = ev.jit(program).trace(jnp.eye(3))
    with pytest.raises(NotImplementedError) as caught:
        traced.lower(lowering_platforms=("cuda",))
    said = str(caught.value)
    assert said.startswith(f"{name}: not built for CUDA: this decomposition is LAPACK's")
    assert re.search(r"at tests/engines/xla/test_accelerators.py:\d+ in program", said)
    assert "Fix: run this part on a CPU device" in said


def test_an_algorithm_that_gpus_do_not_have_is_refused_for_them():
    def program(a):
        return lax.linalg.svd(a, algorithm=lax.linalg.SvdAlgorithm.DIVIDE_AND_CONQUER)

    traced = ev.jit(program).trace(jnp.eye(3))
    with pytest.raises(NotImplementedError) as caught:
        traced.lower(lowering_platforms=("cuda",))
    said = str(caught.value)
    assert said.startswith("svd: algorithm=<SvdAlgorithm.DIVIDE_AND_CONQUER")
    assert "is not supported by GPUs" in said
    assert re.search(r"at tests/engines/xla/test_accelerators.py:\d+ in program", said)
    assert "or use one of SvdAlgorithm.DEFAULT, SvdAlgorithm.JACOBI, SvdAlgorithm.QR" in said


@pytest.mark.skipif(not extension.is_built(), reason="there are no tapes without the C++")
def test_no_tape_where_programs_run_on_an_accelerator(monkeypatch):
    monkeypatch.setattr(runtime, "computes_on_cpu", lambda: False)
    jaxpr = hoist_consts(ev.make_jaxpr(lambda x: x + 1)(1.0).jaxpr)
    chosen = choice.choose(jaxpr, Request("f"))
    assert (chosen.engine, chosen.why) == ("xla", "programs run on an accelerator")
    with pytest.raises(ValueError, match="the native engine cannot run this program: programs run"):
        choice.choose(jaxpr, Request("f", "native"))


MESH = ev.make_mesh((1,), ("x",))
ROWS = ev.NamedSharding(MESH, ev.P("x"))
X = np.linspace(-2, 2, 24, dtype="float32").reshape(4, 6)


def _factored(x):
    """Return what factors and spectra of matrices say, whatever their signs."""
    a = x @ x.T + 5 * jnp.eye(4)
    (q, r), (u, s, vh) = jnp.linalg.qr(x.T), jnp.linalg.svd(x, full_matrices=False)
    v, w = lax.linalg.eigh(a)
    ordered, triangle, columns = lax.linalg.qr(x.T, pivoting=True, full_matrices=False)
    return {
        "cholesky": jnp.linalg.cholesky(jnp.stack([a, 2 * a])),
        "solve": jnp.linalg.solve(a, x),
        "det": jnp.linalg.det(jnp.stack([a, a + 1])),
        "qr": q @ r,
        "pivoted qr": (ordered @ triangle)[:, jnp.argsort(columns)],
        "svd": (s, (u * s) @ vh),
        "svd by qr": lax.linalg.svd(x.T, compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR),
        "eigh": (w, (v * w) @ v.T),
        "eig": jnp.sort(jnp.linalg.eigvals(a).real),
        "tridiagonal": lax.linalg.tridiagonal_solve(x[0] / 9, x[1] + 9, x[2] / 9, x.T),
    }


ON_A_DEVICE = {
    "factors and spectra": _factored,
    "elementwise": lambda x: jnp.tanh(x) * 2 + jnp.exp(-x),
    "product": lambda x: x @ x.T,
    "reductions": lambda x: (x.sum(0), x.max(1), jnp.argmax(x, 1), jnp.cumsum(x, 1)),
    "sort": lambda x: (jnp.sort(x, 1), jnp.argsort(-x, 1)),
    "indexing": lambda x: (x[1], x.at[0].add(1.0), jnp.take(x, jnp.array([2, 0]), axis=0)),
    "loop": lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(6), x),
    "branch": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "random bits": lambda x: ev.random.bits(ev.random.key(3), x.shape),
    "gradient": ev.grad(lambda x: (jnp.tanh(x @ x.T) ** 2).sum()),
}


@pytest.mark.device
@pytest.mark.parametrize("engine", ["xla", "spmd"])
@pytest.mark.parametrize("name", ON_A_DEVICE)
def test_programs_on_the_device_that_is_here(name, engine):
    x = ev.device_put(X, ROWS if engine == "spmd" else ev.devices()[0])
    got = ev.tree.leaves(ev.jit(ON_A_DEVICE[name], engine=engine)(x))
    with ev.disable_jit(), ev.default_device(ev.devices("cpu")[0]):
        want = ev.tree.leaves(ON_A_DEVICE[name](jnp.asarray(X)))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
