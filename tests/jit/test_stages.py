"""Ahead of time: trace, lower, compile, and what each stage can tell."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.stages import ArgInfo, Compiled, Lowered, Traced

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("rules")]
X = np.float32([1, 2, 3])
STRUCT = ev.ShapeDtypeStruct((3,), np.float32)


def model(params, x, n=2):
    """Return a tree of a tree."""
    return {"out": params["w"] * x**n}


jitted = ev.jit(model, static_argnames="n")
PARAMS = {"w": X}


def test_each_stage_leads_to_the_next():
    traced = jitted.trace(PARAMS, X)
    lowered = traced.lower()
    compiled = lowered.compile()
    assert [type(s) for s in (traced, lowered, compiled)] == [Traced, Lowered, Compiled]
    assert type(jitted.lower(PARAMS, X)) is Lowered
    np.testing.assert_array_equal(compiled(PARAMS, X)["out"], X**3)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_every_stage_knows_its_call(stage):
    traced = jitted.trace(PARAMS, X, n=3)
    stage = [traced, traced.lower(), traced.lower().compile()][stage]
    assert str(stage.in_tree) == "PyTreeDef((({'w': *}, *), {}))"
    assert str(stage.out_tree) == "PyTreeDef({'out': *})"
    assert stage.out_info == {"out": STRUCT}
    info = ArgInfo(STRUCT.aval, donated=False)
    assert stage.args_info == (({"w": info}, info), {})
    assert (info.shape, info.dtype) == (STRUCT.shape, STRUCT.dtype)
    assert stage.in_avals == (({"w": STRUCT.aval}, STRUCT.aval), {})
    assert stage.donate_argnums == ()


def test_traced_shows_the_jaxpr():
    traced = ev.jit(lambda x: x * 2).trace(STRUCT)
    assert str(traced.jaxpr) == "{ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }"
    assert traced.fun_name == "<lambda>"
    assert jitted.trace(PARAMS, X).fun_name == "model"
    c = jnp.ones(3)
    assert ev.jit(lambda x: x + c).trace(X).jaxpr.consts[0] is c


def test_structs_stand_for_arrays():
    compiled = jitted.lower({"w": STRUCT}, STRUCT).compile()
    np.testing.assert_array_equal(compiled(PARAMS, jnp.asarray(X))["out"], X**3)
    assert jitted.eval_shape({"w": STRUCT}, STRUCT) == {"out": STRUCT}


def test_lowered_text():
    lowered = ev.jit(lambda x: jnp.sin(x)).lower(X)
    assert "stablehlo.sine" in lowered.as_text()
    assert lowered.as_text() == lowered.as_text("stablehlo")
    assert lowered.as_text("hlo").startswith("HloModule")
    assert lowered.as_text("hlo").count("sine(") == 1
    with pytest.raises(ValueError, match="there is no dialect 'c'"):
        lowered.as_text("c")


def test_compiled_text_and_figures():
    x = np.ones((64, 64), np.float32)
    lowered = ev.jit(lambda x: x @ x).lower(x)
    compiled = lowered.compile()
    assert compiled.as_text().startswith("HloModule")
    assert lowered.cost_analysis()["flops"] >= 2 * 64**3
    assert compiled.cost_analysis()["flops"] >= 2 * 64**3
    sizes = compiled.memory_analysis()
    assert sizes.argument_size_in_bytes == x.nbytes
    assert sizes.output_size_in_bytes == x.nbytes
    assert compiled.runtime_executable() is compiled.runtime_executable()


def test_static_arguments_are_left_out_of_the_compiled_call():
    compiled = jitted.lower(PARAMS, X, n=3).compile()
    np.testing.assert_array_equal(compiled(PARAMS, X)["out"], X**4)
    with pytest.raises(TypeError, match="compiled for arguments of structure"):
        compiled(PARAMS, X, n=3)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((PARAMS, X[:2]), r"model: compiled for x of type f32\[3\], called with f32\[2\]"),
        (({"w": np.ones((3, 1))}, X), r"compiled for params\['w'\] of type f32\[3\], called with"),
        ((PARAMS, np.int32([1, 2, 3])), r"compiled for x of type f32\[3\], called with i32\[3\]"),
        ((PARAMS, 1.0), r"called with f32\[\]"),
        ((PARAMS,), r"compiled for arguments of structure PyTreeDef\(\(\(\{'w': \*\}, \*\), \{\}"),
        ((X, PARAMS), "compiled for arguments of structure"),
        ((PARAMS, "x"), "str is not an array type"),
    ],
)
def test_a_compiled_call_of_other_types_is_an_error(args, text):
    compiled = jitted.lower(PARAMS, X).compile()
    with pytest.raises(TypeError, match=text):
        compiled(*args)


def test_keywords_of_the_compiled_call():
    compiled = ev.jit(model).lower(PARAMS, x=X).compile()
    np.testing.assert_array_equal(compiled(PARAMS, x=X)["out"], X**3)
    with pytest.raises(TypeError, match="structure"):
        compiled(PARAMS, X)


@pytest.mark.parametrize(
    "transform",
    [
        ev.jit,
        ev.vmap,
        lambda f: ev.grad(lambda x: f(x).sum()),
        lambda f: lambda x: ev.jvp(f, (x,), (x,)),
    ],
)
def test_a_compiled_program_is_not_transformed(transform):
    argument = jnp.stack([X, X]) if transform is ev.vmap else jnp.asarray(X)
    compiled = ev.jit(lambda x: x * 2).lower(X).compile()
    with pytest.raises(TypeError, match="a compiled program cannot be transformed"):
        transform(compiled)(argument)


def test_compiler_options():
    lowered = ev.jit(lambda x: x * 2).lower(X)
    fast = lowered.compile(compiler_options={"xla_cpu_enable_fast_math": True})
    np.testing.assert_array_equal(fast(X), 2 * X)
    with pytest.raises(Exception, match="xla_moon"):
        lowered.compile({"xla_moon": 1})


def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"jit\(model\): argument params\['w'\] of type str"):
        jitted.lower({"w": "a"}, X)
    with pytest.raises(NotImplementedError, match="lower: cannot lower for 2 platforms at once"):
        jitted.trace(PARAMS, X).lower(lowering_platforms=("cpu", "tpu"))


def test_donated_leaves_are_told():
    lowered = ev.jit(model, static_argnums=2, donate_argnums=0).lower(PARAMS, X, 2)
    assert lowered.donate_argnums == (0,)


def test_what_stages_say_of_donation_and_results():
    f = ev.jit(lambda a, b: {"c": a + b}, donate_argnums=1)
    lowered = f.lower(X, STRUCT)
    assert [info.donated for info in lowered.args_info[0]] == [False, True]
    assert f.trace(X, STRUCT).out_avals == {"c": STRUCT.aval}


def test_compiler_ir():
    lowered = ev.jit(jnp.sin).lower(X)
    assert "stablehlo.sine" in str(lowered.compiler_ir())
    assert "sine" in lowered.compiler_ir("hlo").as_hlo_text()
    with pytest.raises(ValueError, match="compiler_ir: there is no dialect"):
        lowered.compiler_ir("mhlo")


def test_compiled_says_where_its_values_are():
    compiled = ev.jit(lambda p, x: (x, p["w"] + x)).lower(PARAMS, X).compile()
    place = ev.devices()[0]
    assert compiled.input_shardings[0][0]["w"].device is place
    assert [s.device for s in compiled.output_shardings] == [place, place]
    np.testing.assert_array_equal(compiled.call(PARAMS, X)[0], X)


def test_compile_takes_no_device_assignment():
    with pytest.raises(NotImplementedError, match="device_assignment is not supported"):
        ev.jit(jnp.sin).lower(X).compile(device_assignment=(0,))


def test_shape_dtype_struct_update():
    struct = ev.ShapeDtypeStruct((2, 3), "float32", weak_type=True)
    assert struct.update(shape=(4,)) == ev.ShapeDtypeStruct((4,), "float32", weak_type=True)
    assert struct.update(dtype="int8", weak_type=False).dtype == np.int8
    assert ev.ShapeDtypeStruct.like(X).shape == X.shape
    with pytest.raises(TypeError, match=r"ShapeDtypeStruct\.update: there is no colour"):
        struct.update(colour=1)
    with pytest.raises(TypeError, match=r"len\(\)"):
        len(struct.update(shape=()))
