"""Numerical methods as textbooks have them: by operators, so that numbers and arrays work."""

import cmath
import math


def newton(f, df, x, steps=6):
    for _ in range(steps):
        x = x - f(x) / df(x)
    return x


def bisection(f, low, high, tolerance=1e-3):
    if f(low) * f(high) > 0:
        raise ValueError(f"no change of sign between {low} and {high}")
    while high - low > tolerance:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def secant(f, a, b, steps=5):
    for _ in range(steps):
        fa, fb = f(a), f(b)
        if fa == fb:
            break
        a, b = b, b - fb * (b - a) / (fb - fa)
    return b


def regula_falsi(f, a, b, steps=20):
    for _ in range(steps):
        c = (a * f(b) - b * f(a)) / (f(b) - f(a))
        if f(c) == 0:
            return c
        if f(a) * f(c) < 0:
            b = c
        else:
            a = c
    return c


def golden_section(f, a, b, steps=20):
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(steps):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        if f(c) < f(d):
            b = d
        else:
            a = c
    return (a + b) / 2


def fixed_point(f, x, tolerance=1e-6):
    count = 0
    while True:
        y = f(x)
        count += 1
        if abs(y - x) < tolerance:
            return y, count
        x = y


def trapezoid(f, a, b, n):
    h = (b - a) / n
    return h * (f(a) / 2 + sum(f(a + i * h) for i in range(1, n)) + f(b) / 2)


def simpson(f, a, b, n):
    h = (b - a) / n
    total = f(a) + f(b)
    for i in range(1, n):
        total = total + f(a + i * h) * (4 if i % 2 else 2)
    return total * h / 3


def romberg(f, a, b, levels):
    table = [[trapezoid(f, a, b, 1)]]
    for i in range(1, levels):
        row = [trapezoid(f, a, b, 2**i)]
        for j in range(i):
            row.append(row[j] + (row[j] - table[-1][j]) / (4 ** (j + 1) - 1))
        table.append(row)
    return table[-1][-1]


def derivative(f, x, h=0.0625):
    return (f(x + h) - f(x - h)) / (2 * h)


def euler(f, y, t, h, steps):
    path = [y]
    for _ in range(steps):
        y = y + h * f(t, y)
        t = t + h
        path.append(y)
    return path


def heun(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h, y + h * k1)
    return y + h * (k1 + k2) / 2


def runge_kutta(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def leapfrog(force, x, v, h, steps):
    for _ in range(steps):
        v = v + h / 2 * force(x)
        x = x + h * v
        v = v + h / 2 * force(x)
    return x, v


def horner(coefficients, x):
    result = 0
    for c in coefficients:
        result = result * x + c
    return result


def lagrange(points, x):
    total = 0
    for i, (xi, yi) in enumerate(points):
        term = yi
        for j, (xj, _) in enumerate(points):
            if i != j:
                term = term * (x - xj) / (xi - xj)
        total = total + term
    return total


def newton_interpolation(points, x):
    xs = [p[0] for p in points]
    table = [p[1] for p in points]
    for order in range(1, len(points)):
        for i in range(len(points) - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (xs[i] - xs[i - order])
    result = table[-1]
    for i in range(len(points) - 2, -1, -1):
        result = result * (x - xs[i]) + table[i]
    return result


def linear_regression(xs, ys):
    n = len(xs)
    mx, my = sum(xs) / n, sum(ys) / n
    top = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    slope = top / sum((x - mx) ** 2 for x in xs)
    return {"slope": slope, "intercept": my - slope * mx}


def pearson(xs, ys):
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    sxx, syy = sum((x - mx) ** 2 for x in xs), sum((y - my) ** 2 for y in ys)
    return sxy / math.sqrt(sxx * syy)


def matrix_product(a, b):
    return [[sum(x * y for x, y in zip(row, col, strict=True)) for col in zip(*b, strict=True)]
            for row in a]  # fmt: skip


def transpose(a):
    return [list(row) for row in zip(*a, strict=True)]


def identity(n):
    return [[int(i == j) for j in range(n)] for i in range(n)]


def determinant(a):
    if len(a) == 1:
        return a[0][0]
    return sum(
        (-1) ** j * a[0][j] * determinant([row[:j] + row[j + 1 :] for row in a[1:]])
        for j in range(len(a))
    )


def gauss(a, b):
    n = len(a)
    a = [[*row, y] for row, y in zip(a, b, strict=True)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        if a[pivot][i] == 0:
            raise ZeroDivisionError("the matrix is singular")
        a[i], a[pivot] = a[pivot], a[i]
        for r in range(i + 1, n):
            factor = a[r][i] / a[i][i]
            a[r] = [x - factor * y for x, y in zip(a[r], a[i], strict=True)]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return x


def lu(a):
    n = len(a)
    lower, upper = identity(n), [list(row) for row in a]
    for i in range(n):
        for r in range(i + 1, n):
            lower[r][i] = upper[r][i] / upper[i][i]
            for c in range(i, n):
                upper[r][c] -= lower[r][i] * upper[i][c]
    return lower, upper


def cholesky(a):
    n = len(a)
    lower = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = math.sqrt(rest) if i == j else rest / lower[j][j]
    return lower


def gram_schmidt(vectors):
    basis = []
    for v in vectors:
        for b in basis:
            dot = sum(x * y for x, y in zip(v, b, strict=True))
            v = [x - dot * y for x, y in zip(v, b, strict=True)]
        norm = math.sqrt(sum(x * x for x in v))
        basis.append([x / norm for x in v])
    return basis


def jacobi(a, b, steps):
    x = [0.0] * len(b)
    for _ in range(steps):
        x = [
            (b[i] - sum(a[i][j] * x[j] for j in range(len(b)) if j != i)) / a[i][i]
            for i in range(len(b))
        ]
    return x


def gauss_seidel(a, b, steps):
    x = [0.0] * len(b)
    for _ in range(steps):
        for i in range(len(b)):
            others = sum(a[i][j] * x[j] for j in range(len(b)) if j != i)
            x[i] = (b[i] - others) / a[i][i]
    return x


def power_iteration(a, steps):
    v = [1.0] * len(a)
    for _ in range(steps):
        w = [sum(x * y for x, y in zip(row, v, strict=True)) for row in a]
        norm = max(abs(x) for x in w)
        v = [x / norm for x in w]
    return norm, v


def conjugate_gradient(a, b, x, steps):
    r = b - a @ x
    p = r
    for _ in range(steps):
        ap = a @ p
        alpha = (r @ r) / (p @ ap)
        x = x + alpha * p
        new = r - alpha * ap
        p = new + (new @ new) / (r @ r) * p
        r = new
    return x


def gradient_descent(df, x, rate, steps):
    path = []
    for i in range(steps):
        x = x - rate / (1 + 0.1 * i) * df(x)
        path.append(x)
    return x, len(path)


def simplex(c, a, b):
    """Maximise ``c x`` under ``a x <= b`` and ``x >= 0``, by tableau."""
    m = len(a)
    rows = [[*row, *(int(i == j) for j in range(m)), b[i]] for i, row in enumerate(a)]
    cost = [-x for x in c] + [0] * (m + 1)
    while min(cost[:-1]) < 0:
        column = cost.index(min(cost[:-1]))
        ratios = [(row[-1] / row[column], i) for i, row in enumerate(rows) if row[column] > 0]
        if not ratios:
            raise ArithmeticError("unbounded")
        _, pivot = min(ratios)
        rows[pivot] = [x / rows[pivot][column] for x in rows[pivot]]
        for i in range(m):
            if i != pivot:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[pivot], strict=True)]
        factor = cost[column]
        cost = [x - factor * y for x, y in zip(cost, rows[pivot], strict=True)]
    return cost[-1]


def nelder_mead_step(f, points):
    points = sorted(points, key=f)
    best, worst = points[0], points[-1]
    centre = [sum(x) / (len(points) - 1) for x in zip(*points[:-1], strict=True)]
    reflected = [2 * c - w for c, w in zip(centre, worst, strict=True)]
    if f(reflected) < f(best):
        points[-1] = reflected
    else:
        points[-1] = [(c + w) / 2 for c, w in zip(centre, worst, strict=True)]
    return points


def fft(x):
    n = len(x)
    if n == 1:
        return list(x)
    even, odd = fft(x[::2]), fft(x[1::2])
    twiddled = [cmath.exp(-2j * cmath.pi * k / n) * odd[k] for k in range(n // 2)]
    return [e + t for e, t in zip(even, twiddled, strict=True)] + [
        e - t for e, t in zip(even, twiddled, strict=True)
    ]


def dft_power(x):
    return [abs(v) ** 2 for v in fft(x)]


def convolve(a, b):
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def softmax(xs):
    top = max(xs)
    exps = [math.exp(x - top) for x in xs]
    return [e / sum(exps) for e in exps]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def relu(x):
    return x * (x > 0)


def cross_entropy(p, q):
    return -sum(a * math.log(b) for a, b in zip(p, q, strict=True) if a)


def perceptron(weights, bias, samples, rate):
    errors = 0
    for x, y in samples:
        guess = 1 if sum(w * v for w, v in zip(weights, x, strict=True)) + bias > 0 else 0
        if guess != y:
            errors += 1
            bias += rate * (y - guess)
            for i, v in enumerate(x):
                weights[i] += rate * (y - guess) * v
    return bias, errors


def k_means(points, centres, steps):
    for _ in range(steps):
        groups = [[] for _ in centres]
        for p in points:
            distances = [sum((a - b) ** 2 for a, b in zip(p, c, strict=True)) for c in centres]
            groups[distances.index(min(distances))].append(p)
        centres = [
            tuple(sum(v) / len(g) for v in zip(*g, strict=True)) if g else c
            for g, c in zip(groups, centres, strict=True)
        ]
    return centres


def nearest_neighbour(points, labels, x):
    distances = [math.dist(p, x) for p in points]
    return labels[distances.index(min(distances))]


def page_rank(links, damping=0.85, steps=10):
    rank = dict.fromkeys(links, 1 / len(links))
    for _ in range(steps):
        new = dict.fromkeys(links, (1 - damping) / len(links))
        for page, targets in links.items():
            for target in targets:
                new[target] += damping * rank[page] / len(targets)
        rank = new
    return rank


def markov_step(matrix, p):
    return p @ matrix


def stationary(matrix, steps):
    p = [1 / len(matrix)] * len(matrix)
    for _ in range(steps):
        p = [sum(p[i] * matrix[i][j] for i in range(len(p))) for j in range(len(p))]
    return p


def mandelbrot(c, limit):
    z = 0
    for i in range(limit):
        if abs(z) > 2:
            return i
        z = z * z + c
    return limit


def logistic_map(r, x, steps):
    orbit = []
    for _ in range(steps):
        x = r * x * (1 - x)
        orbit.append(round(x, 6))
    return orbit


def lorenz(state, h):
    x, y, z = state
    return (x + h * 10 * (y - x), y + h * (x * (28 - z) - y), z + h * (x * y - 8 / 3 * z))


def compound_interest(principal, rate, years):
    for year in range(years):
        principal += principal * rate / 100
        if principal > 1e6:
            return year, principal
    return years, principal


def black_scholes(s, k, t, r, sigma):
    d1 = (math.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    phi = lambda x: (1 + math.erf(x / math.sqrt(2))) / 2  # noqa: E731
    return s * phi(d1) - k * math.exp(-r * t) * phi(d2)


def haversine(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(math.radians, (lat1, lon1, lat2, lon2))
    a = math.sin((lat2 - lat1) / 2) ** 2
    a += math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 6371 * 2 * math.asin(math.sqrt(a))


def exponential_smoothing(xs, alpha):
    smooth = xs[0]
    out = []
    for x in xs:
        smooth = alpha * x + (1 - alpha) * smooth
        out.append(smooth)
    return out


def shoelace(points):
    area = 0
    for (x1, y1), (x2, y2) in zip(points, points[1:] + points[:1], strict=True):
        area += x1 * y2 - x2 * y1
    return abs(area) / 2


def convex_hull(points):
    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    points, hull = sorted(points), []
    for p in points:
        while len(hull) >= 2 and cross(hull[-2], hull[-1], p) <= 0:
            hull.pop()
        hull.append(p)
    return hull


def square(x):
    return x * x - 2


def double(x):
    return 2 * x


def decay(t, y):
    return -0.5 * y + t


def calls(array):
    """Return what to call: arguments of functions, and of classes the steps."""
    v, m = array([1.0, 2.0]), array([[4.0, 1.0], [1.0, 3.0]])
    _A, _B = [[4, 1.0], [2, 3]], [1, 2.5]
    _XS, _YS = [1, 2, 3, 4.5], [2, 4.1, 6, 9]
    _POINTS = [(0, 1), (1, 3), (2, 2.0)]
    return {
        newton: [(square, double, 1.5), (square, double, 3), (square, double, v)],
        bisection: [(square, 0, 2), (square, 1, 3.0), (square, 2, 3)],
        secant: [(square, 1, 2.0), (square, 1.5, 2)],
        regula_falsi: [(square, 0.5, 2), (square, 1, 4.0)],
        golden_section: [(square, -1, 2), (square, -2.0, 1)],
        fixed_point: [(math.cos, 0.5), (math.cos, 1)],
        trapezoid: [(square, 0, 1, 4), (square, 0, 2.0, 4), (square, v, 3.0, 4)],
        simpson: [(square, 0, 1, 4), (square, 0, 2, 6)],
        romberg: [(square, 0, 1, 3), (square, 0.5, 1, 3)],
        derivative: [(square, 1.5), (square, 2), (square, v)],
        euler: [(decay, 1.0, 0, 0.1, 3), (decay, v, 0.0, 0.1, 2), (decay, 2, 0, 0.1, 3)],
        heun: [(decay, 1.0, 0, 0.1), (decay, v, 0, 0.1), (decay, v, 1, 0.2)],
        runge_kutta: [(decay, 1.0, 0, 0.1), (decay, v, 0, 0.1), (decay, v, 1, 0.2)],
        leapfrog: [(square, 1.0, 0, 0.1, 3), (square, v, v, 0.1, 2)],
        horner: [([1, 2, 3], 2), ([1, 2.5], 0.5), ([2, 1], v)],
        lagrange: [(_POINTS, 0.5), (_POINTS, 2), (_POINTS, v)],
        newton_interpolation: [(_POINTS, 0.5), (_POINTS, 1), (_POINTS, v)],
        linear_regression: [(_XS, _YS), (_YS, _XS), (v, v)],
        pearson: [(_XS, _YS), (_YS, _XS)],
        matrix_product: [(_A, _A), (_A, [[1], [2]])],
        transpose: [(_A,), ([[1, 2, 3]],)],
        identity: [(2,), (3,)],
        determinant: [(_A,), ([[1, 2, 0], [0, 1, 0.5], [2, 1, 1]],)],
        gauss: [(_A, _B), ([[0, 1], [1, 0]], [1, 2]), ([[0, 0], [0, 0]], [1, 2])],
        lu: [(_A,), ([[2, 1], [1, 2]],)],
        cholesky: [([[4, 2], [2, 3]],), ([[9, 3], [3, 5.0]],), ([[-1, 0], [0, 1]],)],
        gram_schmidt: [([[1, 1], [0, 2]],), ([[3.0, 4], [1, 0]],)],
        jacobi: [(_A, _B, 5), (_A, [1, 1], 3)],
        gauss_seidel: [(_A, _B, 5), (_A, [1, 1], 3)],
        power_iteration: [(_A, 5), ([[2, 1], [1, 2]], 4)],
        conjugate_gradient: [(m, v, v, 2), (m, v * 2, v, 2)],
        gradient_descent: [(double, 1.0, 0.1, 4), (double, v, 0.1, 4), (double, 2, 0.2, 3)],
        simplex: [([3, 5], [[1, 0], [0, 2], [3, 2]], [4, 12, 18]), ([1], [[-1]], [1])],
        nelder_mead_step: [(sum, [[0, 1], [1, 1], [2.0, 3]]), (sum, [[1, 1], [0, 0], [2, 2]])],
        fft: [([1, 2, 3, 4],), ([1, 0, 0.5, 0],)],
        dft_power: [([1, 2, 3, 4],), ([1, 0, 0.5, 0],)],
        convolve: [([1, 2], [1, 0.5]), ([1, 2, 3], [2])],
        softmax: [([1, 2.0, 3],), ([0, 0],)],
        sigmoid: [(0.5,), (-3,), (2,)],
        relu: [(0.5,), (-3,), (v - 1.5,)],
        cross_entropy: [([1, 0], [0.5, 0.5]), ([0.25, 0.75], [0.5, 0.5])],
        perceptron: [([0.0, 0.5], 0, [([1, 0], 1), ([0, 1], 0)], 0.5)] * 2,
        k_means: [([(0, 0), (1, 0), (5, 5)], [(0, 1), (4, 4)], 2)] * 2,
        nearest_neighbour: [([(0, 0), (1, 1)], "ab", (0.2, 0)), ([(0, 0), (1, 1)], "ab", (2, 1))],
        page_rank: [({"a": ["b"], "b": ["a", "c"], "c": ["a"]},), ({"a": ["a"], "b": ["a"]},)],
        markov_step: [(m, v), (m * 0.5, v)],
        stationary: [([[0.5, 0.5], [0.25, 0.75]], 5), ([[0, 1], [1, 0]], 3)],
        mandelbrot: [(0.3 + 0.5j, 20), (1, 20), (-1, 10)],
        logistic_map: [(3.7, 0.5, 4), (2, 0.3, 4)],
        lorenz: [((1, 1.5, 2), 0.01), ((0.5, 1, 1), 0.02)],
        compound_interest: [(1000, 5, 3), (999999, 10, 5), (10.5, 1, 2)],
        black_scholes: [(100, 95, 1, 0.05, 0.2), (90, 95.0, 0.5, 0.05, 0.3)],
        haversine: [(52.5, 13.4, 48.9, 2.35), (0, 0, 1, 1)],
        exponential_smoothing: [(_YS, 0.5), (_XS, 0.1)],
        shoelace: [([(0, 0), (2, 0), (2, 2)],), ([(0, 0), (1.5, 0), (1, 3)],)],
        convex_hull: [([(0, 0), (2, 0), (1, 1), (2, 2)],), ([(3, 1), (0, 0.5), (1, 3)],)],
    }
