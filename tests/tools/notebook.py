"""A notebook of thirty cells, some of them wrong on purpose, and what runs it as Jupyter does."""

import os
from pathlib import Path

import evertrace as ev

SOURCES = str(Path(ev.__file__).resolve().parents[1])

# Each cell with what its output has to show, and what of it: an error's traceback, HTML, or text.
CELLS = (
    ("import math\nimport evertrace as ev\nimport evertrace.numpy as jnp", "", ()),
    ("from evertrace import lax, nn, random, tree", "", ()),
    ("x = jnp.arange(6.0).reshape(2, 3)\nx", "html", ("Array([[0., 1., 2.]", "f32[2,3] · 24 b")),
    ("noise = random.normal(random.key(0), (60, 100))\nnoise", "html", ("<svg", "min -", "max ")),
    ("x + jnp.ones(2)", "error", ("Cell In[5], line 1", "(2, 3) and (2,) do not", "Fix:")),
    ("def loss(w, x):\n    return jnp.mean(jnp.tanh(x @ w) ** 2)\n\nw = jnp.ones(3)", "", ()),
    ("loss(jnp.ones(2), x)", "error", ("at Cell In[6], line 2 in loss", "Cell In[7], line 1")),
    ("ev.make_jaxpr(loss)(w, x)", "html", ("<b>jaxpr</b>", "dot_general", "Cell In[6], line 2")),
    ("ev.grad(loss)(w, x)", "html", ("Array([",)),
    ("step = ev.jit(lambda w, x: w - 0.1 * ev.grad(loss)(w, x))\nw = step(w, x)", "", ()),
    ("step.explain()", "html", ("variant 1 (0 hits): the first", "<th>inputs</th>")),
    ("step(w, x[:1])\nstep.explain()", "html", ("variant 2", "x: f32[2,3] -&gt; f32[1,3]")),
    ("tree.structure({'w': w, 'layers': [(w, x), None]})", "html", ("<b>&#x27;layers&#x27;</b>",)),
    ("@ev.jit\ndef f(x):\n    if x.sum() > 0:\n        return x\n    return -x", "", ()),
    ("f(x)", "error", ("at Cell In[14], line 3 in f", "jnp.where", "Cell In[15], line 1")),
    ("ev.jit(lambda x: math.sqrt(x.sum()))(x)", "error", ("`jnp.sqrt`", "Cell In[16], line 1")),
    ("x[0] = 1.0", "error", ("Cell In[17], line 1", ".at[")),
    ("jnp.summ(x)", "error", ("did you mean `sum`", "Cell In[18], line 1")),
    ("random.normal((3,))", "error", ("Cell In[19], line 1", "Fix:")),
    ("jnp.zeros(3, 'flaot32')", "error", ("did you mean `float32`", "Cell In[20], line 1")),
    ("class Counter:\n    n = 0\n\n    @ev.jit\n    def up(self):\n        self.n += 1", "", ()),
    ("c = Counter()\nc.up()\nc.up()\nc.n", "text", ("2",)),
    ("ys = lax.scan(lambda c, a: (c + a, c), 0.0, w)\nys[1]", "html", ("Array([0.",)),
    ("lax.scan(lambda c, a: c + a, 0.0, w)", "error", ("Cell In[24], line 1", "Fix:")),
    ("ev.make_jaxpr(lambda w: lax.scan(lambda c, a: (c * a, c), 1.0, w))(w)", "html", ("scan",)),
    ("ev.profile(loss)(w, x)", "html", ("Cell In[6], line 2 in loss", "<svg")),
    ("jnp.where(x > 2, jnp.nan, x).repeat(2, 0)", "html", ("6 NaN", 'fill="#e00"')),
    ("random.split(random.key(1), 3)", "html", ("Array((3,), dtype=key",)),
    ("v = jnp.ones(3)\nv.delete()\nv", "html", ("Array(f32[3], deleted)",)),
    ("float(step(w, x).sum())", "text", ("0.", "1.", "2.", "3.")),
)  # fmt: skip


def run(folder):
    """Run the notebook in a kernel of this Python; returns it with its outputs.

    Its settings and Jupyter's are in the folder.

    Raises:
      ImportError: nbclient, which has nbformat, or ipykernel are missing.
    """
    import ipykernel  # noqa: F401, PLC0415 (of the extra `test`, and here for the message)
    import nbclient  # noqa: PLC0415
    from nbformat import v4  # noqa: PLC0415

    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source, _, _ in CELLS])
    client = nbclient.NotebookClient(
        notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    names = ("JUPYTER_DATA_DIR", "IPYTHONDIR")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, str(folder)))
    try:
        return client.execute(env={**os.environ, "PYTHONPATH": SOURCES, "NO_COLOR": "1"})
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
