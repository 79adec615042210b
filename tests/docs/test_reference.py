"""The reference has all modules, names and primitives, and the page of extras all options."""

import importlib.util
import re
from pathlib import Path

import pytest

from evertrace._src import config
from tests.docs.docstrings import public_modules
from tests.laws.test_completeness import PRIMITIVES

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(generate):
    return generate.pages()


def test_every_public_module_has_a_page_with_an_entry_in_the_index(pages):
    for module in public_modules():
        assert f"{module.__name__}.rst" in pages
        assert f"\n   {module.__name__}\n" in pages["index.rst"]


def test_every_public_name_is_on_the_page_of_its_module(generate, pages):
    for name, module in generate.public_modules().items():
        entries = re.findall(r"^\.\. \S+:: (\S+)$", pages[f"{name}.rst"], re.MULTILINE)
        assert set(entries) >= {f"{name}.{public}" for public in generate.public_names(module)}


def test_every_object_is_documented_in_full_once(pages):
    automatic = re.compile(r"^\.\. auto(?:function|class|exception):: (\S+)$", re.MULTILINE)
    full = [entry for page in pages.values() for entry in automatic.findall(page)]
    assert "evertrace.numpy.cumsum" in full
    assert len(full) == len(set(full)) > 1000


def test_no_entry_of_a_constant_is_blank(pages):
    notes = re.compile(r"^\.\. py:data:: (\S+)\n(?:   :.*\n)+\n(.*)$", re.MULTILINE)
    found = [note for page in pages.values() for note in notes.findall(page)]
    assert len(found) > 300
    assert [path for path, text in found if not text.strip()] == []


def test_constants_have_the_text_below_their_assignment(pages):
    page = pages["evertrace.lax.rst"]
    assert "py:data:: evertrace.lax.PrecisionLike\n" in page
    assert "   What ``dot_general`` takes as ``precision``.\n" in page


def test_every_primitive_is_in_the_table(generate, pages):
    listed = {id(prim) for _, prim in generate.all_primitives()}
    assert {prim.name for prim in PRIMITIVES if id(prim) not in listed} == set()
    assert "   * - ``sin`` (ops.elementwise)\n     - yes\n" in pages["primitives.rst"]


def test_each_cell_of_the_table_is_a_rule_or_a_reason(generate):
    for _, prim in generate.all_primitives():
        assert all(generate.rules_of(prim)), prim.name


def test_every_option_is_on_the_page_of_extras():
    text = (DOCS / "extras.md").read_text(encoding="utf-8").split("## Options")[1]
    listed = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", text, re.MULTILINE)
    wanted = [(name, repr(value).replace("'", '"')) for name, value in defaults().items()]
    assert sorted(listed) == sorted(wanted)


def defaults():
    values = config.Config()
    return {name: getattr(values, name) for name in config._FIELD_TYPES}
