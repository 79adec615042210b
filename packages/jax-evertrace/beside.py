"""Refuses to take the place of the real JAX unless that is meant."""

import os
import pathlib
import sys
import sysconfig


def refuse_beside_jax():
    """End the build where the environment that it is for has a real JAX."""
    if os.environ.get("JAX_EVERTRACE_REPLACE"):
        return
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for found in pathlib.Path(folder).glob("jax-*.dist-info"):
            if not found.name.endswith("+evertrace.dist-info"):
                name = found.name.removesuffix(".dist-info")
                sys.exit(
                    f"{name} is installed in this environment, and installing jax-evertrace would "
                    "take it away.\n"
                    "Fix: make an environment of its own for evertrace, or set "
                    "JAX_EVERTRACE_REPLACE=1 if this is meant."
                )
