"""Sorting, searching, number theory, strings: as textbooks have them."""

import itertools
import math


def bubble_sort(a):
    a = list(a)
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def insertion_sort(a):
    for i in range(1, len(a)):
        key, j = a[i], i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def selection_sort(a):
    for i in range(len(a)):
        smallest = min(range(i, len(a)), key=a.__getitem__)
        a[i], a[smallest] = a[smallest], a[i]
    return a


def shell_sort(a):
    gap = len(a) // 2
    while gap:
        for i in range(gap, len(a)):
            item, j = a[i], i
            while j >= gap and a[j - gap] > item:
                a[j] = a[j - gap]
                j -= gap
            a[j] = item
        gap //= 2
    return a


def quick_sort(a):
    if len(a) <= 1:
        return a
    pivot, *rest = a
    less = [x for x in rest if x < pivot]
    more = [x for x in rest if x >= pivot]
    return [*quick_sort(less), pivot, *quick_sort(more)]


def merge_sort(a):
    if len(a) <= 1:
        return list(a)
    middle = len(a) // 2
    left, right = merge_sort(a[:middle]), merge_sort(a[middle:])
    merged = []
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return merged + left + right


def heap_sort(a):
    def sift(start, end):
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                return
            a[root], a[child] = a[child], a[root]
            root = child

    for start in range(len(a) // 2, -1, -1):
        sift(start, len(a))
    for end in range(len(a) - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(0, end)


def counting_sort(a, largest):
    counts = [0] * (largest + 1)
    for x in a:
        counts[x] += 1
    return [x for x, count in enumerate(counts) for _ in range(count)]


def radix_sort(a, base=10):
    digit = 1
    while any(x // digit for x in a):
        buckets = [[] for _ in range(base)]
        for x in a:
            buckets[x // digit % base].append(x)
        a = [x for bucket in buckets for x in bucket]
        digit *= base
    return a


def bucket_sort(a, count=4):
    low, high = min(a), max(a)
    buckets = [[] for _ in range(count)]
    for x in a:
        buckets[min(int((x - low) / (high - low) * count), count - 1)].append(x)
    return [x for bucket in buckets for x in sorted(bucket)]


def binary_search(a, x):
    low, high = 0, len(a) - 1
    while low <= high:
        middle = (low + high) // 2
        if a[middle] == x:
            return middle
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle - 1
    return -1


def linear_search(a, x):
    for i, item in enumerate(a):
        if item == x:
            return i
    return None


def interpolation_search(a, x):
    low, high = 0, len(a) - 1
    while low <= high and a[low] <= x <= a[high]:
        if a[low] == a[high]:
            return low if a[low] == x else -1
        middle = low + int((x - a[low]) * (high - low) / (a[high] - a[low]))
        if a[middle] == x:
            return middle
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle - 1
    return -1


def quick_select(a, k):
    pivot = a[len(a) // 2]
    less, equal = [x for x in a if x < pivot], [x for x in a if x == pivot]
    if k < len(less):
        return quick_select(less, k)
    if k < len(less) + len(equal):
        return pivot
    return quick_select([x for x in a if x > pivot], k - len(less) - len(equal))


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def extended_gcd(a, b):
    if b == 0:
        return a, 1, 0
    g, x, y = extended_gcd(b, a % b)
    return g, y, x - a // b * y


def lcm(a, b):
    return a // gcd(a, b) * b


def sieve(n):
    prime = [True] * (n + 1)
    prime[0:2] = [False, False]
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
    return [i for i, is_prime in enumerate(prime) if is_prime]


def is_prime(n):
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


def prime_factors(n):
    factors, d = {}, 2
    while d * d <= n:
        while n % d == 0:
            factors[d] = factors.get(d, 0) + 1
            n //= d
        d += 1
    if n > 1:
        factors[n] = factors.get(n, 0) + 1
    return factors


def fast_power(x, n):
    result = 1
    while n:
        if n & 1:
            result = result * x
        x = x * x
        n >>= 1
    return result


def modular_inverse(a, m):
    g, x, _ = extended_gcd(a % m, m)
    if g != 1:
        raise ValueError(f"{a} has no inverse modulo {m}")
    return x % m


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def factorial(n):
    if n < 0:
        raise ValueError("negative", n)
    return 1 if n == 0 else n * factorial(n - 1)


def binomial(n, k):
    row = [1]
    for _ in range(n):
        row = [1] + [a + b for a, b in itertools.pairwise(row)] + [1]
    return row[k]


def collatz(n):
    steps = []
    while n != 1:
        steps.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return [*steps, 1]


def to_base(n, base):
    digits = ""
    while n:
        n, digit = divmod(n, base)
        digits = "0123456789abcdef"[digit] + digits
    return digits or "0"


def roman(n):
    table = [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    text = ""
    for value, letters in table:
        while n >= value:
            text += letters
            n -= value
    return text


def levenshtein(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]


def longest_common_subsequence(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            same = x == y
            table[i + 1][j + 1] = table[i][j] + 1 if same else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def longest_increasing_subsequence(a):
    best = [1] * len(a)
    for i in range(len(a)):
        for j in range(i):
            if a[j] < a[i]:
                best[i] = max(best[i], best[j] + 1)
    return max(best, default=0)


def maximum_subarray(a):
    best = current = a[0]
    for x in a[1:]:
        current = max(x, current + x)
        best = max(best, current)
    return best


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for weight, value in zip(weights, values, strict=True):
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]


def coin_change(coins, amount):
    ways = [1] + [0] * amount
    for coin in coins:
        for a in range(coin, amount + 1):
            ways[a] += ways[a - coin]
    return ways[amount]


def edit_script(a, b):
    script = []
    for x, y in zip(a, b, strict=False):
        script.append("=" if x == y else f"{x}>{y}")
    return " ".join(script)


def caesar(text, shift):
    moved = [chr((ord(c) - 97 + shift) % 26 + 97) if c.isalpha() else c for c in text]
    return "".join(moved)


def run_length(text):
    runs = []
    for c in text:
        if runs and runs[-1][0] == c:
            runs[-1][1] += 1
        else:
            runs.append([c, 1])
    return runs


def kmp_search(text, pattern):
    table, k = [0] * len(pattern), 0
    for i in range(1, len(pattern)):
        while k and pattern[i] != pattern[k]:
            k = table[k - 1]
        k += pattern[i] == pattern[k]
        table[i] = k
    found, k = [], 0
    for i, c in enumerate(text):
        while k and c != pattern[k]:
            k = table[k - 1]
        k += c == pattern[k]
        if k == len(pattern):
            found.append(i - k + 1)
            k = table[k - 1]
    return found


def luhn(digits):
    total = 0
    for i, digit in enumerate(reversed(digits)):
        total += digit if i % 2 == 0 else sum(divmod(2 * digit, 10))
    return total % 10 == 0


def permutations(items):
    if not items:
        return [[]]
    return [[x, *rest] for i, x in enumerate(items)
            for rest in permutations(items[:i] + items[i + 1 :])]  # fmt: skip


def subsets(items):
    found = [[]]
    for x in items:
        found += [[*s, x] for s in found]
    return found


def hanoi(n, source="A", target="C", spare="B"):
    if n == 0:
        return []
    before = hanoi(n - 1, source, spare, target)
    return [*before, (source, target), *hanoi(n - 1, spare, target, source)]


def queens(n):
    def place(row, columns):
        if row == n:
            return 1
        return sum(
            place(row + 1, [*columns, c])
            for c in range(n)
            if all(c != k and abs(c - k) != row - r for r, k in enumerate(columns))
        )

    return place(0, [])


def moving_average(a, width):
    return [sum(a[i : i + width]) / width for i in range(len(a) - width + 1)]


def mean_and_variance(a):
    mean = sum(a) / len(a)
    return mean, sum((x - mean) ** 2 for x in a) / (len(a) - 1)


def median(a):
    a = sorted(a)
    middle = len(a) // 2
    return a[middle] if len(a) % 2 else (a[middle - 1] + a[middle]) / 2


def mode(a):
    counts = {}
    for x in a:
        counts[x] = counts.get(x, 0) + 1
    return max(counts, key=counts.get)


def histogram(a, width):
    bins = {}
    for x in a:
        bins.setdefault(math.floor(x / width), []).append(x)
    return {k: len(v) for k, v in sorted(bins.items())}


def calls(array):
    """Return what to call: arguments of functions, and of classes the steps."""
    _NUMBERS = [5, 2.5, 8, -1, 3, 8]
    _DIGITS = [170, 45, 75, 90, 2, 802]
    _SORTED = [1, 3, 4.5, 7, 9, 12]
    return {
        **{
            sort: [(_NUMBERS,), ([2, 1],), ([3.5, 1, 2, 0, 9, 7],)]
            for sort in (
                bubble_sort, insertion_sort, selection_sort, shell_sort, quick_sort, merge_sort,
                heap_sort, bucket_sort, maximum_subarray, longest_increasing_subsequence, median,
                mode, mean_and_variance,
            )
        },
        counting_sort: [([3, 1, 2, 3], 3), ([0, 4, 1], 5)],
        radix_sort: [(_DIGITS,), ([3, 20, 1],), ([7, 1],)],
        binary_search: [(_SORTED, 7), (_SORTED, 2), (_SORTED, 1)],
        linear_search: [(_NUMBERS, 8), (_NUMBERS, 4), (_NUMBERS, 2.5)],
        interpolation_search: [(_SORTED, 7), (_SORTED, 2)],
        quick_select: [(_NUMBERS, 2), (_NUMBERS, 0), ([4, 1, 3], 1)],
        gcd: [(12, 18), (35, 14), (10**20, 15), (7, 0)],
        extended_gcd: [(12, 18), (240, 46)],
        lcm: [(4, 6), (10**12, 15)],
        sieve: [(20,), (30,)],
        is_prime: [(17,), (18,), (97,), (1,)],
        prime_factors: [(60,), (97,), (2**20 * 3,)],
        fast_power: [(3, 5), (1.5, 3), (2, 100), (3, 0)],
        modular_inverse: [(3, 11), (10, 17), (4, 8)],
        fibonacci: [(10,), (90,), (0,)],
        factorial: [(5,), (25,), (-1,)],
        binomial: [(5, 2), (10, 3)],
        collatz: [(6,), (7,)],
        to_base: [(255, 16), (10, 2), (0, 2)],
        roman: [(14,), (9,), (3,)],
        levenshtein: [("kitten", "sitting"), ("abc", ""), ("flaw", "lawn")],
        longest_common_subsequence: [("abcbdab", "bdcaba"), ([1, 2, 3], [2, 3, 5])],
        knapsack: [([1, 3, 4], [15, 20, 30], 4), ([2, 3], [1.5, 4], 5)],
        coin_change: [([1, 2, 5], 11), ([2, 5], 6)],
        edit_script: [("abc", "adc"), ([1, 2], [1, 3])],
        caesar: [("hello w", 3), ("hello w", 5)],
        run_length: [("aabccc",), ("abab",)],
        kmp_search: [("abababa", "aba"), ("aaaa", "aa")],
        luhn: [([4, 5, 3, 9],), ([7, 9, 9, 2],)],
        permutations: [([1, 2, 3],), (["a", "b"],)],
        subsets: [([1, 2, 3],), ([0.5],)],
        hanoi: [(2,), (3,)],
        queens: [(4,), (5,)],
        moving_average: [(_NUMBERS, 2), (_NUMBERS, 3)],
        histogram: [(_NUMBERS, 2), (_NUMBERS, 3)],
    }  # fmt: skip
