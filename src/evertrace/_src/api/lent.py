"""What stands for the private names of JAX that libraries use, each by our own means.

Private modules of JAX are not ours to promise. But libraries import a few names from them, and use
fewer. `MODULES` says of each such name what it is here; all others are refused, when they are asked
for, by an error that names the library's line.
"""

import functools
import importlib
import inspect
import sys
import types

from evertrace._src import errors, tree
from evertrace._src.core.engine import backend
from evertrace._src.source import is_users
from evertrace._src.tree import registry

WHOLE = "*"  # in the place of a name: the module itself


def _ours(text):
    """Read a table of lines ``module: name name ...``, modules below ``evertrace``."""
    table = {}
    for line in text.strip().splitlines():
        module, names = line.split(":")
        table.update({name: f"evertrace.{module.strip()}:{name}" for name in names.split()})
    return table


MODULES = {
    "jax._src": {},
    "jax._src.abstract_arrays": _ours("core: ShapedArray"),
    "jax._src.ad_checkpoint": _ours("ad_checkpoint: checkpoint_name checkpoint_policies"),
    "jax._src.ad_util": {
        **_ours("interpreters.ad: Zero"),
        "stop_gradient_p": "evertrace._src.ops.convert:stop_gradient_p",
    },
    "jax._src.api": {},
    "jax._src.api_util": {
        **_ours("api_util: debug_info flatten_fun flatten_fun_nokwargs safe_map"),
        "infer_argnums_and_argnames": f"{__name__}:infer_argnums_and_argnames",
        "shaped_abstractify": "evertrace.api_util:shaped_abstractify",
    },
    "jax._src.checkify": {
        **_ours("experimental.checkify: checkify user_checks Error JaxRuntimeError check"),
        "JaxException": "evertrace.experimental.checkify:JaxRuntimeError",
        "Out": "builtins:object",
    },
    "jax._src.compiler": {},
    "jax._src.config": {},
    "jax._src.core": {
        **_ours(
            """
            core: AbstractValue ClosedJaxpr Jaxpr JaxprEqn Literal Primitive ShapedArray Trace
            core: Tracer Var check_jaxpr ensure_compile_time_eval eval_jaxpr
            extend.core: find_top_trace get_opaque_trace_state jaxpr_as_fun mapped_aval
            extend.core: unmapped_aval valid_jaxtype
            """
        ),
        "physical_aval": f"{__name__}:physical_aval",
        "trace_state_clean": f"{__name__}:trace_state_clean",
    },
    "jax._src.custom_derivatives": _ours("__init__: custom_jvp custom_vjp"),
    "jax._src.dispatch": {"wait_for_tokens": "evertrace:effects_barrier"},
    "jax._src.distributed": {"global_state": f"{__name__}:global_state"},
    "jax._src.dtypes": {
        **_ours("dtypes: TypePromotionError bfloat16 canonicalize_dtype extended finfo float0"),
        **_ours("dtypes: iinfo issubdtype prng_key result_type"),
        "DType": "numpy:dtype",
        "ExtendedDType": "evertrace._src.dtypes:ExtendedDType",
        "supports_inf": f"{__name__}:supports_inf",
    },
    "jax._src.flatten_util": _ours("flatten_util: ravel_pytree"),
    "jax._src.interpreters": {},
    "jax._src.interpreters.ad": {
        "CustomVJPException": "evertrace._src.errors:UnexpectedTracerError",
    },
    "jax._src.interpreters.batching": {},
    "jax._src.interpreters.mlir": {},
    "jax._src.interpreters.partial_eval": {},
    "jax._src.interpreters.pxla": _ours("interpreters.pxla: global_result_handlers"),
    "jax._src.lax": {},
    "jax._src.lax.lax": {},
    "jax._src.lib": {},
    "jax._src.lib.mlir": {"ir": f"jaxlib.mlir.ir:{WHOLE}"},
    "jax._src.lib.mlir.dialects": {
        **{name: f"jaxlib.mlir.dialects.{name}:{WHOLE}" for name in ("arith", "chlo", "func")},
        "hlo": f"jaxlib.mlir.dialects.stablehlo:{WHOLE}",
    },
    "jax._src.linear_util": {},
    "jax._src.mesh": {},
    "jax._src.numpy": {},
    "jax._src.random": {},
    "jax._src.sharding_impls": {},
    "jax._src.source_info_util": _ours("extend.source_info_util: register_exclusion"),
    "jax._src.state": {},
    "jax._src.state.types": _ours("ref: AbstractRef"),
    "jax._src.traceback_util": {
        "api_boundary": f"{__name__}:api_boundary",
        "include_frame": f"{__name__}:include_frame",
        "register_exclusion": "evertrace.extend.source_info_util:register_exclusion",
        "_exclude_paths": f"{__name__}:excluded_paths",
    },
    "jax._src.tree_util": {
        "_registry": f"{__name__}:registered_types",
        "flatten_one_level": "evertrace._src.tree.registry:flatten_one_level",
        "prefix_errors": f"{__name__}:prefix_errors",
    },
    "jax._src.typing": _ours("typing: ArrayLike DTypeLike"),
    "jax._src.util": {
        **_ours("api_util: safe_map"),
        "safe_zip": f"{__name__}:safe_zip",
        "unzip2": f"{__name__}:unzip2",
    },
    "jax._src.xla_bridge": {"_backends": f"{__name__}:backends_by_platform"},
    "jax.lib": {"__version__": "jaxlib.version:__version__"},  # all that is left of it
}
"""Private module of JAX -> {name: "our module:our name"}."""

PUBLIC_TWINS = {
    "jax._src.ad_checkpoint": "ad_checkpoint", "jax._src.config": "_src.config",
    "jax._src.interpreters.ad": "interpreters.ad",
    "jax._src.interpreters.batching": "interpreters.batching",
    "jax._src.interpreters.mlir": "interpreters.mlir",
    "jax._src.interpreters.partial_eval": "interpreters.partial_eval",
    "jax._src.interpreters.pxla": "interpreters.pxla", "jax._src.lax": "lax",
    "jax._src.lax.lax": "lax",
    "jax._src.linear_util": "extend.linear_util", "jax._src.numpy": "numpy",
    "jax._src.random": "random", "jax._src.mesh": "sharding", "jax._src.tree_util": "tree_util",
    "jax._src.checkify": "experimental.checkify", "jax._src.api": "__init__",
    "jax._src.sharding_impls": "sharding", "jax._src.state.types": "ref",
}  # fmt: skip
"""Private modules of JAX whose other names are looked for in a public one of ours."""


def make_module(fullname):
    """Return the module that stands for a private one of JAX, or None where there is none."""
    names = MODULES.get(fullname)
    if names is None:
        return None
    module = types.ModuleType(fullname, "Names that are private to JAX, by evertrace's own means.")
    module.__file__, module.__path__ = __file__, []
    vars(module)["__getattr__"] = functools.partial(_get, module, names)
    vars(module)["__dir__"] = lambda: sorted(names)
    return module


def _get(module, names, name):
    found = names.get(name)
    if name.startswith("__") and found is None:
        raise AttributeError(name)
    below = f"{module.__name__}.{name}"
    if below in MODULES:  # which JAX has imported itself
        value = importlib.import_module(below)
    elif found is not None:
        source, _, original = found.partition(":")
        value = importlib.import_module(source.removesuffix(".__init__"))
        if original != WHOLE:
            value = getattr(value, original)
    else:
        value = _from_twin(module.__name__, name)
    vars(module)[name] = value
    return value


def _from_twin(fullname, name):
    twin = PUBLIC_TWINS.get(fullname)
    if twin is not None and not name.startswith("_"):
        ours = importlib.import_module(f"evertrace.{twin}".removesuffix(".__init__"))
        value = getattr(ours, name, None)
        if value is not None:
            return value
    error = errors.user_error(
        AttributeError,
        f"as_jax: {fullname}.{name} is private to JAX, and nothing of evertrace stands for it.",
        fix="use what the library offers without it, or the real JAX in another process.",
        anchor="as-jax",
    )
    error.name = name
    raise error


# ---------------------------------------------------------------- what is made for them alone


def api_boundary(fun, **unused):
    """Return the function: our tracebacks are filtered by file."""
    return fun


def include_frame(frame):
    """Return whether a frame is shown to users."""
    return is_users(frame.f_code.co_filename)


excluded_paths: list = []
"""Files that libraries list; those that are hidden are named by `register_exclusion`."""


def trace_state_clean():
    """Return whether no transformation is active."""
    return importlib.import_module("evertrace._src.core.tracer").state.trace.parent is None


def physical_aval(aval):
    """Return a type as it is: only random keys have another one underneath."""
    return aval


def supports_inf(dtype):
    """Return whether a dtype has infinities."""
    numpy = importlib.import_module("evertrace.numpy")
    return bool(numpy.isinf(numpy.finfo(dtype).max * 2))


class _GlobalState:
    """What is known of the other processes: there are none."""

    client, process_id, num_processes, coordinator_address = None, 0, 1, None


global_state = _GlobalState()


def infer_argnums_and_argnames(signature, argnums, argnames):
    """Return positions and names of arguments, each derived from the other.

    Args:
      signature: of the function, an `inspect.Signature`.
      argnums: an int, several, or None.
      argnames: a string, several, or None.
    """
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in signature.parameters.values() if p.kind in by_position]
    nums = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    given = () if argnames is None else (argnames,) if isinstance(argnames, str) else argnames
    given = tuple(given)
    if argnames is None:
        given = tuple([names[i] for i in nums if -len(names) <= i < len(names)])
    elif argnums is None:
        nums = tuple([names.index(n) for n in given if n in names])
    return nums, given


class _Registered:
    """Says whether a type is a node of trees."""

    def __contains__(self, kind):
        return registry.is_tree_node(kind)


registered_types = _Registered()


def safe_zip(*lists):
    """Return `zip` as a list, of lists that have to be of one length."""
    return list(zip(*lists, strict=True))


def prefix_errors(prefix_tree, full_tree, is_leaf=None):
    """Return, for each place where a tree is no prefix, what makes the error of the tree's name."""
    trees = prefix_tree, full_tree, is_leaf
    return [
        lambda name, i=i: tree.prefix_errors(*trees, name)[i]
        for i in range(len(tree.prefix_errors(*trees)))
    ]


def unzip2(pairs):
    """Return the first and the second parts of pairs."""
    pairs = list(pairs)
    return tuple([a for a, _ in pairs]), tuple([b for _, b in pairs])


def _backends():
    return {"cpu": backend()} if "jaxlib" in sys.modules else {}


class _Backends(dict):
    """The backends that have been started, by platform, as they are now."""

    def __contains__(self, platform):
        return platform in _backends()

    def __getitem__(self, platform):
        return _backends()[platform]


backends_by_platform = _Backends()
