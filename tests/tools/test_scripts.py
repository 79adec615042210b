"""What shell scripts say in Python holds for the package as it is: they run where no test does."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPET = re.compile(r"""-c (["'])((?:(?!\1).)*?\bevertrace\b.*?)\1""", re.DOTALL)
SNIPPETS = [
    pytest.param(found[2], id=f"{path.parent.name}/{path.name}")
    for folder in ("scripts", ".ci")
    for path in sorted((ROOT / folder).iterdir())
    if path.is_file()
    for found in SNIPPET.finditer(path.read_text())
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_names_of_the_package_in_scripts_are_there(snippet):
    found = {}
    for node in ast.walk(ast.parse(snippet)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                found[alias.asname or alias.name] = getattr(module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name] = importlib.import_module(alias.name)
    assert found
    for node in ast.walk(ast.parse(snippet)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert hasattr(found[node.value.id], node.attr), ast.unparse(node)


def test_the_scripts_that_hold_python_are_found():
    names = {param.id for param in SNIPPETS}
    assert {".ci/run", ".ci/wheels", "scripts/sanitize"} <= names
