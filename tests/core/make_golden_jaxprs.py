"""Writes golden_jaxprs.json: what JAX prints. Run it where JAX is installed, never in a test.

Called as ``python -m tests.core.make_golden_jaxprs`` in the root of the repository.
"""

import json
import pathlib

import jax

from tests.core.golden_programs import PROGRAMS


def main():
    """Write the texts beside this file."""
    texts = {name: str(program(jax)).split("\n") for name, program in PROGRAMS.items()}
    path = pathlib.Path(__file__).with_name("golden_jaxprs.json")
    path.write_text(json.dumps(texts, indent=1) + "\n")


if __name__ == "__main__":
    main()
