"""Eight devices: where results lie, types, mapped functions, collectives, and what is refused."""

import dataclasses

from tests.oracle.cases import Asarray, Case, Draw
from tests.oracle.differences import ACCIDENT, LENIENT
from tests.oracle.tables import programs

DEVICES = 8
ARRAY = Draw((8, 4))  # x
VECTOR = Draw((8,))  # y
NUMBERS = Asarray(list(range(8)), "int32")  # z

# Short names that each program begins with.
AUTO = "ev.make_mesh((4, 2), ('a', 'b'), axis_types=(ev.sharding.AxisType.Auto,) * 2)"
EXPLICIT = "ev.make_mesh((4, 2), ('a', 'b'))"
LINE = "ev.make_mesh((8,), ('i',), axis_types=(ev.sharding.AxisType.Auto,))"
PUT = "lambda v, *s: ev.device_put(v, ev.NamedSharding(m, ev.P(*s)))"
OF = "lambda v: [str(e) for e in (*v.sharding.spec, *[None] * (v.ndim - len(v.sharding.spec)))]"


def on(mesh: str, text: str) -> list[Case]:
    """Write programs in `m`, a mesh, `put(array, *spec)` and `of(array)`, its whole spec."""
    lines = [line.strip() for line in text.strip().splitlines()]
    written = "\n".join(
        f"(lambda m: (lambda put, of: ({line}))({PUT}, {OF}))({mesh})" for line in lines if line
    )
    cases = programs(written, ARRAY, VECTOR, NUMBERS, tolerance=64)
    return [
        dataclasses.replace(case, devices=DEVICES, note=f"{line} on {NAMES[mesh]}")
        for case, line in zip(cases, filter(None, lines), strict=True)
    ]


NAMES = {AUTO: "auto axes", EXPLICIT: "explicit axes", LINE: "a line", "None": "no mesh"}

SPECS = ["'a', 'b'", "'a'", "None, 'b'", "('a', 'b')"]

# Where the results of operations lie; `p` is the array that is divided.
RESULTS = """
    jnp.sin(p)
    p + 1
    p * p
    p.sum(0)
    p.sum(1, keepdims=True)
    p.max()
    p.T
    p[None]
    jnp.stack([p, p])
    jnp.where(p > 0, p, 0)
    jnp.broadcast_to(p, (3, 8, 4))
    p.astype('int32')
    p @ jnp.ones((4, 3))
    jnp.einsum('ij->ji', p)
    lax.cumsum(p, 1)
    jnp.argmax(p, 1)
    p.at[0].set(0.0)
"""

TYPES = """
    ev.typeof(p)
    ev.typeof(p.sum(0))
    ev.typeof(p.T)
    ev.typeof(p[:, None])
    ev.typeof(p * 2 + p)
"""


# Laid out by `out_sharding`, and sums that are yet to be added up; `t` is `reshard`.
SUMS = """
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), (lambda r: (r, of(r)))(jnp.matmul(put(x, None, 'b'), put(x.T, 'b'), out_sharding=ev.P('a'))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), (lambda r: (r, of(r)))(jnp.einsum('ij,ik->jk', put(x, 'a'), put(x, 'a'), out_sharding=ev.P('b'))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), (lambda r: (r, of(r)))(ev.jit(lambda v, w: jnp.dot(v, w, out_sharding=ev.P(None, 'a')))(put(x, None, 'b'), put(x.T, 'b'))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), of(jnp.reshape(put(x), (4, 8), out_sharding=ev.P('b', 'a'))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), of(jnp.broadcast_to(put(y), (4, 8), out_sharding=ev.P('a'))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), of(put(x).at[jnp.arange(4)].get(out_sharding=ev.P('a'))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), of(jnp.ones((8, 4), out_sharding=ev.P('a', 'b'))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), str(ev.typeof(t(put(x), ev.P(None, None, unreduced={'a'})))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), str(ev.typeof(jnp.dot(put(x, None, 'b'), put(x.T, 'b'), out_sharding=ev.P(None, None, unreduced={'b'})))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), str(ev.typeof(ev.jit(lambda v, w: jnp.dot(v, w, out_sharding=ev.P(None, None, unreduced={'b'})))(put(x, None, 'b'), put(x.T, 'b')))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), (lambda u: t(u + u, ev.P('a')))(jnp.dot(put(x, None, 'b'), put(x.T, 'b'), out_sharding=ev.P(None, None, unreduced={'b'}))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), (lambda u: str(ev.typeof(u.T)))(t(put(x), ev.P(None, None, unreduced={'a'}))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), (lambda u: u + 1)(t(put(x), ev.P(None, None, unreduced={'a'}))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), (lambda u: u * u)(t(put(x), ev.P(None, None, unreduced={'a'}))), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), ev.P('a', unreduced={'a'}), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
    (lambda s, t: (s.enter_context(ev.set_mesh(m)), ev.NamedSharding(m, ev.P(unreduced={'c'})), s.close())[1])(__import__('contextlib').ExitStack(), ev.sharding.reshard)
"""


# Types of gradients, of parts and of updates where explicit axes are in force: `p`, `q` and `v` are divided, `u` is not.
PARTS = """
    ev.grad(lambda p: p[:, :2].sum())(p)
    ev.grad(lambda p: p[:, 0].sum())(p)
    ev.grad(lambda p: (p[:4] ** 2).sum())(p)
    ev.grad(lambda p: (lax.slice_in_dim(p, 0, 8, 2, axis=0) ** 2).sum())(p)
    ev.grad(lambda q: (q[:, 1:3] ** 2).sum())(q)
    ev.grad(lambda v: (v[4:] * 2).sum())(v)
    ev.jit(ev.grad(lambda v: (v[4:] * 2).sum()))(v)
    ev.jit(ev.grad(lambda q: (q[:, 2:] * 2).sum()))(q)
    ev.value_and_grad(lambda v: v[:4].sum())(v)[1]
    ev.vjp(lambda v: lax.slice_in_dim(v, 0, 4), v)[1](lax.slice_in_dim(v, 0, 4))[0]
    ev.grad(lambda q: (lax.dynamic_slice(q, (0, 1), (8, 2)) ** 2).sum())(q)
    ev.grad(lambda q: (lax.dynamic_slice_in_dim(q, 1, 4, 0) ** 2).sum())(q)
    ev.grad(lambda v: lax.dynamic_slice_in_dim(v, 0, 4, 0).sum())(v)
    ev.grad(lambda v: lax.dynamic_index_in_dim(v, 0, 0).sum())(v)
    ev.grad(lambda q: q[:, jnp.array([0, 1])].sum())(q)
    ev.grad(lambda q: q.at[jnp.array([0, 1])].get(out_sharding=ev.P()).sum())(q)
    ev.grad(lambda p: jnp.concatenate([p[:, :2], p[:, 2:]], 1).sum())(p)
    ev.grad(lambda p: jnp.split(p, 2, 1)[0].sum())(p)
    ev.grad(lambda q: q.sum())(q)
    ev.grad(lambda q, u: (q.sum() * u).sum(), 1)(q, u)
    ev.jacrev(lambda v: v * 2)(v)
    lax.dynamic_update_slice(v, jnp.ones(2), (0,))
    lax.dynamic_update_slice(v, put(y[:4], 'a'), (0,))
    lax.dynamic_update_slice(u, put(y[:4], 'a'), (0,))
    lax.dynamic_update_slice(u, jnp.ones(2), (0,))
    lax.dynamic_update_slice(q, put(x[:, :2], 'a'), (0, 0))
    lax.dynamic_update_slice(q, x[:, :2], (0, 0))
    lax.dynamic_update_slice(p, put(x[:, :2], 'a'), (0, 0))
    lax.dynamic_update_slice(p, put(x[:4], 'b', 'a'), (0, 0))
    lax.dynamic_update_slice_in_dim(v, jnp.ones(2), 3, 0)
    lax.dynamic_update_index_in_dim(q, put(y, 'a'), 0, 1)
    lax.dynamic_update_index_in_dim(q, y, 0, 1)
    ev.jit(lambda v, w: lax.dynamic_update_slice(v, w, (0,)))(v, u[:2])
    ev.grad(lambda w: (lax.dynamic_update_slice(v, w, (0,)) ** 2).sum())(put(y[:4], 'a'))
    ev.vmap(lambda r, s: lax.dynamic_update_slice(r, s, (0,)))(q, q[:, :2])
    q.at[:, 0].set(1.0)
    q.at[:, :2].add(put(x[:, :2], 'a'))
    jnp.concatenate([q, q * 2], 1)
    jnp.concatenate([q, q * 2])
    jnp.concatenate([q, p], 1)
    jnp.concatenate([q, put(x)], 1)
    jnp.concatenate([v, u])
    jnp.stack([v, v * 2])
    jnp.stack([v, u])
    ev.jit(lambda v, w: jnp.stack([v, w], 1))(v, u)
    jnp.where(q > 0, q, 0.0)
    jnp.where(q > 0, q, -q)
    jnp.where(put(x) > 0, q, 0.0)
    jnp.where(q > 0, q, p)
    jnp.where(v > 0, v, u)
    ev.jit(lambda v, w: jnp.where(v > 0, v, w))(v, u)
    ev.grad(lambda v: jnp.where(v > 0, v, 0.0).sum())(v)
    lax.select(v > 0, v, u)
    lax.sort((q, q * 2), dimension=1)[1]
    lax.sort((q, put(x)), dimension=1)[1]
    jnp.argsort(q, 1)
    ev.jit(lambda q: jnp.argsort(q, 1))(q)
"""


def in_force() -> list[Case]:
    """Write each of these programs under `set_mesh`."""
    return on(
        EXPLICIT,
        "\n".join(
            "(lambda s: (s.enter_context(ev.set_mesh(m)), (lambda p, q, v, u: (lambda r: (r, str(ev.typeof(r))))"
            f"({line}))(put(x, 'a', 'b'), put(x, 'a'), put(y, 'a'), put(y)), s.close())[1])(__import__('contextlib').ExitStack())"
            for line in filter(None, map(str.strip, PARTS.splitlines()))
        ),
    )


def results(mesh: str) -> list[Case]:
    """Write each of the programs of `p`, eager and jitted, for each spec."""
    found = []
    for spec in SPECS:
        for line in filter(None, map(str.strip, RESULTS.splitlines())):
            call = f"(lambda r: (r, of(r)))((lambda p: {line})(put(x, {spec})))"
            jitted = f"of(ev.jit(lambda p: {line})(put(x, {spec})))"
            found += [call, jitted] if mesh == AUTO else [call]
    return on(mesh, "\n".join(found))


def types(mesh: str) -> list[Case]:
    """Write each printed type for each spec."""
    lines = [*filter(None, map(str.strip, TYPES.splitlines()))]
    return on(mesh, "\n".join(f"str((lambda p: {t})(put(x, {s})))" for s in SPECS for t in lines))


MOVES = """
    (lambda r: (r, of(r)))(ev.device_put(put(x, 'a'), ev.NamedSharding(m, ev.P(None, 'b'))))
    (lambda r: (r, of(r)))(ev.device_put(put(x, 'a', 'b'), ev.NamedSharding(m, ev.P('b', 'a'))))
    (lambda r: (r, of(r)))(ev.device_put(put(x, 'a'), ev.NamedSharding(ev.make_mesh((8,), 'i'), ev.P('i'))))
    [str(d) for d in ev.device_put(put(x, 'a'), ev.devices()[3]).devices()]
    [str(d) for d in (ev.device_put(x, ev.devices()[5]) + 1).devices()]
    [str(d) for d in ev.jit(lambda a: a * 2)(ev.device_put(x, ev.devices()[5])).devices()]
    {k: of(v) for k, v in ev.device_put({'p': x, 'q': y}, ev.NamedSharding(m, ev.P('a'))).items()}
    {k: of(v) for k, v in ev.device_put({'p': x, 'q': y}, {'p': ev.NamedSharding(m, ev.P('a', 'b')), 'q': ev.NamedSharding(m, ev.P())}).items()}
    [s.data.shape for s in put(x, 'a', 'b').addressable_shards]
    [(s.index, s.replica_id, str(s.device)) for s in put(x, None, 'b').addressable_shards]
    [s.data for s in put(y, ('b', 'a')).addressable_shards]
    [(s.device.id, s.replica_id) for s in put(y, 'b').global_shards]
    put(x, 'a').addressable_data(3)
    put(x, 'a').is_fully_replicated, put(x).is_fully_replicated, put(x, 'a').is_fully_addressable
    put(x, 'a', 'b').on_device_size_in_bytes(), put(x, 'a').nbytes
    len(put(x, 'a').devices()), put(x, 'a').committed, x.committed
    put(x, 'a').sharding.is_equivalent_to(put(x, 'a', None).sharding, 2)
    put(x, 'a').sharding == put(x, 'a', None).sharding
    put(x, 'a').sharding.shard_shape((8, 4)), put(x, 'a', 'b').sharding.shard_shape((16, 2))
    [i for i in put(x, ('a', 'b')).sharding.devices_indices_map((8, 4)).values()]
    np.asarray(put(x, 'a', 'b'))
    list(put(y, 'a'))[3]
    put(x, 'a', 'b')[2], put(x, 'a', 'b')[2:4, 1]
    put(x, 'a')[jnp.array([1, 3])]
    (lambda r: (r, of(r)))(__import__('pickle').loads(__import__('pickle').dumps(put(x, 'a', 'b'))))
    (lambda r: (r, of(r)))(__import__('copy').deepcopy(put(x, 'a', 'b')))
    of(jnp.zeros((8, 4), device=ev.NamedSharding(m, ev.P('a'))))
    of(jnp.ones((8, 4), device=ev.NamedSharding(m, ev.P('b', 'a'))))
    of(jnp.full((8,), 3.0, device=ev.NamedSharding(m, ev.P('a'))))
    of(jnp.arange(8, device=ev.NamedSharding(m, ev.P('a'))))
    of(jnp.asarray(np.ones((8, 2)), device=ev.NamedSharding(m, ev.P('a'))))
    of(jnp.zeros_like(put(x, 'a', 'b'))), of(jnp.ones_like(put(x, 'a', 'b')))
    (lambda r: (r, of(r)))(ev.make_array_from_callback((8, 4), ev.NamedSharding(m, ev.P('a', 'b')), lambda i: np.arange(32.0, dtype='float32').reshape(8, 4)[i]))
    (lambda r: (r, of(r)))(ev.make_array_from_process_local_data(ev.NamedSharding(m, ev.P('a')), np.arange(16.0, dtype='float32')))
    (lambda p: (lambda r: (r, of(r)))(ev.make_array_from_single_device_arrays((8, 4), p.sharding, [s.data for s in p.addressable_shards])))(put(x, 'a', 'b'))
    (lambda p: [(p.delete(), p.is_deleted())[1]])(put(x, 'a'))
    jnp.allclose(put(x, 'a'), put(x, 'a'))
    put(x, 'a').copy_to_host_async(), put(x, 'a').is_ready() in (True, False), of(put(x, 'a').block_until_ready())
    (put(x, 'a') + np.ones((8, 4), 'float32')).sum()
    of(put(x, 'a') + x), of(x + put(x, 'a')), of(put(x, 'a') + 1.0)
    of(jnp.concatenate([put(x, 'a'), put(x, 'a')], 1))
    str(put(x, 'a')), repr(put(z, 'a'))
"""

JITS = """
    (lambda r: (r, of(r)))(ev.jit(lambda a: a * 2, in_shardings=ev.NamedSharding(m, ev.P('a')))(x))
    (lambda r: (r, of(r)))(ev.jit(lambda a: a.T, out_shardings=ev.NamedSharding(m, ev.P('b', 'a')))(x))
    [of(r) for r in ev.jit(lambda a, b: (a + 1, b * 2), in_shardings=(ev.NamedSharding(m, ev.P('a')), ev.NamedSharding(m, ev.P('b'))))(x, y)]
    [of(r) for r in ev.jit(lambda a: (a, a.sum(0)), out_shardings=(ev.NamedSharding(m, ev.P('a')), ev.NamedSharding(m, ev.P('b'))))(x)]
    [of(r) for r in ev.jit(lambda a: (a, a.sum(0)), out_shardings=ev.NamedSharding(m, ev.P('b')))(x)]
    of(ev.jit(lambda d: d['p'] + 1, in_shardings=({'p': ev.NamedSharding(m, ev.P('a'))},))({'p': x}))
    of(ev.jit(lambda a: lax.with_sharding_constraint(a * 2, ev.NamedSharding(m, ev.P('b', 'a'))))(x))
    of(ev.jit(lambda a: lax.with_sharding_constraint(a * 2, ev.NamedSharding(m, ev.P('b'))) + 1)(put(x, 'a')))
    of(lax.with_sharding_constraint(x, ev.NamedSharding(m, ev.P('a', 'b'))))
    [of(v) for v in ev.tree.leaves(lax.with_sharding_constraint({'p': x, 'q': y}, ev.NamedSharding(m, ev.P('a'))))]
    of(ev.jit(lambda a: ev.device_put(a, ev.NamedSharding(m, ev.P('b'))))(x))
    of(ev.grad(lambda a: (a ** 2).sum())(put(x, 'a', 'b')))
    of(ev.jit(ev.grad(lambda a: jnp.tanh(a).sum()))(put(x, 'a', 'b')))
    [of(r) for r in ev.jit(ev.value_and_grad(lambda a: (a @ a.T).sum()))(put(x, 'a'))]
    of(ev.vmap(lambda r: r * 2)(put(x, 'a', 'b')))
    of(ev.jit(lambda a: lax.scan(lambda c, r: (c + r, c), jnp.zeros(4), a)[0])(put(x, None, 'b')))
    of(ev.jit(lambda a: lax.fori_loop(0, 3, lambda i, c: c * 2, a))(put(x, 'a', 'b')))
    of(ev.jit(lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 1), (0, a))[1])(put(x, 'a')))
    of(ev.jit(lambda a: lax.cond(a.sum() > 0, lambda v: v + 1, lambda v: v - 1, a))(put(x, 'a', 'b')))
    of(ev.jit(lambda a: ev.jit(lambda b: b * 2)(a) + 1)(put(x, 'a', 'b')))
    of(ev.jit(ev.checkpoint(lambda a: jnp.sin(a)))(put(x, 'a', 'b')))
    (lambda f: (f(put(x, 'a')).sum(), f(put(x, None, 'b')).sum()))(ev.jit(lambda a: a * 2))
    (lambda p: (ev.jit(lambda a: a + 1, donate_argnums=0)(p), p.is_deleted()))(put(x, 'a', 'b'))
    of(ev.jit(lambda a: a * 2).lower(put(x, 'a')).compile()(put(x, 'a')))
    ev.eval_shape(lambda a: a.T, put(x, 'a')).shape
    str(ev.jit(lambda a: a + 1).lower(ev.ShapeDtypeStruct((8, 4), 'float32', sharding=ev.NamedSharding(m, ev.P('a')))).compile().input_shardings[0][0].spec)
    of(ev.jit(lambda: jnp.ones((8, 4)), out_shardings=ev.NamedSharding(m, ev.P('a', 'b')))())
    (lambda k: of(k(x)))(ev.jit(lambda a: a, out_shardings=ev.NamedSharding(m, ev.P(('b', 'a')))))
    ev.jit(lambda a, n: a * n, static_argnums=1, in_shardings=ev.NamedSharding(m, ev.P('a')))(x, 3)
    (lambda c: of(ev.jit(lambda a: a + c)(x)))(put(x, 'a'))
    of(ev.jit(lambda a, b: a @ b)(put(x, 'a'), put(x.T, None, 'b')))
    of(ev.jit(lambda a, b: a @ b)(put(x, 'a', 'b'), put(x.T, 'b')))
"""

# The bits do not depend on how they are laid out.
DRAWS = """
    (lambda r: (r, of(r)))(ev.jit(lambda k: random.normal(k, (8, 4)), out_shardings=ev.NamedSharding(m, ev.P('a', 'b')))(random.key(0)))
    ev.jit(lambda k: random.uniform(k, (8,)), out_shardings=ev.NamedSharding(m, ev.P('a')))(random.key(1))
    ev.jit(lambda k: random.randint(k, (16,), 0, 99), out_shardings=ev.NamedSharding(m, ev.P(('a', 'b'))))(random.key(2))
    ev.jit(lambda k: random.permutation(k, 8), out_shardings=ev.NamedSharding(m, ev.P('a')))(random.key(3))
    (lambda k: (ev.vmap(lambda q: random.uniform(q, (2,)))(k), of(k)))(ev.device_put(random.split(random.key(4), 8), ev.NamedSharding(m, ev.P('a'))))
    random.categorical(random.key(5), put(x, 'a'))
    of(random.split(ev.device_put(random.key(6), ev.NamedSharding(m, ev.P())), 8))
"""

MAPPED = [
    ("v * 2", "'a', 'b'", "'a', 'b'"), ("lax.psum(v, 'a')", "'a'", ""), ("lax.psum(v, ('a', 'b'))", "'a', 'b'", ""),
    ("lax.psum(v, 'b')", "'a', 'b'", "'a'"), ("lax.pmean(v, 'a')", "'a', 'b'", "None, 'b'"), ("lax.pmax(v, 'a')", "'a'", ""),
    ("lax.pmin(v, ('b', 'a'))", "'a', 'b'", ""), ("v + lax.axis_index('a')", "'a'", "'a'"),
    ("v + lax.axis_index(('a', 'b'))", "('a', 'b')", "('a', 'b')"), ("v * lax.axis_size('b')", "'a', 'b'", "'a', 'b'"),
    ("lax.all_gather(v, 'a')", "'a'", "'a'"), ("lax.all_gather(v, 'a', tiled=True)", "'a'", "'a'"),
    ("lax.all_gather(v, 'b', axis=1, tiled=True)", "'a', 'b'", "('a', 'b')"),
    ("lax.psum_scatter(v, 'a', tiled=True)", "None, 'b'", "'a', 'b'"),
    ("lax.psum_scatter(v, 'b', scatter_dimension=1, tiled=True)", "'a'", "'a', 'b'"),
    ("lax.ppermute(v, 'a', [(i, (i + 1) % 4) for i in range(4)])", "'a'", "'a'"),
    ("lax.ppermute(v, 'a', [(0, 1), (2, 3)])", "'a'", "'a'"), ("lax.pshuffle(v, 'a', [3, 2, 1, 0])", "'a'", "'a'"),
    ("lax.ppermute(v, ('a', 'b'), [(i, 7 - i) for i in range(8)])", "('a', 'b')", "('a', 'b')"),
    ("lax.all_to_all(v, 'a', 1, 0, tiled=True)", "'a'", "None, 'a'"),
    ("lax.all_to_all(v.reshape(2, 4, 1), 'a', 1, 2)", "'a'", "'a'"),
    ("lax.pswapaxes(v.reshape(2, 4, 1), 'a', 1)", "'a'", "'a'"),
    ("lax.psum(v, 'a', axis_index_groups=[[0, 1], [2, 3]])", "'a'", "'a'"),
    ("lax.all_gather(v, 'a', axis_index_groups=[[0, 2], [1, 3]], tiled=True)", "'a'", "'a'"),
    ("v.sum(0, keepdims=True)", "'a'", "'a'"), ("jnp.sort(v, 0)", "'a'", "'a'"), ("v.T", "'a', 'b'", "'b', 'a'"),
    ("lax.scan(lambda c, r: (c, r * 2), 0, v)[1]", "'a'", "'a'"), ("jnp.argmax(v, 1)", "'a'", "'a'"),
    ("lax.scan(lambda c, r: (c, lax.psum(r, 'a')), 0, v)[1]", "'a'", ""),
    ("lax.cond(lax.psum(v.sum(), 'a') > 0, lambda: v, lambda: -v)", "'a'", "'a'"),
    ("lax.fori_loop(0, 2, lambda i, c: c + lax.psum(c, 'b'), v)", "'a', 'b'", "'a', 'b'"),
    ("lax.pbroadcast(v, 'a', 2)", "'a'", "'a'"),
    ("lax.pcast(jnp.ones(2), 'a', to='varying')", "'a'", "'a'"), ("lax.pcast(jnp.ones(2), ('a', 'b'), to='varying') + v[0, 0]", "'a'", "('a', 'b')"),
    ("lax.psum(1, 'a') * v", "'a'", "'a'"), ("jnp.where(lax.axis_index('a') == 0, v, 0)", "'a'", "'a'"),
    ("ev.vmap(lambda r: lax.psum(r, 'a'))(v)", "'a'", ""), ("ev.grad(lambda w: (w ** 2).sum())(v)", "'a'", "'a'"),
    ("ev.grad(lambda w: lax.psum((w ** 2).sum(), 'a'))(v)", "'a'", "'a'"), ("ev.jit(lambda w: w + 1)(v)", "'a'", "'a'"),
]  # fmt: skip


def mapped() -> str:
    """Write the programs of `shard_map`, over auto axes."""
    return "\n".join(
        f"(lambda r: (r, of(r)))({jit}(ev.shard_map(lambda v: {body}, mesh=m, in_specs=ev.P({ins}), out_specs=ev.P({outs})))(x))"
        for body, ins, outs in MAPPED
        for jit in ("", "ev.jit")
    )


# Derivatives within mapped functions, of values that all devices share (`s`) and others (`v`).
DERIVATIVES = [
    "ev.grad(lambda w: lax.psum((w ** 2).sum(), 'a'))(v)",
    "ev.grad(lambda w: (w * v).sum())(s) * jnp.where(v > 99, 0, 1)",
    "ev.grad(lambda w: lax.psum((w * v).sum(), 'a'))(s) + 0 * v",
    "ev.grad(lambda w: lax.pmean((w * v).sum(), 'a'))(s) + 0 * v",
    "ev.grad(lambda w: (lax.psum(w, 'a') * v).sum())(v)",
    "ev.grad(lambda w: (w ** 2).sum())(s) + 0 * v",
    "ev.grad(lambda w: lax.scan(lambda c, r: (c + lax.psum(r, 'a').sum(), None), 0.0, w)[0])(v)",
    "ev.grad(lambda w: lax.scan(lambda c, r: (c + (r * w * v).sum(), None), v[0, 0] * 0, jnp.ones(2))[0])(s) + 0 * v",
    "ev.grad(lambda w: (lax.all_gather(w, 'a') ** 2).sum())(v)",
    "ev.vjp(lambda w: w * v, s)[1](v)[0] + 0 * v",
    "ev.jvp(lambda w: lax.psum(w * v, 'a'), (s,), (s,))[1] + 0 * v",
    "ev.linear_transpose(lambda w: w * v, s)(v)[0] + 0 * v",
    "ev.grad(lambda w: lax.pmean((w - lax.pmean(w, 'a')).sum() ** 2, 'a'))(v)",
    "ev.jit(ev.grad(lambda w: lax.psum(jnp.sin(w * v).sum(), 'a')))(s) + 0 * v",
    "ev.grad(lambda w: (ev.grad(lambda u: lax.psum((u ** 3 * v).sum(), 'a'))(w) * v).sum())(s) + 0 * v",
    "ev.grad(lambda w: ev.checkpoint(lambda u: lax.psum(jnp.sin(u * v).sum(), 'a'))(w))(s) + 0 * v",
    "ev.grad(lambda w: (lax.pcast(w, 'a', to='varying') * v).sum())(s) + 0 * v",
    "ev.vmap(ev.grad(lambda w: lax.psum((w * v).sum(), 'a')), in_axes=0)(jnp.stack([s, s]))[1] + 0 * v",
    "ev.grad(lambda w: lax.cond(v[0, 0] > 0, lambda: w * v, lambda: w).sum())(s) + 0 * v",
]


def derivatives() -> str:
    """Write the programs, with what varies known and not."""
    return "\n".join(
        f"ev.shard_map(lambda v, s: {body}, mesh=m, in_specs=(ev.P('a'), ev.P()), out_specs=ev.P('a'), check_vma={check})(x, x[:2])"
        for body in DERIVATIVES
        for check in (True, False)
    )


MORE_MAPPED = """
    ev.grad(lambda w: ev.shard_map(lambda v: lax.psum((v ** 2).sum(), ('a', 'b')), mesh=m, in_specs=ev.P('a', 'b'), out_specs=ev.P())(w))(x)
    ev.grad(lambda w: ev.shard_map(lambda v: lax.all_gather(v, 'a', tiled=True) * 2, mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(w).sum())(x)
    ev.grad(lambda w: (ev.shard_map(lambda v: lax.ppermute(v, 'a', [(0, 1)]), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(w) * x).sum())(x)
    ev.grad(lambda w: ev.shard_map(lambda v, u: lax.psum(v @ u, 'b'), mesh=m, in_specs=(ev.P('a', 'b'), ev.P('b')), out_specs=ev.P('a'))(x, w).sum())(x.T)
    ev.jvp(ev.shard_map(lambda v: lax.psum(jnp.sin(v), 'a'), mesh=m, in_specs=ev.P('a'), out_specs=ev.P()), (x,), (x,))
    ev.vmap(ev.shard_map(lambda v: lax.psum(v, 'b'), mesh=m, in_specs=ev.P('b'), out_specs=ev.P()))(x)
    ev.vmap(ev.shard_map(lambda v: v * 2, mesh=m, in_specs=ev.P('b'), out_specs=ev.P('b')), spmd_axis_name='a')(x)
    ev.shard_map(lambda v: lax.psum(v, 'a'), mesh=m, in_specs=ev.P('a'), out_specs=ev.P(), axis_names={'a'})(put(x, 'a', 'b'))
    ev.shard_map(lambda v: ev.shard_map(lambda w: lax.psum(w, 'b'), in_specs=ev.P(None, 'b'), out_specs=ev.P(), axis_names={'b'})(v), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'), axis_names={'a'})(x)
    ev.shard_map(lambda v, w: v + w['q'], mesh=m, in_specs=(ev.P('a'), {'q': ev.P()}), out_specs=ev.P('a'))(x, {'q': 1.0})
    ev.shard_map(lambda v: (v, v.sum()[None]), mesh=m, in_specs=ev.P('a'), out_specs=(ev.P('a'), ev.P('a')), check_vma=False)(x)
    ev.shard_map(lambda v: v.sum()[None], mesh=m, in_specs=ev.P(('a', 'b')), out_specs=ev.P(('b', 'a')))(x)
    ev.shard_map(lambda: lax.axis_index('a')[None], mesh=m, in_specs=(), out_specs=ev.P('a'))()
    ev.shard_map(lambda k: random.uniform(k[0], (1,)), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(random.split(random.key(0), 4))
    (lambda s: (s.enter_context(ev.set_mesh(m)), ev.shard_map(lambda v: lax.psum(v, 'a'), in_specs=ev.P('a'), out_specs=ev.P())(x), s.close())[1])(__import__('contextlib').ExitStack())
    (lambda s: (s.enter_context(ev.set_mesh(m)), of(ev.device_put(x, ev.P('a', 'b'))), of(ev.jit(lambda v: lax.with_sharding_constraint(v * 1, ev.P('b')))(x)), s.close())[1:3])(__import__('contextlib').ExitStack())
    (lambda s: (s.enter_context(ev.set_mesh(m)), of(ev.jit(lambda v: v * 1, in_shardings=ev.P('a'), out_shardings=ev.P(None, 'b'))(x)), s.close())[1])(__import__('contextlib').ExitStack())
"""

PMAPS = """
    ev.pmap(lambda v: v * 2)(x)
    ev.pmap(lambda v: lax.psum(v, 'q'), 'q')(x)
    ev.pmap(lambda v: lax.psum(v, 'q'), 'q', out_axes=None)(x)
    ev.pmap(lambda v, w: v + w, in_axes=(0, None))(x, 1.0)
    ev.pmap(lambda v: v / lax.pmean(v, 'q'), axis_name='q')(y + 100)
    ev.pmap(lambda v: lax.axis_index('q') + v, 'q')(z)
    ev.pmap(lambda v: lax.all_gather(v, 'q'), 'q')(y)
    ev.pmap(lambda v: lax.ppermute(v, 'q', [(i, (i + 1) % 8) for i in range(8)]), 'q')(y)
    ev.pmap(lambda v, n: v * n, static_broadcasted_argnums=1)(x, 3)
    ev.pmap(lambda d: d['p'] + d['q'])({'p': x, 'q': y})
    ev.pmap(lambda v: v + 1, in_axes=1)(x.T)
    ev.pmap(lambda v: v + 1)(x[:4])
    ev.pmap(ev.grad(lambda v: (v ** 2).sum()))(x)
    ev.pmap(lambda v: lax.psum_scatter(v, 'q'), 'q')(jnp.ones((8, 8)))
    ev.pmap(lambda v: lax.all_to_all(v, 'q', 0, 0), 'q')(jnp.arange(64.0).reshape(8, 8))
    [s.data.shape for s in ev.pmap(lambda v: v * 2)(x).addressable_shards]
    len(ev.pmap(lambda v: v * 2)(x).devices()), ev.pmap(lambda v: v * 2)(x[:2]).sharding.num_devices
    ev.pmap(lambda v: v, devices=ev.devices()[:2])(x[:2])
    ev.pmap(lambda v: v)(jnp.ones((9, 2)))
    ev.pmap(lambda v, w: v + w)(x, x[:4])
    ev.pmap(lambda v: lax.psum(v, 'r'), 'q')(x)
"""

MESHES = """
    str(ev.devices()), ev.device_count(), ev.local_device_count()
    ev.make_mesh((4, 2), ('a', 'b')).device_ids
    ev.make_mesh((2, 2), ('a', 'b')).device_ids, ev.make_mesh((8,), 'i').shape_tuple
    repr(ev.make_mesh((4, 2), ('a', 'b'))), str(ev.make_mesh((4, 2), ('a', 'b')))
    str(ev.sharding.get_mesh()), repr(ev.sharding.get_mesh()), repr(ev.sharding.get_abstract_mesh())
    repr(ev.make_mesh((4, 2), ('a', 'b')).abstract_mesh), repr(ev.make_mesh((4, 2), ('a', 'b')).abstract_mesh.abstract_device)
    repr(ev.sharding.AbstractMesh((4, 2), ('a', 'b'), abstract_device=ev.sharding.AbstractDevice('TPU v5', 2, 'tpu')))
    repr(ev.NamedSharding(ev.sharding.AbstractMesh((4,), ('a',)), ev.P('a'))), repr(ev.NamedSharding(ev.make_mesh((8,), ('a',)).abstract_mesh, ev.P('a')))
    ev.sharding.Mesh(np.array(ev.devices()).reshape(2, 4), ('a', 'b')).axis_sizes
    ev.sharding.Mesh(np.array(ev.devices()[::-1]), ('a',)).device_ids
    ev.make_mesh((2,), 'i', devices=ev.devices()[4:6]).device_ids
    ev.make_mesh((16,), 'i')
    ev.make_mesh((4, 2), ('a', 'a'))
    ev.make_mesh((4, 2), ('a',))
    repr(ev.NamedSharding(ev.make_mesh((4, 2), ('a', 'b')), ev.P('a')))
    ev.sharding.Mesh(np.array(ev.devices()).reshape(2, 4), ('a', 'b')) == ev.make_mesh((2, 4), ('a', 'b'), axis_types=(ev.sharding.AxisType.Auto,) * 2)
    ev.make_mesh((4, 2), ('a', 'b')).abstract_mesh.shape_tuple
    __import__('importlib').import_module(f'{ev.__name__}.experimental.mesh_utils').create_device_mesh((2, 2, 2)).shape
    [d.id for d in __import__('importlib').import_module(f'{ev.__name__}.experimental.mesh_utils').create_device_mesh((8,))]
"""

REFUSED = """
    ev.device_put(x, ev.devices()[1]) + ev.device_put(x, ev.devices()[2])
    ev.jit(lambda a, b: a + b)(ev.device_put(x, ev.devices()[1]), ev.device_put(x, ev.devices()[2]))
    put(x, 'a') + ev.device_put(x, ev.devices()[2])
    put(x, 'a') + ev.device_put(x, ev.NamedSharding(ev.make_mesh((2,), 'j'), ev.P('j')))
    put(x[:6], 'a')
    put(x, 'c')
    put(x, 'a', 'a')
    put(x, 'a', None, 'b')
    put(y, None, 'a')
    ev.jit(lambda a: a, in_shardings=ev.NamedSharding(m, ev.P('a')))(x[:6])
    ev.jit(lambda a: a, in_shardings=ev.NamedSharding(m, ev.P('a', None, 'b')))(x)
    ev.jit(lambda a: a, in_shardings=(ev.NamedSharding(m, ev.P('a')),) * 2)(x)
    ev.jit(lambda a: (a, a), out_shardings=(ev.NamedSharding(m, ev.P('a')),) * 3)(x)
    ev.jit(lambda a: a, in_shardings=ev.NamedSharding(m, ev.P('a')))(put(x, None, 'b'))
    ev.jit(lambda a: a, out_shardings=ev.NamedSharding(m, ev.P(None, None, 'a')))(x)
    ev.jit(lambda a: a, in_shardings=ev.P('a'))(x)
    ev.jit(lambda a: lax.with_sharding_constraint(a, ev.P('a')))(x)
    lax.with_sharding_constraint(x[:6], ev.NamedSharding(m, ev.P('a')))
    ev.jit(lambda a: lax.with_sharding_constraint(a, ev.NamedSharding(m, ev.P('a', None, 'b'))))(x)
    ev.shard_map(lambda v: v, mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x[:6])
    ev.shard_map(lambda v: v, mesh=m, in_specs=ev.P('c'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: v, mesh=m, in_specs=ev.P('a'), out_specs=ev.P())(x)
    ev.shard_map(lambda v: v, mesh=m, in_specs=(ev.P('a'),) * 2, out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: (v, v), mesh=m, in_specs=ev.P('a'), out_specs=(ev.P('a'),) * 3)(x)
    ev.shard_map(lambda v: lax.psum(v, 'c'), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: lax.ppermute(v, 'a', [(0, 9)]), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: lax.ppermute(v, 'a', [(0, 1), (0, 2)]), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: lax.psum_scatter(v, 'a', tiled=True), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: lax.all_to_all(v, 'a', 0, 0), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: v.sum(), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: lax.scan(lambda c, r: (c + r, c), jnp.zeros(4), v)[0], mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.shard_map(lambda v: v, in_specs=ev.P('a'), out_specs=ev.P('a'))(x)
    ev.make_array_from_callback((6, 4), ev.NamedSharding(m, ev.P('a')), lambda i: np.zeros((6, 4))[i])
    ev.make_array_from_single_device_arrays((8, 4), ev.NamedSharding(m, ev.P('a')), [x])
    ev.reshard(x, ev.NamedSharding(m, ev.P('c')))
    (lambda p: (p.delete(), p + 1))(put(x, 'a'))
    ev.device_put({'p': x}, {'q': ev.NamedSharding(m, ev.P('a'))})
    lax.psum(x, 'a')
    lax.pcast(x, 'a', to='varying')
    ev.NamedSharding(m, ev.P('a')).shard_shape((6,))
    put(x, 'a').sharding.is_equivalent_to(ev.sharding.SingleDeviceSharding(ev.devices()[0]), 2)
"""

MIXED = """
    str(ev.jit(lambda a: a.sum(1))(put(x, 'a', 'b')).aval)
    str(ev.make_jaxpr(lambda a: a.T * 2)(put(x, 'a', 'b')).out_avals[0])
    str(ev.typeof(put(x, 'a') + put(x, 'b')))
    str(ev.typeof(put(x, 'a', 'b') @ put(x.T, 'b', 'a')))
    str(ev.typeof(put(x, 'a') @ put(x.T, None, 'b')))
    str(ev.typeof(put(x, 'a', 'b') + put(x, None, 'b')))
    str(ev.typeof(put(x, 'a').reshape(4, 2, 4)))
    str(ev.typeof(put(x, 'a').reshape(32)))
    str(ev.typeof(jnp.concatenate([put(x, 'a'), put(x, 'a')], 1)))
    str(ev.typeof(put(x, 'a')[:, 1]))
    str(ev.typeof(ev.reshard(put(x, 'a'), ev.NamedSharding(m, ev.P(None, 'b')))))
    str(ev.typeof(jnp.einsum('ij,kj->ik', put(x, 'a'), put(x, 'b'))))
    str(ev.typeof(jnp.einsum('ij,ij->i', put(x, 'a'), put(x, 'a'))))
    str(ev.typeof(ev.vmap(lambda r: r.sum())(put(x, 'a'))))
    str(ev.typeof(ev.grad(lambda v: (v ** 2).sum())(put(x, 'a', 'b'))))
    str(ev.typeof(jnp.where(put(x, 'a') > 0, put(x, 'a'), 0)))
    str(ev.typeof(lax.broadcast_in_dim(put(y, 'a'), (8, 4), (0,))))
    str(ev.typeof(jnp.expand_dims(put(y, 'a'), 1)))
    str(ev.typeof(jnp.squeeze(put(x[:, :1], 'a'), 1)))
    str(ev.typeof(lax.rev(put(x, 'a'), (1,))))
    str(ev.typeof(jnp.pad(put(x, 'a'), ((0, 0), (1, 1)))))
    str(ev.typeof(lax.sort(put(x, 'a'), dimension=1)))
"""

CASES = [
    *results(AUTO),
    *results(EXPLICIT),
    *types(EXPLICIT),
    *types(AUTO)[:7],
    *on(AUTO, MOVES + JITS + DRAWS),
    *on(AUTO, mapped() + MORE_MAPPED + derivatives()),
    *on("None", PMAPS + MESHES),
    *on(AUTO, REFUSED),
    *on(EXPLICIT, MIXED + SUMS),
    *in_force(),
]

PLACE = "the class of the error is another one; it says what is missing"
UNTYPED = "types say nothing of placement, so a program serves all; typeof asks an array"
ASKED = "evertrace keeps the sharding that was asked for"
DIVIDED = "JAX asks for out_sharding; evertrace has a sum over the devices"
VARIES = "types say nothing of what varies, so nothing has to be cast"
CONTEXT = "JAX needs set_mesh for this"

DIFFERENCES = {
    **{
        f"(lambda r: (r, of(r)))((lambda p: lax.cumsum(p, 1))(put(x, {spec}))) on explicit axes": LENIENT
        for spec in ("'a', 'b'", "None, 'b'")
    },
    **{
        f"(lambda r: (r, of(r)))((lambda p: p.at[0].set(0.0))(put(x, {spec}))) on explicit axes": CONTEXT
        for spec in SPECS
    },
    **{
        f"(lambda r: (r, of(r)))({jit}(ev.shard_map(lambda v: {body}, mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a')))(x)) on auto axes": LENIENT
        for body in (
            "lax.psum(v, 'a', axis_index_groups=[[0, 1], [2, 3]])",
            "lax.pbroadcast(v, 'a', 2)",
        )
        for jit in ("", "ev.jit")
    },
    "(lambda r: (r, of(r)))(__import__('pickle').loads(__import__('pickle').dumps(put(x, 'a', 'b')))) on auto axes": ASKED,
    "of(ev.jit(lambda a: ev.device_put(a, ev.NamedSharding(m, ev.P('b'))))(x)) on auto axes": ASKED,
    "(lambda c: of(ev.jit(lambda a: a + c)(x)))(put(x, 'a')) on auto axes": ASKED,
    "ev.shard_map(lambda v, s: ev.grad(lambda w: lax.cond(v[0, 0] > 0, lambda: w * v, lambda: w).sum())(s) + 0 * v, mesh=m, in_specs=(ev.P('a'), ev.P()), out_specs=ev.P('a'), check_vma=True)(x, x[:2]) on auto axes": VARIES,
    "ev.shard_map(lambda v: lax.scan(lambda c, r: (c + r, c), jnp.zeros(4), v)[0], mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x) on auto axes": VARIES,
    "ev.make_mesh((4, 2), ('a', 'a')) on no mesh": "evertrace refuses a mesh whose axes cannot be told apart",
    "ev.jit(lambda a: a, in_shardings=ev.P('a'))(x) on auto axes": PLACE,
    "ev.jit(lambda a: lax.with_sharding_constraint(a, ev.P('a')))(x) on auto axes": PLACE,
    "ev.shard_map(lambda v: lax.psum(v, 'c'), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x) on auto axes": ACCIDENT,
    "ev.shard_map(lambda v: lax.ppermute(v, 'a', [(0, 9)]), mesh=m, in_specs=ev.P('a'), out_specs=ev.P('a'))(x) on auto axes": PLACE,
    "lax.pcast(x, 'a', to='varying') on auto axes": PLACE,
    "str(ev.jit(lambda a: a.sum(1))(put(x, 'a', 'b')).aval) on explicit axes": UNTYPED,
    "str(ev.typeof(put(x, 'a', 'b') @ put(x.T, 'b', 'a'))) on explicit axes": DIVIDED,
    "str(ev.typeof(ev.grad(lambda v: (v ** 2).sum())(put(x, 'a', 'b')))) on explicit axes": CONTEXT,
}
