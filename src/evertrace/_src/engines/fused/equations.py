"""Which equations need which: what is computed for a value, who reads it, in which order."""

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.numbering import key_of


def readers(eqns, outputs):
    """Return the first results of equations that read a value and are needed, by the value."""
    found = {x: [] for x in outputs if type(x) is not Literal}
    for eqn in reversed(eqns):
        if eqn.effects or any(x in found for x in eqn.outvars):
            for x in variables(eqn):
                found.setdefault(x, []).extend(eqn.outvars[:1])
    return found


def variables(eqn):
    """Return what an equation reads."""
    return [x for x in eqn.invars if type(x) is not Literal]


def cone(makers, roots):
    """Return the equations of what is computed for some roots, by value, and what is read."""
    inside, read, waiting = {}, set(), list(roots)
    while waiting:
        x = waiting.pop()
        if x in makers and x not in inside:
            inside[x] = makers[x]
            waiting += variables(makers[x])
        elif x not in inside:
            read.add(x)
    return inside, read


def form_of(makers, root):
    """Return what a root has alike with those that are computed alike of other values."""
    numbers, waiting, lines = {root: 0}, [root], []
    while waiting:
        x = waiting.pop()
        if x not in makers:
            lines.append((numbers[x], x.aval.shape, x.aval.dtype))
            continue
        ins = []
        for v in makers[x].invars:
            if type(v) is not Literal and v not in numbers:
                numbers[v] = len(numbers)
                waiting.append(v)
            ins.append(v if type(v) is Literal else numbers[v])
        key = key_of(makers[x], ins) or makers[x]  # which is like no other
        lines.append((numbers[x], makers[x].outvars.index(x), key))
    return tuple(lines)


def held_by(group, inputs):
    """Return the equations that a group computes."""
    read, found, waiting = {x for x, _ in inputs}, {}, list(group.roots)
    while waiting:
        x = waiting.pop()
        if x in found or x in read or x not in group.makers:
            continue
        found[x] = group.makers[x]
        waiting += variables(group.makers[x])
    return list(found.values())


def in_order(eqns, kernels, outputs):
    """Return kernels and other equations that are needed, in an order in which they can run."""
    makers = {x: eqn for eqn in eqns for x in eqn.outvars}
    makers.update({x: kernel for kernel in kernels for x in kernel.outvars})
    parts, done = [], set()
    waiting = [makers[x] for x in reversed(outputs) if type(x) is not Literal and x in makers]
    waiting = [eqn for eqn in eqns if eqn.effects] + waiting
    opened = set()
    while waiting:
        part = waiting[-1]
        if id(part) in done:
            waiting.pop()
        elif id(part) in opened:
            waiting.pop()
            done.add(id(part))
            parts.append(part)
        else:
            opened.add(id(part))
            needed = [makers[x] for x in part.invars if type(x) is not Literal and x in makers]
            waiting += [p for p in needed if id(p) not in done]
    return parts
