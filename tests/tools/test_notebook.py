"""A notebook of thirty cells, some of them wrong on purpose, run by a kernel as Jupyter does."""

import json
import re

import pytest

from tests.tools.notebook import CELLS, SOURCES, run


def outputs(cell):
    """Return what a cell shows, by kind: HTML, text, and the traceback of an error."""
    found = {}
    for output in cell.outputs:
        if output.output_type == "error":
            found["error"] = re.sub("\x1b\\[[0-9;]*m", "", "\n".join(output.traceback))
        for kind, name in (("text/html", "html"), ("text/plain", "text")):
            if kind in output.get("data", {}):
                found[name] = output.data[kind]
    return found


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    for name in ("nbclient", "ipykernel"):
        pytest.importorskip(name, reason=f"{name}, of the extra `test`, is missing")
    return run(tmp_path_factory.mktemp("notebook"))


def test_there_are_thirty_cells_and_ten_of_them_are_wrong():
    assert len(CELLS) == 30
    assert sum(kind == "error" for _, kind, _ in CELLS) >= 8


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, len(CELLS) + 1))
def test_a_cell_shows_what_it_is(notebook, number):
    _, kind, texts = CELLS[number - 1]
    found = outputs(notebook.cells[number - 1])
    if not kind:
        assert found == {}
        return
    assert ("error" in found) == (kind == "error"), json.dumps(found)[:2000]
    for text in texts if kind != "text" else ():
        assert text in found[kind], found[kind]
    if kind == "text":
        assert found["text"].startswith(texts)
    if kind == "error":
        assert SOURCES not in found["error"], found["error"]
        assert "During handling" not in found["error"]
