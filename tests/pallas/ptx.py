"""Compiling Triton's language to PTX by the compiler in XLA's plugin for CUDA, without a GPU.

The plugin's wheels are found in the environment, or in a folder that a variable names:

    pip install --no-deps --target DIR -r tests/pallas/requirements.txt
    EVERTRACE_TEST_CUDA_PLUGIN=DIR python -m pytest -m ptx tests/pallas

As a program it reads modules from its input, a JSON list of [text, capability], and prints a JSON
list of the PTX: in a process of its own, as the plugin is to be loaded nowhere else.
"""

import glob
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

FOLDER = os.environ.get("EVERTRACE_TEST_CUDA_PLUGIN")
NAMES = ("jax_cuda13_plugin", "jax_cuda12_plugin")
REQUIREMENTS = Path(__file__).with_name("requirements.txt")

WITH_PLACE = {
    "atom", "bar", "cp", "fence", "ld", "mbarrier", "mma", "red", "shfl", "st", "tcgen05", "wgmma",
}  # fmt: skip
"""Instructions of which the next word counts, too: which memory, or what is done there."""


def plugin():
    """Return the name of the plugin's package and the path of its library, or None."""
    if FOLDER and FOLDER not in sys.path:
        sys.path.append(FOLDER)
    for name in NAMES:
        if importlib.util.find_spec(name) is None:
            continue
        version = name.removeprefix("jax_").removesuffix("_plugin")
        for path in sys.path:
            found = glob.glob(f"{path}/jax_plugins/xla_{version}/xla_cuda_plugin.so")
            if found:
                return name, found[0]
    return None


def why_not():
    """Return why there is no PTX, or None."""
    if plugin() is None:
        return f"XLA's plugin for CUDA is not installed: {__doc__.splitlines()[4].strip()}"
    return None


def why_other():
    """Return why the PTX may be another than that of the golden files, or None."""
    reason, found = why_not(), plugin()
    if found is None:
        return reason
    name = found[0].replace("_", "-")
    here, wanted = f"{name}=={importlib.metadata.version(name)}", REQUIREMENTS.read_text().split()
    return None if here in wanted else f"the golden files are not those of {here}"


def compile_all(modules):
    """Return the PTX of pairs of a module's text and a capability such as "9.0"."""
    command = [sys.executable, "-m", "tests.pallas.ptx"]
    done = subprocess.run(
        command, input=json.dumps(modules), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lines(asm):
    """Return the instructions of PTX: without comments, versions, and names of registers."""
    names: dict[str, str] = {}

    def rename(match):
        return names.setdefault(match[0], f"%{len(names)}")

    found = [re.sub(r"//.*", "", line).strip() for line in asm.splitlines()]
    found = [line for line in found if line and not line.startswith((".", "$", "{", "}", "(", ")"))]
    return [re.sub(r"%[a-z]+\d+", rename, line) for line in found]


def census(asm):
    """Return how many instructions there are of each kind, whatever the types of their operands."""
    found = Counter()
    for text in ";".join(lines(asm)).split(";"):  # what was assembly has several in a line
        match = re.match(r"\s*(?:@!?%\d+\s+)?([a-z][\w.:]*)", text)
        if match:
            kind, *rest = match[1].split(".")
            found[f"{kind}.{rest[0]}" if kind in WITH_PLACE and rest else kind] += 1
    return found


def main():
    """Compile what the input holds."""
    xla_client = importlib.import_module("jaxlib.xla_client")
    found = plugin()
    assert found is not None
    name, library = found
    api = xla_client.load_pjrt_plugin_dynamically("cuda", library)
    extension = importlib.import_module(f"{name}.cuda_plugin_extension")
    asm = [
        extension.compile_triton_to_asm(api, text.encode(), capability, 4, 1, 3).asm
        for text, capability in json.load(sys.stdin)
    ]
    json.dump(asm, sys.stdout)


if __name__ == "__main__":
    main()
