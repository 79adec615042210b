"""What there is of many devices: the surface as a table, with a program for each item that shows it.

A program is an expression that is true on eight simulated devices; its names are those of
`tests/sharding/test_checklist.py`. What needs several processes, or a test of its own, is named by
that test: ``file::test``, below `tests`.
"""

MESHES = {
    "Mesh": "Mesh(np.array(ev.devices()).reshape(4, 2), ('x', 'y')).shape == {'x': 4, 'y': 2}",
    "make_mesh": "ev.make_mesh((4, 2), ('x', 'y'), axis_types=AUTO) == mesh",
    "set_mesh": "under(lambda: ev.sharding.get_mesh() == mesh)",
    "use_abstract_mesh": "abstractly(lambda: ev.sharding.get_abstract_mesh()) == mesh.abstract_mesh",
    "get_abstract_mesh": "under(lambda: ev.sharding.get_abstract_mesh()) == mesh.abstract_mesh",
    "AxisType": "mesh.axis_types == (AxisType.Auto,) * 2 and AxisType.Manual.name == 'Manual'",
    "a mesh as context": "within(mesh, lambda: lax.with_sharding_constraint(X, P('x')).sharding.spec)"
    " == P('x')",
    "NamedSharding with a kind of memory": "NS(mesh, P('x'), memory_kind='pinned_host').memory_kind"
    " == 'pinned_host'",
    "SingleDeviceSharding": "SDS(ev.devices()[3]).device_set == {ev.devices()[3]}",
    "P, UNCONSTRAINED": "jit(lambda a: lax.with_sharding_constraint(a * 2, NS(mesh, P(P.UNCONSTRAINED"
    ", 'y'))))(put('x')).sharding.spec == P('x', 'y')",
    "P, unreduced": "P(unreduced={'x'}).unreduced == {'x'} and P(reduced={'y'}).reduced == {'y'}",
    "P, tuples": "S(('x', 'y')).shard_shape((8, 8)) == (1, 8)",
    "P, equality": "P('x') == P('x',) and P('x') != P('x', None)",
    "equivalent shardings": "S('x').is_equivalent_to(S('x', None), 2)",
}

DEVICE_PUT = {
    "to a device": "ev.device_put(X, ev.devices()[2]).devices() == {ev.devices()[2]}",
    "to a sharding": "put('x', 'y').sharding == S('x', 'y')",
    "to a spec": "under(lambda: ev.device_put(X, P('x'))).sharding == S('x')",
    "to a tree prefix": "[y.sharding.spec for y in ev.device_put((X, [X, X]), (S('x'), S('y')))[1]]"
    " == [P('y')] * 2",
    "donate": "(lambda y: (ev.device_put(y, S('y'), donate=True), y.is_deleted())[1])(put('x'))",
    "may_alias": "ev.device_put(put('x'), S('x'), may_alias=True).sharding == S('x')",
    "between shardings": "all(same(ev.device_put(put(*a), S(*b)), X) for a in SPECS for b in SPECS)",
    "between device sets": "same(ev.device_put(ev.device_put(put('x'), NS(half, P('z'))), S('y')), X)",
    "of keys": "ev.device_put(random.split(random.key(0), 8), S('x')).sharding.spec == P('x')",
    "inside of jit": "jit(lambda a: ev.device_put(a, S('y')))(put('x')).sharding == S('y')",
}

ARRAYS = {
    "sharding": "put('x').sharding == S('x')",
    "addressable_shards": "[s.data.shape for s in put('x', 'y').addressable_shards] == [(2, 4)] * 8",
    "what a shard is": "all(same(s.data, X[s.index]) and s.replica_id in (0, 1) for s in "
    "put('x').addressable_shards)",
    "addressable_data": "same(put('x').addressable_data(2), X[2:4])",
    "is_fully_replicated": "put().is_fully_replicated and not put('x').is_fully_replicated",
    "is_fully_addressable": "put('x').is_fully_addressable",
    "global_shards": "len(put('x').global_shards) == 8",
    "devices": "put('x').devices() == set(ev.devices())",
    "on_device_size_in_bytes": "put('x').on_device_size_in_bytes() == 2 * X.nbytes",
    "copy_to_host_async": "put('x').copy_to_host_async() is None",
    "is_ready": "put('x').block_until_ready().is_ready()",
    "delete": "(lambda y: (y.delete(), y.is_deleted())[1])(put('x'))",
    "iteration": "[y.sharding.spec for y in put(None, 'y')] == [P('y')] * 8",
    "indexing": "put('x', 'y')[0].sharding.spec == P('y')",
    "repr": "repr(put('x')) == repr(jnp.asarray(X))",
    "pickle": "pickle.loads(pickle.dumps(put('x'))).sharding == S('x')",
    "__array__": "same(np.asarray(put('x', 'y')), X)",
    "dlpack of a shard": "same(np.from_dlpack(put('x').addressable_shards[2].data), X[2:4])",
}

FOLLOWS = {
    "what is not committed moves": "(put('x') + jnp.ones(8)).sharding == S('x')",
    "what is committed decides": "(one + jnp.ones(3)).devices() == {ev.devices()[1]}",
    "two sets of devices": "text(lambda: one + two) == 'ValueError: add: operand 0 is committed to "
    "cpu:1, operand 1 to cpu:2.'",
    "default_device": "on(ev.devices()[3], lambda: jnp.ones(2).devices()) == {ev.devices()[3]}",
}

JIT = {
    "in_shardings": "jit(lambda a: a * 2, in_shardings=S('x'))(X).sharding == S('x')",
    "out_shardings": "jit(lambda a: a * 2, out_shardings=S('y'))(put('x')).sharding == S('y')",
    "prefix trees, None": "jit(lambda t, b: (t['k'] * 2, b), in_shardings=(S('x'), None))({'k': X}, X)"
    "[0].sharding == S('x')",
    "specs": "under(lambda: jit(lambda a: a, in_shardings=P('x'), out_shardings=P('y'))(X))"
    ".sharding == S('y')",
    "with_sharding_constraint in jit": "jit(lambda a: lax.with_sharding_constraint(a, S('y')))(X)"
    ".sharding == S('y')",
    "with_sharding_constraint outside": "lax.with_sharding_constraint(put('x'), S('y')).sharding"
    " == S('y')",
    "donation": "(lambda y: (jit(lambda a: a + 1, donate_argnums=0)(y), y.is_deleted())[1])(put('x'))",
    "static arguments": "jit(lambda a, n: a * n, static_argnums=1, in_shardings=S('x'))(X, 3)"
    ".sharding == S('x')",
    "nested": "jit(lambda a: jit(lambda b: b * 2, out_shardings=S('y'))(a).T)(put('x')).sharding.spec"
    " == P(None, 'y')",
    "a constant that is closed over": "jit(lambda: constant * 2)().sharding == S('x')",
    "input_shardings": "jit(lambda a: a.T).lower(put('x')).compile().input_shardings[0] == (S('x'),)",
    "output_shardings": "jit(lambda a: a.T).lower(put('x')).compile().output_shardings.spec"
    " == P(None, 'x')",
    "cost_analysis": "jit(lambda a: a @ a).lower(put('x')).compile().cost_analysis()['flops'] > 0",
    "memory_analysis": "jit(lambda a: a @ a, engine='spmd').lower(put('x')).compile()"
    ".memory_analysis().output_size_in_bytes == 64",
    "ShapeDtypeStruct with a sharding": "jit(lambda a: a * 2).lower(ev.ShapeDtypeStruct((8, 8), "
    "'float32', sharding=S('x'))).compile()(put('x')).sharding == S('x')",
    "eval_shape": "ev.eval_shape(lambda a: a.T, put('x')).shape == (8, 8)",
    "trace": "jit(lambda a: a.T).trace(put('x')).out_avals.shape == (8, 8)",
    "no trace anew for equal shardings": "traces(lambda f: (f(put('x')), f(ev.device_put(X, NS(Mesh("
    "mesh.devices, ('x', 'y')), P('x')))))) == 1",
    "nor for other devices": "traces(lambda f: (f(one), f(two))) == 1",
}

RANDOM = {
    "the same bits under every sharding": "all(same(random.normal(random.key(0), (8, 8), "
    "out_sharding=S(*s)), random.normal(random.key(0), (8, 8))) for s in SPECS)",
    "the same bits in a divided program": "same(spmd(lambda k: lax.with_sharding_constraint("
    "random.bits(k, (8, 8)), S('x')))(ev.device_put(random.key(0), S())), random.bits(random.key(0), "
    "(8, 8)))",
    "split of keys": "ev.vmap(random.split)(ev.device_put(random.split(random.key(0), 8), S('x')))"
    ".sharding.spec == P('x')",
    "fold_in of keys": "ev.vmap(random.fold_in)(ev.device_put(random.split(random.key(0), 8), S('x'))"
    ", jnp.arange(8)).sharding.spec == P('x')",
    "device= of constructors": "all(f(device=S('x')).sharding == S('x') for f in (partial(jnp.zeros, "
    "8), partial(jnp.ones, (8, 2)), partial(jnp.full, 8, 2), partial(jnp.arange, 8), "
    "partial(jnp.asarray, X), partial(jnp.linspace, 0, 1, 8), partial(jnp.eye, 8)))",
    "out_sharding= of constructors": "jnp.arange(8, out_sharding=S('x')).sharding == S('x')",
}

SHARD_MAP = {
    "prefix trees": "same(sm(lambda t: t['a'] + t['b'], (P('x'),), P('x'))({'a': X, 'b': X}), 2 * X)",
    "None": "same(sm(lambda a, b: a * b, (P('x'), None), P('x'))(X, 2.0), 2 * X)",
    "Infer": "same(sm(lambda a: a, out_specs=P('x'))(put('x')), X)",
    "some axes": "same(sm(lambda a: lax.psum(a, 'x'), P('x'), P(), axis_names={'x'})(X), SUM)",
    "nested": "same(sm(lambda a: sm(lambda b: b * 2, P(None, 'y'), P(None, 'y'), axis_names={'y'})(a),"
    " P('x'), P('x'), axis_names={'x'})(X), 2 * X)",
    "an abstract mesh": "same(ev.shard_map(lambda a: a, mesh=mesh.abstract_mesh, in_specs=P('x'), "
    "out_specs=P('x'))(X), X)",
    "check_vma": "text(lambda: sm(lambda a: a, P('x'), P())(X)).startswith('ValueError: shard_map(')"
    " and same(sm(lambda a: a, P('x'), P(), check_vma=False)(X), X[:2])",
    "smap": "same(under(lambda: ev.smap(lambda a: a * 2, in_axes=0, out_axes=0, axis_name='x')(X)), "
    "2 * X)",
    "as a decorator": "same(ev.shard_map(mesh=mesh, in_specs=P('x'), out_specs=P('x'))(lambda a: a)(X)"
    ", X)",
    "eager": "sm(lambda a: a, P('x'), P('x'))(X).sharding.spec == P('x')",
    "under jit": "jit(sm(lambda a: lax.psum(a, 'x'), P('x', 'y'), P(None, 'y')))(put('x')).sharding.spec"
    " == P(None, 'y')",
    "grad": "same(ev.grad(lambda a: sm(lambda b: lax.psum(b**2, 'x'), P('x'), P())(a).sum())(X), "
    "2 * X)",
    "vmap, spmd_axis_name": "same(ev.vmap(sm(lambda a: a * 2, P('x'), P('x'), axis_names={'x'}), "
    "spmd_axis_name='y')(np.stack([X, X])), np.stack([X, X]) * 2)",
    "scan, outside and inside": "same(lax.scan(lambda c, _: (sm(lambda a: lax.fori_loop(0, 2, lambda "
    "i, b: b * 2, a), P('x'), P('x'))(c), None), X, length=2)[0], 16 * X)",
    "while": "same(sm(lambda a: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] + 1, c[1] + 1), "
    "(a, 0))[0], P('x'), P('x'))(X), X + 3)",
    "cond": "same(sm(lambda a: lax.cond(lax.axis_index('x') > 1, lambda: a, lambda: -a), P('x'), "
    "P('x'))(X), np.concatenate([-X[:4], X[4:]]))",
    "remat": "same(ev.grad(lambda a: ev.checkpoint(sm(lambda b: b**2, P('x'), P('x')))(a).sum())(X), "
    "2 * X)",
    "custom_jvp, custom_vjp": "same(ev.grad(lambda a: sm(lambda b: ev.nn.relu(doubled(b)), P('x'), "
    "P('x'))(a).sum())(X + 1), np.full((8, 8), 10))",
    "refs": "same(jit(sm(with_ref, P('x'), P('x')))(X), X + 1)",
    "callbacks": "same(jit(sm(lambda b: ev.pure_callback(lambda v: v * 2, "
    "ev.ShapeDtypeStruct(b.shape, b.dtype), b, vmap_method='sequential'), P('x'), P('x')))(X), 2 * X)",
    "debug.print": "len(printed(lambda: sm(lambda b: (ev.debug.print('{}', b.sum()), b)[1], P('x'), "
    "P('x'), axis_names={'x'})(X)).split()) == 4",
}

COLLECTIVES = {
    "psum, pmean": "same(sm(lambda a: lax.psum(a, 'x') - 4 * lax.pmean(a, 'x'), P('x'), P())(X), "
    "0 * SUM)",
    "pmax, pmin": "same(sm(lambda a: lax.pmax(a, 'x') - lax.pmin(a, 'x'), P('x'), P())(X), "
    "np.full((2, 8), 48))",
    "all_gather, tiled and along an axis": "same(sm(lambda a: lax.all_gather(a, 'x', axis=1, "
    "tiled=True)[:1], P('x'), P('x'))(X)[0], X[::2].ravel())",
    "psum_scatter": "same(sm(lambda a: lax.psum_scatter(a, 'x', tiled=True), P(), P('x'))(X), 4 * X)",
    "ppermute": "same(sm(lambda a: lax.ppermute(a, 'x', [(i, (i + 1) % 4) for i in range(4)]), "
    "P('x'), P('x'))(X), np.roll(X, 2, 0))",
    "ppermute, over two axes": "same(sm(lambda a: lax.ppermute(a, ('x', 'y'), [(i, (i + 1) % 8) for "
    "i in range(8)]), P(('x', 'y')), P(('x', 'y')))(X), np.roll(X, 1, 0))",
    "pshuffle": "same(sm(lambda a: lax.pshuffle(a, 'x', [3, 2, 1, 0]), P('x'), P('x'))(X), "
    "X.reshape(4, 2, 8)[::-1].reshape(8, 8))",
    "pswapaxes": "sm(lambda a: lax.pswapaxes(a, 'x', 0), P('x'), P('x'))(np.ones((16, 3)))"
    ".shape == (16, 3)",
    "all_to_all": "same(sm(lambda a: lax.all_to_all(a, 'x', 1, 0, tiled=True), P('x'), P(None, 'x'))"
    "(X), X)",
    "ragged_all_to_all": "lax/test_collective.py::test_rows_and_numbers_have_to_go_together",
    "pbroadcast": "same(sm(lambda a: lax.pbroadcast(a, 'x', 1), P('x'), P('x'))(X), "
    "np.tile(X[2:4], (4, 1)))",
    "axis_index of several": "same(sm(lambda a: a * 0 + lax.axis_index(('x', 'y')), P(('x', 'y')), "
    "P(('x', 'y')))(X)[:, 0], np.arange(8))",
    "axis_size": "same(sm(lambda a: a * lax.axis_size('x'), P('x'), P('x'))(X), 4 * X)",
    "pcast": "same(sm(lambda a: lax.pcast(a, 'x', to='varying') * 2, P(), "
    "P('x'))(X[:2]), np.tile(2 * X[:2], (4, 1)))",
    "axis_index_groups": "same(sm(lambda a: lax.psum(a, 'x', axis_index_groups=[[0, 1], [2, 3]]), "
    "P('x'), P('x'))(X)[:2], X[:2] + X[2:4])",
    "transposes": "same(ev.grad(lambda a: (sm(lambda b: lax.all_gather(b, 'x', tiled=True)[:2], "
    "P('x'), P('x'))(a) ** 2).sum())(X), np.concatenate([8 * X[:2], 0 * X[2:]]))",
    "psum of what does not vary": "same(ev.grad(lambda a: sm(lambda b: lax.psum(b, 'x'), P(), P())(a)"
    ".sum())(X), np.full((8, 8), 4))",
    "all_gather of what does not vary": "same(sm(lambda a: lax.all_gather(a, 'x')[0], P(), P('x'))"
    "(X)[:8], X)",
    "typeof(x) says along which axes it varies": "shown(lambda a: str(ev.typeof(a))) == 'float32[2,8]{V:x}'",
}

PMAP = {
    "in and out axes": "same(ev.pmap(lambda a: a * 2, in_axes=1, out_axes=1)(X), 2 * X)",
    "static arguments": "same(ev.pmap(lambda a, n: a * n, static_broadcasted_argnums=1)(X, 3), 3 * X)",
    "donation": "same(ev.pmap(lambda a: a + 1, donate_argnums=0)(X), X + 1)",
    "devices": "ev.pmap(lambda a: a, devices=ev.devices()[:4])(X[:4]).devices() == set("
    "ev.devices()[:4])",
    "nested": "same(ev.pmap(lambda a: ev.pmap(lambda b: b * 2)(a))(X[:4, :2]), 2 * X[:4, :2])",
    "sharding of the result": "[s.data.shape for s in ev.pmap(lambda a: a)(X).addressable_shards]"
    " == [(1, 8)] * 8",
    "device_put_sharded, device_put_replicated: JAX took them away": "'device_put' in text(lambda: "
    "ev.device_put_sharded, 2) and 'device_put' in text(lambda: ev.device_put_replicated, 2)",
}

EXPLICIT = {
    "types show shardings": "str(ev.typeof(exp('x'))) == 'float32[8@x,8]'",
    "inside of jit": "shown_in_jit(lambda a: str(ev.typeof(a.T))) == 'float32[8,8@x]'",
    "rules of all primitives": "sharding/test_factors.py::test_factors_are_what_shardy_propagates",
    "out_sharding= of dot, einsum, reshape": "all(f(exp('x'), out_sharding=E('y')).sharding.spec == "
    "P('y') for f in (lambda a, **k: jnp.dot(a, a.T, **k), lambda a, **k: jnp.einsum('ij,kj', a, a, "
    "**k), lambda a, **k: jnp.reshape(a, (4, 16), **k)))",
    "out_sharding= of gather, set, broadcast, iota, random": "sharding/test_placement.py::"
    "test_arrays_stay_where_they_are_put[out_sharding]",
    "reshard": "ev.sharding.reshard(exp('x'), E('y')).sharding == E('y')",
    "auto_axes": "ev.sharding.auto_axes(lambda a: a.T, out_sharding=E('y'))(exp('x')).sharding.spec"
    " == P('y')",
    "explicit_axes": "ev.sharding.explicit_axes(lambda a: a.sharding.spec, in_sharding=E('y'))(X)"
    " == P('y')",
    "auto_axes: operands that disagree": "same(ev.sharding.auto_axes(lambda a, b: a + b, "
    "out_sharding=E('y'))(exp('x'), exp('y')), 2 * X)",
    "auto_axes: in jit and derived": "same(jit(ev.grad(lambda a: ev.sharding.auto_axes(lambda a, b: "
    "(a * b).sum(), out_sharding=E())(a, other)))(exp('x')), X)",
    "mixed types of axes": "str(ev.typeof(ev.device_put(X, NS(mixed, P('x', 'y'))))) == "
    "'float32[8@x,8]'",
    "vmap over a divided dimension": "ev.vmap(lambda r: r * 2)(exp('x')).sharding.spec == P('x')",
    "gradients lie as what they are of": "ev.grad(lambda a: (a * a).sum())(exp('x')).sharding.spec"
    " in (P('x'), P('x', None))",
    "carries of scans": "jit(lambda a: lax.scan(lambda c, _: (c * 2, None), a, length=3)[0])(exp('x'))"
    ".sharding.spec == P('x')",
    "unreduced and reduced": "sharding/test_unreduced.py::test_a_linear_operation_gives_terms",
    "ShardingTypeError with a picture": "'| x0 |     | y0 |' in text(lambda: exp('x') + exp('y'), 9)",
    "a[:, 1] of a whole dimension": "exp('x')[:, 1].sharding.spec == P('x')",
    "view": "exp('x').view('int32').sharding.spec in (P('x'), P('x', None))",
    "linalg over a batch": "jnp.linalg.slogdet(jnp.eye(4) + ev.device_put(np.zeros((8, 4, 4), 'f'), "
    "E('x')))[1].sharding.spec == P('x') and jnp.linalg.solve(jnp.eye(4) + ev.device_put(np.zeros((8, "
    "4, 4), 'f'), E('x')), ev.device_put(np.ones((8, 4, 1), 'f'), E('x'))).sharding.spec[0] == 'x'",
    "lax.map with batch_size": "same(lax.map(lambda r: r * 2, exp('x'), batch_size=4), 2 * X)",
    "the order of axes in print": "str(ev.typeof(exp(('x', 'y')))) == 'float32[8@(x,y),8]'",
    "contracting a divided dimension": "same(jnp.dot(exp(None, 'x'), exp('x'), out_sharding=E()), "
    "X @ X)",
}

PROCESSES = {
    "initialize, shutdown, is_initialized": "sharding/test_layout.py::test_one_process",
    "initialize: what is wrong": "sharding/test_joining.py::test_arguments_that_make_no_sense",
    "detection": "sharding/test_clusters.py::test_what_is_found",
    "process_index, process_count, local_devices": "(ev.process_index(), ev.process_count(), "
    "len(ev.local_devices())) == (0, 1, 8)",
    "make_array_from_process_local_data": "ev.make_array_from_process_local_data(S('x'), X).sharding"
    " == S('x')",
    "make_array_from_callback": "same(ev.make_array_from_callback((8, 8), S('x'), lambda i: X[i]), X)",
    "make_array_from_single_device_arrays": "same(ev.make_array_from_single_device_arrays((8, 8), "
    "S('x'), [s.data for s in put('x').addressable_shards]), X)",
    "one program of two processes": "sharding/test_processes.py::test_two_processes_work_on_one_program",
    "arrays without parts here": "sharding/test_processes.py::"
    "test_a_process_may_hold_no_part_of_an_array",
    "multihost_utils": "sharding/test_multihost_utils.py::test_values_of_all_processes",
    "values that must be equal": "sharding/test_multihost_utils.py::"
    "test_mistakes_are_errors_in_all_processes",
    "a launcher for one machine": "sharding/test_launch.py::test_the_processes_are_joined",
    "output with the process's number": "sharding/test_launch.py::"
    "test_each_process_has_its_number_and_the_arguments",
    "checkpoints for any number of processes": "sharding/test_process_checkpoints.py::"
    "test_any_number_of_processes_reads_what_another_has_written",
}

# What happens when something goes wrong among processes, each with its time and its text.
FAULTS = {
    "a peer is killed, raises or exits": "sharding/test_lost_processes.py::"
    "test_the_end_of_a_process_is_an_error_in_the_others",
    "one of three": "sharding/test_lost_processes.py::test_of_three_processes_both_others_are_told",
    "the first one": "sharding/test_lost_processes.py::test_the_first_process_may_end_too",
    "a peer is stopped": "sharding/test_lost_processes.py::"
    "test_a_process_that_is_stopped_is_gone_for_the_others",
    "a peer is interrupted": "sharding/test_lost_processes.py::"
    "test_who_is_interrupted_while_it_waits_is_waited_for_no_more",
    "a peer does not come": "sharding/test_lost_processes.py::"
    "test_who_waits_for_a_process_that_does_not_come_is_woken",
    "another program, other shapes, another order": "sharding/test_processes.py::"
    "test_processes_that_do_not_do_the_same_are_told_what_they_do",
    "... and the third process": "sharding/test_processes.py::test_the_third_process_is_told_as_well",
    "a coordinator that never comes": "sharding/test_joining.py::test_a_coordinator_that_never_comes",
    "a process that never comes": "sharding/test_joining.py::test_a_process_that_never_comes",
    "a port in use": "sharding/test_joining.py::test_a_port_in_use",
    "an exception of a function that is called back": "sharding/test_called_back.py::"
    "test_functions_are_called_in_the_process_of_the_device",
    "survivors form a world anew": "sharding/test_lost_processes.py::"
    "test_survivors_form_a_world_anew_at_the_same_address",
    "... or one goes on alone": "sharding/test_lost_processes.py::test_who_is_left_alone_goes_on_alone",
    "a new process takes the place of a lost one": "sharding/test_lost_processes.py::"
    "test_another_process_takes_the_place_of_one_that_was_killed",
    "killed while saving": "sharding/test_process_checkpoints.py::"
    "test_who_is_killed_while_saving_leaves_the_checkpoint_before",
    "survivors go on from the checkpoint": "sharding/test_training.py::"
    "test_two_processes_of_which_one_is_killed_reach_the_weights_of_one",
}

# What JAX, or jaxlib, dies of or gets silently wrong.
SAFE = {
    "donated and passed": "same((lambda y: spmd(lambda a, b: a + b, donate_argnums=0)(y, y))("
    "put('x')), 2 * X)",
    "the launch door": "sharding/test_spmd.py::test_what_is_divided_among_devices",
    "indivisible dimensions, wrong axes and ranks": "sharding/test_layout.py::"
    "test_specs_that_do_not_fit",
    "meshes of wrong sizes": "sharding/test_layout.py::test_errors_of_meshes",
    "parts that do not fit": "sharding/test_layout.py::test_parts_that_do_not_fit",
    "two meshes": "'ShardingTypeError' in text(lambda: ev.device_put(X, NS(ev.make_mesh((8,), "
    "('z',)), P('z'))) + exp('x'))",
    "a device that is not there": "text(lambda: ev.device_put(X, ev.devices()[8])).startswith("
    "'IndexError')",
    "other trees": "'not a tree prefix' in text(lambda: ev.device_put([X], (S('x'), S('x'))))",
}

SHOWN = {
    "factors beside Shardy": "sharding/test_factors.py::test_factors_are_what_shardy_propagates",
    "shard_map, both ways": "sharding/test_spmd.py::"
    "test_a_divided_program_gives_the_simulated_ones_results",
    "callbacks, each way": "sharding/test_called_back.py::"
    "test_functions_are_called_as_often_as_in_jax",
    "256 devices": "sharding/test_simulated.py::"
    "test_a_training_step_over_256_devices_is_that_of_one",
    "beside JAX": "oracle/test_tables.py::test_",
    "training over eight devices": "sharding/test_training.py::"
    "test_eight_devices_reach_the_weights_of_one",
    "explain_sharding": "sharding/test_explained.py::test_collectives",
    "plan": "sharding/test_explained.py::test_a_plan_says_what_each_device_takes",
    "pictures": "'CPU 0' in printed(lambda: ev.debug.visualize_array_sharding(put('x')))",
    "accelerators: programs lower for them": "engines/xla/test_accelerators.py::"
    "test_benchmark_programs_lower_for_gpus_without_kernels_of_the_host",
    "accelerators: no tape": "engines/xla/test_accelerators.py::"
    "test_no_tape_where_programs_run_on_an_accelerator",
}

REST = {
    "memory kinds": "ev.device_put(put('x'), S('x').with_memory_kind('pinned_host')).sharding"
    ".memory_kind == 'pinned_host'",
    "an optimiser's state offloaded": "same(jit(lambda a: ev.device_put(ev.device_put(a, S('x')"
    ".with_memory_kind('pinned_host')), S('x').with_memory_kind('device')) * 2)(put('x')), 2 * X)",
    "compute_on": "same(jit(computed_on_host)(put('x')), X + 1)",
    "remat that offloads": "control/test_policies.py::test_what_is_kept",
    "shard_alike": "ev.experimental.shard_alike.shard_alike(put('x'), jnp.asarray(X))[1].sharding"
    ".spec == P('x')",
    "custom_partitioning": "sharding/test_custom_partitioning.py::"
    "test_devices_share_as_the_user_says",
    "array_serialization": "experimental/test_checkpoints.py::"
    "test_any_mesh_reads_what_any_other_has_written",
    "mesh_utils": "ev.experimental.mesh_utils.create_device_mesh((4, 2)).shape == (4, 2)",
    "hybrid meshes": "experimental/test_devices.py::test_grids_of_devices_of_several_processes",
    "export with a mesh": "export/test_placed.py::test_arguments_say_over_how_many_devices",
    "topologies": "experimental/test_topologies.py::test_a_program_is_compiled_for_them",
    "layouts with shardings": "ev.device_put(X, Format(Layout((0, 1)), S('x'))).sharding == S('x')",
    "colocated_python": "same(colocated(lambda a: a + 1)(put('x')), X + 1)",
    "transfer servers: refused, with what there is instead": "'send each other nothing' in text("
    "lambda: ev.experimental.transfer.start_transfer_server(None))",
    "foreign functions over a batch": "api/test_ffi.py::test_a_target_that_may_be_divided_is_called_as_before",
    "profiles of each device": "api/test_profile_events.py::"
    "test_a_divided_program_names_its_calls_and_what_each_device_ran",
}

TABLE = {
    "meshes and shardings": MESHES,
    "device_put": DEVICE_PUT,
    "arrays": ARRAYS,
    "computation follows data": FOLLOWS,
    "jit": JIT,
    "random numbers and constructors": RANDOM,
    "shard_map": SHARD_MAP,
    "collectives": COLLECTIVES,
    "pmap": PMAP,
    "explicit axes": EXPLICIT,
    "processes": PROCESSES,
    "faults": FAULTS,
    "nothing ends the process": SAFE,
    "must show": SHOWN,
    "the rest": REST,
}
