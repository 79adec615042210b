"""`as_jax`: what ``import jax`` finds, and that it goes away again."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import evertrace

SOURCES = str(pathlib.Path(evertrace.__file__).parents[1])


def run(program, path=()):
    """Run a program in a process of its own; returns what it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCES, *map(str, path)])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAMS = {
    "modules are evertrace's own": """
        import evertrace as ev
        ev.as_jax()
        import jax, jax.numpy as jnp, jax.scipy.special, jax.tree_util as jtu
        from jax import lax, random, nn, jit, vmap
        from jax.experimental import *
        assert jnp is ev.numpy and jit is ev.jit and jax.scipy.special is ev.scipy.special
        assert lax is ev.lax and jax.random is random and jax.Array is ev.Array
        assert jax.__version__ == "0.10.2" and jax.__version_info__ == (0, 10, 2)
        assert ev.__version__ != jax.__version__ and ev.numpy.__spec__.name == "evertrace.numpy"
        assert "numpy" in dir(jax)
    """,
    "a context takes the names away": """
        import sys, evertrace as ev
        before = list(sys.meta_path)
        with ev.as_jax() as jax:
            import jax.numpy
            with ev.as_jax() as again:
                assert again is jax
            assert sys.modules["jax"] is jax
        assert not [m for m in sys.modules if m.split(".")[0] == "jax"]
        assert sys.meta_path == before
        assert ev.numpy.ones(2).sum() == 2
    """,
    "jit sees through the alias": """
        import evertrace as ev
        ev.as_jax()
        import jax, jax.numpy as jnp
        scale = [2.0]
        f = jax.jit(lambda x: scale[0] * jax.numpy.sin(x) + jax.lax.cos(x))
        g = jax.grad(lambda x: f(x).sum())
        x = jnp.arange(3.0)
        assert f(x)[0] == 1 and g(x)[0] == 2
        scale[0] = 3.0
        assert g(x)[0] == 3
    """,
    "what is not there is an ImportError that says so": """
        import evertrace as ev
        ev.as_jax()
        for name, text in [
            ("jax._src.pallas", "which is private to JAX"),
            ("jax.tools", "no module that could stand for jax.tools"),
            ("jax.numpy.nope", "no module that could stand for jax.numpy.nope"),
        ]:
            try:
                __import__(name)
            except ModuleNotFoundError as error:
                assert text in str(error), error
                assert name.startswith(error.name), error.name
            else:
                raise AssertionError(name)
        try:
            from jax import nope
        except ImportError as error:
            assert "nope" in str(error)
        import jax._src.core
        try:
            jax._src.core.nope
        except AttributeError as error:
            assert "jax._src.core.nope is private to JAX, and nothing of evertrace" in str(error)
            assert "<string>" in str(error), error
        else:
            raise AssertionError
    """,
    "private modules are attributes of their package": """
        import evertrace as ev
        ev.as_jax()
        import jax
        import jax
        assert jax._src.xla_bridge._backends is not None
        assert jax._src.core.Tracer is ev.core.Tracer
        refused = jax._src.interpreters.ad.CustomVJPException
        assert issubclass(ev.errors.UnexpectedTracerError, refused)
    """,
    "primitives are described by private modules as JAX's tutorial does": """
        import evertrace as ev
        ev.as_jax()
        from jax._src import api
        from jax._src.lax import lax
        from jax._src.lib.mlir.dialects import hlo
        from jax.extend import core
        from jax.interpreters import mlir
        multiply_add_p = core.Primitive("multiply_add")
        multiply_add_p.def_abstract_eval(lambda x, y, z: x)
        rule = lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y), z).result]
        mlir.register_lowering(multiply_add_p, rule, platform="cpu")
        assert api.jit(multiply_add_p.bind)(2.0, 3.0, lax.full_like(1.0, 4)) == 10
    """,
    "every private name that is lent is there": """
        import evertrace as ev, importlib
        ev.as_jax()
        from evertrace._src.api import lent
        for module, names in lent.MODULES.items():
            found = importlib.import_module(module)
            assert sorted(names) == dir(found), module
            for name in names:
                getattr(found, name)
        import jax
        from jax._src import core, tree_util, xla_bridge, dtypes, api_util, checkify
        assert core.trace_state_clean() and core.ShapedArray is jax.core.ShapedArray
        assert list in tree_util._registry and str not in tree_util._registry
        (error,) = tree_util.prefix_errors({"a": [1]}, {"a": 2})
        assert str(error("in_axes")).startswith("in_axes"), error("in_axes")
        assert "cuda" not in xla_bridge._backends
        assert checkify.checkify is jax.experimental.checkify.checkify
        assert dtypes.supports_inf("float32") and not dtypes.supports_inf("float8_e4m3fn")
        import inspect
        roles = api_util.infer_argnums_and_argnames(inspect.signature(pow), 1, None)
        assert roles == ((1,), ("exp",)), roles
    """,
    "what is left of a public module that was emptied can be imported": """
        import evertrace as ev
        ev.as_jax()
        import jax.lib
        jax.config.parse_flags_with_absl()
        jax.config.config_with_absl()
        assert dir(jax.lib) == ['__version__'] and jax.lib.__version__[0] == '0'
    """,
    "to lend the names loads nothing": """
        import sys
        import evertrace as ev
        ev.as_jax()
        assert not {"numpy", "jaxlib", "scipy"} & set(sys.modules)
        import jax
        assert {"jax.tree_util", "jax.numpy", "jax.lax", "jax.random"} <= set(sys.modules)
        assert jax.core is ev.core and jax.tree_util.SequenceKey(0).idx == 0
    """,
}


@pytest.mark.engine
@pytest.mark.parametrize("name", PROGRAMS)
def test_imports(name):
    run(PROGRAMS[name])


@pytest.mark.parametrize(
    ("variables", "want"),
    [
        ({"JAX_ENABLE_X64": "1"}, "False True"),
        ({"JAX_ENABLE_X64": "1", "EVERTRACE_ENABLE_X64": "0"}, "False True"),
        ({"JAX_ENABLE_X64": "0", "EVERTRACE_ENABLE_X64": "1"}, "True True"),
        ({"EVERTRACE_ENABLE_X64": "1"}, "True True"),
        ({"JAX_NO_SUCH_OPTION": "1"}, "False False"),
    ],
)
def test_variables_that_jax_reads_set_options(monkeypatch, variables, want):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    program = """
        import evertrace as ev
        before = ev.config.enable_x64
        with ev.as_jax() as jax:
            print(before, ev.config.enable_x64)
    """
    assert run(program) == want + "\n"


def test_refuses_beside_the_real_jax(tmp_path):
    (tmp_path / "jax.py").write_text("")
    program = """
        import jax
        import evertrace as ev
        try:
            ev.as_jax()
        except RuntimeError as error:
            print(error)
    """
    said = run(program, [tmp_path])
    assert "as_jax: the real JAX has been imported in this process." in said
    assert "Fix: call `as_jax` before anything that imports jax" in said
