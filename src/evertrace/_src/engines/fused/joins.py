"""In which order elements are joined: in pairs, these in pairs, and so on."""


def in_pairs(k, reduction, found):
    """Join elements in pairs, these in pairs, and so on."""
    while len(found) > 1:
        joined = [reduction.join(k, a, b) for a, b in zip(found[::2], found[1::2], strict=False)]
        found = joined + found[len(joined) * 2 :]
    return found[0]


def across(k, reduction, xs):
    """Join the lanes of a vector: each with the one half of the lanes further on."""
    lanes, rest = xs[0].lanes, []
    while lanes > 1:
        if lanes % 2:
            rest.append(tuple([k.lane(x, lanes - 1) for x in xs]))
        lanes //= 2
        halves = [
            tuple([k.lane(x, i) if lanes == 1 else k.shuffled(x, i * lanes, lanes) for x in xs])
            for i in range(2)
        ]
        xs = reduction.join(k, *halves)
    return in_pairs(k, reduction, [xs, *rest])


def _across_each(k, reduction, rows):
    """Join the lanes of several vectors as `across` does; lane by lane, what those of each make.

    Both the vectors and their lanes are as many as a power of two: vectors that have become
    shorter lie side by side.
    """
    lanes = rows[0][0].lanes
    while lanes > 1:
        pairs = list(zip(rows[::2], rows[1::2], strict=True)) or [(rows[0], [None] * len(rows[0]))]
        rows = []
        for xs, ys in pairs:
            both = [k.halves(x, y, lanes) for x, y in zip(xs, ys, strict=True)]
            rows.append(reduction.join(k, *[tuple(half) for half in zip(*both, strict=True)]))
        lanes //= 2
    while len(rows) > 1:
        rows = [
            tuple([k.beside(x, y) for x, y in zip(xs, ys, strict=True)])
            for xs, ys in zip(rows[::2], rows[1::2], strict=True)
        ]
    return rows[0]


def of_rows(k, reduction, found):
    """Return a vector of what each of several rows makes; `found` has the vectors of each row."""
    joined = []
    for same in zip(*found, strict=True):  # vectors of one length, of all rows
        if same[0][0].lanes & (same[0][0].lanes - 1):
            each = [across(k, reduction, xs) for xs in same]
            joined.append(tuple([k.vector(list(xs)) for xs in zip(*each, strict=True)]))
        else:
            joined.append(_across_each(k, reduction, same))
    return in_pairs(k, reduction, joined)


def listed(totals, wanted):
    """Return totals as a list: what loops carry."""
    return [x for w in wanted for x in totals[w]]


def put_back(totals, wanted, parts, flat):
    """Put what `listed` has returned back into totals."""
    flat = iter(flat)
    for w in wanted:
        totals[w] = tuple([next(flat) for _ in parts[w[0]].reduction.identity])
