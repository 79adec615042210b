"""Options: names, values, environment, overrides, and what the keys of caches see of them."""

import dataclasses
import logging
import os
import subprocess
import sys
import threading

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import config as options
from evertrace._src.api.scopes import make_user_context
from evertrace._src.config import config


@pytest.fixture(autouse=True)
def restore_process_default():
    before = options._process
    options._set_process(options.Config())
    yield
    options._set_process(before)


@pytest.mark.parametrize("name", ["enable_x64", "jax_enable_x64", "evertrace_enable_x64"])
def test_update_takes_all_names(name):
    config.update(name, True)
    assert config.enable_x64 is config.jax_enable_x64 is config.x64_enabled is True
    assert config.read(name) is True


@pytest.mark.parametrize(
    ("jax_name", "value", "name"),
    [
        ("jax_compilation_cache_dir", "/tmp/x", "compilation_cache_dir"),
        ("jax_platform_name", "cpu", "platforms"),
        ("jax_compilation_cache_max_size", 10, "compilation_cache_max_bytes"),
        ("jax_persistent_cache_min_entry_size_bytes", -1, "compilation_cache_min_entry_bytes"),
        (
            "jax_persistent_cache_min_compile_time_secs",
            2,
            "compilation_cache_min_compile_seconds",
        ),
    ],
)
def test_names_of_jax(jax_name, value, name):
    config.update(jax_name, value)
    assert getattr(config, name) == value


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("enable_x64", "yes", TypeError),
        ("enable_x64", None, TypeError),
        ("numpy_rank_promotion", "forbid", ValueError),
        ("numpy_rank_promotion", 3, TypeError),
        ("num_cpu_devices", True, TypeError),
        ("num_cpu_devices", 1.5, TypeError),
        ("platforms", 1, TypeError),
        ("default_matmul_precision", "exact", ValueError),
    ],
)
def test_bad_values_are_refused(name, value, error):
    kept = options.current()
    with pytest.raises((TypeError, ValueError), match=f"option '{name}' cannot be") as caught:
        config.update(name, value)
    assert isinstance(caught.value, error)
    assert "Fix: choose a value that is " in str(caught.value)
    assert options.current() is kept


def test_unknown_name_suggests_close_ones():
    with pytest.raises(AttributeError, match="no option 'jax_enable_x46'") as caught:
        config.update("jax_enable_x46", True)
    assert "Fix: use 'enable_x64'" in str(caught.value)
    with pytest.raises(AttributeError, match="no option"):
        _ = config.enable_x46


def test_assignment_is_refused():
    with pytest.raises(AttributeError, match=r"call `config\.update\(") as caught:
        config.enable_x64 = True
    assert "config: option 'enable_x64' cannot be assigned." in str(caught.value)


def test_special_values():
    config.update("enable_x64", 1)
    assert config.enable_x64 is True
    config.update("compilation_cache_dir", False)
    assert config.compilation_cache_dir == ""


def test_override_nests_and_ends():
    with options.enable_x64(), options.numpy_rank_promotion("raise"):
        assert (config.enable_x64, config.numpy_rank_promotion) == (True, "raise")
        with options.enable_x64(False):
            assert (config.enable_x64, config.numpy_rank_promotion) == (False, "raise")
        assert config.enable_x64
    assert options.current() is options._process


def test_override_ends_after_an_error():
    seen = []

    @options.override(debug_nans=True, jax_debug_infs=True)
    def fail():
        seen.append((config.debug_nans, config.debug_infs))
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [(True, True)]
    assert not config.debug_nans


def test_update_inside_an_override():
    with options.enable_x64(True):
        config.update("debug_nans", True)
        config.update("enable_x64", False)
        assert (config.enable_x64, config.debug_nans) == (True, True)
    assert (config.enable_x64, config.debug_nans) == (False, True)


def test_equal_overrides_make_one_object():
    """By it, calls are recognised."""

    def made(**changes):
        with options.override(**changes):
            return options.current()

    assert made(strict=True) is made(strict=True)
    assert made(strict=True) is not made(strict=True, enable_checks=True)
    assert made(debug_nans=True) is not made(debug_infs=True)
    before, was = made(strict=True), options.current().no_retrace
    try:
        options.update("no_retrace", not was)
        assert made(strict=True).no_retrace is not was
    finally:
        options.update("no_retrace", was)
    assert made(strict=True) == before
    for i in range(200):
        assert made(compilation_cache_max_bytes=i).compilation_cache_max_bytes == i


def test_override_is_of_one_thread():
    seen = []
    with options.enable_x64():
        thread = threading.Thread(target=lambda: seen.append(config.enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


def test_checking_leaks():
    with options.checking_leaks():
        assert config.check_tracer_leaks


CONTEXTS = {
    "engine": "xla",
    "enable_x64": True,
    "strict": True,
    "impurity": "warn",
    "no_retrace": True,
    "explain_retraces": True,
    "threefry_partitionable": False,
    "default_prng_impl": "rbg",
    "enable_custom_prng": True,
    "legacy_prng_key": "warn",
    "default_matmul_precision": "highest",
    "numpy_rank_promotion": "warn",
    "numpy_dtype_promotion": "strict",
    "allow_f16_reductions": False,
    "debug_nans": True,
    "debug_infs": True,
    "debug_key_reuse": True,
    "no_tracing": True,
    "no_execution": True,
    "transfer_guard_host_to_device": "log",
    "transfer_guard_device_to_host": "disallow",
    "transfer_guard_device_to_device": "disallow_explicit",
    "check_tracer_leaks": True,
    "enable_checks": True,
    "pallas_enable_debug_checks": True,
    "log_compiles": True,
    "user_contexts": (("mine", 1),),
    "default_device": "cpu",
}


@pytest.mark.parametrize(
    "name",
    [name for name in CONTEXTS if name not in ("user_contexts", "pallas_enable_debug_checks")],
)
def test_context_manager_of_each_option(name):
    context = getattr(options, name)
    before = config.read(name)
    with context(CONTEXTS[name]):
        assert config.read(name) == CONTEXTS[name] != before
    with context(new_val=CONTEXTS[name]):
        assert config.read(name) == CONTEXTS[name]
    assert config.read(name) == before
    assert (context.__name__, context.__module__) == (name, "evertrace")


def test_context_managers_under_other_names():
    with options.disable_jit():
        assert config.disable_jit
        with options.disable_jit(disable=False):
            assert not config.disable_jit
    with options.explain_cache_misses():
        assert config.explain_retraces
    with options.softmax_custom_jvp(False), options.thread_guard():
        assert repr(config) == "config()"


def test_user_contexts():
    one, other = make_user_context(1), make_user_context()
    key = options.current().semantic
    with one(2), other("x"):
        assert (one.value, other.value) == (2, "x")
        assert options.current().semantic != key
        with one(3):
            assert (one.value, other.value) == (3, "x")
    assert (one.value, other.value) == (1, None)
    assert options.current().semantic == key
    with pytest.raises(TypeError, match="unhashable"):
        one([])


def test_equal_values_of_other_types_are_other_user_contexts():
    context = make_user_context("none")
    f = ev.jit(lambda x: x * context.value)
    for _ in range(2):
        for value, dtype in ((1, "int32"), (1.0, "float32"), (True, "int32")):
            with context(value):
                assert type(context.value) is type(value)
                assert f(jnp.arange(3)).dtype == dtype


def test_an_override_may_be_entered_again():
    block = options.override(enable_x64=True)
    for _ in range(2):
        with block, options.enable_x64(False), block:
            assert config.enable_x64
        assert not config.enable_x64


def test_blocks_inside_of_blocks_see_later_updates():
    seen = []
    for debug in (False, True, False):
        config.update("debug_nans", debug)
        with options.enable_x64():
            with options.no_retrace():
                seen.append((config.enable_x64, config.no_retrace, config.debug_nans))
                config.update("debug_nans", not debug)
                seen.append((config.enable_x64, config.no_retrace, config.debug_nans))
            seen.append((config.enable_x64, config.no_retrace, config.debug_nans))
    config.update("debug_nans", False)
    assert seen == [
        (True, inside, is_on)
        for debug in (False, True, False)
        for inside, is_on in ((True, debug), (True, not debug), (False, not debug))
    ]


def test_transfer_guard_is_that_of_all_directions():
    with options.transfer_guard("disallow"):
        assert {config.read(name) for name in options.TRANSFER_GUARDS} == {"disallow"}
        with options.transfer_guard_host_to_device("allow"):
            assert config.transfer_guard_host_to_device == "allow"
            assert config.transfer_guard_device_to_host == "disallow"
    config.update("jax_transfer_guard", "log")
    try:
        assert config.transfer_guard_device_to_device == "log"
    finally:
        config.update("transfer_guard", "allow")
    with pytest.raises(ValueError, match="cannot be 'never'"), options.transfer_guard("never"):
        pass


def test_watched_sums_up_the_options_that_look_at_operations():
    assert not options.current().watched
    for name in options.WATCHING_FIELDS:
        with options.override(**{name: CONTEXTS[name]}):
            assert options.current().watched, name


def test_semantic_key_sees_what_changes_a_trace():
    key = options.current().semantic
    hash(key)
    values = {"simulated_devices": 8, **CONTEXTS}
    for name in options.SEMANTIC_FIELDS:
        with options.override(**{name: values.get(name, not config.read(name))}):
            assert options.current().semantic != key, name
    with options.log_compiles():
        assert options.current().semantic == key


def test_environment():
    program = (
        "from evertrace._src.config import config as c;"
        "print(c.enable_x64, c.num_cpu_devices, c.numpy_rank_promotion,"
        " c.compilation_cache_min_compile_seconds, c.default_matmul_precision, c.platforms)"
    )
    variables = {
        "EVERTRACE_ENABLE_X64": "1",
        "EVERTRACE_NUM_CPU_DEVICES": "4",
        "EVERTRACE_NUMPY_RANK_PROMOTION": "raise",
        "EVERTRACE_COMPILATION_CACHE_MIN_COMPILE_SECONDS": "0.5",
        "EVERTRACE_DEFAULT_MATMUL_PRECISION": "none",
        "EVERTRACE_PLATFORMS": "cuda,cpu",
    }
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "4", "raise", "0.5", "None", "cuda,cpu"]


def test_environment_with_a_bad_value(monkeypatch):
    monkeypatch.setenv("EVERTRACE_ENABLE_X64", "perhaps")
    with pytest.raises(TypeError, match="option 'enable_x64' cannot be 'perhaps'"):
        options._from_environment()


def test_values_and_text():
    assert config.values == {
        field.name: getattr(options.Config(), field.name)
        for field in dataclasses.fields(options.Config)
        if field.init
    }
    assert set(config.values) <= set(dir(config))
    assert repr(config) == "config()"
    with options.enable_x64():
        assert repr(config) == "config(enable_x64=True)"


def test_the_level_of_messages():
    assert config.jax_logging_level == "NOTSET"
    config.update("jax_logging_level", "ERROR")
    assert logging.getLogger("evertrace").level == logging.ERROR
    config.update("logging_level", "NOTSET")
    assert logging.getLogger("evertrace").level == logging.NOTSET
    with pytest.raises(ValueError, match="cannot be 'LOUD'"):
        config.update("logging_level", "LOUD")


@pytest.mark.parametrize("name", ["jax_use_shardy_partitioner", "jax_pprint_use_color"])
def test_options_of_jax_that_decide_on_nothing_here_are_kept(name):
    assert config.read(name) is getattr(config, name) is True
    config.update(name, False)
    assert config.read(name) is False
    config.update(name, True)


ABSL = """
import sys, types
sys.argv = ["program", "--jax_enable_x64", "--jax_numpy_rank_promotion=raise", "--mine=3"]
values = {}

class Flag:
    value = None

class Flags(dict):
    parsed = False
    def is_parsed(self):
        return self.parsed
    def __call__(self, argv, known_only):
        assert known_only
        self.parsed = True
        for text in argv[1:]:
            name, _, value = text[2:].partition("=")
            if name in self:
                self[name].value = value or True

flags = types.ModuleType("absl.flags")
flags.FLAGS = Flags()
define = lambda name, default, text: flags.FLAGS.update({name: Flag()})
flags.DEFINE_boolean = flags.DEFINE_string = define
absl = types.ModuleType("absl")
absl.flags, absl.__spec__ = flags, types.SimpleNamespace()
sys.modules.update({"absl": absl, "absl.flags": flags})
import evertrace as ev
ev.config.parse_flags_with_absl()
print(ev.config.enable_x64, ev.config.numpy_rank_promotion, ev.config.debug_nans)
"""


def test_flags_of_absl_set_options():
    done = subprocess.run([sys.executable, "-c", ABSL], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "raise", "False"], done.stderr
