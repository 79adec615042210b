"""What a process loads: what it uses, when it uses it."""

import importlib
import pkgutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.lazy import LazyModule

SOURCES = Path(ev.__file__).parents[1]


def run(program):
    """Run a program in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCES), "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loads(program):
    """Return the names of the modules that a program loads which NumPy alone does not."""
    start = "import sys, numpy\nbefore = set(sys.modules)\n"
    end = "\nprint(*sorted(set(sys.modules) - before))"
    return set(run(start + program + end).split())


FIRST = """
import evertrace as ev
import evertrace.numpy as jnp

f = ev.jit(lambda x: jnp.sin(x) * 2 + 1)
float(f(jnp.arange(8.0))[3])
"""

LIBRARY = {
    "__future__", "array", "atexit", "copy", "dataclasses", "gc", "importlib._abc",
    "importlib.util", "ml_dtypes",
    "ml_dtypes._finfo", "ml_dtypes._iinfo", "ml_dtypes._ml_dtypes_ext", "threading",
}  # fmt: skip
"""What a first program may load of other packages, besides NumPy."""


STAGES = """
import evertrace as ev
import evertrace.numpy as jnp

x = jnp.arange(8.0)
compiled = ev.jit(lambda x: jnp.sin(x) * 2 + 1).lower(x).compile()
float(compiled(x)[3])
"""


def test_import_loads_no_implementation():
    loaded = loads("import evertrace, evertrace.numpy, evertrace.lax")
    assert {n for n in loaded if n.startswith("evertrace.")} == {
        "evertrace._src",
        "evertrace._src.core",
        "evertrace._src.core.engine",
        "evertrace._src.core.operators",
        "evertrace._src.lazy",
        "evertrace._src.support",
        "evertrace.lax",
        "evertrace.numpy",
    }
    assert {n for n in loaded if not n.startswith("evertrace")} <= {"gc", "threading"}


@pytest.mark.parametrize("program", [FIRST, STAGES], ids=["call", "stages"])
def test_a_first_jitted_call_loads_little(program):
    loaded = loads(program)
    assert {n for n in loaded if not n.startswith("evertrace")} <= LIBRARY
    ours = {n.removeprefix("evertrace._src.") for n in loaded if n.startswith("evertrace._src.")}
    assert not ours & {"core.jaxpr_html", "core.jaxpr_graph", "core.layering"}  # pictures
    folders = {n.split(".")[0] for n in ours}
    assert not folders & {"scipy", "random", "nn", "sharding", "experimental", "ref", "export"}


EAGER = """
import evertrace.numpy as jnp

x = jnp.arange(8.0)
float((jnp.sin(x) * 2 + x[0]).sum()), jnp.zeros((2, 3)) @ jnp.ones(3), x.at[0].set(1)
jnp.asarray(numpy.ones(3)), numpy.asarray(x), jnp.where(x > 2, x, 0), x.reshape(2, 4).T.mean(axis=0)
"""


def test_eager_operations_load_no_contract():
    loaded = {n.removeprefix("evertrace._src.") for n in loads(EAGER)}
    assert not {n for n in loaded if n.split(".")[0] == "jit"}
    assert "evertrace.jit" not in loaded


def test_eager_programs_never_load_the_compiler():
    assert (
        run("""
            import sys
            import evertrace as ev
            import evertrace.numpy as jnp

            def loss(w, x):
                for _ in range(3):
                    x = jnp.tanh(x @ w)
                return jnp.mean(x ** 2)

            x = jnp.arange(6.0).reshape(2, 3)
            w = jnp.eye(3)
            value, grad = ev.value_and_grad(loss)(w, x)
            ev.grad(lambda x: x if x > 0 else -x)(1.0)
            ev.jvp(loss, (w, x), (w, x))
            ev.vjp(loss, w, x)[1](1.0)
            ev.linearize(loss, w, x)[1](w, x)
            ev.vmap(ev.grad(loss), (None, 0))(w, x[:, None])
            ev.hessian(lambda x: jnp.sin(x).sum())(x[0])
            ev.make_jaxpr(ev.jit(loss))(w, x)
            ev.eval_shape(ev.jit(loss), w, x)
            str(grad), float(value), x.at[0].set(1), x[::-1], jnp.sort(x), list(x)
            print([name for name in ("jaxlib", "scipy") if name in sys.modules])
        """)
        == "[]"
    )


def test_a_jitted_identity_never_loads_the_compiler():
    assert (
        run("""
            import sys
            import evertrace as ev
            import evertrace.numpy as jnp

            f = ev.jit(lambda x, y: (y, x, 1.0))
            f(jnp.ones(3), 2.0)
            print("jaxlib" in sys.modules)
        """)
        == "False"
    )


@pytest.mark.parametrize(
    ("engine", "table"), [("native", "emit.emission"), ("xla", "lower.lowering")]
)
def test_a_table_of_rules_names_all_its_files(engine, table):
    folder = importlib.import_module(f"evertrace._src.engines.{engine}.rules")
    files = [f"{folder.__name__}.{found.name}" for found in pkgutil.iter_modules(folder.__path__)]
    module, name = table.split(".")
    rules = getattr(importlib.import_module(f"evertrace._src.engines.{engine}.{module}"), name)
    assert sorted(rules.modules) == sorted(files)


RULES = """
import sys
from evertrace._src.engines.native.emit import emission
print([name.rpartition(".")[2] for name in emission.modules if name in sys.modules])
f = ev.jit(lambda x: jnp.sort(x)[::-1].sum(), engine="native")
print(f(jnp.arange(3.0)), emission.modules[-1] in sys.modules)
"""


def test_rules_are_loaded_until_one_is_found():
    assert run(FIRST + RULES) == "['elementwise']\n3.0 False"


def test_a_rule_is_looked_for_where_its_primitive_is():
    program = """
        from evertrace import lax
        f = ev.jit(lambda x: lax.scan(lambda c, x: (c + x, c), x[0], x), engine="xla")
        f.lower(jnp.ones((3, 2)))
        from evertrace._src.engines.xla.lower import lowering
        print(*[name.rpartition(".")[2] for name in lowering.modules if name in sys.modules])
    """
    head = "import sys\nimport evertrace as ev\nimport evertrace.numpy as jnp\n"
    loaded = set(run(head + textwrap.dedent(program)).split())
    assert "scan" in loaded
    assert not loaded & {"call", "custom", "dot", "indexing", "dynamic", "cumulative", "random"}


TRACED = """
import sys
import evertrace as ev
import evertrace.numpy as jnp

def loss(w, x):
    return jnp.mean(ev.nn.relu(x @ w + w[0]).reshape(-1) ** 2)

ev.jit(ev.grad(loss)).trace(jnp.ones((3, 3)), jnp.ones((2, 3)))
print(*[name.removeprefix("evertrace._src.") for name in sys.modules])
"""


def test_tracing_loads_what_is_used():
    loaded = set(run(TRACED).split())
    assert {"numpy.products", "numpy.reductions", "numpy.indexing", "nn.activations"} <= loaded
    unused = "sorting search joining cumulative functional updates nonzeros dslice repeating"
    assert not loaded & {f"numpy.{name}" for name in unused.split()}
    assert not loaded & {"nn.attention", "nn.quantized", "nn.normalization", "ops.indexing"}


METHODS = """
import evertrace.numpy as jnp
x = jnp.arange(3)
print({use}, x + 1, x.at[0].set(7), x @ x, 2 in x, x.sum())
"""


@pytest.mark.parametrize(
    ("use", "wanted"),
    [
        ("x.at[1].add(1)", "[0 2 2]"),
        ("x @ x", "5"),
        ("2 in x", "True"),
        ("x.T", "[0 1 2]"),
        ("-x", "[ 0 -1 -2]"),
        ("x.sum()", "3"),
    ],
)
def test_any_operator_or_method_may_come_first(use, wanted):
    assert run(METHODS.format(use=use)) == f"{wanted} [1 2 3] [7 1 2] 5 True 3"


SMALL_MATRICES = """
import sys
import evertrace as ev, evertrace.numpy as jnp
def loaded():
    return [name for name in ("jaxlib", "scipy") if name in sys.modules]
a = 2 * jnp.eye(3)
for solve in (jnp.linalg.solve, ev.jit(jnp.linalg.solve)):
    assert solve(a, jnp.ones(3)).tolist() == [0.5] * 3
assert jnp.fft.fft(jnp.ones(2)).tolist() == [2, 0]
print(loaded())
jnp.linalg.eigvalsh(a)
print(loaded())
"""


@pytest.mark.usefixtures("needs_native")
def test_small_systems_and_transforms_load_neither_scipy_nor_the_compiler():
    """Loops for small matrices are ours, those of transforms NumPy's, LAPACK's routines SciPy's."""
    assert run(SMALL_MATRICES) == "[]\n['scipy']"


# ---------------------------------------------------------------- names that are loaded when asked


EXPORTED = """
import evertrace as ev
import evertrace.numpy as jnp

(b,) = ev.export.symbolic_shape("b")
f = ev.jit(lambda x: jnp.tanh(x) @ jnp.ones((4, 3)) + 1)
program = ev.export.export(f)(ev.ShapeDtypeStruct((b, 4), "float32"))
float(program.call(jnp.ones((5, 4)))[0, 0])
"""


def test_an_exported_program_loads_no_classes_of_mlir_and_no_rules_that_it_does_not_need():
    loaded = loads(EXPORTED)
    assert not {n for n in loaded if n.startswith("jaxlib.mlir.dialects")}
    assert not {n for n in loaded if n.startswith("evertrace._src.engines.fused")}
    rules = "evertrace._src.engines.native.rules"
    used = {f"{rules}.{name}" for name in ("exported", "elementwise", "dot", "structural")}
    assert {n for n in loaded if n.startswith(rules)} <= {rules, *used}


def test_names_of_a_stub():
    assert {"sin", "fft", "bool", "ndarray", "__array_api_version__"} <= set(jnp.__all__)
    assert jnp.ndarray is ev.Array
    assert "ConvGeneralDilatedDimensionNumbers" in dir(lax)
    assert all(hasattr(module, name) for module in (ev, jnp, lax, ev.nn) for name in dir(module))


def test_a_name_is_looked_up_once():
    assert jnp.tanh is vars(jnp)["tanh"]


@pytest.mark.parametrize("module", [ev, jnp, lax, ev.nn])
def test_an_unknown_name(module):
    with pytest.raises(AttributeError) as caught:
        module.no_such_name  # noqa: B018
    what = f"module {module.__name__!r} has no attribute 'no_such_name'."
    assert str(caught.value).split("\n")[0] == what


def test_star_import_takes_all_names():
    names = {}
    exec("from evertrace.numpy import *", names)
    assert set(jnp.__all__) <= set(names)
    assert names["sin"] is jnp.sin


def test_a_lazy_module_is_imported_by_its_first_use():
    assert (
        run("""
            import sys
            from evertrace._src.lazy import LazyModule
            colors = LazyModule("colorsys")
            before = "colorsys" in sys.modules
            print(before, colors.rgb_to_hsv(0.0, 0.0, 1.0)[2], "colorsys" in sys.modules)
        """)
        == "False 1.0 True"
    )
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'no_such_name'"):
        LazyModule("math").no_such_name  # noqa: B018
