"""Clients and devices: how they are found, named and configured; plugins are only looked for."""

import os
import warnings
import weakref

import pytest

from evertrace._src import config, errors
from evertrace._src.engines.xla import client, plugins


def test_one_client_per_platform(device):
    assert client.get_client("cpu") is client.get_client("cpu")
    assert device.client is client.get_client("cpu")


def test_device_describes_itself(device):
    assert repr(device) == "CpuDevice(id=0)"
    assert str(device) == "cpu:0"
    assert (device.platform, device.id, device.process_index) == ("cpu", 0, 0)
    assert device.memory_stats() is None


def test_device_is_a_key_and_can_be_referenced_weakly(device):
    assert {device: 1}[client.devices("cpu")[0]] == 1
    assert weakref.ref(device)() is device


def test_counts_of_the_default_platform():
    with config.override(platforms="cpu"):
        assert client.default_backend() == "cpu"
        assert client.device_count() == len(client.devices()) == len(client.local_devices())
        assert client.process_index() == 0
        assert client.process_count() == 1
        with pytest.raises(ValueError, match="there is no process 1 with devices of the platform"):
            client.local_devices(process_index=1)


def test_unknown_platform_names_the_available_ones():
    with pytest.raises(RuntimeError, match=r"Unknown backend abacus: .* are cpu") as caught:
        client.get_client("abacus")
    assert "Fix: " in str(caught.value)


@pytest.mark.parametrize("variable", ["EVERTRACE_PLATFORMS", "JAX_PLATFORMS"])
def test_platform_from_the_environment(run_python, variable):
    program = """
from evertrace._src.engines.xla import client
try:
    client.get_client()
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""
    printed = run_python(program, **{variable: "abacus,cpu"})
    assert printed.startswith("Unknown backend abacus")


@pytest.mark.parametrize(
    "environment",
    [
        {"EVERTRACE_NUM_CPU_DEVICES": "3"},
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"},
    ],
)
def test_number_of_cpu_devices_and_its_threads(run_python, environment):
    program = """
import os
from evertrace._src.engines.xla import client
print(client.device_count("cpu"), os.environ["PJRT_NPROC"])
"""
    count, threads = run_python(program, **environment).split()
    assert count == "3"
    assert int(threads) == max(os.cpu_count() or 1, 12)


def test_one_device_leaves_the_thread_pool_alone(run_python):
    program = """
import os
from evertrace._src.engines.xla import client
print(client.device_count("cpu"), "PJRT_NPROC" in os.environ)
"""
    assert run_python(program) == "1 False"


def test_unblocked_collectives_do_not_deadlock(run_python):
    # Hangs within seconds, then aborts, when the pool has as many threads as there are devices.
    program = """
import numpy as np
from evertrace._src.engines.xla import client, compat, options
cpu = client.get_client("cpu")
text = '''
sdy.mesh @mesh = <["x"=4]>
func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}'''
class Aval:
    def __init__(self, shape):
        self.shape, self.dtype, self.weak_type = shape, np.dtype(np.float32), False
devices = [d._raw for d in cpu.devices]
device_list = compat.DeviceList(tuple(devices))
raw_options = options.Options(num_partitions=4).to_raw(cpu.devices)
program = cpu._raw.compile_and_load(text, device_list, raw_options)
split = compat.RawSharding(device_list, compat.HloSharding.from_string("{devices=[4]<=[4]}"))
shards = [np.full(2, i, np.float32) for i in range(4)]
x = compat.xla_client.batched_device_put(
    Aval((8,)), split, shards, devices, True, False, compat.HostBufferSemantics.ZERO_COPY, True)
handler = compat.result_handler(Aval(()), compat.replicated_sharding(device_list))
results = [program.execute_sharded([x]).consume_with_handlers([handler])[0] for _ in range(300)]
compat.block_until_ready(results)
print({float(compat.fetch(r)) for r in results})
"""
    assert run_python(program, EVERTRACE_NUM_CPU_DEVICES="4") == "{12.0}"


def test_import_does_not_talk_and_does_not_start_a_client(run_python):
    program = """
from evertrace._src.engines.xla import client
print(client._clients)
"""
    assert run_python(program) == "{}"


@pytest.mark.parametrize("reuse", ["1", "0"])
def test_allocator_lever_can_be_switched_off(run_python, reuse):
    program = """
import numpy as np
from evertrace._src.engines.xla import client
calls = []
class Library:
    @staticmethod
    def mallopt(parameter, value):
        calls.append((parameter, value))
client._c_library = Library
client.get_client("cpu")
print(calls)
"""
    printed = run_python(program, EVERTRACE_HOST_ALLOCATOR_REUSE=reuse)
    assert printed == ("[(-3, 1073741824), (-1, 1073741824)]" if reuse == "1" else "[]")


@pytest.mark.parametrize("library", [object(), None])
def test_libraries_without_the_lever_are_left_alone(monkeypatch, library):
    monkeypatch.setattr(client, "_c_library", lambda: library)
    client._keep_freed_memory()
    assert client.trim_host_memory() is False


@pytest.fixture
def fresh_discovery():
    plugins.discover.cache_clear()
    yield
    plugins.discover.cache_clear()


@pytest.mark.usefixtures("fresh_discovery")
def test_no_accelerator_without_its_device_files(monkeypatch):
    monkeypatch.setattr(plugins.glob, "glob", lambda _: [])
    monkeypatch.setattr(plugins.os.path, "exists", lambda _: False)
    monkeypatch.delenv("PJRT_NAMES_AND_LIBRARY_PATHS", raising=False)
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    assert plugins.discover() == ()


@pytest.mark.usefixtures("fresh_discovery")
def test_plugins_from_the_environment_come_first(monkeypatch):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "npu:/opt/npu.so, fpga:/opt/fpga.so")
    found = plugins.discover()[:2]
    assert found == (
        plugins.Plugin("npu", "/opt/npu.so"),
        plugins.Plugin("fpga", "/opt/fpga.so"),
    )


@pytest.mark.usefixtures("fresh_discovery")
def test_malformed_plugin_list_is_explained(monkeypatch):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "npu")
    with pytest.raises(RuntimeError, match="name:path"):
        plugins.discover()


@pytest.mark.usefixtures("fresh_discovery")
def test_cuda_wheel_is_found_without_importing_it(run_python, tmp_path):
    package = tmp_path / "site" / "jax_plugins" / "xla_cuda13"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import jax")
    (package / "xla_cuda_plugin.so").touch()
    program = f"""
import sys
sys.path.append({str(tmp_path / "site")!r})
from evertrace._src.engines.xla import plugins
plugins.glob.glob = lambda pattern: [pattern] if "nvidia" in pattern else []
print(plugins.discover())
"""
    printed = run_python(program)
    assert "name='cuda'" in printed
    assert "kernels='jax_cuda13_plugin.cuda_plugin_extension'" in printed


def test_plugin_that_does_not_start_leaves_the_cpu(monkeypatch):
    broken = plugins.Plugin("abacus", "/no/such/library.so")
    monkeypatch.setattr(plugins, "discover", lambda: (broken,))
    monkeypatch.setattr(client, "_clients", {"cpu": client.get_client("cpu")})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert client._best_client().platform == "cpu"
    assert "abacus is installed but did not start" in str(caught[0].message)
    with pytest.raises(errors.JaxRuntimeError, match="EVERTRACE_PLATFORMS"):
        client.get_client("abacus")


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("platforms", ["cpu", "cpu,cuda"])
def test_the_cpu_is_asked_for_without_jaxlib(run_python, platforms):
    program = """
import sys, evertrace as ev, evertrace.numpy as jnp
print(ev.jit(lambda x: x + 1)(jnp.ones(2)), "jaxlib" in sys.modules)
"""
    assert run_python(program, EVERTRACE_PLATFORMS=platforms) == "[2. 2.] False"


@pytest.mark.parametrize("variable", ["EVERTRACE_PLATFORMS", "JAX_PLATFORMS"])
def test_jitted_calls_do_not_pass_by_a_platform_that_is_missing(run_python, variable):
    program = """
import evertrace as ev, evertrace.numpy as jnp
try:
    ev.jit(lambda x: x + 1)(jnp.ones(2))
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""
    assert run_python(program, **{variable: "abacus"}).startswith("Unknown backend abacus")


MISSING = """
import evertrace as ev, evertrace.numpy as jnp
<setting>
try:
    print(<call>)
except RuntimeError as error:
    print(str(error).splitlines()[0])
    print("Fix: install the plugin" in str(error))
"""


@pytest.mark.parametrize("call", ["jnp.ones(3) + 1", "jnp.sin(1.0)", "ev.random.key(0)"])
@pytest.mark.parametrize(
    "setting",
    [
        "EVERTRACE_PLATFORMS",
        "EVERTRACE_PLATFORM_NAME",
        "JAX_PLATFORMS",
        "JAX_PLATFORM_NAME",
        'ev.config.update("platforms", "abacus")',
        'ev.config.update("jax_platform_name", "abacus")',
    ],
)
def test_no_call_passes_by_a_platform_that_is_missing(run_python, setting, call):
    is_variable = setting.isupper()
    program = MISSING.replace("<call>", call)
    program = program.replace("<setting>", "" if is_variable else setting)
    printed = run_python(program, **({setting: "abacus"} if is_variable else {}))
    what, has_fix = printed.splitlines()
    assert what == "Unknown backend abacus: the available platforms are cpu."
    assert has_fix == "True"


def test_a_process_goes_on_with_a_platform_that_is_there(run_python):
    """What the text says to do works, after the error as well."""
    program = MISSING.replace("<setting>", "").replace("<call>", "jnp.sin(1.0)")
    program += 'ev.config.update("platforms", "cpu")\nprint(jnp.ones(1) + 1)\n'
    assert run_python(program, JAX_PLATFORM_NAME="abacus").endswith("True\n[2.]")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"JAX_PLATFORM_NAME": "cpu"}, "cpu"),
        ({"JAX_PLATFORM_NAME": "gpu", "JAX_PLATFORMS": "cpu"}, "cpu"),
        ({"JAX_PLATFORMS": "gpu", "EVERTRACE_PLATFORM_NAME": "cpu"}, "cpu"),
        ({"EVERTRACE_PLATFORM_NAME": "gpu", "EVERTRACE_PLATFORMS": "cpu"}, "cpu"),
    ],
)
def test_of_several_variables_ours_counts(monkeypatch, variables, expected):
    for name in ("EVERTRACE_PLATFORMS", "EVERTRACE_PLATFORM_NAME", "JAX_PLATFORMS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert config._from_environment().platforms == expected


def test_what_the_environment_says_of_memory_reaches_the_plugin_of_gpus(monkeypatch):
    """The page on GPUs names these variables."""
    given = {}
    monkeypatch.setattr(plugins, "_preload_cuda_libraries", lambda: None)
    monkeypatch.setattr(plugins.compat, "load_plugin", lambda name, library: None)
    monkeypatch.setattr(plugins.compat, "make_plugin_client", lambda name, told: given.update(told))
    monkeypatch.setenv("XLA_CLIENT_MEM_FRACTION", ".5")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "512")
    plugins.start(plugins.Plugin("cuda", "/opt/cuda.so"))
    want = {
        "memory_fraction": 0.5,
        "preallocate": False,
        "allocator": "cuda_async",
        "collective_memory_size": 512 << 20,
    }
    assert {name: given[name] for name in want} == want
