"""The sections of the guide of errors, from the copy that is installed with the package."""

import re
from pathlib import Path

from evertrace._src import errors

_HERE = Path(__file__).parent
PLACES = (_HERE / "errors.md", _HERE.parents[3] / "docs" / "errors.md")
"""Where the guide is: beside this file where a wheel was installed, else among the sources."""


def sections() -> dict[str, str]:
    """Return the guide's sections by their anchors; {} where this installation has no guide."""
    for place in PLACES:
        if place.is_file():
            text = place.read_text(encoding="utf-8")
            break
    else:
        return {}
    _, *parts = re.split(r"^### ", text, flags=re.MULTILINE)
    bodies = [re.split(r"^## ", part, maxsplit=1, flags=re.MULTILINE)[0] for part in parts]
    return {body.partition("\n")[0].strip(): f"### {body.rstrip()}\n" for body in bodies}


def anchor_of(text: str) -> str:
    """Return the anchor that somebody means: it, the command that ends a message, or a link."""
    return text.strip("` ").removeprefix(errors.MANUAL).rpartition("#")[2].strip()
