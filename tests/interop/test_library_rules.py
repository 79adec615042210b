"""Whose rules hold in `jit`: JAX's where a library written for JAX calls it, ours elsewhere.

The library is a file in a folder that stands for that of installed packages.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import evertrace

SOURCES = str(pathlib.Path(evertrace.__file__).parents[1])

LIBRARY = '''
import jax
import jax.extend

traces = []


def jitted(f):
    return jax.jit(f)


@jax.jit
def linear_map(a, x):
    """What blackjax has: by JAX's rules a number is an array in it."""
    return (a * x).astype(jax.numpy.result_type(a.dtype, x.dtype))


def is_positive(x):
    """What numpyro's constraints do."""
    found = jax.numpy.reshape(x > 0, (-1,)).all()
    return None if isinstance(found, jax.core.Tracer) else bool(found)


def called_back(f, x):
    return jax.pure_callback(f, jax.ShapeDtypeStruct((), "float32"), x)


def shape_of(f, *args):
    return jax.eval_shape(f, *args)


class Model:
    """A tree with weights, and static data that libraries have: sets of objects, lists, trees."""

    def __init__(self, weights, static):
        self.weights, self.static = weights, static

    def __call__(self, x):
        return sum(w * x for w in self.weights)


jax.tree_util.register_pytree_node(
    Model, lambda m: ((m.weights,), m.static), lambda static, c: Model(*c, static)
)


class Cell:
    """A module that notes its parts while it is called, as haiku's do."""

    def __init__(self):
        self.parts = {}

    def __call__(self, x):
        self.parts.setdefault("part", Cell())
        return 2 * x


class Domain:
    """What numpyro's constraints are: of some classes there is one object."""

    def __init__(self, bound=None):
        self.bound = bound


REAL = Domain()
Domain.unit = Domain(1.0)


class Scaled:
    """What numpyro's transforms are."""

    def __init__(self, scale, domain=REAL):
        self.scale, self.domain = scale, domain


class Table:
    """What diffrax's tableaus are: an object with numbers that is no tree."""

    def __init__(self, weights):
        self.weights = weights


def by_table(tables, trees):
    return jax.tree_util.tree_map(lambda table, tree: (len(table.weights), tree), tables, trees)


def unroll(cell, x):
    return jax.lax.scan(lambda c, _: (cell(c), None), x, None, length=3)[0]


class Variable:
    """What flax.nnx does: it may be changed in the trace where it was made."""

    def __init__(self, value):
        self.value, self.trace = value, jax.extend.core.get_opaque_trace_state()

    def add(self, x):
        assert self.trace == jax.extend.core.get_opaque_trace_state()
        self.value = self.value + x
        return self.value


class Choices(type):
    """What equinox's enumerations are made by: items of a class are found in a dict of it."""

    def __getattr__(cls, name):
        return cls._items[name]


class Registry:
    """What keeps things on the classes that derive from it."""

    @classmethod
    def get(cls, name):
        return cls.registry[name]


def repeat(f, x, times):
    """What equinox's loops do: they take a number of Python's only."""
    if type(times) is not int:
        raise ValueError("times must be a Python integer")
    for _ in range(times):
        x = f(x)
    return x


def filter_jit(f):
    """What equinox and flax do: the structure of the arguments is a static one."""

    def flat(treedef, leaves):
        traces.append(treedef)
        return f(*jax.tree.unflatten(treedef, leaves))

    jitted = jax.jit(flat, static_argnums=0)

    def call(*args):
        leaves, treedef = jax.tree.flatten(args)
        return jitted(treedef, leaves)

    return call
'''

USER = """
scale = [2.0]

def scaled(x):
    return x * scale[0]

def change(f):
    scale[0] = 2.0
    first = float(f(1.0))
    scale[0] = 3.0
    return first, float(f(1.0))
"""

CASES = {
    "by JAX's rules what a function reads that the library jits is a constant": (
        "print(change(library.jitted(scaled)))",
        "(2.0, 2.0)",
    ),
    "what the user jits is never stale": (
        "print(change(jax.jit(scaled)))",
        "(2.0, 3.0)",
    ),
    "nor is it where the library's `jit` is inside": (
        "print(change(jax.jit(lambda x: library.filter_jit(scaled)(library.jitted(scaled)(x)))))",
        "(4.0, 9.0)",
    ),
    "what a function changes that the library only traces stays changed, as on JAX": (
        """
seen = []
library.shape_of(lambda x: seen.append(1) or 2 * x, 1.0)
jax.eval_shape(lambda x: seen.append(2) or 2 * x, 1.0)
print(seen)
""",
        "[1]",
    ),
    "what the user jits inside of the library's is part of that one's program": (
        "print(change(library.jitted(lambda x: jax.jit(scaled)(x))))",
        "(2.0, 2.0)",
    ),
    "an array of NumPy's that it reshapes stays one": (
        """
limits = np.array([[1.0, -1.0]])
check = jax.jit(lambda x: (x, library.is_positive(limits)))
print(check(1.0)[1], library.is_positive(limits), type(jax.numpy.reshape(limits, 2)).__name__)
limits[:] = 1.0
print(check(1.0)[1])
""",
        "False False Array\nTrue",
    ),
    "numbers are arrays in it, also inside of the user's": (
        """
x = jax.numpy.ones(2)
print(jax.jit(lambda x: library.linear_map(2.0, x))(x), jax.jit(library.linear_map)(3.0, x))
print(jax.jit(lambda n, x: library.linear_map(n + 1, x))(3.0, x))
""",
        "[2. 2.] [3. 3.]\n[4. 4.]",
    ),
    "equal structures as a static argument are one program": (
        """
step = library.filter_jit(lambda m, x: library.Model([w * m(x) for w in m.weights], m.static))
m = library.Model([1.0, 2.0], frozenset({library.Model, len}))
for _ in range(3):
    m = step(m, 1.0)
print([float(w) for w in m.weights], len(library.traces))
""",
        "[2187.0, 4374.0] 1",
    ),
    "so are those with lists in their static data, until what these hold changes": (
        """
static = ["a", {"b": [1]}]
double = library.filter_jit(lambda m: len(m.static) * m.weights[0])
for _ in range(2):
    first = float(double(library.Model([1.0], static)))
static.append("c")
print(first, float(double(library.Model([1.0], static))), len(library.traces))
""",
        "2.0 3.0 2",
    ),
    "an object that is not registered is a leaf where the library maps over trees": (
        """
tables = {"a": library.Table(np.arange(3.0))}
print(library.by_table(tables, {"a": [1, 2]}))
print(jax.jit(lambda x: library.by_table(tables, {"a": [x, x]}))(1.0)["a"][0])
try:
    jax.tree.map(lambda table, tree: 0, tables, {"a": [1, 2]})
except ValueError as error:
    print(str(error).partition(": ")[0])
""",
        "{'a': (3, [1, 2])}\n3\ntree.map",
    ),
    "an object that the library keeps is that one in results, too": (
        """
made = jax.jit(lambda x: [library.Scaled(x), library.Scaled(x, library.Domain.unit)])
for _ in range(2):
    first, second = made(2.0)
    print(first.domain is library.REAL, second.domain is library.Domain.unit)
bounded = jax.jit(lambda x: library.Scaled(x, library.Domain(x)))(3.0)
print(float(bounded.domain.bound))
""",
        "True True\nTrue True\n3.0",
    ),
    "modules may note their parts while a loop of the library is traced": (
        """
cell, other = library.Cell(), library.Cell()
print(float(library.unroll(cell, 1.0)), list(cell.parts))
print(float(jax.jit(lambda x: library.unroll(library.Cell(), x))(1.0)))
print(float(jax.jit(lambda x: library.unroll(other, x))(1.0)), list(other.parts))
""",
        "8.0 ['part']\n8.0\n8.0 ['part']",
    ),
    "what the user's `jit` changes is not of another trace": (
        """
v = library.Variable(1.0)
f = jax.jit(lambda x: v.add(x))
print(float(f(1.0)), float(f(1.0)), float(v.value), float(v.add(1.0)))
try:
    library.jitted(v.add)(1.0)
except AssertionError:
    print("refused")
""",
        "2.0 3.0 3.0 4.0\nrefused",
    ),
    "what a library's metaclass and class methods read of a class of the user's is watched": (
        """
class Colour(metaclass=library.Choices):
    _items = {"red": [1.0], "green": [2.0]}

class Sizes(library.Registry):
    registry = {"small": 1.0}

f = jax.jit(lambda item: item is Colour.red)
print(bool(f(Colour.red)), bool(f(Colour.green)))
g = jax.jit(lambda x: x * Sizes.get("small"))
first = float(g(2.0))
Sizes.registry["small"] = 3.0
print(first, float(g(2.0)))
""",
        "True False\n2.0 6.0",
    ),
    "a library may ask for exact numbers, and raise what it likes where it gets none": (
        """
double = jax.jit(lambda x, times: library.repeat(lambda v: 2 * v, x, times))
print(float(double(1.0, 3)), float(double(1.0, 4)), float(double(5.0, 3)))
try:
    double(1.0, 2.0)
except ValueError as error:
    print(error)
""",
        "8.0 16.0 40.0\ntimes must be a Python integer",
    ),
    "what a library's callback raises is JAX's error outside of `jit`, too, and not the user's": (
        """
def refuse(x):
    raise KeyError("not today")

for call in library.called_back, library.jitted(lambda f, x: library.called_back(refuse, x)):
    try:
        call(refuse, 1.0) if call is library.called_back else call(1.0, 1.0)
    except RuntimeError as error:
        print(type(error).__name__, type(error.__cause__).__name__)
try:
    jax.pure_callback(refuse, jax.ShapeDtypeStruct((), "float32"), 1.0)
except KeyError as error:
    print(error)
""",
        "JaxRuntimeError KeyError\nJaxRuntimeError KeyError\n'not today'",
    ),
    "a library's function may take what the contract refuses": (
        """
m = library.Model([1.0, 2.0], frozenset({library.Model([], None), print}))
print(float(library.jax.jit(lambda m: m(2.0))(m)), float(library.filter_jit(lambda m: m(2.0))(m)))
""",
        "6.0 6.0",
    ),
}


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a program beside the installed library."""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = tmp_path / "lib" / python / "site-packages"
    packages.mkdir(parents=True)
    (packages / "library.py").write_text(LIBRARY)

    def run(program, first="evertrace.as_jax()", **environment):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                f"import evertrace; {first}\nimport library, jax\nimport numpy as np\n{program}",
            ],
            env={
                **os.environ,
                "PYTHONUSERBASE": str(tmp_path),
                "PYTHONPATH": os.pathsep.join([SOURCES, str(packages)]),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip()

    return run


@pytest.mark.parametrize("case", CASES)
def test_rules(case, run):
    program, printed = CASES[case]
    assert run(USER + program) == printed


@pytest.mark.parametrize(
    ("first", "second"),
    [("evertrace", "(2.0, 3.0)"), ("jax", "(2.0, 2.0)")],
)
def test_the_option_chooses_the_rules_of_libraries(first, second, run):
    choose = f"evertrace.as_jax(); evertrace.config.update('library_rules', '{first}')"
    assert run(USER + "print(change(library.jitted(scaled)))", choose) == second


def test_packages_of_another_environment_are_packages(run, tmp_path):
    """As with ``uv run --with``, or where a cluster's modules set ``PYTHONPATH``."""
    program, printed = CASES["what the user's `jit` changes is not of another trace"]
    assert run(USER + program, PYTHONUSERBASE=str(tmp_path / "none")) == printed


def test_a_package_that_evertrace_does_not_lend_the_name_to_keeps_our_rules(run):
    ours = "import sys; sys.modules['jax'] = evertrace; evertrace.__file__ = '/elsewhere/jax.py'"
    assert run(USER + "print(change(library.jitted(scaled)))", ours) == "(2.0, 3.0)"
