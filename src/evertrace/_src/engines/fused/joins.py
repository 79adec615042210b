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


def listed(totals, wanted):
    """Return totals as a list: what loops carry."""
    return [x for w in wanted for x in totals[w]]


def put_back(totals, wanted, parts, flat):
    """Put what `listed` has returned back into totals."""
    flat = iter(flat)
    for w in wanted:
        totals[w] = tuple([next(flat) for _ in parts[w[0]].reduction.identity])
