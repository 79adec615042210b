"""Meshes, specs, shardings and mapped functions, on one device and on abstract meshes."""

from tests.oracle.differences import ACCIDENT, CLASS
from tests.oracle.tables import X, programs

S = "ev.sharding"
AM = f"{S}.AbstractMesh((4, 2), ('x', 'y'))"
MESH = f"{S}.Mesh(np.array(ev.devices()[:1]).reshape(1, 1), ('x', 'y'))"
EXPLICIT = "ev.make_mesh((1, 1), ('x', 'y'))"
ONE = f"{S}.Mesh(np.array(ev.devices()[:1]), ('x',))"


def under(mesh: str, text: str) -> str:
    """Write a program with a mesh in force; it must not raise, which would leave it there."""
    stack = "__import__('contextlib').ExitStack()"
    return f"(lambda k: (k.enter_context(ev.set_mesh({mesh})), {text}, k.close())[1])({stack})"


SPECS = [
    "()", "('x')", "('x', None)", "(None, 'x')", "(('x', 'y'))", "(('x',))", "(())", "([])", "('x', ('y', 'z'), None)",
    "(None)", "(None, None)", "('x', 'y', 'x')", "(['x', 'y'])",
]  # fmt: skip

OF_SPECS = """
    repr(ev.P{s})
    len(ev.P{s}), list(ev.P{s})
    repr(ev.P{s} + ev.P('q')), hash(ev.P{s}) == hash(ev.P{s})
"""

SPEC_PROGRAMS = """
    ev.P('x') == ev.P('x'), ev.P('x') == ev.P('x', None), ev.P('x') == ('x',), ev.P('x') != ev.P('y')
    ev.P('x', 'y')[0], ev.P('x', 'y')[-1], ev.P('x', 'y')[:1]
    ev.P('x', None, 'y').index('y'), ev.P('x', None, 'x').count('x')
    repr(ev.P.UNCONSTRAINED), isinstance(ev.P('x'), tuple)
    len(ev.tree.leaves({'a': ev.P('x'), 'b': [ev.P()]}))
    ev.P is ev.sharding.PartitionSpec
    repr(ev.P('x').update(partitions=('y',)))
    repr(ev.P('x', unreduced={'y'})), repr(ev.P(unreduced={'y'})), repr(ev.P('x', unreduced={'y'}) + ev.P('q'))
"""

NAMED = [
    ("('x')", "(8,)"), ("('x', 'y')", "(8, 4)"), ("('y', 'x')", "(2, 4)"), ("(('x', 'y'))", "(16,)"),
    ("(None, 'y')", "(3, 4)"), ("()", "(3, 2)"), ("('x')", "(8, 3)"), ("('x')", "(0, 5)"), ("('x')", "(6,)"),
    ("(None, ('x', 'y'))", "(1, 12)"), ("(None)", "(3,)"), ("(('y', 'x'), None)", "(8, 1)"),
]  # fmt: skip

OF_NAMED = """
    (lambda s: (s.shard_shape({shape}), s.is_fully_replicated))(ev.NamedSharding({mesh}, ev.P{spec}))
"""
LOCAL = """
    (lambda s: [str(v) for v in s.devices_indices_map({shape}).values()])(ev.NamedSharding({mesh}, ev.P{spec}))
    (lambda a: (str(a.sharding.spec), a.is_fully_replicated, a.committed, len(a.addressable_shards)))(ev.device_put(jnp.zeros({shape}), ev.NamedSharding({mesh}, ev.P{spec})))
    (lambda a: [(str(h.index), h.replica_id, h.data) for h in a.addressable_shards])(ev.device_put(jnp.zeros({shape}), ev.NamedSharding({mesh}, ev.P{spec})))
"""

MESHES = f"""
    repr({MESH})
    str({MESH}), str({ONE})
    (lambda m: (dict(m.shape), m.axis_names, m.axis_sizes, m.size, m.empty))({MESH})
    (lambda m: (m.devices.shape, m.device_ids.tolist(), len(m.local_devices), m.is_multi_process))({MESH})
    (lambda m: (repr(m.axis_types), m.are_all_axes_auto, m.are_all_axes_explicit, m.auto_axes, m.explicit_axes, m.manual_axes))({MESH})
    {MESH} == {MESH}, {MESH} == {ONE}
    {MESH}.shape_tuple, {ONE}.shape_tuple
    str({AM}), {AM}.size, dict({AM}.shape), {AM}.axis_names, {AM}.axis_sizes
    {AM} == {AM}, hash({AM}) == hash({AM}), {AM}.empty
    {AM}.devices
    {S}.Mesh(ev.devices()[:1], ('x', 'y'))
    {S}.Mesh(ev.devices()[:1], (None,))
    repr(ev.make_mesh((1,), ('x',))), repr(ev.make_mesh((1, 1), ('x', 'y'), axis_types=({S}.AxisType.Auto,) * 2))
    ev.make_mesh((2,), ('x', 'y'))
    ev.make_mesh((10 ** 6,), ('x',))
    [t.name for t in {S}.AxisType], repr({S}.AxisType.Auto)
    {S}.get_mesh().empty, {S}.get_abstract_mesh().empty, repr({S}.get_mesh()), repr({S}.get_abstract_mesh())
    {under(MESH, f"({S}.get_mesh().axis_names, {S}.get_abstract_mesh().axis_names)")}
    {under(MESH, f"{S}.get_mesh().size")}, {S}.get_mesh().empty
    {S}.ManualAxisType().varying, {S}.AbstractDevice('cpu', None, 'cpu').platform
"""

ERRORS = f"""
    ev.NamedSharding({AM}, ev.P('z'))
    ev.NamedSharding({MESH}, ev.P('x', 'x'))
    ev.NamedSharding({MESH}, ('x',))
    ev.NamedSharding(3, ev.P())
    ev.device_put(x, ev.NamedSharding({MESH}, ev.P('x', None, None)))
    ev.device_put(x[0, 0], ev.NamedSharding({MESH}, ev.P('x')))
    ev.device_put(x, ev.P('y'))
    ev.reshard(x, ev.P('x'))
    ev.make_array_from_callback((3, 4), ev.NamedSharding({MESH}, ev.P('x')), lambda i: np.ones(3))
    ev.make_array_from_callback((3,), ev.NamedSharding({MESH}, ev.P('x')), lambda i: np.ones(3, 'float32'), 'int32')
    ev.make_array_from_process_local_data(ev.NamedSharding({MESH}, ev.P('x')), np.ones(3), (6,))
    ev.make_array_from_single_device_arrays((3, 4), ev.NamedSharding({MESH}, ev.P('x')), [])
    ev.make_array_from_single_device_arrays((3, 4), ev.NamedSharding({MESH}, ev.P('x')), [jnp.ones(3)])
    ev.shard_map(lambda a: a, mesh={MESH}, in_specs=ev.P('z'), out_specs=ev.P())(x)
    ev.shard_map(lambda a: a, mesh={MESH}, in_specs=ev.P('x', None, None), out_specs=ev.P('x'))(x)
    ev.shard_map(lambda a: a.sum(), mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P('x'))(x)
    ev.shard_map(lambda a, b: a, mesh={MESH}, in_specs=(ev.P('x'),), out_specs=ev.P('x'))(x, x)
    ev.shard_map(lambda a: a, in_specs=ev.P('y'), out_specs=ev.P('y'))(x)
    ev.shard_map(lambda a: lax.psum(a, 'z'), mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P('x'))(x)
    ev.smap(lambda a: a, in_axes=0, out_axes=0, axis_name='y')(x)
    ev.pmap(lambda a: a)(1.0)
    lax.with_sharding_constraint(x, ev.NamedSharding({MESH}, ev.P('x', None, None)))
    lax.with_sharding_constraint(x, 3)
    ev.distributed.initialize(num_processes=2, process_id=0)
"""

ARRAYS = f"""
    ev.make_array_from_callback((3, 4), ev.NamedSharding({MESH}, ev.P('x')), lambda i: np.arange(12.0, dtype='float32').reshape(3, 4)[i])
    ev.make_array_from_callback((3,), ev.NamedSharding({MESH}, ev.P('x')), lambda i: np.arange(3)[i])
    ev.make_array_from_process_local_data(ev.NamedSharding({MESH}, ev.P('x')), np.arange(3.0))
    ev.make_array_from_process_local_data(ev.NamedSharding({MESH}, ev.P('x')), np.arange(3.0), (3,))
    ev.make_array_from_single_device_arrays((3, 4), ev.NamedSharding({MESH}, ev.P('x')), [x])
    ev.device_put({{'a': x, 'b': [1, 2.0]}}, ev.NamedSharding({MESH}, ev.P()))
    ev.device_put(x, ev.NamedSharding({MESH}, ev.P('x'))) + 1
    ev.jit(lambda a: ev.device_put(a * 2, ev.NamedSharding({MESH}, ev.P('x'))))(x)
    ev.jit(lambda a: lax.with_sharding_constraint(a * 2, ev.NamedSharding({MESH}, ev.P('x'))))(x)
    lax.with_sharding_constraint({{'a': x, 'b': x[0]}}, ev.NamedSharding({MESH}, ev.P('x')))
    ev.device_put(x, ev.devices()[0]).sharding == {S}.SingleDeviceSharding(ev.devices()[0])
    (lambda s: (s.shard_shape((3, 4)), s.is_fully_replicated, s.num_devices, s.is_fully_addressable, str(list(s.devices_indices_map((3, 4)).values()))))({S}.SingleDeviceSharding(ev.devices()[0]))
    {S}.SingleDeviceSharding(ev.devices()[0]).is_equivalent_to(ev.NamedSharding({MESH}, ev.P('x')), 2)
    ev.NamedSharding({MESH}, ev.P('x')).is_equivalent_to(ev.NamedSharding({MESH}, ev.P('x', None)), 2)
    ev.NamedSharding({MESH}, ev.P('x')) == ev.NamedSharding({MESH}, ev.P('x', None)), ev.NamedSharding({MESH}, ev.P('x')) == ev.NamedSharding({MESH}, ev.P('x'))
    repr(ev.NamedSharding({MESH}, ev.P('x', 'y')))
    ev.NamedSharding({MESH}, ev.P('x')).memory_kind, ev.NamedSharding({MESH}, ev.P('x')).num_devices
"""

BODIES = [
    ("a * 2", "ev.P('x', 'y')", "ev.P('x', 'y')"), ("lax.psum(a, 'x')", "ev.P('x')", "ev.P()"),
    ("lax.psum(a, ('x', 'y'))", "ev.P('x', 'y')", "ev.P()"), ("lax.pmean(a, 'y')", "ev.P(None, 'y')", "ev.P()"),
    ("a + lax.axis_index('x')", "ev.P('x')", "ev.P('x')"), ("lax.pmax(a, 'x')", "ev.P('x')", "ev.P()"),
    ("lax.all_gather(a, 'x', tiled=True)", "ev.P('x')", "ev.P('x')"),
    ("lax.psum_scatter(a, 'x', tiled=True)", "ev.P()", "ev.P('x')"),
    ("lax.ppermute(a, 'x', [(0, 0)])", "ev.P('x')", "ev.P('x')"), ("a.sum()[None]", "ev.P('x')", "ev.P('x')"),
    ("a.T", "ev.P('x', 'y')", "ev.P('y', 'x')"), ("lax.axis_size('x') * a", "ev.P('x')", "ev.P('x')"),
    ("jnp.ones(2)", "ev.P('x')", "ev.P('x')"), ("{'s': a, 't': 1.0}", "ev.P('x')", "{'s': ev.P('x'), 't': ev.P()}"),
    ("lax.all_to_all(a, 'x', 1, 0, tiled=True)", "ev.P('x')", "ev.P(None, 'x')"),
    ("lax.scan(lambda c, v: (c, lax.psum(v, 'x')), 0, a)[1]", "ev.P('x')", "ev.P()"),
]  # fmt: skip

MAPS = (
    "\n".join(
        f"{wrap}(ev.shard_map(lambda a: {body}, mesh={MESH}, in_specs={i}, out_specs={o}))(x)"
        for body, i, o in BODIES
        for wrap in ("", "ev.jit")
    )
    + f"""
    ev.grad(lambda z: ev.shard_map(lambda a: lax.psum((a ** 2).sum(), 'x'), mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P())(z))(x)
    ev.vmap(ev.shard_map(lambda a: lax.psum(a, 'x'), mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P()))(x)
    ev.shard_map(mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P('x'))(lambda a: a * 2)(x)
    ev.shard_map(lambda a, b: a + b, mesh={MESH}, in_specs=(ev.P('x'), None), out_specs=ev.P('x'))(x, 1.0)
    ev.shard_map(lambda a, b: a + b['k'], mesh={MESH}, in_specs=(ev.P('x'), ev.P()), out_specs=ev.P('x'))(x, {{'k': 1.0}})
    ev.shard_map(lambda a: a, mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P(), check_vma=False)(x)
    ev.shard_map(lambda a: lax.psum(a, 'x'), mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P(), axis_names={{'x'}})(x)
    {under(MESH, "ev.shard_map(lambda a: a * 2, in_specs=ev.P('x'), out_specs=ev.P('x'))(x)")}
    {under(MESH, "ev.smap(lambda a: lax.psum(a, 'x'), in_axes=0, out_axes=None, axis_name='x')(x)")}
    {under(MESH, "ev.smap(lambda a: a * 2, in_axes=1, out_axes=1, axis_name='y')(x)")}
    {under(MESH, "str(ev.device_put(x, ev.P('x')).sharding.spec)")}
    {under(EXPLICIT, "ev.reshard(x, ev.P('x')).sharding.spec[0]")}
    {under(MESH, "ev.jit(lambda a: lax.with_sharding_constraint(a, ev.P('x')) + 1)(x)")}
    {under(EXPLICIT, "ev.sharding.auto_axes(lambda a: a * 2, axes='x', out_sharding=ev.P('x'))(x)")}
    str(ev.shard_map(lambda a: a, mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P('x'))(x).sharding.spec)
    ev.pmap(lambda a: a * 2)(x[2:3])
    ev.pmap(lambda a: lax.psum(a, 'i'), 'i')(x[2:3])
    ev.pmap(lambda a, b: a + b, in_axes=(0, None))(x[2:3], 1.0)
    ev.pmap(lambda a: lax.psum(a, 'i'), 'i', out_axes=None)(x[2:3])
    ev.pmap(lambda a, n: a * n, static_broadcasted_argnums=1)(x[2:3], 3)
    ev.pmap(lambda a: lax.axis_index('i') + a, 'i', in_axes=1)(x[:, 2:3])
"""
)

CASES = [
    *programs("\n".join(OF_SPECS.format(s=s) for s in SPECS)),
    *programs(SPEC_PROGRAMS),
    *programs(MESHES),
    *programs(
        "\n".join(OF_NAMED.format(mesh=m, spec=s, shape=n) for s, n in NAMED for m in (AM, MESH))
    ),
    *programs("\n".join(LOCAL.format(mesh=MESH, spec=s, shape=n) for s, n in NAMED)),
    *programs(ERRORS, X),
    *programs(ARRAYS, X),
    *programs(MAPS, X),
]

DIFFERENCES = {
    f"ev.NamedSharding({MESH}, ('x',))": CLASS,
    "ev.NamedSharding(3, ev.P())": CLASS,
    f"ev.shard_map(lambda a: lax.psum(a, 'z'), mesh={MESH}, in_specs=ev.P('x'), out_specs=ev.P('x'))(x)": ACCIDENT,
}
