"""Filters, controllers, optimisers, games: classes as textbooks have them."""

import math


class KalmanFilter:
    def __init__(self, x=0.0, p=1.0, q=0.1, r=0.5):
        self.x, self.p, self.q, self.r = x, p, q, r

    def predict(self, u=0):
        self.x = self.x + u
        self.p = self.p + self.q

    def update(self, z):
        gain = self.p / (self.p + self.r)
        self.x = self.x + gain * (z - self.x)
        self.p = (1 - gain) * self.p
        return self.x


class AlphaBetaFilter:
    def __init__(self, alpha, beta, dt=1):
        self.alpha, self.beta, self.dt, self.x, self.v = alpha, beta, dt, 0, 0

    def update(self, z):
        self.x += self.v * self.dt
        residual = z - self.x
        self.x += self.alpha * residual
        self.v += self.beta / self.dt * residual
        return self.x, self.v


class PID:
    def __init__(self, kp, ki, kd, limit=None):
        self.kp, self.ki, self.kd, self.limit = kp, ki, kd, limit
        self.integral, self.last = 0, None

    def step(self, error, dt=0.1):
        self.integral += error * dt
        slope = 0 if self.last is None else (error - self.last) / dt
        self.last = error
        out = self.kp * error + self.ki * self.integral + self.kd * slope
        if self.limit is not None:
            out = max(-self.limit, min(self.limit, out))
        return out


class Welford:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def add(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)

    def variance(self):
        if self.n < 2:
            raise ValueError("variance requires at least two values", self.n)
        return self.m2 / (self.n - 1)


class MovingAverage:
    def __init__(self, width):
        self.width, self.window, self.sum = width, [], 0

    def add(self, x):
        self.window.append(x)
        self.sum += x
        if len(self.window) > self.width:
            self.sum -= self.window.pop(0)
        return self.sum / len(self.window)


class ExponentialAverage:
    def __init__(self, decay):
        self.decay, self.value, self.steps = decay, None, 0

    def add(self, x):
        self.steps += 1
        self.value = x if self.value is None else self.decay * self.value + (1 - self.decay) * x
        return self.value / (1 - self.decay**self.steps)


class RunningMedian:
    def __init__(self):
        self.values = []

    def add(self, x):
        at = 0
        while at < len(self.values) and self.values[at] < x:
            at += 1
        self.values.insert(at, x)
        return self.values[len(self.values) // 2]


class SGD:
    def __init__(self, rate=0.1, momentum=0.9):
        self.rate, self.momentum, self.velocity = rate, momentum, {}

    def step(self, params, grads):
        for name, grad in grads.items():
            v = self.momentum * self.velocity.get(name, 0) - self.rate * grad
            self.velocity[name] = v
            params[name] = params[name] + v
        return params


class Adam:
    def __init__(self, rate=0.01, b1=0.9, b2=0.999, eps=1e-8):
        self.rate, self.b1, self.b2, self.eps, self.t = rate, b1, b2, eps, 0
        self.m, self.v = 0.0, 0.0

    def step(self, w, g):
        self.t += 1
        self.m = self.b1 * self.m + (1 - self.b1) * g
        self.v = self.b2 * self.v + (1 - self.b2) * g * g
        m, v = self.m / (1 - self.b1**self.t), self.v / (1 - self.b2**self.t)
        return w - self.rate * m / (v**0.5 + self.eps)


class Scheduler:
    def __init__(self, rate, warmup, total):
        self.rate, self.warmup, self.total, self.step_count = rate, warmup, total, 0

    def step(self):
        self.step_count += 1
        if self.step_count <= self.warmup:
            return self.rate * self.step_count / self.warmup
        done = (self.step_count - self.warmup) / (self.total - self.warmup)
        return self.rate * 0.5 * (1 + math.cos(math.pi * min(done, 1)))


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.waited, self.stopped = patience, math.inf, 0, False

    def __call__(self, loss):
        if loss < self.best:
            self.best, self.waited = loss, 0
        else:
            self.waited += 1
            self.stopped = self.waited >= self.patience
        return self.stopped


class Neuron:
    def __init__(self, weights, bias=0):
        self.weights, self.bias = list(weights), bias

    def forward(self, xs):
        return math.tanh(sum(w * x for w, x in zip(self.weights, xs, strict=True)) + self.bias)

    def train(self, xs, y, rate=0.1):
        out = self.forward(xs)
        delta = (y - out) * (1 - out**2)
        self.weights = [w + rate * delta * x for w, x in zip(self.weights, xs, strict=True)]
        self.bias += rate * delta
        return (y - out) ** 2


class Bandit:
    def __init__(self, arms, seed=1):
        self.counts, self.values, self.seed = [0] * arms, [0.0] * arms, seed

    def choose(self, epsilon):
        self.seed = (self.seed * 1103515245 + 12345) % 2**31
        if self.seed / 2**31 < epsilon:
            return self.seed % len(self.values)
        return self.values.index(max(self.values))

    def reward(self, arm, value):
        self.counts[arm] += 1
        self.values[arm] += (value - self.values[arm]) / self.counts[arm]


class MarkovText:
    def __init__(self):
        self.table, self.state = {}, None

    def learn(self, word):
        row = self.table.setdefault(self.state, {})
        row[word] = row.get(word, 0) + 1
        self.state = word

    def likeliest(self, word):
        row = self.table.get(word)
        return max(row, key=row.get) if row else None

    def probability(self, a, b):
        row = self.table[a]
        return row[b] / sum(row.values())


class QLearner:
    def __init__(self, rate=0.5, discount=0.9):
        self.q, self.rate, self.discount = {}, rate, discount

    def update(self, state, action, reward, following):
        best = max((v for (s, _), v in self.q.items() if s == following), default=0)
        old = self.q.get((state, action), 0)
        self.q[state, action] = old + self.rate * (reward + self.discount * best - old)
        return self.q[state, action]


class LinearCongruential:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (6364136223846793005 * self.state + 1442695040888963407) % 2**64
        return self.state >> 33

    def uniform(self):
        return self.next() / 2**31


class GameOfLife:
    def __init__(self, cells):
        self.cells, self.generation = set(cells), 0

    def step(self):
        counts = {}
        for x, y in self.cells:
            for dx in (-1, 0, 1):
                for dy in (-1, 0, 1):
                    if dx or dy:
                        counts[x + dx, y + dy] = counts.get((x + dx, y + dy), 0) + 1
        self.cells = {c for c, n in counts.items() if n == 3 or (n == 2 and c in self.cells)}
        self.generation += 1
        return len(self.cells)


class LangtonsAnt:
    def __init__(self):
        self.x = self.y = self.heading = 0
        self.black = set()

    def step(self):
        here = (self.x, self.y)
        self.heading = (self.heading + (1 if here not in self.black else -1)) % 4
        self.black ^= {here}
        self.x += (0, 1, 0, -1)[self.heading]
        self.y += (1, 0, -1, 0)[self.heading]
        return here


class TicTacToe:
    lines = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

    def __init__(self):
        self.board, self.player = [None] * 9, "x"

    def play(self, at):
        if self.board[at] is not None:
            raise ValueError(f"{at} is taken by {self.board[at]}")
        self.board[at] = self.player
        if any(all(self.board[i] == self.player for i in line) for line in self.lines):
            return self.player
        self.player = "o" if self.player == "x" else "x"
        return None


class Particle:
    def __init__(self, x, v):
        self.x, self.v, self.path = x, v, []

    def move(self, force, dt=0.1):
        self.v = self.v + force * dt
        self.x = self.x + self.v * dt
        self.path.append(self.x)
        return self.x

    def energy(self):
        return 0.5 * self.v**2


class Pendulum:
    def __init__(self, angle, speed=0.0, length=1):
        self.angle, self.speed, self.length, self.t = angle, speed, length, 0

    def step(self, dt):
        self.speed -= 9.81 / self.length * math.sin(self.angle) * dt
        self.angle += self.speed * dt
        self.t += dt
        return self.angle


class LotkaVolterra:
    def __init__(self, prey, predators):
        self.prey, self.predators = prey, predators

    def step(self, dt=0.01, a=1.1, b=0.4, c=0.4, d=0.1):
        prey, predators = self.prey, self.predators
        self.prey = prey + dt * (a * prey - b * prey * predators)
        self.predators = predators + dt * (d * prey * predators - c * predators)
        return {"prey": self.prey, "predators": self.predators}


class Elevator:
    def __init__(self, floors):
        self.floors, self.at, self.calls, self.moved = floors, 0, [], 0

    def call(self, floor):
        if not 0 <= floor < self.floors:
            raise IndexError(floor)
        if floor not in self.calls:
            self.calls.append(floor)

    def step(self):
        if not self.calls:
            return self.at
        goal = min(self.calls, key=lambda f: abs(f - self.at))
        self.moved += abs(goal - self.at)
        self.at = goal
        self.calls.remove(goal)
        return self.at


class Cipher:
    def __init__(self, key):
        self.key, self.at = key, 0

    def encrypt(self, text):
        out = []
        for c in text:
            shift = ord(self.key[self.at % len(self.key)]) - 97
            out.append(chr((ord(c) - 97 + shift) % 26 + 97))
            self.at += 1
        return "".join(out)


class Counter:
    def __init__(self):
        self.n = 0

    def __call__(self):
        self.n += 1
        return self.n

    def reset(self):
        self.n = 0


class Timer:
    def __init__(self):
        self.laps, self.now = [], 0.0

    def advance(self, seconds):
        self.now += seconds

    def lap(self):
        self.laps.append(self.now - sum(self.laps))
        return f"lap {len(self.laps)}: {self.laps[-1]:.1f}"


class Observable:
    def __init__(self):
        self.observers, self.value = [], None

    def subscribe(self, limit):
        seen = []
        self.observers.append(lambda v: seen.append(v) if v > limit else None)
        return len(self.observers)

    def set(self, value):
        self.value = value
        for observer in self.observers:
            observer(value)


class GeneticString:
    def __init__(self, target, seed=1):
        self.target, self.random, self.best = target, LinearCongruential(seed), "a" * len(target)

    def step(self):
        i = self.random.next() % len(self.target)
        c = chr(97 + self.random.next() % 26)
        new = self.best[:i] + c + self.best[i + 1 :]
        if self.fitness(new) >= self.fitness(self.best):
            self.best = new
        return self.fitness(self.best)

    def fitness(self, text):
        return sum(a == b for a, b in zip(text, self.target, strict=True))


def calls(array):
    """Return what to call: arguments of functions, and of classes the steps."""
    v, u = array([1.0, 2.0]), array([0.5, -1.0])
    _UPDATES = [("update", 1.5), ("update", 2), ("update", 0.5), ("update", v), ("update", u)]
    _ADDS = [("add", 1), ("add", 2.5), ("add", 4), ("add", 0.5)]
    _ARRAYS = [("add", v), ("add", u), ("add", v)]
    return {
        KalmanFilter: ((), [("predict",), *_UPDATES, ("predict", 0.5), ("update", v)]),
        AlphaBetaFilter: ((0.5, 0.1), _UPDATES),
        PID: ((1, 0.5, 0.1, 2), [("step", 1.0), ("step", 0.5), ("step", 5), ("step", -1, 0.2)]),
        Welford: ((), [("add", 1), ("variance",), *_ADDS, ("variance",), *_ARRAYS, ("variance",)]),
        MovingAverage: ((2,), [*_ADDS, *_ARRAYS]),
        ExponentialAverage: ((0.9,), [*_ADDS, *_ARRAYS]),
        RunningMedian: ((), _ADDS),
        SGD: (
            (),
            [("step", {"w": 1.0, "b": 0}, {"w": 0.5, "b": 1})] * 2
            + [("step", {"w": v}, {"w": u}), ("step", {"w": v}, {"w": v})],
        ),
        Adam: ((), [("step", 1.0, 0.5), ("step", 1, 0.25), ("step", v, u), ("step", v, v)]),
        Scheduler: ((0.1, 2, 5), [("step",)] * 6),
        EarlyStopping: ((2,), [("__call__", x) for x in (1.0, 0.5, 0.7, 0.6, 0.4)]),
        Neuron: (([0.5, -0.5],), [("forward", [1, 2]), ("train", [1, 2], 1), ("train", [0.5, 1],
            0)]),
        Bandit: (
            (3,),
            [("choose", 0.5), ("reward", 1, 1.0), ("choose", 0.1), ("reward", 0, 2), ("choose",
                0.1)],
        ),
        MarkovText: (
            (),
            [*(("learn", w) for w in "abacab"), ("likeliest", "a"), ("probability", "a", "b"),
             ("probability", "z", "b")],
        ),
        QLearner: (
            (),
            [("update", 0, "up", 1, 1), ("update", 1, "up", 2.5, 0), ("update", 0, "up", 0, 1)],
        ),
        LinearCongruential: ((1,), [("next",), ("uniform",), ("next",)]),
        GameOfLife: (([(0, 1), (1, 1), (2, 1)],), [("step",)] * 3),
        LangtonsAnt: ((), [("step",)] * 5),
        TicTacToe: ((), [("play", i) for i in (0, 3, 1, 1, 4, 2)]),
        Particle: ((0, 1.0), [("move", 1), ("move", 0.5), ("energy",), ("move", v), ("energy",)]),
        Pendulum: ((0.5,), [("step", 0.1), ("step", 0.1), ("step", 0.2)]),
        LotkaVolterra: ((10, 5), [("step",), ("step", 0.02), ("step",)]),
        Elevator: ((5,), [("call", 3), ("call", 1), ("step",), ("call", 9), ("step",), ("step",)]),
        Cipher: (("key",), [("encrypt", "hello"), ("encrypt", "ab"), ("encrypt", "hello")]),
        Counter: ((), [("__call__",)] * 3 + [("reset",), ("__call__",)]),
        Timer: ((), [("advance", 1.5), ("lap",), ("advance", 2), ("lap",)]),
        Observable: ((), [("subscribe", 1), ("set", 2), ("subscribe", 0.5), ("set", 0.75)]),
        GeneticString: (("cat",), [("step",)] * 4),
    }  # fmt: skip
