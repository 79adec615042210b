"""The build backend: setuptools', which refuses where the real JAX is installed.

pip would take a real JAX away without a word, for this distribution has its name. So building it
looks at the environment that it is built for; JAX_EVERTRACE_REPLACE=1 says that this is meant.
"""

import beside
from setuptools.build_meta import *  # noqa: F403
from setuptools.build_meta import build_editable as _build_editable
from setuptools.build_meta import build_wheel as _build_wheel


def build_wheel(*args, **kwargs):
    """Build the wheel."""
    beside.refuse_beside_jax()
    return _build_wheel(*args, **kwargs)


def build_editable(*args, **kwargs):
    """Build the wheel of an editable installation."""
    beside.refuse_beside_jax()
    return _build_editable(*args, **kwargs)
