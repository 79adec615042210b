"""The Python array API standard: names, signatures, and what the namespace says of itself."""

import inspect

import array_api_compat
import array_api_strict
import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

# What array_api_strict has beside the standard.
BESIDE = {
    "ArrayAPIStrictFlags", "Device", "get_array_api_strict_flags", "reset_array_api_strict_flags",
    "__version__", "set_array_api_strict_flags",
}  # fmt: skip

MODULES = {"": (jnp, array_api_strict)} | {
    f"{name}.": (getattr(jnp, name), getattr(array_api_strict, name)) for name in ("linalg", "fft")
}
NAMES = [
    (prefix, name)
    for prefix, (_, standard) in MODULES.items()
    for name in sorted(set(standard.__all__) - BESIDE)
]


@pytest.mark.parametrize(("prefix", "name"), NAMES)
def test_names_and_signatures(prefix, name):
    ours, standard = (getattr(module, name) for module in MODULES[prefix])
    if not inspect.isfunction(standard):
        return
    have = inspect.signature(ours).parameters
    by_position = [p for p in have.values() if p.kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD]
    for i, wanted in enumerate(inspect.signature(standard).parameters.values()):
        if wanted.kind is inspect.Parameter.POSITIONAL_ONLY:
            assert len(by_position) > i
        elif wanted.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            assert by_position[i].name == wanted.name
        elif wanted.kind is inspect.Parameter.KEYWORD_ONLY:
            assert have[wanted.name].kind is not inspect.Parameter.POSITIONAL_ONLY
        else:
            assert wanted.kind in [p.kind for p in have.values()]


def test_arrays_have_what_the_standard_asks():
    standard = array_api_strict.ones((2, 2))
    names = [n for n in dir(standard) if not n.startswith("_") or n.endswith("__")]
    names = [n for n in names if n != "__annotations__"]  # listed from Python 3.14 on
    missing = {n for n in names if not hasattr(jnp.eye(2), n)}
    # Without methods of their own, `+=` and the like make a new array, as the standard allows.
    in_place = {n for n in names if n.startswith("__i") and f"__{n[3:]}" in names}
    assert missing <= in_place | {"__buffer__"}  # which classes lend from Python 3.12 on


@pytest.mark.parametrize("version", [None, "2024.12"])
def test_namespace_of_arrays_and_tracers(version):
    seen = []

    def f(x):
        seen.append(x.__array_namespace__(api_version=version))
        return x

    for run in (f, ev.jit(f), ev.vmap(f), ev.grad(lambda x: f(x).sum())):
        run(jnp.ones(2))
    assert set(seen) == {jnp}
    assert jnp.__array_api_version__ == "2024.12"


def test_other_versions_are_refused():
    with pytest.raises(ValueError, match=r"api_version '2021\.12' is not available"):
        jnp.ones(2).__array_namespace__(api_version="2021.12")


def test_info():
    info = jnp.__array_namespace_info__()
    assert set(info.capabilities()) == {
        "boolean indexing",
        "data-dependent shapes",
        "max dimensions",
    }
    assert info.default_device() in info.devices()
    assert jnp.ones(2).device is info.default_device()
    for x64, width in ((False, 32), (True, 64)):
        with ev.enable_x64(x64):
            defaults = info.default_dtypes(device=info.default_device())
            assert defaults["real floating"] == np.dtype(f"float{width}") == jnp.ones(2).dtype
            assert defaults["integral"] == np.dtype(f"int{width}") == jnp.arange(2).dtype
            assert defaults["indexing"] == jnp.argmax(jnp.ones(2)).dtype
            assert ("float64" in info.dtypes()) is x64
    assert list(info.dtypes(kind="bool")) == ["bool"]
    assert set(info.dtypes(kind="numeric")) | {"bool"} == set(info.dtypes())
    assert set(info.dtypes(kind=("real floating", "complex floating"))) == {
        "float32",
        "complex64",
    }
    with pytest.raises(ValueError, match="no kind of dtypes is called 'float'"):
        info.dtypes(kind="float")


def test_helpers_of_array_api_compat():
    x = jnp.arange(6.0).reshape(2, 3)
    assert array_api_compat.array_namespace(x, x[0]) is jnp
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.device(x) is x.device
    assert array_api_compat.to_device(x, x.device).tolist() == x.tolist()
    assert array_api_compat.size(x) == 6
    with pytest.raises(TypeError, match="Multiple namespaces"):
        array_api_compat.array_namespace(x, np.ones(2))


def standardise(x):
    """Subtract the mean and divide by the deviation, as the standard's user would write it."""
    xp = x.__array_namespace__()
    x = xp.astype(x, xp.float32, copy=False)
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    scale = xp.std(x, axis=-1, keepdims=True, correction=1)
    return xp.where(scale > 0, centred / xp.where(scale > 0, scale, xp.ones_like(scale)), centred)


def test_a_function_by_the_standard_under_transformations():
    x = np.arange(12, dtype=np.float32).reshape(3, 4) ** 2
    want = np.asarray(standardise(array_api_strict.asarray(x)))
    for run in (standardise, ev.jit(standardise), ev.vmap(standardise)):
        np.testing.assert_allclose(run(jnp.asarray(x)), want, rtol=1e-5, atol=1e-6)
