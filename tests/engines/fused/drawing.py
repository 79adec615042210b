"""Random programs whose results do not depend on the order of operations.

Floats are small integers, and what grows is brought back (`Drawing.tame`), so that sums and
products are exact and results have to agree to the bit, NaNs and infinities among them. Programs
that are `smooth` use elementary functions, too, and decide nothing by their results.

    python -m tests.engines.fused.drawing --kernels 100000 --seed 20000000

compares programs with the host engine until they had so many kernels, and prints the numbers of
those that differ.
"""

import argparse
import itertools
import math
import sys
import time

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config
from evertrace._src.engines.fused.groups import Fused, divided, of_several
from evertrace._src.engines.host.engine import interpret
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.support.runtime import array, jaxpr_of, to_numpy

LENGTHS = (1, 1, 2, 3, 4, 7, 15, 16, 17, 18, 33, 64, 65, 100, 130, 300)
MOST_ELEMENTS = 6000
MORE = 1_000_000
"""Number of the first program that is drawn from all operations; those before stay as they are."""

SPECIAL = (np.nan, np.inf, -np.inf, -0.0)


class Drawing:
    """A program that is being drawn while it is traced.

    Attributes:
      rng: what it is drawn from.
      smooth: see above.
      more: whether all operations are drawn from, see `MORE`.
      depth: how many loops are around.
    """

    def __init__(self, rng, smooth, more, depth=0):
        self.rng, self.smooth, self.more, self.depth = rng, smooth, more, depth

    # ------------------------------------------------------------ choices

    def one(self, of):
        """Return one of several things."""
        return of[int(self.rng.integers(len(of)))]

    def below(self, n):
        """Return a number."""
        return int(self.rng.integers(n))

    def kind(self, x):
        """Return the kind of an array's dtype."""
        kind = np.dtype(x.dtype).kind
        return "f" if kind == "V" else kind  # bfloat16

    def tame(self, x):
        """Return what grows brought back to small numbers."""
        kind = self.kind(x)
        if kind == "b":
            return x
        if kind != "f":
            return x & 15
        if self.smooth:
            return jnp.tanh(x)
        whole = jnp.floor(x)
        return whole - 16 * jnp.floor(whole / 16) - 8

    def number(self, x):
        """Return an array as one of a float dtype, or of integers; not booleans."""
        return x.astype(np.int32) if self.kind(x) == "b" else x

    # ------------------------------------------------------------ operations

    def step(self, pool):
        """Return the results of a random operation on random values."""
        names = ["unary"] * 3 + ["binary"] * 4 + ["moved"] * 2 + ["chosen"]
        if not self.depth:
            names += ["reduced"] * 3 + ["paired", "product", "loop", "loop", "put"]
        elif self.depth < 2:
            names += ["loop", "reduced", "product"]
        return getattr(self, self.one(names))(pool)

    def unary(self, pool):
        x = self.one(pool)
        if self.kind(x) == "b":
            return [self.one([jnp.logical_not, lambda x: x.astype(np.float32)])(x)]
        if self.kind(x) == "f":
            exact = [jnp.negative, jnp.abs, jnp.square, lambda x: x * 2 + 1, jnp.copy]
            steps = [jnp.floor, jnp.sign, jnp.ceil, jnp.round, jnp.trunc, lambda x: x > 1]
            steps += [jnp.isfinite, lambda x: jnp.clip(x, -3, 5), lambda x: x.astype(np.int32)]
            curves = [jnp.tanh, jnp.sin, jnp.cos, lambda x: jnp.exp(-jnp.abs(x))]
            curves += [lambda x: jnp.log(jnp.abs(x) + 1), lambda x: jnp.sqrt(x * x + 1)]
            curves += [lambda x: 1 / (2 + x * x), jnp.expm1, lambda x: jnp.log1p(x * x)]
            if self.more:
                curves += [lambda x: jnp.tan(x / 2), jnp.sinh, jnp.cosh, jnp.cbrt, lax.erf]
                curves += [lambda x: (1 + x * x) ** 0.3]
                curves += [lambda x: lax.erf_inv(x / 2), jnp.arcsinh]
                steps += [lambda x: lax.bitcast_convert_type(x, f"i{x.dtype.itemsize}") & 15]
                steps += [lambda x: x.astype(self.one([np.float16, jnp.bfloat16])) * 3]
            return [self.tame(self.one(exact + (curves if self.smooth else steps))(x))]
        of = [jnp.negative, jnp.abs, jnp.square, jnp.bitwise_not, lambda x: x // 3]
        of += [lambda x: x % 5, lambda x: x << 2, lambda x: x >> 1, lambda x: x == 3]
        of += [jnp.sign, lambda x: x.astype(np.float32), lambda x: x.astype(np.int8)]
        if self.more:
            of += [lax.clz, lambda x: lax.mulhi(x << 24, x), lambda x: x.astype(jnp.bfloat16)]
        return [self.tame(self.one(of)(x))]

    def fitting(self, pool):
        """Return two values whose shapes go together."""
        x = self.one(pool)
        for _ in range(8):
            y = self.one(pool)
            try:
                shape = np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                continue
            if math.prod(shape) <= MOST_ELEMENTS:
                return x, y
        return x, x

    def binary(self, pool):
        x, y = self.fitting(pool)
        if self.below(3) == 0:
            which = self.one(pool)
            if which.shape == x.shape and self.kind(which) == "b":
                return [jnp.where(which, self.number(x), self.number(y))]
        if self.kind(x) == "b" and self.kind(y) == "b":
            return [self.one([jnp.logical_and, jnp.logical_or, jnp.not_equal])(x, y)]
        x, y = self.number(x), self.number(y)
        of = [jnp.add, jnp.subtract, jnp.multiply, lambda x, y: x + y * 2]
        if not (self.smooth and "f" in (self.kind(x), self.kind(y))):
            of += [jnp.maximum, jnp.minimum, jnp.less, jnp.equal]
            of += [lambda x, y: jnp.where(x > y, x, y + 1)]
        if self.kind(x) == self.kind(y) == "i":
            of += [lambda x, y: x // y, lambda x, y: x % y, jnp.bitwise_xor]
        return [self.tame(self.one(of)(x, y))]

    def moved(self, pool):
        x = self.one(pool)
        if not x.ndim:
            return [x[None]]
        d = self.below(x.ndim)
        n = x.shape[d]
        of = [
            lambda: jnp.transpose(x, self.rng.permutation(x.ndim)),
            lambda: jnp.flip(x, d),
            lambda: lax.slice_in_dim(x, self.below(n), n, 1 + self.below(3), axis=d),
            lambda: jnp.expand_dims(x, self.below(x.ndim + 1)) if x.ndim < 4 else x,
            lambda: jnp.squeeze(x),
            lambda: x + lax.broadcasted_iota(np.int32, x.shape, d) % 7 if x.dtype != bool else x,
        ]
        if not self.depth or x.size < 20:
            of += self.far(x, d)
        return [self.one(of)()]

    def chosen(self, pool):
        """Return elements at places that are computed."""
        x, indices = self.one(pool), [y for y in pool if self.kind(y) == "i"]
        if not (x.ndim and indices):
            return self.moved(pool)
        d, places = self.below(x.ndim), self.one(indices) - self.below(4)
        size = 1 + self.below(x.shape[d])
        of = [lambda: lax.dynamic_slice_in_dim(x, jnp.sum(places), size, d)]
        if not self.depth:
            of.append(lambda: lax.dynamic_slice_in_dim(x, places.reshape(-1)[0], size, d))
        if places.size * x.size // x.shape[d] <= MOST_ELEMENTS:
            mode = self.one(["clip", "fill", "wrap"])
            of += [lambda: self.tame(jnp.take(x, places, d, mode=mode))] * 3
        if x.ndim == places.ndim > 1 and x.shape[1:] == places.shape[1:]:
            of += [lambda: self.tame(jnp.take_along_axis(x, places, 0, mode="clip"))] * 3
        return [self.one(of)()]

    def put(self, pool):
        """Return an array into which updates are put at places that are computed."""
        x, indices = self.number(self.one(pool)), [y for y in pool if self.kind(y) == "i"]
        alike = [y for y in pool if self.kind(y) == self.kind(x)]
        if not (x.ndim and indices):
            return self.moved(pool)
        places, mode = self.one(indices) - self.below(4), self.one(["clip", "drop", None])
        updates = self.one([y for y in alike if y.shape == places.shape] + [x.reshape(-1)[0]])
        updates = updates.astype(x.dtype)
        if updates.ndim < places.ndim or x.ndim > 1:
            updates = updates.reshape(-1)[0] if places.size * x.size <= MOST_ELEMENTS else None
        if updates is None:
            return [x]
        of = [x.at[places].add, x.at[places].subtract, x.at[places].add]
        d = self.below(x.shape[0])
        of += [x.at[d:].add] if not updates.ndim else [x.at[places].set]
        return [self.tame(self.one(of)(updates, mode=mode))]

    def far(self, x, d):
        """Return what moves elements to where a loop over the old places does not find them."""
        n, y = x.shape[d], self.number(x)
        rows = [y, jnp.flip(y, d), lax.slice_in_dim(y, 0, 1 + self.below(n), axis=d)]
        width = [(self.below(3), self.below(3)) for _ in range(x.ndim)]
        places = jnp.asarray(self.rng.integers(-2, n + 2, size=1 + self.below(20)), np.int32)
        return [
            lambda: jnp.reshape(x, -1),
            lambda: jnp.reshape(x, _other_shape(self.rng, x.size)),
            lambda: jnp.concatenate(rows[: 2 + self.below(2)], d),
            lambda: jnp.pad(y, width),
            lambda: self.tame(jnp.cumsum(y, d)),
            lambda: jnp.take(x, places, axis=d, mode="clip"),
            lambda: jnp.roll(x, self.below(n + 1), d),
            lambda: lax.dynamic_slice_in_dim(x, places[0], 1 + n // 2, d),
            *([lambda: self.tame(self.running(y, d))] * 3 if self.more else []),
        ]

    def running(self, y, d):
        """Return sums, products or extremes of what comes before or after; all stay exact."""
        reverse = bool(self.below(2))
        if self.below(3) == 0:
            return lax.cumsum(y, d, reverse=reverse)
        if self.below(2) and not self.smooth:
            return lax.cumprod(jnp.sign(y), d, reverse=reverse)
        if self.smooth and self.kind(y) == "f":
            return lax.cumlogsumexp(y, d, reverse=reverse)
        return self.one([lax.cummax, lax.cummin])(y, d, reverse=reverse)

    def windowed(self, x):
        """Return sums or extremes of windows."""
        size = [1 + self.below(min(n, 5)) for n in x.shape]
        strides = [1 + self.below(3) for _ in x.shape]
        limits = (-np.inf, np.inf)
        if self.kind(x) != "f":
            limits = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        init, join = self.one([(0, lax.add), (limits[0], lax.max), (limits[1], lax.min)])
        return lax.reduce_window(x, np.asarray(init, x.dtype), join, size, strides, "VALID")

    def reduced(self, pool):
        x = self.one(pool)
        if not x.ndim:
            return [x]
        if self.more and self.kind(x) != "b" and self.below(4) == 0:
            return [self.tame(self.windowed(x))]
        axes = tuple(d for d in range(x.ndim) if self.below(2)) or (self.below(x.ndim),)
        keep = bool(self.below(2))
        if self.kind(x) == "b":
            return [self.one([jnp.any, jnp.all])(x, axis=axes, keepdims=keep)]
        if self.below(4) == 0 and not (self.smooth and self.kind(x) == "f"):
            return [self.one([jnp.argmax, jnp.argmin])(x, axis=axes[0], keepdims=keep)]
        total = self.one([jnp.sum, jnp.max, jnp.min])
        return [self.tame(total(x, axis=axes, keepdims=keep))]

    def paired(self, pool):
        x, y = self.one(pool), self.one(pool)
        if x.ndim > 2 or y.ndim > 2 or x.size * y.size > MOST_ELEMENTS:
            return [x]
        x = x.reshape(*x.shape, *[1] * y.ndim) if x.ndim < 2 else x[:, :, None]
        y = y if y.ndim < 2 or x.ndim < 3 else y[0]
        return self.binary([x, self.number(y)])

    def product(self, pool):
        x = self.number(self.one(pool))
        if x.ndim != 2:
            return [x]
        others = [y for y in pool if y.ndim and y.shape[0] == x.shape[1] and y.ndim < 3]
        y = self.number(self.one(others)) if others else x.T
        return [self.tame(x @ y)]

    # ------------------------------------------------------------ loops

    def loop(self, pool):
        x = self.number(self.one(pool))
        alike = [y for y in pool if y.shape == x.shape and self.kind(y) != "b"]
        carry = [x, *[self.one(alike) for _ in range(self.below(3)) if alike]]
        consts = [y for y in pool if y.shape in ((), x.shape)]
        of = [self._counted, self._counted, self._scanned]
        if x.ndim:
            of.append(self._asked)
        return self.one(of)(carry, consts)

    def _turn(self, carry, others):
        """Return the next values of carries."""
        inner = Drawing(self.rng, self.smooth, self.more, self.depth + 1)
        pool = [*carry, *carry, *others]
        for _ in range(1 + self.below(4)):
            pool += inner.step(pool)
        nexts = []
        for x in carry:
            alike = [y for y in pool[::-1] if y.shape == x.shape]
            nexts.append(self.tame(self.one(alike[:4])).astype(x.dtype))
        return nexts

    def _counted(self, carry, consts):
        def turn(i, state):
            return self._turn(list(state), [*consts[:3], i])

        return list(lax.fori_loop(0, self.below(9), turn, carry))

    def _scanned(self, carry, consts):
        x = carry[0]
        n = 1 + self.below(6)
        rows = jnp.stack([self.tame(x * k) for k in range(n)])
        collects = bool(self.below(2))

        def turn(state, row):
            nexts = self._turn(list(state), [row, *consts[:2]])
            return nexts, (self.tame(nexts[0] + row) if collects else None)

        carry, rows = lax.scan(turn, carry, rows, reverse=bool(self.below(2)))
        return [*carry, *([rows] if collects else [])]

    def _asked(self, carry, _):
        """Loop until something holds, element by element."""
        shape, limit = carry[0].shape, self.below(30)

        def turn(state):
            count, *state = state
            return [count + 1, *self._turn(state, [])]

        def goes_on(state):
            count, x, *_ = state
            return (count < 6) & (jnp.abs(x) < limit)

        def whole(*state):
            return lax.while_loop(goes_on, turn, [0, *state])

        function = whole
        for _ in shape:
            function = ev.vmap(function)
        return list(function(*carry))


def _other_shape(rng, size):
    """Return a shape of so many elements."""
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    first = int(divisors[rng.integers(len(divisors))])
    return (first, size // first)


def program(seed):
    """Return a function and its operands."""
    rng = np.random.default_rng(seed)
    smooth = bool(rng.integers(3) == 0)
    sizes = [int(LENGTHS[i]) for i in rng.integers(len(LENGTHS), size=3)]
    while math.prod(sizes) > MOST_ELEMENTS:
        sizes[sizes.index(max(sizes))] //= 2
    dtype = np.float64 if rng.integers(4) == 0 else np.float32
    shapes = [tuple(s) for n in range(4) for s in itertools.combinations(sizes, n)]
    args = []
    for _ in range(1 + int(rng.integers(4))):
        shape = shapes[int(rng.integers(len(shapes)))]
        x = rng.integers(-8, 9, size=shape)
        kind = rng.integers(4)
        x = x.astype(np.int32) if kind == 0 else x > 0 if kind == 1 else x.astype(dtype)
        if kind == 3 and seed >= MORE and not smooth:
            x = x.astype([np.float16, jnp.bfloat16, dtype][rng.integers(3)])
        if kind > 1 and not smooth and rng.integers(4) == 0 and x.size:
            x.reshape(-1)[rng.integers(x.size)] = SPECIAL[rng.integers(len(SPECIAL))]
        args.append(x)
    count, later = 2 + int(rng.integers(7)), int(rng.integers(2**32))

    def fun(*xs):
        draw = Drawing(np.random.default_rng(later), smooth, seed >= MORE)
        pool = list(xs)
        for _ in range(count):
            pool += [x for x in draw.step(pool) if x.size <= MOST_ELEMENTS]
        return pool[len(xs) :][-4:] or pool

    return fun, args, smooth


def difference(seed):
    """Return how the fused engine differs from the host engine, or None, and its kernels."""
    fun, args, smooth = program(seed)
    with ev.enable_x64(), config.override(native_kernels=False):
        args = [array(x) for x in args]
        jaxpr, captured = jaxpr_of(fun, *args)
        args = [*captured, *args]
        wants = [to_numpy(x) for x in interpret(jaxpr, (), args)]
    made = compile_jaxpr(jaxpr, is_wanted=True, fuses=1)
    if made.tape is None:
        return None, 0
    count = made.tape.counts()["functions"]
    if not count and any(type(part) is Fused for part in divided(jaxpr, of_several(1)).parts):
        return f"program {seed}: a kernel could not be compiled", 0
    for n, (got, want) in enumerate(zip(made.tape.run(args), wants, strict=True)):
        found = _unlike(to_numpy(got), want, smooth)
        if found:
            return f"program {seed}, result {n} of {want.dtype}{want.shape}: {found}", 0
    return None, count


def _unlike(got, want, smooth):
    """Return how two arrays differ, or nothing."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}"
    if smooth and want.dtype.kind == "f":
        eps = np.finfo(want.dtype).eps
        same = np.isclose(got, want, rtol=0, atol=2000 * eps, equal_nan=True)
    else:
        same = (got == want) | ((got != got) & (want != want))
    if same.all():
        return ""
    wrong = np.argwhere(~same)
    first = tuple(wrong[0])
    return f"{len(wrong)} of {want.size} differ, at {first}: {got[first]}, not {want[first]}"


def main():
    """Compare programs; returns the exit status, 1 where one differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=MORE)
    parser.add_argument("--count", type=float, default=math.inf, help="of programs")
    parser.add_argument("--kernels", type=float, default=math.inf, help="how many are enough")
    args = parser.parse_args()
    end, kernels, programs, wrong = time.monotonic() + args.seconds, 0, 0, 0
    while time.monotonic() < end and programs < args.count and kernels < args.kernels:
        seed = args.seed + programs
        try:
            found, made = difference(seed)
        except Exception as error:  # reported as well
            found, made = f"program {seed}: {type(error).__name__}: {error}"[:400], 0
        if found:
            print(found, flush=True)
        kernels, programs, wrong = kernels + made, programs + 1, wrong + bool(found)
    print(f"{programs} programs, {kernels} kernels, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
