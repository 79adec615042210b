"""Compiling and running programs: results, mixed arguments, donation, callbacks, errors."""

import numpy as np
import pytest

from evertrace._src import errors
from evertrace._src.engines import cache
from evertrace._src.engines.xla import buffers, executable
from evertrace._src.engines.xla.options import Options
from tests.engines.xla.conftest import Aval

ADD = """func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
DONATE = """func.func @main(%a: tensor<1024xf32> {tf.aliasing_output = 0 : i32})
    -> tensor<1024xf32> {
  %0 = stablehlo.add %a, %a : tensor<1024xf32>
  return %0 : tensor<1024xf32>
}"""
CALLBACK = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {
    api_version = 4 : i32, backend_config = {index = 0 : ui64}, has_side_effect = true
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def ramp(size=4):
    return np.arange(size, dtype=np.float32)


def test_runs_on_host_arrays_and_buffers_in_any_mix(compile_one, device):
    program = compile_one(ADD)
    raw = buffers.put(ramp(), device, may_alias=False)
    for args in ([raw, raw], [raw, ramp()], [ramp(), raw], [ramp(), ramp()]):
        (out,) = program.run(args)
        np.testing.assert_array_equal(buffers.to_host(out), 2 * ramp())


def test_outputs_carry_the_given_avals(device):
    text = """func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>) {
      %true = stablehlo.constant dense<true> : tensor<i1>
      return %a, %true : tensor<4xf32>, tensor<i1>
    }"""
    avals = [Aval((4,), np.dtype(np.float32)), Aval((), np.dtype(np.bool_), weak_type=True)]
    program = executable.compile_text(text, device=device, num_outputs=2, output_avals=avals)
    outs = program.run([ramp()])
    assert [out.aval for out in outs] == avals
    assert all(out.aval is aval for out, aval in zip(outs, avals, strict=True))


def test_no_arguments_and_no_outputs(device):
    text = "func.func @main() { return }"
    program = executable.compile_text(text, device=device, num_outputs=0, output_avals=[])
    assert program.run([]) == []


def test_a_program_without_arguments_runs_on_its_device(run_python):
    # Without a device assignment it would run on the first device, and jaxlib would abort.
    program = """
import numpy as np
from evertrace._src.engines.xla import buffers, client, executable
class Aval:
    shape, dtype, weak_type = (), np.dtype(np.float32), False
text = '''func.func @main() -> tensor<f32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  return %0 : tensor<f32>
}'''
done = executable.compile_text(
    text, device=client.devices("cpu")[1], num_outputs=1, output_avals=[Aval])
print(done.device, buffers.to_host(done.run([])[0]))
"""
    assert run_python(program, EVERTRACE_NUM_CPU_DEVICES="2") == "cpu:1 1.0"


def test_describes_itself(compile_one, device):
    program = compile_one(ADD)
    assert program.input_text == ADD
    assert program.device is device
    assert program.compile_seconds > 0
    assert program.text().startswith("HloModule")
    assert program.cost_analysis()["flops"] == 4
    memory = program.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (32, 16)
    assert memory.alias_size_in_bytes == 0


def test_donated_buffer_is_deleted_and_refused_afterwards(compile_one, device):
    program = compile_one(DONATE, (1024,))
    raw = buffers.put(ramp(1024), device, may_alias=False)
    (out,) = program.run([raw])
    np.testing.assert_array_equal(buffers.to_host(out), 2 * ramp(1024))
    assert buffers.is_deleted(raw)
    with pytest.raises(errors.DeletedArrayError, match="argument 0 of 1: Array has been deleted"):
        program.run([raw])


def test_donation_does_not_write_to_memory_that_is_seen(compile_one, device):
    program = compile_one(DONATE, (1024,))
    host = buffers.aligned_empty((1024,), np.float32)
    host[:] = 1
    view = buffers.to_host(buffers.put(host, device, may_alias=True))
    program.run([host])
    raw = buffers.put(ramp(1024), device, may_alias=False)
    view_of_raw = buffers.to_host(raw)
    buffers.block(program.run([raw]))
    assert (view == 1).all()
    np.testing.assert_array_equal(view_of_raw, ramp(1024))


def test_deleted_argument_is_refused_without_a_word_from_xla(compile_one, device, capfd):
    program = compile_one(ADD)
    raw = buffers.put(ramp(), device, may_alias=False)
    buffers.delete(raw)
    with pytest.raises(errors.DeletedArrayError, match=r"argument 1 of 2: .* float32\[4\]"):
        program.run([ramp(), raw])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "options", [Options(quick=True), Options({"xla_cpu_enable_fast_math": False})]
)
def test_options_are_accepted(compile_one, options):
    (out,) = compile_one(ADD, options=options).run([ramp(), ramp()])
    np.testing.assert_array_equal(buffers.to_host(out), 2 * ramp())


def test_options_reach_xla(compile_one, tmp_path):
    compile_one(ADD, options=Options({"xla_dump_to": str(tmp_path / "dump")}))
    assert any((tmp_path / "dump").iterdir())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"no_such_flag": 1}, "No such compile option: 'no_such_flag'"),
        ({"xla_cpu_prefer_vector_width": "wide"}, "option xla_cpu_prefer_vector_width"),
    ],
)
def test_bad_flag_is_named(compile_one, flags, message):
    with pytest.raises(errors.JaxRuntimeError, match=message):
        compile_one(ADD, options=Options(flags))


def test_value_that_no_flag_can_have():
    with pytest.raises(TypeError, match="'xla_dump_to' cannot be None"):
        Options({"xla_dump_to": None})


def test_rejected_program_shows_its_line(compile_one):
    with pytest.raises(errors.JaxRuntimeError) as caught:
        compile_one(ADD.replace("stablehlo.add", "stablehlo.addd"))
    message = str(caught.value)
    assert "custom op 'stablehlo.addd' is unknown" in message
    assert "in this line: %0 = stablehlo.addd %a, %b" in message
    assert "portable artifact" not in message


def test_out_of_memory(compile_one):
    shape = (10**15,)
    text = f"""func.func @main() -> tensor<{shape[0]}xf32> {{
      %0 = stablehlo.iota dim = 0 : tensor<{shape[0]}xf32>
      return %0 : tensor<{shape[0]}xf32>
    }}"""
    program = compile_one(text, shape)
    with pytest.raises(errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED: Out of memory") as caught:
        buffers.block(program.run([]))
    assert "Fix: use smaller arrays" in str(caught.value)


def test_callback(compile_one):
    program = compile_one(CALLBACK, callbacks=[lambda x: (x + 1,)])
    (out,) = program.run([ramp()])
    np.testing.assert_array_equal(buffers.to_host(out), ramp() + 1)


def test_programs_with_callbacks_are_not_kept_on_disk(compile_one, cache_folder):
    before = cache.cache_stats()
    for shift in (1, 2):
        program = compile_one(CALLBACK, callbacks=[lambda x, shift=shift: (x + shift,)])
        np.testing.assert_array_equal(buffers.to_host(program.run([ramp()])[0]), ramp() + shift)
    assert cache.cache_stats() == before
    assert not cache_folder.exists()


def test_failed_callback_raises_its_own_exception(compile_one):
    def refuse(x):
        raise ValueError("not today") from KeyError("x")

    program = compile_one(CALLBACK, callbacks=[refuse])
    with pytest.raises(ValueError, match="not today") as caught:
        program.run([ramp()])
    assert isinstance(caught.value.__cause__, KeyError)
    assert "refuse" in [entry.name for entry in caught.traceback]
    assert "called back, while running a program" in caught.value.__notes__[0]


def test_interrupted_callback_interrupts(compile_one):
    def interrupt(x):
        raise KeyboardInterrupt

    program = compile_one(CALLBACK, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        buffers.block(program.run([ramp()]))


def test_whole_path_never_imports_jax(run_python):
    program = f"""
import numpy as np
from evertrace._src.engines.xla import buffers, client, executable
class Aval:
    shape, dtype, weak_type = (4,), np.dtype(np.float32), False
def compile(text, **kwargs):
    return executable.compile_text(
        text, device=client.devices("cpu")[0], num_outputs=1, output_avals=[Aval], **kwargs)
x = np.ones(4, np.float32)
for done in (compile({ADD!r}), compile({ADD!r})):
    (out,) = done.run([x, x])
    done.text(), done.cost_analysis(), done.memory_analysis()
(out,) = compile({CALLBACK!r}, callbacks=[lambda x: (x + 1,)]).run([out])
buffers.block([out])
print(buffers.to_host(out), out.aval is Aval)
"""
    assert run_python(program) == "[3. 3. 3. 3.] True"
