"""Makes pages of what Evertrace shows in notebooks and browsers, for `screenshots` to look at.

    python docs/specimens.py FOLDER

writes into the folder: jaxprs, arrays, structures of trees, explanations and a profile as notebooks
show them, the same by treescope, a report of a program, and a notebook that was run. What is
missing of the extra ``docs`` is an error, for what is not there is looked at by nobody.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbconvert
import treescope

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random, tree

ROOT = Path(__file__).resolve().parents[1]
# As notebooks have it: what stands around an output is the page's, not ours.
_AROUND = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 1em }}
@media (prefers-color-scheme: dark) {{ body {{ background: #181818; color: #ddd }} }}
h2 {{ font-size: 1.1em; margin: 1.6em 0 .4em }}</style>
<h1>{title}</h1>{body}</html>"""

_SCROLLS = '<div style="overflow-x: auto">{}</div>'  # as outputs of notebooks do

_PROGRAM = '''"""A program that retraces, warns and fails, for the page of its report."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit
def step(w, x, scale=1.0):
    return w - 0.1 * scale * ev.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)


@ev.jit
def chosen(x):
    if x.sum() > 0:
        return x
    return -x


w = jnp.ones(3)
for rows in (10, 20, 10, 30):
    w = step(w, jnp.ones((rows, 3)))
w = step(w.astype(jnp.bfloat16), jnp.ones((10, 3)))
chosen(w)
'''


def _loss(params: Any, x: Any) -> Any:
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    return jnp.mean(hidden**2)


def _walk(x: Any) -> Any:
    def body(carry: Any, row: Any) -> Any:
        moved = lax.cond(row.sum() > 0, lambda c: c + row, lambda c: c - row, carry)
        return moved, moved.max()

    return lax.scan(body, jnp.zeros(x.shape[1]), x)


def _params(seed: int = 0) -> dict[str, Any]:
    return {"w": random.normal(random.key(seed), (8, 16)), "b": jnp.zeros(16)}


def _jaxprs() -> dict[str, Any]:
    params, x = _params(), jnp.ones((4, 8))
    return {
        "a loss": ev.make_jaxpr(_loss)(params, x),
        "its gradient": ev.make_jaxpr(ev.grad(_loss))(params, x),
        "loops and branches": ev.make_jaxpr(_walk)(x),
    }


def _arrays() -> dict[str, Any]:
    noise = random.normal(random.key(1), (60, 100))
    return {
        "noise": noise,
        "with a few that are no numbers": noise.at[10:20, 30:60].set(jnp.nan),
        "a triangle": jnp.tril(jnp.ones((24, 24))),
        "few": jnp.arange(6.0).reshape(2, 3),
        "one": jnp.float32(3),
        "complex": jnp.exp(1j * jnp.linspace(0, 6, 40)).reshape(4, 10),
        "keys": random.split(random.key(1), 3),
    }


def _structures() -> dict[str, Any]:
    layers = [_params(seed) for seed in range(3)]
    return {"a network": tree.structure({"layers": layers, "scale": 1.0, "rest": (None, [])})}


def _explained() -> dict[str, Any]:
    step = ev.jit(lambda w, x: w - 0.1 * ev.grad(lambda w: jnp.mean((x @ w) ** 2))(w))
    for rows in (10, 20, 10):
        step(jnp.ones(3), jnp.ones((rows, 3)))
    return {"a step of two shapes": step.explain()}


def _profiled() -> dict[str, Any]:
    layer = ev.jit(lambda w, x: jnp.tanh(x @ w))

    def model(w: Any, x: Any) -> Any:
        for _ in range(3):
            x = layer(w, x)
        return jnp.sort(x, axis=0)

    w = jnp.ones((200, 200))
    return {"a model": ev.profile(model)(w, w)}


def _page(title: str, values: dict[str, Any]) -> str:
    parts = [f"<h2>{name}</h2>{value._repr_html_()}" for name, value in values.items()]
    return _AROUND.format(title=title, body="".join(parts))


def _treescope() -> str:
    params = [_params(seed) for seed in range(2)]
    shown = {"params": params, "steps": 3, "structure": tree.structure(params)}
    tree_of_it = treescope.render_to_html(shown)
    drawn = treescope.render_array(params[0]["w"])._repr_html_()
    body = f"<h2>a tree</h2>{_SCROLLS.format(tree_of_it)}<h2>an array</h2>{_SCROLLS.format(drawn)}"
    return _AROUND.format(title="By treescope", body=body)


def _report(folder: Path) -> None:
    program = folder / "train.py"
    program.write_text(_PROGRAM)
    command = [
        sys.executable,
        "-m",
        "evertrace",
        "report",
        "-o",
        str(folder / "report.html"),
        program,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 1:  # as the program has
        raise RuntimeError(f"the program ended with {done.returncode}:\n{done.stderr}")


def _notebook(folder: Path) -> str:
    """Return the page of a notebook that was run, without what others would be asked for."""
    sys.path[0:0] = [str(ROOT)]
    from tests.tools.notebook import run  # noqa: PLC0415 (the cells that tests run)

    made, _ = nbconvert.HTMLExporter().from_notebook_node(run(folder))
    return re.sub(r'<script src="https:[^>]*>\s*</script>', "", made)


def write(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in (
        ("jaxprs", _jaxprs), ("arrays", _arrays), ("structures", _structures),
        ("explained", _explained), ("profile", _profiled),
    ):  # fmt: skip
        (folder / f"{name}.html").write_text(_page(name.capitalize(), make()), encoding="utf-8")
    (folder / "treescope.html").write_text(_treescope(), encoding="utf-8")
    _report(folder)
    (folder / "notebook.html").write_text(_notebook(folder), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
