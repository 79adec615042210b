"""Whole programs as people write them, over a module like JAX: what `programs.py` measures.

A program is a function of such a module, `X`, and of `draw(*shape)`, which makes float32 arrays;
it returns the function to be jitted and its arguments.
"""

PROGRAMS = {}


def program(make):
    """Add a program under the name of the function that makes it."""
    PROGRAMS[make.__name__] = make
    return make


# ---------------------------------------------------------------- statistics


@program
def k_means(X, draw):
    jnp = X.numpy

    def run(x, centres):
        def step(centres, _):
            distances = ((x[:, None, :] - centres[None]) ** 2).sum(-1)
            members = X.nn.one_hot(distances.argmin(1), centres.shape[0])
            return (members.T @ x) / (members.sum(0)[:, None] + 1e-6), None

        return X.lax.scan(step, centres, None, length=10)[0]

    x = draw(2000, 2)
    return run, [x, jnp.array(x[:8])]


@program
def mixture_by_em(X, draw):
    jnp = X.numpy

    def run(x, means):
        def step(state, _):
            means, spreads, weights = state
            z = (x[:, None] - means) / spreads
            logs = jnp.log(weights) - jnp.log(spreads) - 0.5 * z**2
            shares = X.nn.softmax(logs, axis=1)
            counts = shares.sum(0)
            means = (shares * x[:, None]).sum(0) / counts
            variances = (shares * (x[:, None] - means) ** 2).sum(0) / counts
            return (means, jnp.sqrt(variances + 1e-6), counts / x.shape[0]), None

        state = means, jnp.ones_like(means), jnp.ones_like(means) / means.shape[0]
        return X.lax.scan(step, state, None, length=50)[0]

    return run, [draw(1000), jnp.array([-1.0, 0.0, 1.0])]


@program
def hamiltonian_monte_carlo(X, draw):
    jnp = X.numpy

    def run(key, x, y):
        def log_density(w):
            logits = x @ w
            return (y * logits - jnp.logaddexp(0.0, logits)).sum() - 0.5 * (w**2).sum()

        slope = X.grad(log_density)

        def leapfrog(state, _):
            w, p = state
            p = p + 0.01 * slope(w)
            w = w + 0.02 * p
            return (w, p + 0.01 * slope(w)), None

        def step(w, key):
            k1, k2 = X.random.split(key)
            p = X.random.normal(k1, w.shape)
            (new, q), _ = X.lax.scan(leapfrog, (w, p), None, length=10)
            gain = log_density(new) - log_density(w) - 0.5 * ((q**2).sum() - (p**2).sum())
            w = jnp.where(jnp.log(X.random.uniform(k2)) < gain, new, w)
            return w, w

        return X.lax.scan(step, jnp.zeros(x.shape[1]), X.random.split(key, 50))[1]

    x = draw(200, 5)
    return run, [X.random.key(0), x, (x[:, 0] > 0).astype(jnp.float32)]


@program
def bootstrap(X, draw):
    def run(key, x):
        def mean(key):
            return x[X.random.randint(key, x.shape, 0, x.shape[0])].mean()

        means = X.vmap(mean)(X.random.split(key, 500))
        return X.numpy.percentile(means, X.numpy.array([2.5, 97.5]))

    return run, [X.random.key(0), draw(200)]


@program
def particle_filter(X, draw):
    jnp = X.numpy

    def run(key, observed):
        def step(particles, given):
            key, y = given
            k1, k2 = X.random.split(key)
            particles = 0.9 * particles + 0.3 * X.random.normal(k1, particles.shape)
            weights = X.nn.softmax(-0.5 * ((y - particles) / 0.5) ** 2)
            at = jnp.searchsorted(jnp.cumsum(weights), X.random.uniform(k2, particles.shape))
            return particles[jnp.clip(at, 0, particles.size - 1)], weights @ particles

        keys = X.random.split(key, observed.shape[0])
        return X.lax.scan(step, jnp.zeros(500), (keys, observed))[1]

    return run, [X.random.key(1), draw(100)]


@program
def gamma_draws(X, draw):
    def run(key):
        a, b, c = X.random.split(key, 3)
        return (
            X.random.gamma(a, 2.5, (1000,)).mean(),
            X.random.beta(b, 2.0, 3.0, (1000,)).mean(),
            X.random.t(c, 5.0, (1000,)).mean(),
        )

    return run, [X.random.key(2)]


@program
def gaussian_process(X, draw):
    jnp = X.numpy

    def run(scales, x, y, new):
        def kernel(a, b):
            return jnp.exp(-0.5 * ((a[:, None] - b[None]) / scales[0]) ** 2)

        factor = jnp.linalg.cholesky(kernel(x, x) + scales[1] * jnp.eye(x.size))
        weights = X.scipy.linalg.cho_solve((factor, True), y)
        mean = kernel(new, x) @ weights
        v = X.scipy.linalg.solve_triangular(factor, kernel(x, new), lower=True)
        return mean, 1.0 - (v**2).sum(0)

    return run, [jnp.array([0.5, 0.1]), draw(100), draw(100), draw(200)]


@program
def principal_components(X, draw):
    jnp = X.numpy

    def run(x):
        x = x - x.mean(0)
        _, s, vt = jnp.linalg.svd(x, full_matrices=False)
        return x @ vt[:3].T, s**2 / (s**2).sum()

    return run, [draw(500, 20)]


@program
def nearest_neighbours(X, draw):
    jnp = X.numpy

    def run(x, labels, new):
        distances = (new**2).sum(1)[:, None] - 2 * new @ x.T + (x**2).sum(1)
        _, at = X.lax.top_k(-distances, 5)
        votes = X.nn.one_hot(labels[at], 10).sum(1)
        return votes.argmax(1)

    return run, [draw(1000, 16), jnp.arange(1000) % 10, draw(200, 16)]


# ---------------------------------------------------------------- series


@program
def kalman_filter(X, draw):
    jnp = X.numpy

    def run(a, h, q, r, observed):
        def step(state, y):
            m, p = state
            m, p = a @ m, a @ p @ a.T + q
            gain = jnp.linalg.solve(h @ p @ h.T + r, h @ p).T
            m = m + gain @ (y - h @ m)
            p = p - gain @ h @ p
            return (m, p), m

        return X.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), observed)[1]

    a = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    return run, [a, jnp.eye(2, 4), 0.01 * jnp.eye(4), 0.1 * jnp.eye(2), draw(200, 2)]


@program
def viterbi(X, draw):
    def run(start, moves, emitted):
        def forward(best, logs):
            paths = best[:, None] + moves
            return paths.max(0) + logs, paths.argmax(0)

        last, back = X.lax.scan(forward, start, emitted)

        def backward(state, pointers):
            state = pointers[state]
            return state, state

        end = last.argmax()
        return X.lax.scan(backward, end, back, reverse=True)[1]

    return run, [draw(12), draw(12, 12), draw(200, 12)]


@program
def max_plus(X, draw):
    def run(a, x):
        def step(x, _):
            return (a + x).max(1), None

        return X.lax.scan(step, x, None, length=200)[0]

    return run, [draw(12, 12), draw(12)]


@program
def recursive_filter(X, draw):
    def run(b, a, signal):
        def step(state, x):
            y = b[0] * x + state[0]
            return (b[1] * x - a[1] * y + state[1], b[2] * x - a[2] * y), y

        zero = X.numpy.float32(0)
        return X.lax.scan(step, (zero, zero), signal)[1]

    jnp = X.numpy
    return run, [jnp.array([0.2, 0.4, 0.2]), jnp.array([1.0, -0.4, 0.2]), draw(5000)]


@program
def lstm(X, draw):
    jnp = X.numpy

    def loss(params, xs, y):
        w, u, b = params

        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
            c = X.nn.sigmoid(f) * c + X.nn.sigmoid(i) * jnp.tanh(g)
            h = X.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), None

        zero = jnp.zeros((xs.shape[1], u.shape[0]))
        (h, _), _ = X.lax.scan(step, (zero, zero), xs)
        return ((h - y) ** 2).mean()

    params = draw(8, 128) / 4, draw(32, 128) / 8, draw(128)
    return X.value_and_grad(loss), [params, draw(50, 16, 8), draw(16, 32)]


# ---------------------------------------------------------------- learning


@program
def small_mlp_step(X, draw):
    jnp = X.numpy

    def loss(params, x, y):
        for w, b in params[:-1]:
            x = X.nn.relu(x @ w + b)
        w, b = params[-1]
        return -(X.nn.log_softmax(x @ w + b) * y).sum(1).mean()

    def step(params, x, y):
        value, slopes = X.value_and_grad(loss)(params, x, y)
        return value, X.tree.map(lambda p, g: p - 0.1 * g, params, slopes)

    sizes = [(64, 128), (128, 128), (128, 10)]
    params = [(draw(*size) / 8, draw(size[1])) for size in sizes]
    return step, [params, draw(50, 64), X.nn.one_hot(jnp.arange(50) % 10, 10)]


@program
def autoencoder_evaluation(X, draw):
    jnp = X.numpy

    def run(key, encoder, decoder, x):
        mean, spread = jnp.split(x @ encoder, 2, axis=1)
        z = mean + jnp.exp(0.5 * spread) * X.random.normal(key, mean.shape)
        rows = [X.random.normal(X.random.fold_in(key, k), (4,)) for k in range(30)]
        return jnp.stack(rows) @ decoder, ((X.nn.sigmoid(z @ decoder) - x) ** 2).mean()

    return run, [X.random.key(3), draw(32, 8), draw(4, 32), draw(64, 32)]


@program
def attention(X, draw):
    def loss(params, x):
        q, k, v = [(x @ w).reshape(4, 64, 4, 16).transpose(0, 2, 1, 3) for w in params]
        weights = X.nn.softmax(q @ k.transpose(0, 1, 3, 2) / 4.0, axis=-1)
        return ((weights @ v) ** 2).mean()

    return X.value_and_grad(loss), [[draw(64, 64) / 8 for _ in range(3)], draw(4, 64, 64)]


@program
def quantized_product(X, draw):
    jnp = X.numpy

    def run(x, w):
        scale = jnp.abs(x).max() / 127
        whole = jnp.round(x / scale).astype(jnp.int8)
        product = X.lax.dot_general(
            whole, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32
        )
        return product.astype(jnp.float32) * scale

    return run, [draw(128, 256), (draw(256, 128) * 50).astype(jnp.int8)]


@program
def rotations(X, draw):
    """Turns many points, each by a matrix of its own."""

    def run(matrices, points):
        return (matrices @ matrices @ points[..., None])[..., 0]

    return run, [draw(20_000, 3, 3), draw(20_000, 3)]


# ---------------------------------------------------------------- simulation


@program
def heat_by_roll(X, draw):
    jnp = X.numpy

    def run(u):
        def step(_, u):
            around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
            return u + 0.1 * (around - 4 * u)

        return X.lax.fori_loop(0, 50, step, u)

    return run, [draw(128, 128)]


@program
def heat_by_slices(X, draw):
    def run(u):
        def step(_, u):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            inner = u[1:-1, 1:-1]
            return u.at[1:-1, 1:-1].set(inner + 0.1 * (around - 4 * inner))

        return X.lax.fori_loop(0, 50, step, u)

    return run, [draw(256, 256)]


@program
def game_of_life(X, draw):
    jnp = X.numpy

    def run(cells):
        def step(cells, _):
            sides = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
            around = sum(jnp.roll(cells, side, (0, 1)) for side in sides)
            alive = (around == 3) | ((cells == 1) & (around == 2))
            return alive.astype(jnp.int32), None

        return X.lax.scan(step, cells, None, length=50)[0]

    return run, [(draw(64, 64) > 0).astype(jnp.int32)]


@program
def ising(X, draw):
    jnp = X.numpy

    def run(key, spins):
        board = (jnp.arange(32)[:, None] + jnp.arange(32)) % 2

        def sweep(spins, key):
            for colour, k in enumerate(X.random.split(key)):
                around = sum(jnp.roll(spins, s, a) for s in (1, -1) for a in (0, 1))
                is_flipped = X.random.uniform(k, spins.shape) < jnp.exp(-0.8 * spins * around)
                spins = jnp.where(is_flipped & (board == colour), -spins, spins)
            return spins, spins.mean()

        return X.lax.scan(sweep, spins, X.random.split(key, 50))[1]

    return run, [X.random.key(4), jnp.sign(draw(32, 32))]


@program
def runge_kutta(X, draw):
    jnp = X.numpy

    def run(y):
        def slope(y):
            position, speed = y
            return jnp.array([speed, (1 - position**2) * speed - position])

        def step(y, _):
            k1 = slope(y)
            k2 = slope(y + 0.005 * k1)
            k3 = slope(y + 0.005 * k2)
            k4 = slope(y + 0.01 * k3)
            y = y + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return y, y

        return X.lax.scan(step, y, None, length=1000)[1]

    return run, [jnp.array([1.0, 0.0])]


@program
def bodies(X, draw):
    def run(x, v):
        def step(state, _):
            x, v = state
            apart = x[None] - x[:, None]
            pull = apart / ((apart**2).sum(-1, keepdims=True) + 0.1) ** 1.5
            v = v + 0.01 * pull.sum(1)
            return (x + 0.01 * v, v), None

        return X.lax.scan(step, (x, v), None, length=20)[0]

    return run, [draw(64, 3), draw(64, 3)]


@program
def mandelbrot(X, draw):
    jnp = X.numpy

    def run(c):
        def step(_, state):
            z, count = state
            z = jnp.where(jnp.abs(z) < 2, z * z + c, z)
            return z, count + (jnp.abs(z) < 2)

        zero = jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)
        return X.lax.fori_loop(0, 30, step, zero)[1]

    return run, [draw(100, 100) + 1j * draw(100, 100)]


@program
def collatz(X, draw):
    jnp = X.numpy

    def run(n):
        def step(state):
            n, steps = state
            is_odd = n % 2 == 1
            return jnp.where(is_odd, 3 * n + 1, n // 2), steps + 1

        return X.lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    return run, [jnp.int32(97)]


@program
def machine(X, draw):
    """A small machine: which of three things is done depends on the state."""

    def run(x):
        def step(i, x):
            actions = [lambda x: x * 0.5, lambda x: x + 1.0, lambda x: -x]
            return X.lax.switch(i % 3, actions, x)

        return X.lax.fori_loop(0, 300, step, x)

    return run, [X.numpy.float32(1)]


# ---------------------------------------------------------------- graphs and signals


@program
def shortest_paths(X, draw):
    jnp = X.numpy

    def run(lengths):
        def step(k, d):
            return jnp.minimum(d, d[:, k, None] + d[k])

        return X.lax.fori_loop(0, lengths.shape[0], step, lengths)

    return run, [jnp.abs(draw(64, 64))]


@program
def page_rank(X, draw):
    jnp = X.numpy

    def run(rows, columns, count):
        def step(rank, _):
            handed = jnp.zeros_like(rank).at[columns].add(rank[rows] / count[rows])
            return 0.15 / rank.size + 0.85 * handed, None

        return X.lax.scan(step, jnp.ones(200) / 200, None, length=50)[0]

    rows, columns = [(jnp.abs(draw(2000)) * 1e4).astype(jnp.int32) % 200 for _ in range(2)]
    return run, [rows, columns, jnp.bincount(rows, length=200) + 1.0]


@program
def spectrum(X, draw):
    jnp = X.numpy

    def run(signal):
        frames = signal[jnp.arange(60)[:, None] * 64 + jnp.arange(256)]
        return jnp.log(jnp.abs(jnp.fft.rfft(frames * jnp.hanning(256))) + 1e-6)

    return run, [draw(4096)]


@program
def complex_magnitudes(X, draw):
    jnp = X.numpy
    return lambda z: jnp.abs(z) / (1 + jnp.abs(z).max()), [draw(20_000) + 1j * draw(20_000)]


@program
def many_arrays(X, draw):
    """An update of ten parameters, as optimizers make it."""
    jnp = X.numpy

    def run(params, slopes, means):
        means = X.tree.map(lambda m, g: 0.9 * m + 0.1 * g**2, means, slopes)
        scaled = X.tree.map(lambda g, m: g / (jnp.sqrt(m) + 1e-8), slopes, means)
        return X.tree.map(lambda p, s: p - 1e-3 * s, params, scaled), means

    return run, [[draw(64, 64) for _ in range(10)] for _ in range(2)] + [[jnp.ones((64, 64))] * 10]


# ---------------------------------------------------------------- images and games


@program
def image_filter(X, draw):
    """Finds edges: a convolution, and the magnitude of two slopes."""
    jnp = X.numpy

    def run(image, blur):
        smooth = X.scipy.signal.convolve2d(image, blur, mode="same")
        dx, dy = jnp.gradient(smooth)
        size = jnp.sqrt(dx**2 + dy**2)
        return size > size.mean()

    return run, [draw(128, 128), jnp.ones((5, 5)) / 25]


@program
def convolutional_step(X, draw):
    jnp = X.numpy

    def loss(params, x, y):
        for w in params[:2]:
            x = X.lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = X.nn.relu(x)
            x = X.lax.reduce_window(x, -jnp.inf, X.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        scores = X.nn.log_softmax(x.reshape(x.shape[0], -1) @ params[2])
        return -(scores * y).sum(1).mean()

    params = [draw(3, 3, 1, 8) / 3, draw(3, 3, 8, 16) / 9, draw(7 * 7 * 16, 10) / 30]
    labels = X.nn.one_hot(jnp.arange(16) % 10, 10)
    return X.value_and_grad(loss), [params, draw(16, 28, 28, 1), labels]


@program
def text_classifier(X, draw):
    """Looks words up, convolves along the text, takes the largest of each feature."""
    jnp = X.numpy

    def loss(params, words, y):
        table, kernel, w = params
        x = X.lax.conv_general_dilated(
            table[words], kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        )
        scores = X.nn.log_softmax(X.nn.relu(x).max(1) @ w)
        return -(scores * y).sum(1).mean()

    params = draw(500, 16), draw(3, 16, 32) / 7, draw(32, 4)
    words = (jnp.abs(draw(32, 40)) * 1e4).astype(jnp.int32) % 500
    return X.grad(loss), [params, words, X.nn.one_hot(jnp.arange(32) % 4, 4)]


@program
def ray_tracer(X, draw):
    jnp = X.numpy

    def run(centres, radii, colours):
        at = jnp.linspace(-1.0, 1.0, 64)
        x, y = jnp.meshgrid(at, at)
        rays = jnp.stack([x, y, jnp.ones_like(x)], -1)
        rays = rays / jnp.linalg.norm(rays, axis=-1, keepdims=True)
        along = jnp.einsum("ijk,sk->ijs", rays, centres)
        under = along**2 - (centres**2).sum(-1) + radii**2
        depth = jnp.where(under > 0, along - jnp.sqrt(jnp.maximum(under, 0)), jnp.inf)
        nearest = depth.argmin(-1)
        hit = rays * depth.min(-1, keepdims=True)
        normal = (hit - centres[nearest]) / radii[nearest][..., None]
        light = jnp.clip(normal @ jnp.array([0.5, 0.7, -0.5]), 0.1, 1.0)
        is_hit = jnp.isfinite(depth.min(-1))[..., None]
        return jnp.where(is_hit, colours[nearest] * light[..., None], 0.2)

    centres = draw(10, 3) + jnp.array([0.0, 0.0, 5.0])
    return run, [centres, jnp.abs(draw(10)) + 0.1, jnp.abs(draw(10, 3))]


@program
def beam_search(X, draw):
    jnp = X.numpy

    def run(moves):
        def step(state, _):
            scores, last = state
            joined = (scores[:, None] + X.nn.log_softmax(moves)[last]).reshape(-1)
            scores, best = X.lax.top_k(joined, 4)
            parent, token = best // 50, best % 50
            return (scores, token), (parent, token)

        start = jnp.array([0.0, -1e9, -1e9, -1e9]), jnp.zeros(4, jnp.int32)
        return X.lax.scan(step, start, None, length=30)[1]

    return run, [draw(50, 50)]


@program
def replayed_q_learning(X, draw):
    jnp = X.numpy

    def run(key, params, states, actions, rewards, following):
        def values(params, x):
            return jnp.tanh(x @ params[0]) @ params[1]

        def loss(params, at):
            target = rewards[at] + 0.9 * values(params, following[at]).max(1)
            taken = jnp.take_along_axis(values(params, states[at]), actions[at, None], 1)[:, 0]
            return ((taken - X.lax.stop_gradient(target)) ** 2).mean()

        at = X.random.choice(key, states.shape[0], (32,))
        return X.tree.map(lambda p, g: p - 0.1 * g, params, X.grad(loss)(params, at))

    params = draw(8, 64) / 3, draw(64, 4) / 8
    actions = (jnp.abs(draw(1000)) * 1e4).astype(jnp.int32) % 4
    return run, [X.random.key(5), params, draw(1000, 8), actions, draw(1000), draw(1000, 8)]


@program
def bouncing_ball(X, draw):
    """An ODE with an event: the ball is thrown back until it has hardly any speed."""
    jnp = X.numpy

    def run(height):
        def fall(state):
            x, v, hits, steps = state
            v = v - 0.01 * 9.81
            x = x + 0.01 * v
            is_hit = (x < 0) & (v < 0)
            v = jnp.where(is_hit, -0.8 * v, v)
            return jnp.abs(x), v, hits + is_hit, steps + 1

        def goes_on(state):
            return (state[2] < 10) & (state[3] < 2000)

        return X.lax.while_loop(goes_on, fall, (height, 0.0, 0, 0))

    return run, [jnp.float32(2)]


@program
def fit_by_newton(X, draw):
    jnp = X.numpy

    def run(x, y):
        def loss(w):
            logits = x @ w
            return (jnp.logaddexp(0.0, logits) - y * logits).mean() + 0.01 * (w**2).sum()

        def step(w, _):
            return w - jnp.linalg.solve(X.hessian(loss)(w), X.grad(loss)(w)), None

        return X.lax.scan(step, jnp.zeros(x.shape[1]), None, length=8)[0]

    x = draw(300, 6)
    return run, [x, (x[:, 0] > 0).astype(jnp.float32)]
