"""Programs exported for many shapes: what they compute, and what they say of shapes that differ."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export, lax
from evertrace._src import doors
from evertrace._src.export import container
from evertrace.errors import InconclusiveDimensionOperation
from tests.export.symbolic_functions import FUNCTIONS, UNDECIDED

F32 = jnp.float32


def rows(n, columns=4):
    return jnp.asarray(np.random.default_rng(n).normal(size=(n, columns)).astype("float32"))


def exported(f, spec="b, 4", **settings):
    shape = export.symbolic_shape(spec, **settings)
    return export.export(ev.jit(f))(ev.ShapeDtypeStruct(shape, F32))


def assert_same(got, want):
    assert ev.tree.structure(got) == ev.tree.structure(want)
    for a, b in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_computes_what_the_function_does_for_each_size(name):
    f = FUNCTIONS[name]
    program, flat = exported(f), exported(lambda x: ev.tree.leaves(f(x)))
    read = export.deserialize(flat.serialize())
    for n in (1, 5):
        assert_same(program.call(rows(n)), f(rows(n)))
        assert_same(read.call(rows(n)), ev.tree.leaves(f(rows(n))))


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("spec", ["b, 4", "3, 4"])
def test_what_this_process_exported_needs_no_xla_to_run(spec):
    """Its bytes are for others: here it is known what they were made of."""

    def engine_of(program):
        f = ev.jit(lambda x: program.call(x))
        np.testing.assert_allclose(f(rows(3)), np.sin(rows(3)) + 1, rtol=1e-6)
        return f.explain().variants[-1].engine

    program = exported(lambda x: jnp.sin(x) + 1, spec)
    assert engine_of(program).startswith("native")
    assert engine_of(export.deserialize(program.serialize())).startswith("xla")


@pytest.mark.parametrize("name", UNDECIDED)
def test_functions_that_need_to_know_more_of_a_size_name_a_constraint(name):
    with pytest.raises(InconclusiveDimensionOperation, match=UNDECIDED[name][1]):
        exported(UNDECIDED[name][0])


def test_whether_there_are_elements_is_asked_of_each_size():
    def f(x):
        return jnp.cumsum(jnp.diff(x, axis=0), axis=0)

    program = exported(f, "b, c", constraints=("b >= 2",))  # (b - 1) * c is a product
    x = rows(5)
    assert_same(program.call(x), f(x))


def test_bytes_hold_sizes_constraints_and_derivatives():
    f = lambda x: {"y": jnp.tanh(x).sum(0), "z": x[1:]}  # noqa: E731
    program = exported(f, "2*b, 4", constraints=("b >= 2", "mod(b, 2) == 0"))
    again = export.deserialize(program.serialize(vjp_order=1), verify=True)
    assert str(again.in_avals) == "(ShapedArray(float32[2*b,4]),)"
    assert str(again.out_avals) == "(ShapedArray(float32[4]), ShapedArray(float32[2*b - 1,4]))"
    assert again.has_vjp()
    for n in (4, 12):
        x = rows(n)
        assert_same(again.call(x), f(x))
        want = ev.grad(lambda x: (f(x)["y"] ** 2).sum())(x)
        assert_same(ev.grad(lambda x: (again.call(x)["y"] ** 2).sum())(x), want)


@pytest.mark.parametrize(
    ("spec", "f", "size"),
    [
        ("3*c, 4", lambda x: x, "3*c"),
        ("c + 1, 4", lambda x: x, "c + 1"),
        ("c, 4", lambda x: jnp.concatenate([x, x]), "2*c"),
        ("c, d", lambda x: jnp.ones((x.size, 4), F32) * x.sum(), "c*d"),
    ],
)
def test_a_program_is_called_at_sizes_made_of_others(spec, f, size):
    inner = exported(lambda x: jnp.concatenate([x * 2, jnp.cumsum(x, 0)]))
    outer = exported(lambda x: inner.call(f(x))[1:], spec)
    (c,) = export.symbolic_shape(size, scope=outer.in_avals[0].shape[0].scope)
    assert outer.out_avals[0].shape == (2 * c - 1, 4)
    for n in (3, 9):
        want = inner.call(f(rows(n)))[1:]
        assert_same(export.deserialize(outer.serialize()).call(rows(n)), want)


def test_a_program_is_not_called_at_sizes_that_may_be_too_small():
    inner = exported(lambda x: x * 2)
    with pytest.raises(InconclusiveDimensionOperation, match=r"c - 1 >= 1 is not known"):
        exported(lambda x: inner.call(x[1:]), "c, 4")
    outer = exported(lambda x: inner.call(x[1:]), "c, 4", constraints=("c >= 2",))
    assert_same(outer.call(rows(3)), rows(3)[1:] * 2)


@pytest.mark.parametrize(
    ("f", "size"),
    [
        (lambda x: x[::2], "floordiv(b + 1, 2)"),
        (lambda x: x[::-2], "floordiv(b + 1, 2)"),
        (lambda x: x[1::3], "floordiv(b + 1, 3)"),
        (lambda x: x[:-1:2], "floordiv(b, 2)"),
        (lambda x: x[-2::-3], "floordiv(b + 1, 3)"),
        (lambda x: x[1:-1], "max(0, b - 2)"),
        (lambda x: x[2:], "- min(b, 2) + b"),
        (lambda x: jnp.arange(x.shape[0], 0, -2), "floordiv(b + 1, 2)"),
    ],
)
def test_sizes_of_slices_are_printed_as_jax_does(f, size):
    assert str(exported(f).out_avals[0].shape[0]) == size


def test_a_program_is_called_in_jitted_functions_of_any_size():
    program = exported(lambda x: x @ x.T)
    f = ev.jit(lambda x: program.call(x).sum() + 1)
    for n in (1, 3):
        assert_same(f(rows(n)), (rows(n) @ rows(n).T).sum() + 1)


def test_several_variables_are_found_in_the_shapes():
    b, c = export.symbolic_shape("b, c")
    program = export.export(ev.jit(lambda x, y: (x @ y, jnp.arange(b + c))))(
        ev.ShapeDtypeStruct((b, c), F32), ev.ShapeDtypeStruct((c, 3), F32)
    )
    x, y = rows(2, 5), rows(5, 3)
    assert_same(program.call(x, y), (x @ y, jnp.arange(7)))


def test_the_program_is_text_with_expressions_where_sizes_are():
    text = exported(lambda x: jnp.concatenate([x, x])).mlir_module()
    assert "tensor<⟦b⟧x4xf32>" in text
    assert "tensor<⟦2*b⟧x4xf32>" in text
    assert set(re.findall("⟦(.*?)⟧", text)) == {"b", "2*b"}


def test_each_size_is_made_into_a_program_once():
    program = exported(lambda x: x + 1)
    for n in (1, 3, 1, 3, 3):
        program.call(rows(n))
    assert sorted(program._by_sizes.data) == [(("b", 1),), (("b", 3),)]


@pytest.mark.parametrize(
    ("spec", "constraints", "shape", "message"),
    [
        (
            "b, 4",
            (),
            (3, 5),
            r"leaf 0 .* was exported as f32\[b,4\], and is called with f32\[3,5\]",
        ),
        ("b, 4", (), (3, 4, 1), r"exported as f32\[b,4\], and is called with f32\[3,4,1\]"),
        (
            "b, 4",
            ("b >= 4",),
            (3, 4),
            "constraint 'b >= 4', and is called .* b is 3 by dimension 0",
        ),
        ("b, 4", ("mod(b, 8) == 0",), (12, 4), r"the constraint 'mod\(b, 8\) == 0'"),
        (
            "b, b",
            (),
            (3, 4),
            "dimension 1 of leaf 0 .* exported as b, which is 3 where b is 3 by d",
        ),
        (
            "2*b, 4",
            (),
            (5, 4),
            r"exported as 2\*b, which is 4 where b is 2 by dimension 0 of leaf 0",
        ),
        ("b, 4", (), (0, 4), "b is 0 by dimension 0 .* which was exported for sizes from 1 to"),
    ],
)
def test_shapes_that_do_not_fit_are_named_at_the_call(spec, constraints, shape, message):
    program = exported(lambda x: x * 2, spec, constraints=constraints)
    with pytest.raises(ValueError, match=message):
        program.call(jnp.zeros(shape))


def test_a_dtype_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"was exported as f32\[b,4\], and is called with i32\[3"):
        exported(lambda x: x * 2).call(jnp.zeros((3, 4), int))


def test_sizes_may_be_empty_where_that_is_declared():
    program = exported(lambda x: x.sum(0), "b, 4", scope=export.SymbolicScope(least=0))
    assert_same(export.deserialize(program.serialize()).call(rows(0)), jnp.zeros(4))


def test_variables_that_no_shape_tells_are_named_when_exported():
    with pytest.raises(ValueError, match="no shape of the arguments tells what a, b is"):
        exported(lambda x: x, "a*b, 4")


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: jnp.array_split(x, x.shape[0]), "array_split: .* it is the symbolic size b"),
        (lambda x: jnp.sum(x, axis=x.shape[0]), "sum: axis must be known .* symbolic size b"),
        (lambda x: jnp.linalg.matrix_power(x @ x.T, x.shape[0]), "matrix_power: n must be known"),
        (lambda x: jnp.delete(x, np.array([1, -2]), axis=0), "whether b - 2 < 0 is not known"),
        (lambda x: jnp.insert(x, -1 - x.shape[0], 0.0, axis=0), r"insert: index - b - 1 is out of"),
        (lambda x: jnp.pad(x, ((x.shape[0] - 2, 0), (0, 0))), "whether b - 2 < 0 is not known"),
    ],
)
def test_errors_say_what_is_asked_of_which_size(f, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message) as caught:
        exported(f)
    assert re.search(r"\n  at .*test_symbolic.py:\d+ in <lambda>", str(caught.value))


def test_sizes_are_shown_as_they_are_written():
    assert doors.shown(export.symbolic_shape("2*b, 4")) == "(2*b, 4)"


@pytest.mark.parametrize("f", [ev.core.max_dim, ev.core.min_dim])
def test_the_larger_of_two_sizes_is_a_size(f):
    program = exported(lambda x: jnp.zeros(f(x.shape[0], 4)))
    assert str(program.out_avals[0].shape[0]) == f"{f.__name__[:3]}(b, 4)"
    g = ev.jit(lambda x: jnp.zeros(f(x.shape[0], 4)) + f(x.shape[0], 6))
    for n in (2, 9, 3, 7, 4):
        want = {"max_dim": max, "min_dim": min}[f.__name__]
        assert program.call(rows(n)).shape == (want(n, 4),)
        assert_same(g(rows(n)), jnp.zeros(want(n, 4)) + want(n, 6))
    assert g.cache_info().misses == 2


def test_sizes_are_tried_that_are_not_negative():
    program = exported(lambda x: x + 1, "b, 9 - b")
    assert_same(program.call(jnp.zeros((4, 5))), jnp.ones((4, 5)))
    with pytest.raises(ValueError, match=r"negative for all sizes tried.\n  at "):
        exported(lambda x: x, "b - 2000, 4")


def test_sizes_of_several_scopes_are_refused():
    (b,), (c,) = export.symbolic_shape("b"), export.symbolic_shape("c")
    with pytest.raises(
        ValueError, match="the sizes b and c of the arguments are of different scop"
    ):
        export.export(ev.jit(lambda x, y: x))(
            ev.ShapeDtypeStruct((b,), F32), ev.ShapeDtypeStruct((c,), F32)
        )


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x if x.shape[0] == 1 else x[1:], "whether b == 1 is not known for all sizes"),
        (lambda x: x if x.shape[0] > 1 else -x, "whether b > 1 is not known for all sizes"),
        (lambda x: [x for _ in range(x.shape[0])], "size b .*is used where a number is needed"),
        (lambda x: x.reshape(2, -1, 3), r"constraints=\('mod\(4\*b, 6\) == 0',\)"),
        (lambda x: jnp.zeros(max(x.shape[0], 4)), r"constraints=\('b >= 4',\)"),
        (lambda x: jnp.convolve(x[:, 0], jnp.ones(3)), r"constraints=\('b >= 3',\)"),
        (lambda x: sum(row for row in x), "size b .*is used where a number is needed"),
        (lambda x: x * len(x), "size b .*is used where a number is needed"),
        (lambda x: jnp.split(x, 2), r"constraints=\('mod\(b, 2\) == 0',\)"),
        (lambda x: lax.top_k(x.T, 2), r"constraints=\('b >= 2',\)"),
    ],
)
def test_questions_that_sizes_do_not_answer_are_errors_of_the_trace(f, message):
    with pytest.raises(InconclusiveDimensionOperation, match=message) as caught:
        exported(f)
    text = str(caught.value)
    assert re.search(r"\n  at .*test_symbolic.py:\d+ in <lambda>", text)
    assert " (x.shape[0] is b)" in text
    assert re.search(
        r"Fix: (declare what is meant|.* `lax.fori_loop\(0, x.shape\[0\], ...\)`)", text
    )


def test_errors_say_which_argument_a_size_is_from():
    (b,) = export.symbolic_shape("b")

    x, y = ev.ShapeDtypeStruct((3,), F32), ev.ShapeDtypeStruct((5, 2 * b), F32)
    with pytest.raises(
        InconclusiveDimensionOperation, match=r"\(batch\['y'\].shape\[1\] is 2\*b\)"
    ):
        export.export(ev.jit(lambda first, batch: batch["y"].reshape(7, -1)))(x, {"y": y})
    with pytest.raises(InconclusiveDimensionOperation) as caught:  # of another program
        export.export(ev.jit(lambda z: z.reshape(7, -1)))(ev.ShapeDtypeStruct((b,), F32))
    assert "(z.shape[0] is b)" in str(caught.value)


def test_arguments_are_made_specs_by_texts():
    args = {"x": np.ones((2, 3), "float32"), "y": np.ones(4, "int32")}
    specs = export.symbolic_args_specs((args,), ({"x": "b, _", "y": None},))
    assert str(specs) == (
        "({'x': ShapeDtypeStruct(shape=(b, 3), dtype=float32), "
        "'y': ShapeDtypeStruct(shape=(4,), dtype=int32)},)"
    )
    x, y = export.symbolic_args_specs((args["x"], args["y"]), "b, ...", constraints=("b >= 3",))
    assert x.shape[0] == y.shape[0]
    assert x.shape[0] > 2
    with pytest.raises(ValueError, match="both constraints and a scope are given"):
        export.symbolic_args_specs(
            (1.0,), "", constraints=("b >= 1",), scope=export.SymbolicScope()
        )


def test_forged_sizes_are_refused():
    blob = exported(lambda x: x + 1).serialize()
    descriptions, programs = container.unpack(blob)
    for name, value in [("sizes", 3), ("sizes", {"least": 1, "constraints": [4]}), ("sizes", None)]:
        forged = container.pack([{**descriptions[0], name: value}], programs)
        with pytest.raises(ValueError, match="the bytes are not those of an exported function"):
            export.deserialize(forged)


def test_a_program_for_symbolic_sizes_is_exported_and_not_compiled():
    shape = export.symbolic_shape("b, 4")
    with pytest.raises(InconclusiveDimensionOperation, match="lower: tanh is traced for the sym"):
        ev.jit(jnp.tanh).lower(ev.ShapeDtypeStruct(shape, F32))
