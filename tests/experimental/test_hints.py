"""`compute_on`, `set_xla_metadata`, `with_layout_constraint`, `buffer_callback`."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental import sparse
from evertrace.experimental.buffer_callback import Buffer, ExecutionStage, buffer_callback
from evertrace.experimental.compute_on import compute_on
from evertrace.experimental.layout import Format, Layout, with_layout_constraint
from evertrace.experimental.xla_metadata import set_xla_metadata

X = jnp.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("hint", [compute_on("device_host"), set_xla_metadata(stage=1)])
@pytest.mark.parametrize("run", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_hints_change_no_value(hint, run):
    def f(x):
        with hint:
            return jnp.sin(x)

    wanted = run(jnp.sin)(X)
    np.testing.assert_array_equal(run(f)(X), wanted)
    np.testing.assert_array_equal(run(hint(jnp.sin))(X), wanted)
    np.testing.assert_allclose(run(ev.grad(lambda x: f(x).sum()))(X), jnp.cos(X), rtol=1e-6)


def test_a_jitted_function_with_a_hint_keeps_its_methods():
    hinted = set_xla_metadata(stage=1)(ev.jit(jnp.sin))
    assert "stablehlo.sine" in hinted.lower(1.0).as_text()


def test_hints_that_are_none():
    with pytest.raises(ValueError, match="there is no compute type 'gpu'"):
        compute_on("gpu")
    assert set_xla_metadata(X, stage=1) is X


def test_arrays_stay_row_major():
    def f(x):
        return with_layout_constraint({"x": x, "y": x[0]}, {"x": Layout((0, 1)), "y": Layout((0,))})

    np.testing.assert_array_equal(ev.jit(f)(X)["x"], X)
    with pytest.raises(NotImplementedError, match="arrays are row-major, got Layout"):
        with_layout_constraint(X, Layout((1, 0)))


def test_layouts_that_jit_is_asked_for():
    chosen = Format(Layout.AUTO)
    compiled = ev.jit(jnp.sin, in_shardings=chosen, out_shardings=chosen).lower(X).compile()
    ((given,), _), made = compiled.input_formats, compiled.output_formats
    assert given.layout == made.layout == Layout((0, 1))
    np.testing.assert_array_equal(
        ev.jit(jnp.sin, in_shardings=(given,), out_shardings=made)(X), ev.jit(jnp.sin)(X)
    )
    with pytest.raises(NotImplementedError, match=r"jit: arrays are row-major, got Layout"):
        ev.jit(jnp.sin, in_shardings=Format(Layout((1, 0)), given.sharding))(X)


def test_a_format_is_no_node_of_trees():
    given = X.format
    assert ev.tree.leaves({"x": given}) == [given] == [Format(Layout((0, 1)), X.sharding)]
    assert hash(given) == hash(X.format)
    assert not isinstance(given, tuple)


def scale_and_sum(ctx, out, x, *, factor):
    assert ctx.stage is ExecutionStage.EXECUTE
    assert (x.shape, x.dtype, x.ndim, x.writeable) == ((2, 3), np.float32, 2, False)
    assert out["scaled"].writeable
    np.multiply(np.asarray(x), np.asarray(factor), out=np.asarray(out["scaled"]))
    np.from_dlpack(out["total"])[...] = np.from_dlpack(x).sum()


@pytest.mark.parametrize("has_side_effect", [False, True])
@pytest.mark.parametrize("run", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_callbacks_write_into_buffers(run, has_side_effect):
    shapes = {"scaled": X, "total": ev.ShapeDtypeStruct((), "float32")}
    call = buffer_callback(scale_and_sum, shapes, has_side_effect=has_side_effect)
    out = run(lambda x: call(x, factor=x.dtype.type(2)))(X)
    np.testing.assert_array_equal(out["scaled"], 2 * X)
    assert float(out["total"]) == 15


def test_callbacks_on_buffers_in_batches():
    def double(ctx, out, x):
        np.asarray(out)[...] = 2 * np.asarray(x)

    call = buffer_callback(double, X[0], vmap_method="sequential")
    np.testing.assert_array_equal(ev.vmap(call)(X), 2 * X)
    with pytest.raises(NotImplementedError, match="'expand_dims': a call is for one example"):
        buffer_callback(double, X, vmap_method="expand_dims")
    assert np.asarray(Buffer(np.ones(2)), np.float16).dtype == np.float16


def test_modules_of_sparse_arrays():
    names = {"bcoo": "BCOO", "bcsr": "BCSR", "coo": "COO", "csr": "CSR", "transform": "sparsify"}
    for module, name in names.items():
        assert getattr(getattr(sparse, module), name) is getattr(sparse, name)
    assert sparse.random.random_bcoo is sparse.random_bcoo
    assert sparse.util.SparseEfficiencyWarning is sparse.SparseEfficiencyWarning
    assert sparse.ad.grad is sparse.grad
