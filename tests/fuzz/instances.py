"""Objects of the public classes, whose methods are called: text of one object for each class."""

import functools
import inspect

from evertrace._src.arrays.missing import Missing

MESH = "ev.make_mesh((1,), ('x',))"
SPEC = "ev.sharding.PartitionSpec('x')"
_EXPORTED = "export.export(ev.jit(jnp.sin))(jnp.ones(3))"
_KDE = "scipy.stats.gaussian_kde(jnp.arange(8.0).reshape(2, 4) ** 2 % 5)"
_PALLAS, _SOURCES = "ev.experimental.pallas", "ev.extend.source_info_util"
_JAXPR = "ev.make_jaxpr(lambda x: jnp.sin(x) * 2)(jnp.ones(3))"

INSTANCES = {
    "evertrace.Device": "ev.devices()[0]",
    "evertrace.NamedSharding": f"ev.NamedSharding({MESH}, {SPEC})",
    "evertrace.P": SPEC,
    "evertrace.Ref": "ev.new_ref(jnp.arange(3.0))",
    "evertrace.ShapeDtypeStruct": "ev.ShapeDtypeStruct((2, 3), 'float32')",
    "evertrace.custom_jvp": "ev.custom_jvp(jnp.sin)",
    "evertrace.custom_vjp": "ev.custom_vjp(jnp.sin)",
    "evertrace.core.ClosedJaxpr": _JAXPR,
    "evertrace.core.Jaxpr": f"{_JAXPR}.jaxpr",
    "evertrace.core.JaxprEqn": f"{_JAXPR}.eqns[0]",
    "evertrace.core.Literal": f"{_JAXPR}.eqns[1].invars[1]",
    "evertrace.core.Var": f"{_JAXPR}.jaxpr.invars[0]",
    "evertrace.core.Primitive": "ev.core.Primitive('p')",
    "evertrace.core.ShapedArray": "ev.core.ShapedArray((2, 3), 'float32')",
    "evertrace.custom_batching.custom_vmap": "ev.custom_batching.custom_vmap(jnp.sin)",
    "evertrace.experimental.kernels.Kernel": (
        "ev.experimental.kernels.kernel(ins=['rows'], outs=['rows'], blocks={'rows': 2})("
        "lambda x, o: o.__setitem__(..., 2 * x[...]))"
    ),
    "evertrace.experimental.custom_partitioning.custom_partitioning": (
        "ev.experimental.custom_partitioning.custom_partitioning(jnp.sin)"
    ),
    "evertrace.experimental.custom_partitioning.SdyShardingRule": (
        "ev.experimental.custom_partitioning.SdyShardingRule([('i',)], [('i',)])"
    ),
    "evertrace.experimental.checkify.Error": "ev.experimental.checkify.checkify(jnp.sin)(1.0)[0]",
    "evertrace.ref.AbstractRef": "ev.typeof(ev.new_ref(jnp.ones(3)))",
    "evertrace.experimental.random.StatefulPRNG": "ev.experimental.random.stateful_rng(0)",
    **{
        f"evertrace.experimental.sparse.{kind}": f"sparse.{kind}.fromdense(jnp.eye(3))"
        for kind in ("BCOO", "BCSR", "COO", "CSC", "CSR")
    },
    "evertrace.experimental.pallas.BlockSpec": f"{_PALLAS}.BlockSpec((4,), v.same)",
    "evertrace.experimental.pallas.GridSpec": f"{_PALLAS}.GridSpec((2, 3))",
    "evertrace.experimental.pallas.MemoryRef": f"{_PALLAS}.ANY((3,), 'float32')",
    "evertrace.experimental.pallas.Slice": f"{_PALLAS}.ds(1, 2)",
    "evertrace.export.DisabledSafetyCheck": "export.DisabledSafetyCheck.platform()",
    "evertrace.export.Exported": _EXPORTED,
    "evertrace.extend.RuleTable": "ev.extend.RuleTable('counting')",
    "evertrace.extend.source_info_util.NameStack": f"{_SOURCES}.new_name_stack('f')",
    "evertrace.extend.source_info_util.SourceInfo": f"{_SOURCES}.current()",
    "evertrace.extend.linear_util.WrappedFun": "ev.extend.linear_util.wrap_init(jnp.sin)",
    "evertrace.numpy.ufunc": "jnp.frompyfunc(jnp.add, 2, 1)",
    "evertrace.profiler.StepTraceAnnotation": "ev.profiler.StepTraceAnnotation('x')",
    "evertrace.profiler.TraceAnnotation": "ev.profiler.TraceAnnotation('x')",
    "evertrace.scipy.interpolate.RegularGridInterpolator": (
        "scipy.interpolate.RegularGridInterpolator((jnp.arange(3.0),), jnp.ones(3))"
    ),
    "evertrace.scipy.spatial.transform.Rotation": (
        "scipy.spatial.transform.Rotation.from_quat(jnp.eye(4)[:2])"
    ),
    "evertrace.scipy.spatial.transform.Slerp": (
        "scipy.spatial.transform.Slerp.init(jnp.arange(2.0), "
        "scipy.spatial.transform.Rotation.from_quat(jnp.eye(4)[:2]))"
    ),
    "evertrace.scipy.stats.gaussian_kde": _KDE,
    "evertrace.sharding.AbstractMesh": "ev.sharding.AbstractMesh((2,), ('x',))",
    "evertrace.sharding.Mesh": MESH,
    "evertrace.sharding.SingleDeviceSharding": "ev.sharding.SingleDeviceSharding(ev.devices()[0])",
    "evertrace.stages.Compiled": "ev.jit(jnp.sin).lower(jnp.ones(3)).compile()",
    "evertrace.stages.Lowered": "ev.jit(jnp.sin).lower(jnp.ones(3))",
    "evertrace.stages.Traced": "ev.jit(jnp.sin).trace(jnp.ones(3))",
    "evertrace.stages.Wrapped": "ev.jit(v.same)",
    "evertrace.tree_util.PyTreeDef": "ev.tree.structure([1, (2, None)])",
    "evertrace.tree_util.PyTreeRegistry": "ev.tree_util.default_registry",
    "evertrace.tree_util.Partial": "ev.tree_util.Partial(jnp.add, 1.0)",
    "evertrace.core.Tracer": "v.leaked()",
    "evertrace._src.numpy.updates.IndexRef": "jnp.ones((3, 2)).at[1]",
    "evertrace._src.numpy.updates.IndexHelper": "jnp.ones((3, 2)).at",
}
"""A class's path -> an expression that makes an object of it."""

CALLED = ("__call__", "__getitem__")
"""Methods with names of Python's that people call by their syntax."""

CHANGING = {
    "register_node": "changes what later calls of the process mean",
    "register_dataclass_node": "changes what later calls of the process mean",
    "runtime_executable": "is jaxlib's own",
    "compiler_ir": "is jaxlib's own",
    "effects_of": "what engines ask for each operation, which checks nothing",
    "find": "as effects_of",
    "infer": "as effects_of",
    "moves_physical": "as effects_of",
    "typing": "as effects_of",
}
"""Methods that are never called, each with the reason."""

WITHOUT = {
    "evertrace.core.Trace": "is made by transformations only",
    "evertrace.core.DropVar": "a Var",
    "evertrace.experimental.hijax.HiPrimitive": "is there to be derived from",
    "evertrace.experimental.hijax.HiPspec": "is there to be derived from",
    "evertrace.experimental.hijax.HiType": "is there to be derived from",
    "evertrace.experimental.hijax.MutableHiType": "is there to be derived from",
    "evertrace.experimental.hijax.VJPHiPrimitive": "is there to be derived from",
    "evertrace.experimental.sparse.JAXSparse": "is there to be derived from",
    "evertrace.experimental.sparse.SparseTracer": "is made by transformations only",
    "evertrace.export.SymbolicScope": "is handed on, its methods are called by sizes",
    "evertrace.extend.Backend": "a protocol",
    "evertrace.extend.Primitive": "as evertrace.core.Primitive",
    "evertrace.experimental.hijax.AbstractRef": "as evertrace.ref.AbstractRef",
    "evertrace.experimental.hijax.Zero": "is made by transformations only",
    "evertrace.nn.initializers.Initializer": "a protocol",
    "evertrace.sharding.Sharding": "is there to be derived from",
    "evertrace.Array": "its methods are called with arrays of all kinds",
}
"""Public classes with methods of which no object is made, each with the reason."""


@functools.cache
def methods_of(cls):
    """Return the names of the methods of a class that are ours."""
    found = []
    for name in dir(cls):
        owner = next((c for c in cls.__mro__ if name in vars(c)), object)
        is_shown = name[0] != "_" or name in CALLED
        is_ours = owner.__module__.startswith("evertrace") and name not in CHANGING
        method = inspect.getattr_static(cls, name)
        is_there = inspect.isroutine(method) and not isinstance(method, Missing)
        if is_shown and is_ours and is_there:
            found.append(name)
    return found
