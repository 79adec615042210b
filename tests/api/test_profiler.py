"""The profiler's functions write files that its own reader understands."""

import gzip

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import dlpack, profiler


def test_trace_holds_the_marks(tmp_path):
    double = profiler.annotate_function(lambda x: 2 * x, name="my_function")
    with profiler.trace(tmp_path):
        with profiler.StepTraceAnnotation("my_step", step_num=3):
            double(jnp.ones(3))
        with profiler.TraceAnnotation("my_mark"):
            ev.jit(lambda x: x + 1)(jnp.ones(3)).block_until_ready()
    (path,) = tmp_path.rglob("*.xplane.pb")
    data = profiler.ProfileData.from_file(str(path))
    names = {event.name for plane in data.planes for line in plane.lines for event in line.events}
    assert {"my_function", "my_step", "my_mark"} <= names


def test_one_profile_at_a_time(tmp_path):
    profiler.start_trace(tmp_path)
    try:
        with pytest.raises(RuntimeError, match="profiler: a profile is running, for"):
            profiler.start_trace(tmp_path)
    finally:
        profiler.stop_trace()
    with pytest.raises(RuntimeError, match="profiler: no profile is running"):
        profiler.stop_trace()
    with pytest.raises(ValueError, match="profiler: no server is running"):
        profiler.stop_server()


def test_memory_profile(tmp_path):
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert gzip.decompress((tmp_path / "memory.prof").read_bytes()) != b""


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64"])
def test_supported_dtypes_of_dlpack(dtype):
    assert dlpack.is_supported_dtype(dtype)
    assert dlpack.is_supported_dtype(jnp.dtype(dtype))


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float8_e4m3fn", "float8_e5m2"])
def test_unsupported_dtypes_of_dlpack(dtype):
    assert not dlpack.is_supported_dtype(jnp.dtype(dtype))


def test_from_dlpack():
    x = np.arange(3, dtype=np.float32)
    y = dlpack.from_dlpack(x)
    x[0] = 9
    np.testing.assert_array_equal(y, [0, 1, 2])
    assert not dlpack.is_supported_dtype(ev.random.key(0).dtype)
