"""Compiling Triton's language to PTX by the compiler in XLA's plugin for CUDA, without a GPU.

The plugin's wheels are found in the environment, or in a folder that a variable names:

    pip install --no-deps --target DIR jax-cuda13-plugin==0.10.2 jax-cuda13-pjrt==0.10.2
    EVERTRACE_TEST_CUDA_PLUGIN=DIR python -m pytest tests/pallas/test_triton_text.py

As a program it reads modules from its input, a JSON list of [text, capability], and prints a JSON
list of the PTX: in a process of its own, as the plugin is to be loaded nowhere else.
"""

import glob
import importlib
import importlib.util
import json
import os
import subprocess
import sys

FOLDER = os.environ.get("EVERTRACE_TEST_CUDA_PLUGIN")
NAMES = ("jax_cuda13_plugin", "jax_cuda12_plugin")


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


def compile_all(modules):
    """Return the PTX of pairs of a module's text and a capability such as "9.0"."""
    command = [sys.executable, "-m", "tests.pallas.ptx"]
    done = subprocess.run(
        command, input=json.dumps(modules), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
