"""Every primitive says what each transformation and each engine makes of it, and is tested.

A rule may be missing only where its slot says why, with `undefined`.
"""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import evertrace._src.control
import evertrace._src.experimental.sparse
import evertrace._src.ops
from evertrace._src import extension
from evertrace._src.core.primitive import Primitive, Undefined
from tests.laws.rows import ROWS


def all_primitives():
    """Return the primitives of `ops`, `control` and sparse arrays, by name."""
    found = {}
    packages = evertrace._src.ops, evertrace._src.control, evertrace._src.experimental.sparse
    for package in packages:
        for module in pkgutil.iter_modules(package.__path__):
            contents = vars(importlib.import_module(f"{package.__name__}.{module.name}"))
            found |= {id(x): x for x in contents.values() if isinstance(x, Primitive)}
    return sorted(found.values(), key=lambda prim: prim.name)


PRIMITIVES = all_primitives()
over_primitives = pytest.mark.parametrize("prim", PRIMITIVES, ids=[p.name for p in PRIMITIVES])


def stated(rule):
    """Whether a slot holds a rule or the reason why there is none."""
    return rule is not None


def only_on_tapes(prim):
    """Whether this is a linear map that only its transpose is known of: it is never run."""
    return callable(prim.transpose) and not prim.linear and prim.linearize is None


def never_run(prim):
    """Whether no engine meets this: a trace turns it into other operations."""
    return isinstance(prim.host, Undefined)


@over_primitives
def test_has_a_type_rule(prim):
    assert callable(prim.abstract)


@over_primitives
def test_runs_on_the_host(prim):
    assert callable(prim.host) or callable(prim.eager) or never_run(prim)


_NO_OPERANDS = "nothing that it is made of is divided"
_WHOLE = "it takes and gives whole arrays"
UNDIVIDED = {
    "axis_index constant dim_as_value iota platform_index": _NO_OPERANDS,
    "rng_bit_generator rng_uniform": _NO_OPERANDS,
    "call_exported custom_lin custom_linear_solve debug_callback ffi_call io_callback linear_call "
    "pure_callback": _WHOLE,
    "bounded_while reduce reduce_window select_and_scatter": _WHOLE,
    "dce_sink": "it has no results",
}
_SPARSE = ("bcoo_", "bcsr_", "coo_", "csr_", "todense")


@over_primitives
def test_says_how_results_are_divided(prim):
    undivided = {name for names in UNDIVIDED for name in names.split()}
    lies_whole = prim.name in undivided or prim.name.startswith(_SPARSE)
    assert (prim.factors is None and prim.divide is None) == lies_whole


@over_primitives
def test_has_a_batching_rule(prim):
    assert stated(prim.batch) or stated(prim.batch_call)


@over_primitives
def test_has_a_derivative(prim):
    forward = stated(prim.jvp_call) and stated(prim.linearize)
    assert only_on_tapes(prim) or forward or prim.linear or stated(prim.jvp) or stated(prim.deriv)


@over_primitives
def test_linear_operations_have_a_transpose(prim):
    assert not prim.linear or callable(prim.transpose)


@over_primitives
def test_reasons_are_sentences(prim):
    slots = ("batch", "deriv", "host", "jvp", "linearize", "transpose")
    for rule in (getattr(prim, slot) for slot in slots):
        assert not isinstance(rule, Undefined) or len(rule.reason.split()) > 2


@pytest.mark.engine
def test_all_have_a_lowering():
    lowering = importlib.import_module("evertrace._src.engines.xla.lower").lowering
    without = (only_on_tapes, never_run)
    compiled = [p for p in PRIMITIVES if not p.is_call and not any(f(p) for f in without)]
    assert [p.name for p in compiled if p not in lowering] == []


def test_all_have_a_row():
    """Operations of `control` take functions; their tests are in `tests/control`."""
    with_rows = {id(prim) for spec in ROWS for prim in spec.prims}
    sparse = vars(importlib.import_module("evertrace.experimental.sparse")).values()
    elementary = [p for p in PRIMITIVES if p.eager is None or p in sparse]
    without = [
        p.name
        for p in elementary
        # A symbolic size has no value; its tests are in `tests/export` and `tests/dims`.
        if id(p) not in with_rows and not never_run(p) and p.name != "dim_as_value"
    ]
    assert without == []


def test_names_of_rows_are_unique():
    names = [spec.name for spec in ROWS]
    assert len(names) == len(set(names))


def lists_of_names(path):
    """Yield the literals of a file that hold four names of primitives or more, and little else."""
    names = {prim.name for prim in PRIMITIVES}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in [x for x in ast.walk(tree) if isinstance(x, ast.expr)]:
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        texts = [x.value for x in items if isinstance(x, ast.Constant) and type(x.value) is str]
        known = [text for text in texts if text in names]
        if len(known) >= 4 and 2 * len(known) > len(texts):
            yield f"{path.name}:{node.lineno}: {', '.join(known)}"


def test_facts_about_primitives_are_no_lists_of_names():
    sources = Path(evertrace._src.ops.__path__[0]).parent
    folders = sources / "engines", sources / "experimental" / "checkify"
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    found = [line for path in paths for line in lists_of_names(path)]
    assert not found, "give `Primitive` an attribute, or the engine a table by primitive"


def test_lists_of_names_are_found(tmp_path):
    path = tmp_path / "lists.py"
    path.write_text(
        'A = ["add", "mul", "or", "sin"]\nB = {"or": 1, "exp": 2, "log": 3, "abs": 4}\n'
    )
    assert list(lists_of_names(path)) == [
        "lists.py:1: add, mul, or, sin",
        "lists.py:2: or, exp, log, abs",
    ]


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("table", ["LOOPS", "REDUCTIONS"])
def test_the_cpp_has_loops_and_reductions_of_primitives_only(table):
    assert set(getattr(extension.native, table)) <= {prim.name for prim in PRIMITIVES}


@pytest.mark.usefixtures("needs_native")
def test_each_kernel_of_the_cpp_is_named_by_a_rule():
    source = Path(evertrace._src.ops.__file__).parents[1]
    files = [*source.glob("*.py"), *source.glob("ops/**/*.py"), *source.glob("engines/**/*.py")]
    tables = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    named = {node.value for node in tables if type(node) is ast.Constant}
    assert set(extension.native.KERNELS) <= named
