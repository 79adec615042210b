"""evertrace.random: keys and samplers; the same bits, and the same numbers within rounding."""

from tests.oracle.cases import Asarray, Draw, Key
from tests.oracle.tables import call, program, programs

SEEDS = (Key(0), Key(42), Key(7, typed=False))
P = Asarray([0.1, 0.2, 0.7], "float32")

BITS = [
    *(
        call(f"random.{f}", k, *a, tolerance=0)
        for k in SEEDS
        for f, a in (
            ("split", ()),
            ("split", (3,)),
            ("split", ((2, 2),)),
            ("fold_in", (5,)),
            ("key_data", ()),
            ("bits", ()),
            ("bits", ((3,),)),
            ("clone", ()),
        )
    ),
    *(
        call("random.bits", Key(1), (5,), d, tolerance=0)
        for d in ("uint8", "uint16", "uint32", "int32")
    ),
    *(
        call("random.uniform", Key(1), (5,), d, tolerance=0)
        for d in ("float32", "float16", "bfloat16", "int32")
    ),
    *(
        call("random.randint", Key(1), (5,), 0, 10, d, tolerance=0)
        for d in ("int32", "uint8", "int8", "float32")
    ),
    *programs(
        """
        random.PRNGKey(0)
        random.PRNGKey(2**40)
        random.PRNGKey(-1)
        random.key(3)
        random.key(jnp.uint32(3))
        random.key(1.5)
        random.key([1, 2])
        random.PRNGKey(jnp.arange(2))
        random.wrap_key_data(jnp.array([1, 2], 'uint32'))
        random.wrap_key_data(jnp.array([1, 2, 3], 'uint32'))
        str(random.key_impl(random.key(0)))
        random.split(random.key(0))[0], random.split(random.key(0), 4).shape
        random.key(0).dtype == random.key(1).dtype, random.key(0).shape, random.key(0).ndim
        str(random.key(0).dtype), jnp.issubdtype(random.key(0).dtype, ev.dtypes.prng_key)
        random.key(0) + 1
        random.uniform(3)
        random.uniform(jnp.zeros(3))
        random.uniform(random.split(random.key(0)))
        random.normal(random.key(0), (-1,))
        random.normal(random.key(0), (2,), 'int32')
        random.permutation(random.key(0), 10)
        random.permutation(random.key(0), jnp.arange(12).reshape(3, 4), axis=1)
        random.permutation(random.key(0), jnp.arange(12).reshape(3, 4), axis=1, independent=True)
        random.choice(random.key(0), 10, (3,))
        random.choice(random.key(0), jnp.arange(5.0), (3,), replace=False)
        random.choice(random.key(0), 3, (4,), p=jnp.array([0.1, 0.2, 0.7]))
        random.choice(random.key(0), 3, (2,), replace=False, p=jnp.array([0.1, 0.2, 0.7]))
        random.choice(random.key(0), 3, (4,), replace=False)
        random.choice(random.key(0), jnp.arange(6.0).reshape(2, 3), (2,), axis=1)
        random.uniform(random.key(0), (3,), minval=-2, maxval=jnp.array([1., 2., 3.]))
        random.randint(random.key(0), (4,), -5, jnp.array([1, 2, 3, 4]))
        random.randint(random.key(0), (4,), 5, 5)
        random.randint(random.key(0), (3,), 0, 2**31 - 1)
        random.randint(random.key(0), (4,), 0, 1e12)
        random.randint(random.key(0), (4,), -2.5, 7.9)
        random.randint(random.key(0), (2,), jnp.nan, jnp.array([5.5, 1e4]))
        random.randint(random.key(0), (2,), 0, 300.0, 'uint8')
        random.randint(random.key(0), (2,), False, True)
        random.split(random.key(0), 3) == random.split(random.key(0), 3)[1]
        random.key(0) != random.split(random.key(0))
        jnp.array_equal(random.key(0), random.key(0))
        ev.lax.eq(random.key(0), random.key(0)), ev.lax.ne(random.key(0), random.key(1))
        ev.vmap(lambda k: k == random.key(0))(random.split(random.key(0)))
        random.key(0) < random.key(1)
        random.bernoulli(random.key(0))
        random.bernoulli(random.key(0), jnp.array([0.1, 0.5, 0.9]))
        random.bernoulli(random.key(0), 0.3, (4,))
        random.rademacher(random.key(0), (4,))
        ev.vmap(random.uniform)(random.split(random.key(0), 3))
        ev.jit(lambda k: random.normal(k, (3,)))(random.key(0))
        ev.vmap(lambda k: random.permutation(k, 5))(random.split(random.key(0), 3))
        ev.jit(lambda k: random.split(k, 2))(random.key(5))
        ev.vmap(random.fold_in, (None, 0))(random.key(1), jnp.arange(3))
        jnp.stack([random.key(0), random.key(1)]), random.split(random.key(0), 4)[::2]
        jnp.where(jnp.array([True, False]), random.key(0), random.split(random.key(1)))
        jnp.concatenate([random.split(random.key(0)), random.split(random.key(1))]).reshape(2, 2)
        lax.scan(lambda k, _: (random.split(k)[0], random.uniform(k)), random.key(0), None, length=3)
        """,
        tolerance=16,
    ),
]

SAMPLES = """
normal(k, (5,))
normal(k)
normal(k, (2, 3), 'bfloat16')
normal(k, (4,), 'float16')
normal(k, (4,), 'complex64')
truncated_normal(k, -1.0, 2.0, (5,))
exponential(k, (5,))
laplace(k, (5,))
logistic(k, (5,))
gumbel(k, (5,))
cauchy(k, (5,))
pareto(k, 2.0, (5,))
rayleigh(k, 2.0, (5,))
weibull_min(k, 2.0, 3.0, (5,))
maxwell(k, (5,))
double_sided_maxwell(k, 0.0, 1.0, (5,))
lognormal(k, 0.5, (5,))
wald(k, 2.0, (5,))
geometric(k, 0.3, (5,))
triangular(k, 0.0, 1.0, 3.0, (5,))
gamma(k, 2.5, (5,))
gamma(k, jnp.array([0.3, 5.0]))
loggamma(k, 0.2, (5,))
beta(k, 2.0, 3.0, (5,))
dirichlet(k, jnp.array([1.0, 2.0, 3.0]), (2,))
chisquare(k, 3.0, (5,))
t(k, 4.0, (5,))
f(k, 3.0, 5.0, (5,))
poisson(k, 3.0, (5,))
poisson(k, 50.0, (5,))
binomial(k, 10, 0.3, (5,))
multinomial(k, 10, jnp.array([0.2, 0.3, 0.5]))
generalized_normal(k, 1.5, (5,))
ball(k, 3, shape=(2,))
categorical(k, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(6,))
categorical(k, jnp.log(jnp.array([[0.1, 0.9], [0.5, 0.5]])))
categorical(k, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(2,), replace=False)
gamma(k, -1.0, (2,))
gamma(k, 2, (2,))
beta(k, 1, 1, (2,), 'int32')
""".strip().splitlines()

CASES = [
    *BITS,
    *(
        program(f"(lambda k: random.{text})(x)", k, tolerance=64)
        for text in SAMPLES
        for k in SEEDS[1:2]
    ),
    *(
        program(f"ev.jit(lambda k: random.{text})(x)", SEEDS[0], tolerance=64)
        for text in SAMPLES[:37:3]
    ),
    program("random.uniform(x, (3,))", Key(0), x64=True),
    program("random.normal(x, (3,), 'float64')", Key(0), x64=True, tolerance=1e4),
    program("random.randint(x, (3,), 0, 2**40)", Key(0), x64=True),
    program("random.bits(x, (3,), 'uint64')", Key(0), x64=True),
    program("random.choice(x, y, (2,), p=z)", Key(0), Draw((3,)), P),
]
