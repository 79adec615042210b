"""Writes the pages of the reference: one for each public module, and the rules of primitives.

``pages()`` returns them as reStructuredText by file name; Sphinx calls `write` through `conf.py`.
They are made from the package itself and never committed.
"""

import ast
import importlib
import inspect
import itertools
import pkgutil
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import evertrace
from evertrace._src.core.primitive import Primitive, Undefined

LONGEST_VALUE = 80  # characters of a constant that are shown


def public_modules() -> dict[str, types.ModuleType]:
    """Import the package and all its public modules; returns them by name."""
    names = [found.name for found in pkgutil.walk_packages(evertrace.__path__, "evertrace.")]
    public = ["evertrace", *(name for name in names if "._" not in name)]
    return {name: importlib.import_module(name) for name in public}


def public_names(module: types.ModuleType) -> list[str]:
    """Return the names that a module offers, other modules left out."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    return [
        name
        for name in sorted(names)
        if not isinstance(getattr(module, name), types.ModuleType)
        and name not in ("TYPE_CHECKING", "annotations")
    ]


def pages() -> dict[str, str]:
    """Return all pages of the reference by file name."""
    modules = public_modules()
    home = homes(modules)
    made = {f"{name}.rst": _module_page(name, module, home) for name, module in modules.items()}
    made["index.rst"] = _index(modules)
    made["cases.rst"] = _cases_page()
    made["primitives.rst"] = _primitives_page(all_primitives())
    return made


def write(folder: Path) -> None:
    """Write the pages into a folder; those that are as they were keep their times."""
    folder.mkdir(exist_ok=True)
    made = pages()
    for old in folder.glob("*.rst"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


def _index(modules: Iterable[str]) -> str:
    entries = "".join(f"   {name}\n" for name in ("primitives", "cases", *modules))
    return (
        _title("Reference")
        + "\nOne page for each public module, made from its docstrings, a table of the operations "
        + "that programs consist of, and the calls that differ from JAX.\n\n"
        + ".. toctree::\n   :maxdepth: 1\n\n"
        + entries
    )


# ---------------------------------------------------------------- modules


def homes(modules: dict[str, types.ModuleType]) -> dict[int, str]:
    """Return where each of the package's objects is documented in full, by its id.

    That is the module it says it is of, and its own name there; else the first one it is found in.
    """
    found: dict[int, tuple[int, str]] = {}
    for module_name, module in modules.items():
        for name in public_names(module):
            value = getattr(module, name)
            if not _is_ours(value):
                continue
            agree = (getattr(value, "__name__", ""), value.__module__)
            rank = 2 - (agree[0] == name) - (agree == (name, module_name))
            best = found.get(id(value))
            if best is None or rank < best[0]:
                found[id(value)] = rank, f"{module_name}.{name}"
    return {key: path for key, (_, path) in found.items()}


def _module_page(name: str, module: types.ModuleType, home: dict[int, str]) -> str:
    entries = "\n".join(
        _entry(f"{name}.{x}", getattr(module, x), home) for x in public_names(module)
    )
    return f"{_title(name)}\n.. automodule:: {name}\n\n.. currentmodule:: {name}\n\n{entries}"


def _entry(path: str, value: Any, home: dict[int, str]) -> str:
    """Return the directive for a public name."""
    if not _is_ours(value):
        return _foreign(path, value)
    if home[id(value)] != path:
        return _note(path, f"The same as :py:obj:`{home[id(value)]}`.")
    if isinstance(value, type):
        kind = "exception" if issubclass(value, BaseException) else "class"
        return f".. auto{kind}:: {path}\n   :members:\n"
    if isinstance(value, Primitive):
        return _note(path, f"The primitive ``{value.name}``: :doc:`primitives`.")
    if callable(value):
        return f".. autofunction:: {path}\n"
    if _is_ours(type(value)):
        return f".. autodata:: {path}\n   :no-value:\n"
    return _note(path, f"``{value!r}``")


def _foreign(path: str, value: Any) -> str:
    """Return the entry of a value of another package, or of a constant."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if module and name:
        return _note(path, f"The same as ``{module}.{name}``.")
    text = repr(value)
    shown = [f"``{text}``."] if len(text) < LONGEST_VALUE and "\n" not in text else []
    return _note(path, " ".join(shown + stated(path.rpartition(".")[2], value)))


def stated(name: str, value: Any) -> list[str]:
    """Return what the sources say of a constant, in the text below its assignment."""
    for module in [m for key, m in sys.modules.items() if key.startswith("evertrace")]:
        path = Path(getattr(module, "__file__", None) or "")
        if vars(module).get(name) is value and path.suffix == ".py":
            body = ast.parse(path.read_text(encoding="utf-8")).body
            for made, text in itertools.pairwise(body):
                target = getattr(made, "targets", [getattr(made, "target", None)])[0]
                if getattr(target, "id", None) == name and isinstance(text, ast.Expr):
                    return [re.sub(r"\s+", " ", re.sub(r"(?<!`)`(?!`)", "``", text.value.value))]
    return []


def _note(path: str, text: str) -> str:
    return f".. py:data:: {path}\n   :module:\n   :no-index-entry:\n\n   {text}\n"


def _is_ours(value: Any) -> bool:
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.startswith("evertrace")


# ---------------------------------------------------------------- primitives

COLUMNS = ("primitive", "host", "XLA", "batching", "derivative", "transposition")


def all_primitives() -> list[tuple[str, Primitive]]:
    """Return the primitives with the names of the files that define them, in this order."""
    found: dict[int, tuple[str, Primitive]] = {}
    for layer in ("ops", "control", "experimental.sparse"):
        package = importlib.import_module(f"evertrace._src.{layer}")
        for module in _modules_below(package):
            source = inspect.getsource(module)
            for name, value in vars(module).items():
                if not isinstance(value, Primitive):
                    continue
                file = module.__name__.removeprefix("evertrace._src.")
                if re.search(rf"^({name}\b[^(\n]*=|def {name}\b)", source, re.MULTILINE):
                    found[id(value)] = file, value
                else:  # imported there, or made by a loop
                    found.setdefault(id(value), (file, value))
    return sorted(found.values(), key=lambda pair: (pair[0], pair[1].name))


def _modules_below(package: types.ModuleType) -> Iterator[types.ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield importlib.import_module(found.name)


def rules_of(prim: Primitive) -> tuple[str, ...]:
    """Return what stands in the columns of the table for a primitive, after its name."""
    return (
        _said(prim.host) or _said(prim.eager),
        _lowering(prim),
        _said(prim.batch) or _said(prim.batch_call),
        _derivative(prim),
        _transposition(prim),
    )


def _said(rule: Any) -> str:
    """Return what a slot says: that there is a rule, why there is none, or nothing."""
    if isinstance(rule, Undefined):
        return f"none: {rule.reason}"
    return "" if rule is None else "yes"


def _lowering(prim: Primitive) -> str:
    if prim in importlib.import_module("evertrace._src.engines.xla.lower").lowering:
        return "yes"
    if prim.is_call:
        return "written out"
    return _said(prim.host) if isinstance(prim.host, Undefined) else "never run"


def _derivative(prim: Primitive) -> str:
    if prim.linear:
        return "linear"
    if callable(prim.linearize):
        return "by its program"
    slots = {"elementwise": prim.deriv, "jvp": prim.jvp}
    for name, rule in slots.items():
        if callable(rule):
            return name
    return _said(prim.deriv) or _said(prim.jvp) or _said(prim.linearize) or "only on tapes"


def _transposition(prim: Primitive) -> str:
    if callable(prim.transpose):
        return "yes"
    return _said(prim.transpose) or "not linear"


def _primitives_page(primitives: list[tuple[str, Primitive]]) -> str:
    rows = [_row(COLUMNS)]
    for file, prim in primitives:
        rows.append(_row((f"``{prim.name}`` ({file})", *rules_of(prim))))
    return (
        _title("Rules of primitives")
        + inspect.cleandoc(_EXPLANATION)
        + "\n\n.. list-table::\n   :header-rows: 1\n\n"
        + "".join(rows)
    )


def _row(cells: Iterable[str]) -> str:
    lines = [
        f"- {cell.replace('*', chr(92) + '*').replace('`None`', '``None``')}" for cell in cells
    ]
    return "   * " + "\n     ".join(lines) + "\n"


_EXPLANATION = """
Every operation that a jaxpr can hold, and what each transformation and engine makes of it, read
from the slots of the primitives. Where there is no rule the table has the reason.

- **host**: runs at once, on NumPy kernels. **XLA**: has a lowering; a call is *written out*.
- **derivative**: *elementwise* operations state partial derivatives, *linear* ones are their own
  derivative, others have a *jvp* rule. Programs with programs in them are differentiated *by their
  program*. Operations that are *only on tapes* stand for a backward pass and are never run.
- **transposition**: what reverse mode does with an operation that is linear in some operands.
"""


# ---------------------------------------------------------------- differences from JAX


def _cases_page() -> str:
    """List the calls for which tests state a difference from JAX, by reason."""
    by_reason: dict[str, list[str]] = {}
    folder = importlib.import_module("tests.oracle")
    for found in pkgutil.iter_modules(folder.__path__, "tests.oracle."):
        if ".cases" in found.name:
            stated = getattr(importlib.import_module(found.name), "DIFFERENCES", {})
            for case, reason in stated.items():
                by_reason.setdefault(reason, []).append(case)
    parts = [_title("Differences from JAX, by case"), _ABOUT_CASES]
    for reason in sorted(by_reason, key=lambda reason: -len(by_reason[reason])):
        cases = "".join(f"   {case}\n" for case in by_reason[reason])
        parts.append(f"{reason}:\n\n.. code-block:: text\n\n{cases}")
    return "\n".join(parts)


_ABOUT_CASES = """
What ``tests/oracle`` compares with JAX and means to differ, with the reason. In the programs
``x``, ``y`` and so on are arrays of the test, ``ev`` stands for ``jax``. Names that begin with a
module are calls with the arguments named.
"""
