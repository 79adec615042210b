"""Why there is a variant, and what it is: `explain`, and what is said or forbidden at a retrace.

An `Explanation` is nothing but a print of the variants' data: guards, prologue, inputs,
write-backs, effects, result, times. Why a variant was traced was found when it was: see
`differences`.
"""

import dataclasses
import sys

from evertrace._src import config, errors, markup, source
from evertrace._src.jit.differences import (
    CURES,
    HostWords,
    aval_word,
    expected,
    shortened,
    told,
    word,
)
from evertrace._src.jit.lifting import arraywrites, recipes
from evertrace._src.support import set_module

MANY = 8
"""Values of one guard that a function may have been traced for before it warns."""

_SHOWN = 4  # of them

# ------------------------------------------------------------------------ at a retrace


def allow(name, count, reason, max_traces):
    """Say or forbid that a function is traced again; called before the trace.

    Args:
      name: of the function.
      count: how many variants it has.
      reason: `Difference`s from the nearest one.
      max_traces: how many it may have, or None.

    Raises:
      RetraceError: it may not have another one.
    """
    if max_traces is not None and count >= max_traces:
        raise _retrace_error(f"jit({name}): one trace more than max_traces={max_traces}", reason)
    now = config.current()
    if now.no_tracing:
        raise errors.user_error(
            errors.RetraceError,
            f"jit({name}): traced within no_tracing.",
            fix="call it with arguments of this kind once before.",
        )
    if not count:
        return
    if now.no_retrace:
        raise _retrace_error(f"jit({name}): traced again within no_retrace", reason)
    if now.explain_retraces:
        src = source.user_source()
        place = f", at {source.format(src)}" if src is not None else ""
        print(f"jit({name}): traced again: {in_words(reason)}{place}", file=sys.stderr)


def in_words(reason):
    """Return differences as one line."""
    return "; ".join(map(str, reason)) or "nothing that has a name differs"


def _retrace_error(what, reason):
    fix = CURES[reason[0].kind] if reason else "allow more traces."
    because = f", because {in_words(reason)}" if reason else ""
    return errors.user_error(errors.RetraceError, f"{what}{because}.", fix=fix)


def warn_of_many(name, variants, warned):
    """Warn where one guard has made too many variants, once per guard.

    Args:
      name: of the function.
      variants: all its variants, oldest first; the last one is new.
      warned: the guards that were warned of; extended.
    """
    counts = [
        (d, _values_of(d.guard, variants)) for d in variants[-1].reason if d.guard not in warned
    ]
    many = [(d, values) for d, values in counts if len(values) > MANY]
    if not many:
        return
    warned.update(d.guard for d, _ in many)
    (difference, values), *others = many
    if difference.was:
        last = ", ".join(values[-_SHOWN:])
        what = f"for {len(values)} values of {difference.guard}, the last ones {last}"
    else:
        what = f"{len(values)} times because of {difference}"
    if others:
        what += f"; likewise {', '.join([d.guard for d, _ in others])}"
    errors.user_warning(
        errors.RetraceWarning,
        f"jit({name}): traced {what}.",
        fix=CURES[difference.kind],
        src=difference.src,
    )


def _values_of(guard, variants):
    """Return the values in words for which a guard alone has made variants.

    Several guards of one kind count as well, such as the shapes of two arguments of one length.
    """
    alone = [v.reason for v in variants if len({d.kind for d in v.reason}) == 1]
    found = [d for reason in alone for d in reason if d.guard == guard]
    valued = dict.fromkeys([x for d in found if d.was for x in (d.was, d.now)])
    unvalued = [d.now for d in found if not d.was]
    return [*valued, *unvalued[:1], *unvalued]  # what is redefined was defined before


# ------------------------------------------------------------------------ the explanation


@dataclasses.dataclass(frozen=True, slots=True)
class VariantReport:
    """One variant in words.

    Attributes:
      reason: how it differs from the nearest variant before it, as texts; () for the first.
      hits: calls that it served.
      depends: group (arguments, self, closures, globals, classes, ...) -> texts.
      prologue: what is computed on the host before each call, and must come out so.
      inputs: what the compiled program takes.
      writes: what a call changes.
      effects: calls that are repeated.
      result: what a call returns.
      trace_seconds, lower_seconds, compile_seconds: what making it took; None if not done.
      engine: what runs it.
    """

    reason: tuple
    hits: int | None
    depends: dict
    prologue: tuple
    inputs: tuple
    writes: tuple
    effects: tuple
    result: str
    trace_seconds: float | None
    lower_seconds: float | None
    compile_seconds: float | None
    engine: str

    def title(self, number):
        """Return what stands above the report of the variant of that number, counted from 0."""
        why = "; ".join(self.reason) or ("the first" if number == 0 else "traced again")
        served = "" if self.hits is None else f" ({self.hits} hits)"
        return f"variant {number + 1}{served}: {why}"

    def sections(self):
        """Return the report as pairs of a title and the texts that stand beside it."""
        found = [*self.depends.items()]
        found += [(title, getattr(self, title)) for title in _LISTS]
        return [*found, ("returns", [self.result]), ("engine", [self._costs()])]

    def lines(self):
        """Return the report as lines."""
        return [line for title, texts in self.sections() for line in _section(title, texts)]

    def _costs(self):
        steps = ("traced", "lowered", "compiled")
        times = (self.trace_seconds, self.lower_seconds, self.compile_seconds)
        parts = [f"{step} in {1e3 * t:.2f} ms" for step, t in zip(steps, times, strict=True) if t]
        return "; ".join([self.engine, *parts])


_LISTS = ("prologue", "inputs", "writes", "effects")


def _section(title, texts):
    """Return a title with its texts beside it, one below the other."""
    return [f"{title if i == 0 else '':<10} {text}" for i, text in enumerate(texts)]


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
@set_module("evertrace")
class Explanation:
    """What a jitted function has been traced for, and why: `str` prints it.

    Attributes:
      name: of the function.
      variants: a `VariantReport` for each variant, oldest first.
    """

    name: str
    variants: tuple

    def _title(self):
        count = len(self.variants)
        return f"jit({self.name}): {count} variant{'' if count == 1 else 's'}"

    def __str__(self):
        lines = [self._title()]
        for i, report in enumerate(self.variants):
            lines += ["", report.title(i), *[f"  {line}" for line in report.lines()]]
        return "\n".join(lines)

    __repr__ = __str__
    _repr_html_ = markup.guarded(lambda self: _as_html(self))


def _as_html(explanation):
    """Return an explanation as a table for each variant, of which the last one is open."""
    last = len(explanation.variants) - 1
    return markup.escaped(explanation._title()) + "".join(
        [
            markup.folded(
                markup.escaped(report.title(i)), markup.table(report.sections()), is_open=i == last
            )
            for i, report in enumerate(explanation.variants)
        ]
    )


def report(variant):
    """Return the `VariantReport` of a variant of the contract."""
    host = HostWords(variant)
    words = _Recipes(variant, host)
    names = [node.name for node in variant.guards.nodes]
    avals = variant.recorded.jaxpr.in_avals
    inputs = [
        f"{names[g] if type(g) is int else host.names.get(g[1], 'the call')}: {aval_word(aval)}"
        for g, aval in zip(variant.gathers, avals, strict=True)
    ]
    return VariantReport(
        reason=_reason(variant),
        hits=variant.hits,
        depends=_dependencies(variant.guards),
        prologue=tuple([*[text for _, text in host.demands], *host.late]),
        inputs=tuple(inputs),
        writes=tuple([text for w in variant.writes for text in words.of_write(w)]),
        effects=tuple([words.of_effect(e) for e in variant.effects]),
        result=words.of(variant.result),
        trace_seconds=variant.recorded.seconds,
        **_costs(variant.program),
    )


def _reason(variant):
    """Return why there is a variant, as texts."""
    if variant.opening is None:
        return tuple(map(str, variant.reason))
    return variant.opening.words()


def strict_report(variant, names):
    """Return the `VariantReport` of a variant by JAX's rules.

    Args:
      variant: a `StrictVariant`.
      names: of the leaves of its arguments.
    """
    avals, out_avals = variant.key[4], variant.closed.out_avals
    arguments = [f"{name}: {aval_word(a)}" for name, a in zip(names, avals, strict=True)]
    statics = [f"{place}: {word(value)}" for place, _, value in variant.key[3]]
    return VariantReport(
        reason=tuple(map(str, variant.reason)),
        hits=None,
        depends={"arguments": (*arguments, *statics)},
        prologue=(),
        inputs=tuple(arguments),
        writes=(),
        effects=(),
        result=", ".join(map(aval_word, out_avals)) or "no arrays",
        trace_seconds=variant.seconds,
        **_costs(variant.program),
    )


def _costs(program):
    """Return which engine runs a program, and what making it took, as fields of a report."""
    lowering, compiling = program.seconds
    engine = "none, for nothing is computed"
    if not program.trivial:
        choice = program.choice()
        name = choice.engine
        devices = ", ".join(map(str, program.executables))
        ran = f"{name} on {devices}" if devices else f"{name}, not compiled yet"
        engine = f"{'native' if name == 'native' else ran}, for {choice.why}"
    return {"lower_seconds": lowering, "compile_seconds": compiling, "engine": engine}


# ------------------------------------------------------------------------ guards by group


def _dependencies(guards):
    """Return what the guards want, in words, by group."""
    found = {}
    for node in guards.nodes:
        wants_nothing = node.check == "any" or (node.check == "lacks" and not node.want)
        if not wants_nothing:
            group, text = _group(node), f"{node.name}: {expected(node)}"
            found.setdefault(group, {})[text] = None
    for i, j in guards.same:
        a, b = guards.nodes[i], guards.nodes[j]
        found.setdefault(_group(b), {})[f"{b.name} is {a.name}"] = None
    return {group: tuple(found[group]) for group in _GROUPS if group in found}


_GROUPS = ("function", "arguments", "self", "closures", "globals", "classes", "others")
_GROUP_OF_STEP = {
    "__closure__": "closures",
    "__globals__": "globals",
    "__defaults__": "arguments",
    "__kwdefaults__": "arguments",
    "__self__": "self",
}


def _group(node):
    """Return where a node is reached from: the nearest place on its path that has a name."""
    if node.check in ("dispatch", "lacks") or node.kind in ("class_entry", "class_names"):
        return "classes"
    while True:
        if node.kind in ("defaults", "kwdefaults"):
            return "arguments"
        if node.kind == "attribute" and node.key in _GROUP_OF_STEP:
            return _GROUP_OF_STEP[node.key]
        if node.parent is None:
            break
        node = node.parent
    if node.kind == "root":
        if node.key == 0:
            return "function"
        return "self" if node.name == "self" else "arguments"
    return "classes" if node.check == "class" else "others"


# ------------------------------------------------------------------------ recipes


class _Recipes:
    """Puts the recipes of one variant into words."""

    def __init__(self, variant, host):
        self.names = [node.name for node in variant.guards.nodes]
        self.avals = variant.closed.out_avals
        self.host = host

    @told(lambda self, recipe, depth=3: "a value")
    def of(self, recipe, depth=3):
        """Return what a recipe makes."""
        kind = type(recipe)
        if kind is recipes.Out:
            return aval_word(self.avals[recipe.position])
        if kind is recipes.Existing:
            return self.names[recipe.node]
        if kind in (recipes.Number, recipes.NumberAsArray):
            return self.host.names.get(recipe.slot, "a number")
        if kind is recipes.Constant:
            return word(recipe.value)
        if kind is recipes.NewArray:
            return self.of(recipe.args[0])
        if kind in (recipes.NewTuple, recipes.NewContainer):
            return self._of_items(recipe, depth)
        if kind is recipes.NewDict:
            return self._of_dict(recipe, depth)
        return f"a new {_made(recipe)}"

    def _of_dict(self, recipe, depth):
        if depth == 0 or len(recipe.entries) > 8:
            return f"a new {_made(recipe)} of {len(recipe.entries)}"
        entries = [f"{self.of(k)}: {self.of(v, depth - 1)}" for k, v in recipe.entries]
        return f"{{{', '.join(entries)}}}"

    def _of_items(self, recipe, depth):
        if depth == 0 or len(recipe.items) > 8:
            return f"a new {_made(recipe)} of {len(recipe.items)}"
        left, right = {tuple: "()", list: "[]"}.get(recipe.kind, (f"{_made(recipe)}(", ")"))
        return f"{left}{', '.join([self.of(x, depth - 1) for x in recipe.items])}{right}"

    @told(lambda self, write: [f"{write.name} changed"])
    def of_write(self, write):
        """Return a write as the statements that would do it."""
        name, kind, made = write.name, write.kind, write.recipes
        if kind in _NAMED:
            prefix = name + "." if kind in ("attributes", "class_entries", "partial") else ""
            gone = [k for k in write.rest if k not in made]
            return [f"del {prefix}{k}" for k in gone] + [
                f"{prefix}{k} = {self.of(v)}" for k, v in made.items()
            ]
        if kind == "dict":
            keys, values = made[write.rest :: 2], made[write.rest + 1 :: 2]
            return [f"del {name}[{self.of(k)}]" for k in made[: write.rest]] + [
                f"{name}[{self.of(k)}] = {self.of(v)}" for k, v in zip(keys, values, strict=True)
            ]
        if kind == "bounds":
            return []
        if kind == "ndarray":
            return self._of_array(name, iter(made), write.rest)
        items = made if type(made) is list else [made]
        text = ", ".join([self.of(x) for x in items[:8]]) + (", ..." if len(items) > 8 else "")
        return [_STATEMENTS.get(kind, "{} = {}").format(name, text)]

    def _of_array(self, name, made, places):
        """Return writes into a NumPy array."""
        found = []
        for place in places:
            value, holes = self.of(next(made)), [self.of(next(made)) for _ in range(place.holes)]
            view = ", a view of it," if place.path else ""
            found.append(f"{name}{view}[{arraywrites.index_text(place.index, holes)}] = {value}")
        return found

    @told(lambda self, effect: "a call")
    def of_effect(self, effect):
        """Return an effect as the call that it repeats."""
        args = [self.of(x) for x in effect.args]
        args += [f"{k}={self.of(v)}" for k, v in effect.kwargs.items()]
        return f"{word(effect.fn)}({shortened(', '.join(args))})"


_NAMED = ("attributes", "names", "entries", "class_entries", "partial")
_STATEMENTS = {
    "extend": "{} extended by {}",
    "items": "{}: its last items become [{}]",
    "set": "{}: members changed: {}",
    "context": "{} set to {}",
}


def _made(recipe):
    """Return the kind of object that a recipe makes anew."""
    if type(recipe) is recipes.NewFunction:
        return f"function {recipe.fun.qualname}"
    kind = getattr(recipe, "cls", None) or getattr(recipe, "kind", None)
    kind = kind or getattr(recipe, "fn", None)
    return word(kind).removeprefix("class ") if kind is not None else "object"
