"""Lines that users write: small programs across the whole API."""

from tests.oracle.tables import programs

CASES = programs(
    """
    ev.jit(lambda x: x.at[jnp.arange(3)].add(1.0))(jnp.ones(4))
    ev.vmap(lambda x, i: x[i])(jnp.arange(12.).reshape(3,4), jnp.array([0,1,2]))
    ev.vmap(lambda x, i: x.at[i].set(0))(jnp.arange(12.).reshape(3,4), jnp.array([0,1,2]))
    ev.vmap(lambda i: lax.dynamic_slice(jnp.arange(10.), (i,), (3,)))(jnp.array([0,5,9]))
    jnp.asarray([1,2,3]).astype('float32').dtype.name
    [jnp.asarray(x).dtype.name for x in (np.int64(1), np.float64(1), np.uint64(3), np.complex128(1j), np.float16(1), np.bool_(True))]
    jnp.array([1.0, 2.0]) * np.array([1, 2], 'int64')
    jnp.array([1, 2], 'int16') * np.array(2.5)
    jnp.array([1, 2], 'bfloat16') * np.float64(2.5)
    jnp.array([1.5]) + np.ones(1, 'float64')
    np.ones(2, 'float32') * jnp.ones(2)
    np.float32(2) * jnp.ones(2, 'bfloat16')
    2 * jnp.ones(2, 'bfloat16') ** 2
    jnp.float16(1) + jnp.bfloat16(1)
    jnp.ones(2, 'int8') / jnp.ones(2, 'int8')
    jnp.ones(2, 'int8') / 2.0
    jnp.mean(jnp.ones(4, 'bfloat16'))
    jnp.sum(jnp.ones(300, 'int8'))
    jnp.sum(jnp.ones(300, 'uint8'))
    jnp.prod(jnp.full(3, 100, 'int16'))
    jnp.sum(jnp.ones(3, bool))
    jnp.cumsum(jnp.ones(3, 'int8'))
    jnp.mean(jnp.ones(4, 'int8'))
    jnp.var(jnp.arange(4, dtype='float16'))
    jnp.linspace(0, 1, 3, dtype='bfloat16')
    jnp.arange(0, 1, 0.1, dtype='float16')
    jnp.arange(10, dtype='float32') % 3 == 0
    ev.nn.one_hot(jnp.arange(3), 4).dtype.name
    ev.tree.map(jnp.shape, {'a': jnp.ones((2, 3)), 'b': 1.0})
    ev.jit(lambda x: x.reshape(-1, 2).sum(-1))(jnp.arange(6))
    ev.jit(lambda d: {k: v * 2 for k, v in d.items()})({'z': 1, 'a': jnp.ones(2)})
    ev.value_and_grad(lambda w: jnp.mean((jnp.ones((4, 3)) @ w - 1) ** 2))(jnp.zeros(3))
    lax.scan(lambda c, x: (c * 0.9 + x, c), jnp.zeros(()), jnp.arange(5.))
    ev.jit(lambda n: jnp.arange(n))(3)
    ev.jit(lambda x, n: x[:n], static_argnums=1)(jnp.arange(5), 3)
    ev.jit(lambda x, n: x[:n])(jnp.arange(5), 3)
    ev.jit(lambda x: int(x))(3)
    ev.jit(lambda x: x.shape[0] * 2)(jnp.ones(3))
    ev.jit(lambda x: jnp.where(x.any(), x, 0))(jnp.ones(3))
    ev.jit(lambda x: x.item())(1.0)
    ev.jit(lambda x: bool(x))(True)
    ev.jit(lambda x: [1, 2, 3][x])(1)
    ev.jit(lambda x: '%d' % x)(1)
    jnp.array([1, 2, 3]) == 2
    (jnp.array([1, 2, 3]) == jnp.array([1, 2]))
    jnp.array([1, 2, 3]) == 'a'
    jnp.array(3) in [1, 2, 3]
    sum(jnp.arange(4))
    max(jnp.arange(4.0))
    list(zip(jnp.arange(2), jnp.arange(2)))
    jnp.arange(4)[jnp.arange(4) > 1]
    divmod(jnp.array([7, -7]), 3)
    round(jnp.float32(2.567), 1)
    jnp.array(5) // 0
    jnp.array(-5) % 3
    5 // jnp.array([2, -2])
    abs(jnp.array(-3 + 4j))
    jnp.array([3, 1, 2]).sort()
    jnp.array([1., 2.]).tolist()
    ev.device_get(jnp.arange(3)).tolist()
    np.asarray(jnp.ones(2, 'bfloat16')).dtype.name
    jnp.isclose(1.0, 1.0 + 1e-9)
    jnp.nan_to_num(jnp.array([jnp.nan, jnp.inf]))
    jnp.expand_dims(jnp.ones((2, 3)), axis=(0, 2)).shape
    jnp.array([[1, 2], [3, 4]]).T.flatten()
    jnp.array([1, 2, 3]).at[jnp.array([True, False, True])].set(0)
    jnp.ones((2, 3)).at[:, [0, 2]].set(5)
    jnp.ones((2, 3)).at[jnp.ix_(jnp.array([0, 1]), jnp.array([0, 2]))].set(5)
    jnp.arange(12).reshape(3, 4)[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))]
    jnp.arange(6).reshape(2, 3)[..., jnp.newaxis, 0]
    jnp.apply_along_axis(lambda v: v.max() - v.min(), 0, jnp.arange(6.).reshape(2, 3))
    jnp.vectorize(lambda a, b: a @ b, signature='(m,n),(n)->(m)')(jnp.ones((5, 2, 3)), jnp.ones(3)).shape
    jnp.lexsort((jnp.array([1, 0, 1]), jnp.array([2, 1, 2])))
    jnp.select([jnp.array([True, False])], [jnp.array([1, 2])], default=7)
    jnp.corrcoef(jnp.arange(6.).reshape(2, 3))
    jnp.unwrap(jnp.array([0., 3., 6., 9.]))
    jnp.tile(jnp.arange(3), (2, 2))
    jnp.histogram(jnp.array([1., 2., 1.]), bins=2)
    jnp.linalg.inv(jnp.eye(2) * 2)
    ev.jvp(jnp.sort, (jnp.array([3., 1., 2.]),), (jnp.array([1., 2., 3.]),))
    ev.grad(lambda x: lax.cond(x > 0, lambda: x * 2, lambda: x * 3))(1.0)
    ev.grad(lambda x: jnp.where(x > 0, x, 0.).sum())(jnp.array([1., -1.]))
    ev.jit(ev.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, 1.0)))(2.0)
    ev.hessian(lambda x: x @ x)(jnp.ones(2))
    ev.grad(lambda x: (x[0] if isinstance(x, tuple) else x))((1.0, 2.0))
    ev.vmap(lambda x: x.mean(), in_axes=1, out_axes=0)(jnp.arange(6.).reshape(2, 3))
    ev.vmap(lambda x, y: x + y, in_axes=(0, None))(jnp.arange(3), 10)
    ev.vmap(lambda d: d['a'] * 2)({'a': jnp.arange(3)})
    ev.vmap(lambda x: x, axis_name='i')(jnp.arange(3))
    ev.eval_shape(lambda x: jnp.ones((x.shape[0], 2)), np.ones(3)).shape
    ev.make_jaxpr(lambda x: x + 1)(1).out_avals[0].shape
    ev.jit(lambda x: x + 1).lower(1.0).compile()(1.0)
    jnp.array([1,2,3]).at[0].set(10).at[1].add(5)
    jnp.einsum('bij,bjk->bik', jnp.ones((2,3,4)), jnp.ones((2,4,5))).shape
    jnp.einsum('...ij->...ji', jnp.ones((2,3,4))).shape
    jnp.einsum('ij,ij', jnp.arange(4.).reshape(2,2), jnp.ones((2,2)))
    jnp.matmul(jnp.ones((2,3,4)), jnp.ones((4,))).shape
    jnp.matmul(jnp.ones(3, 'int8'), jnp.ones(3, 'int8'))
    jnp.dot(jnp.ones((2,3), 'bfloat16'), jnp.ones((3,2), 'float32'))
    jnp.matmul(jnp.ones((2,2)), jnp.ones((2,2)), preferred_element_type='float64')
    jnp.max(jnp.array([1, jnp.nan, 3])), jnp.nanmax(jnp.array([1, jnp.nan, 3]))
    jnp.argmax(jnp.array([1, jnp.nan, 3, jnp.nan])), jnp.argmin(jnp.array([True, False]))
    jnp.sort(jnp.array([3, jnp.nan, 1, -jnp.inf])), jnp.argsort(jnp.array([2, 1, 2, 1]), stable=True)
    jnp.unique(jnp.array([3, 1, 3, jnp.nan, jnp.nan]))
    jnp.median(jnp.array([1, 2, 3, 4])), jnp.median(jnp.array([1, jnp.nan]))
    jnp.percentile(jnp.array([1, 2, 3, 4]), jnp.array([25, 50]))
    jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 6]), side='right', method='sort')
    jnp.bincount(jnp.array([1, 1, 5, -1]), length=4)
    jnp.where(jnp.array([1, 0]), 1, jnp.float16(2))
    jnp.clip(jnp.array([1, 2, 300]), 0, 255).astype('uint8')
    jnp.power(2, jnp.array([0.5, -1])), jnp.power(jnp.array([-8.]), 1/3)
    jnp.floor_divide(jnp.array([7., -7.]), 2), jnp.remainder(jnp.array([7., -7.]), -2)
    jnp.float32(1e38) * 10, jnp.int32(2147483647) + 1, jnp.uint8(255) + jnp.uint8(1)
    jnp.array([0.1, 0.2]).astype('bfloat16').astype('float32')
    jnp.arange(5)[jnp.array(10)], jnp.arange(5)[-7], jnp.arange(5).at[10].set(1)
    jnp.logspace(0, 3, 4, dtype='int32'), jnp.geomspace(1, 8, 4)
    jnp.sum(jnp.ones((2, 3)), axis=(), keepdims=True), jnp.sum(jnp.ones((2, 3)), axis=None)
    jnp.mean(jnp.ones((0,))), jnp.std(jnp.ones(1), ddof=1)
    jnp.concatenate([jnp.ones(2, 'int8'), jnp.ones(2, 'uint8')]).dtype.name
    jnp.stack([1, 2.0, jnp.int8(3)]), jnp.array([jnp.ones(2), jnp.zeros(2)])
    jnp.r_[1:3, 5.0], jnp.s_[1:2], jnp.index_exp[0, ...]
    jnp.asarray(np.arange(3, dtype='int64')).dtype.name, jnp.zeros(2, 'float64').dtype.name
    jnp.asarray(5).weak_type, jnp.asarray([5]).weak_type, (jnp.asarray(5) + 1).weak_type
    ev.random.normal(ev.random.PRNGKey(0), (2,)) * 0.1
    ev.random.choice(ev.random.key(0), jnp.array([10, 20, 30]), (5,), p=jnp.array([0., 1., 0.]))
    ev.random.permutation(ev.random.key(2), jnp.arange(6))
    ev.random.split(ev.random.PRNGKey(1), 2).dtype.name
    ev.grad(lambda p: jnp.sum(jnp.tanh(p['w'] @ jnp.ones(3) + p['b'])))({'w': jnp.ones((2, 3)), 'b': jnp.zeros(2)})
    ev.vmap(ev.value_and_grad(lambda w, x: (w * x).sum()), in_axes=(None, 0))(jnp.ones(2), jnp.ones((3, 2)))
    ev.jacfwd(lambda x: jnp.array([x[0] ** 2, x[1] * x[0]]))(jnp.array([1., 2.]))
    ev.jacrev(lambda x: {'a': x ** 2})(jnp.array([1., 2.]))['a'].shape
    ev.jit(lambda x, *, k=2: x ** k)(jnp.arange(3.), k=3)
    ev.jit(lambda t: t[0] + t[1]['a'])((1, {'a': jnp.ones(2)}))
    ev.lax.cond(jnp.array(True), lambda x: x + 1, lambda x: x - 1, operand=1.0)
    ev.lax.while_loop(lambda s: s[1] > 1e-3, lambda s: (s[0] + 1, s[1] / 2), (0, 1.0))
    ev.lax.scan(lambda c, x: (c, None), 1, jnp.arange(3))[1] is None
    ev.lax.dynamic_slice(jnp.arange(10), [jnp.int32(3)], [4])
    ev.lax.fori_loop(0, 10, lambda i, v: v.at[i % 3].add(i), jnp.zeros(3, 'int32'))
    ev.lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2))
    ev.nn.softmax(jnp.array([1., 2., 3.])), ev.nn.log_softmax(jnp.array([1e3, 0.]))
    ev.nn.one_hot(jnp.array([1, -1, 7]), 3), ev.nn.relu(jnp.array([-1, 2]))
    ev.tree_util.tree_map(lambda x, y: x + y, {'a': 1}, {'a': 2})
    ev.jit(lambda x: ev.lax.stop_gradient(x) * x)(2.0), ev.grad(lambda x: ev.lax.stop_gradient(x) * x)(2.0)
    ev.jit(lambda x: (x.dtype.name, 1)[1])(1)
    ev.vmap(lambda x: jnp.where(x > 1, x, -x))(jnp.arange(3))
    ev.vmap(lambda k: ev.random.normal(k))(ev.random.split(ev.random.key(0), 3))
    ev.checkpoint(lambda x: x ** 2)(3.0), ev.grad(ev.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(1.0)
    jnp.ones(3).block_until_ready(), jnp.ones(3).devices().__len__(), jnp.ones(3).is_fully_addressable
    jnp.ones((2, 3)).sum(axis=-1, dtype='int32'), jnp.arange(3).mean(dtype='float16')
    jnp.ones(3).at[0].get(), jnp.arange(6).reshape(2, 3).at[1, 2].get()
    jnp.array([1+1j]).conj().imag, jnp.array([1, 2]).real, jnp.angle(jnp.array(1j))
    jnp.arange(3).__array__().dtype.name, np.array(jnp.arange(3)).sum()
    jnp.uint32(5) - jnp.uint32(6), -jnp.uint8(1), ~jnp.int8(5), jnp.int8(5) << 10
    int(jnp.array(7)) + float(jnp.array(2.5)), '%d' % jnp.array(7), f'{jnp.array(2.5):.1f}', [1, 2, 3][jnp.array(1)]
    jnp.outer(jnp.arange(2), jnp.arange(3)), jnp.kron(jnp.eye(2), jnp.ones((1, 2)))
    jnp.nansum(jnp.array([1, jnp.nan])), jnp.cumsum(jnp.array([[1, 2], [3, 4]]), axis=1), jnp.cumprod(jnp.arange(1, 4))
    jnp.trapezoid(jnp.array([1., 2., 3.])), jnp.diff(jnp.array([1, 4, 9])), jnp.gradient(jnp.array([1., 4., 9.]))
    jnp.roll(jnp.arange(4), -1), jnp.flip(jnp.arange(3)), jnp.tril(jnp.ones((2, 2)))
    jnp.array_equal(jnp.ones(2), jnp.ones(2)), jnp.allclose(1.0, 1.1), jnp.any(jnp.array([0, 1]))
    """,
    tolerance=128,
)
