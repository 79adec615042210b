"""Sphinx: builds the pages of this folder and the reference, by ``scripts/docs``."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # for `generate`, and the tests that it reads

import generate  # noqa: E402
from docutils import nodes  # noqa: E402
from sphinx.util.inspect import TypeAliasForwardRef  # noqa: E402

import evertrace  # noqa: E402

project = "Evertrace"
copyright = "the authors of Evertrace"
version = release = evertrace.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"Evertrace {version}"
html_static_path = ["static"]
html_css_files = ["phone.css"]
default_role = "code"  # single backquotes are code, as in Markdown
myst_heading_anchors = 2  # pages may link to sections of others
pygments_style = "friendly"

autodoc_typehints = "signature"  # docstrings state shapes and dtypes
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Axis", "DTypeLike", "Shape")}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # else unions show the stand-in itself
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

TOCTREES = """

```{toctree}
:hidden:
:glob:
:caption: Tutorial

tutorial/*
```

```{toctree}
:hidden:
:glob:
:caption: Guides

guides/*
```

```{toctree}
:hidden:
:glob:
:caption: Pages

reference/index
extras
differences
errors
architecture
add-a-primitive
*
```
"""


def add_toctrees(app, docname, source):
    """Add to the first page what the side bar shows, which other readers of Markdown need not."""
    if docname == "index":
        source[0] += TOCTREES


def add_anchors(app, doctree):
    """Make sections known by their titles as well, as messages of errors refer to them."""
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title).astext()
        if " " not in title and title not in section["ids"]:
            section["ids"].append(title)


def escape(app, what, name, obj, options, lines):
    """Take characters in docstrings as they are, except in code: `*args`, ``|x|``, `x_`."""
    if (getattr(obj, "__module__", None) or "evertrace").startswith("evertrace"):
        text = "".join(map(escape_part, CODE.split("\n".join(lines))))
        # Several names of one line would be taken for a name and its type.
        text = re.sub(
            r"^( +)(\*{0,2}\w+(?:, \*{0,2}\w+)+):(?=\s)",
            lambda match: match[1] + match[2].replace(", ", ","),
            text,
            flags=re.MULTILINE,
        )
        # What stands before a colon would be taken for the type of what is returned.
        text = re.sub(r"^((?:Returns|Yields):\n +)", r"\1: ", text, flags=re.MULTILINE)
        lines[:] = text.split("\n")


# Examples up to an empty line, indented blocks, and text in backquotes.
CODE = re.compile(
    r"((?:^ *>>>(?:.|\n(?! *\n))*)|(?:^ {6,}.*$)|``.*?``|`[^`]*`(?:\w*))", re.MULTILINE
)


def escape_part(text: str) -> str:
    """Escape what reStructuredText would take for markup, in one of the pieces of a docstring."""
    if re.match(r" *>>>| {6}|``", text):
        return text
    if text.startswith("`"):  # a plural after code
        return re.sub(r"`(\w+)$", r"`\\ \1", text)
    return re.sub(r"(?<!\n)([*|]|(?<=\w)_(?!\w))", r"\\\1", text)


def skip(app, what, name, obj, skipped, options):
    """Leave out the fields of named tuples, which the docstrings of their classes describe."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app):
    """Connect the functions above, and write the pages of the reference."""
    generate.write(HERE / "reference")
    app.connect("source-read", add_toctrees)
    app.connect("doctree-read", add_anchors)
    app.connect("autodoc-process-docstring", escape, priority=100)
    app.connect("autodoc-skip-member", skip)
