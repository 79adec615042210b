"""Messages have all their parts, and the sections of docs/errors.md that they point at are there.

The page itself is run by tests/docs.
"""

import ast
import re
from pathlib import Path

import pytest

import evertrace
from evertrace._src import errors

PACKAGE = Path(evertrace.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
SECTIONS = re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def anchors():
    """Return the anchors that the package's calls of user_error and user_warning give."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in ("user_error", "user_warning"):
                for anchor in _anchors_of(node):
                    found.setdefault(anchor, f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


def _name(node):
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _anchors_of(call):
    for keyword in call.keywords:
        if keyword.arg == "anchor":
            return [keyword.value.value] if isinstance(keyword.value, ast.Constant) else []
    # By default a class of ours is its own anchor.
    name = _name(call.args[0])
    cls = getattr(errors, name, None)
    ours = isinstance(cls, type) and issubclass(
        cls, errors.EvertraceError | errors.EvertraceWarning
    )
    return [name] if ours else []


RAISED_AS_THEY_ARE = {
    "_src/api/objects.py": "the caller words the error",
    "_src/engines/cache.py": "an entry that cannot be read, which the cache warns of",
    "_src/experimental/checkify/error.py": "the error is the user's",
    "_src/export/container.py": "the caller words the error",
    "_src/extension.py": "a name that the extension module does not number is a mistake of ours",
    "_src/jit/graphs.py": "the caller words the error",
    "_src/jit/lifting/hostarray.py": "NumPy's own words, since the array stands for one of NumPy's",
    "_src/jit/lifting/hostindices.py": "NumPy's own words, for indices into such an array",
    "_src/jit/lifting/host.py": "Python's own words for a value that pickling does not know",
    "_src/jit/lifting/hosttext.py": "Python's own words for methods that give no text",
    "_src/jit/lifting/impure_calls.py": "what `json` asks its caller's function, which catches it",
    "_src/numpy/concrete.py": "NumPy's own words for `__array__(copy=False)`",
    "_src/signatures.py": "as `inspect`, for which it stands; callers do without the signature",
}
"""Files that raise errors without `user_error`, each with the reason."""

WORDED = {
    name for name, cls in vars(errors).items() if isinstance(cls, type)
    if issubclass(cls, errors.EvertraceError)
} | {
    "IndexError", "KeyError", "NotImplementedError", "RuntimeError", "TypeError", "ValueError",
}  # fmt: skip


def test_errors_are_worded_by_user_error():
    raised = set()
    for path in sorted((PACKAGE / "_src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            made = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(made, ast.Call) and _name(made.func) in WORDED:
                raised.add(path.relative_to(PACKAGE).as_posix())
    assert raised == set(RAISED_AS_THEY_ARE)


def test_every_error_says_what_to_do():
    silent, count = [], 0
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) == "user_error":
                count += 1
                if not {"fix", None} & {keyword.arg for keyword in node.keywords}:
                    silent.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert count > 1000
    assert silent == []


@pytest.fixture(scope="module")
def where():
    return anchors()


def test_every_anchor_has_a_section(where):
    assert {a: place for a, place in where.items() if a not in SECTIONS} == {}


def test_every_section_is_pointed_at(where):
    classes = set(dir(errors))
    assert [s for s in SECTIONS if s not in where and s not in classes] == []


def test_sections_are_told_apart():
    assert len(SECTIONS) == len(set(SECTIONS))


WITHOUT_FAILURE = (
    "devices",  # needs two of them
    "x64",  # a warning
    "native-kernels",  # a warning, where there is no compiler
    "fused-kernels",  # another, where LLVM fails
    "large-container",  # a warning
    "CacheWarning",  # another
    "donation",  # another
    "fork",  # what fails does so in another process
    "address-space",  # an error of a process that is limited for the example
)


def test_every_section_has_a_program():
    """Programs that fail and programs that work; both are executed by tests/docs."""
    for section in PAGE.read_text(encoding="utf-8").split("\n### ")[1:]:
        name, body = section.split("\n", 1)
        assert "```python\n>>> " in body, name
        assert "Traceback" in body or name in WITHOUT_FAILURE, name
