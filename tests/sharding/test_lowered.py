"""What `lower` and `compile` show of programs over a mesh: what the partitioner takes and makes.

Virtual devices run the whole program at once, so what is shown is not what is run; it is what runs
on devices of their own.
"""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import AbstractMesh, NamedSharding
from evertrace.sharding import PartitionSpec as P

pytestmark = pytest.mark.engine
SIZES, NAMES = (2, 4), ("x", "y")
X = np.arange(64, dtype=np.float32).reshape(8, 8)


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(8):
        yield ev.make_mesh(SIZES, NAMES)


def over(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


def shardings(text, operation="sdy.sharding ="):
    """Return what is said of each argument and result, or by each operation of a kind."""
    return re.findall(rf"{re.escape(operation)}[^<]*<@mesh, (\[[^\]]*\])>", text)


HEAD = re.compile(
    r"module @\S+ attributes {mhlo\.num_partitions = 8 : i32, mhlo\.num_replicas = 1 : i32} {\n"
    r'  sdy\.mesh @mesh = <\["x"=2, "y"=4\]>\n'
)


def test_the_text_says_the_mesh_and_how_arguments_and_results_lie(mesh):
    x = ev.device_put(X, over(mesh, "x", "y"))
    text = ev.jit(lambda x, y: x * 2 + y).lower(x, np.ones(8, np.float32)).as_text()
    assert HEAD.match(text)
    assert shardings(text) == ['[{"x"}, {"y"}]', "[{}]", '[{"x"}, {"y"}]']


def test_what_stands_for_an_array_over_devices_that_are_not_there_is_shown_as_well():
    sharding = NamedSharding(AbstractMesh(SIZES, NAMES), P(None, ("x", "y")))
    struct = ev.ShapeDtypeStruct((8, 8), "float32", sharding=sharding)
    text = ev.jit(lambda x: x.sum(1)).lower(struct).as_text()
    assert HEAD.match(text)
    assert shardings(text) == ['[{}, {"x", "y"}]', "[{}]"]


def test_constraints_are_shown_where_they_stand(mesh):
    def f(x):
        y = lax.with_sharding_constraint(x * 2, over(mesh, "x"))
        return lax.with_sharding_constraint(y, over(mesh, "y", P.UNCONSTRAINED))

    text = ev.jit(f).lower(X).as_text()
    assert shardings(text, "sdy.sharding_constraint") == ['[{"x"}, {}]', '[{"y"}, {?}]']


def test_shardings_that_jit_is_given_are_those_of_arguments_and_results(mesh):
    f = ev.jit(jnp.matmul, in_shardings=(over(mesh, "x", "y"), None), out_shardings=over(mesh))
    lowered = f.lower(X, X)
    assert shardings(lowered.as_text()) == ['[{"x"}, {"y"}]', "[{}, {}]", "[{}, {}]"]
    assert "all-gather" in lowered.compile().as_text()


def test_results_that_are_not_computed_have_no_place_in_the_text(mesh):
    asked = (over(mesh, "y"), over(mesh, "x"), over(mesh, None, "y"))
    x = ev.device_put(X, over(mesh, "x"))
    f = ev.jit(lambda x: (x, x + 1, x.T + 1), out_shardings=asked)
    assert shardings(f.lower(x).as_text())[1:] == ['[{"x"}, {}]', '[{}, {"y"}]']


def test_all_forms_of_the_text_are_of_the_divided_program(mesh):
    lowered = ev.jit(jnp.sin).lower(ev.device_put(X, over(mesh, "x")))
    assert "sdy.mesh" in lowered.as_text(debug_info=True)
    assert "test_lowered.py" in lowered.as_text(debug_info=True)
    assert "sdy.mesh" in str(lowered.compiler_ir())
    assert "sharding" in lowered.as_text("hlo")


def test_a_compiled_program_over_a_mesh_shows_what_one_device_runs(mesh):
    x = ev.device_put(X, over(mesh, "x", "y"))
    compiled = ev.jit(lambda x: x.sum(1)).lower(x).compile()
    text = compiled.as_text()
    assert "num_partitions=8" in text
    assert "all-reduce(" in text
    assert "f32[4,2]" in text
    assert compiled.memory_analysis().argument_size_in_bytes == X.nbytes // 8
    alone = ev.jit(lambda x: x.sum(1)).lower(X).compile()
    assert compiled.cost_analysis()["flops"] < alone.cost_analysis()["flops"]
    np.testing.assert_array_equal(compiled(x), X.sum(1))


def test_a_program_that_nothing_lays_out_is_shown_as_ever(mesh):
    lowered = ev.jit(jnp.sin).lower(X)
    assert "sdy" not in lowered.as_text()
    assert "num_partitions=8" not in lowered.compile().as_text()
