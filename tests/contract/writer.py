"""Fills the templates of `grammar.py`: places, expressions, statements, functions."""

import contextlib
import re

from tests.contract.grammar import DEFAULTS, Tables
from tests.contract.members import OF_CLASS, OF_COPIED_CLASS

_HOLE = re.compile(r"<(\+?)([A-Za-z]*\??)([.!]?)(?::([a-z]))?>")
_OPENS, _CLOSES = re.compile(r"(^|[(\[{] ?| = |if |in |return )$"), re.compile(r"[)\]}:]|$")
INDENT = "    "


class NothingFits(Exception):
    """A hole for which the scope has nothing."""


class Class:
    """A class of the program: what its objects have, and what can be called on them."""

    def __init__(self, name, attributes, form):
        """Describe a class of this form, with these attributes and their kinds."""
        self.name, self.attributes, self.form = name, dict(attributes), form
        self.methods, self.properties = {}, {}

    @property
    def frozen(self):
        """Whether attributes cannot be assigned."""
        return self.form == "frozen"


class Scope:
    """The names that a piece of code sees, with their kinds.

    Its functions may be called; None: not even methods, for code that could call itself.
    """

    def __init__(self, names, assignable=(), functions=None, outside=False, properties=True):
        """Know these names; a program's top level is `outside` of functions."""
        self.names, self.assignable = dict(names), set(assignable)
        self.functions, self.outside, self.properties = functions, outside, properties

    def within(self, names):
        """Return the scope of a block that sees new local names as well."""
        return Scope(self.names | names, self.assignable, self.functions, self.outside)


class Writer:
    """Fills templates; one per program."""

    def __init__(self, rng, families=()):
        """Draw from `rng`, and from the templates of these themes besides those of all programs."""
        self.rng, self.size = rng, rng.choice((2, 3))
        self.classes, self.used, self._locals = {}, set(), 0
        self.tables = Tables(families)
        self.expressions, self.statements = self.tables.expressions, self.tables.statements

    def add_class(self, cls):
        """Make objects of a class known to the templates."""
        self.classes[cls.name] = cls
        self.add_templates(cls, OF_CLASS)
        if cls.form in ("data", "frozen"):
            self.add_templates(cls, OF_COPIED_CLASS)

    def add_templates(self, cls, tables):
        """Add templates about a class, which they call C."""
        for where, forms in tables.items():
            table = self.statements if where == "statement" else self.expressions[where]
            table += [(weight, re.sub(r"\bC\b", cls.name, form)) for weight, form in forms]

    # -------------------------------------------------------------- places

    def places(self, scope):
        """Return all places that can be read, with kind and whether they can be assigned."""
        found = []
        for name, kind in scope.names.items():
            self._walk(name, kind, name in scope.assignable, found, 2)
        if not scope.properties:
            computed = {f".{name}" for cls in self.classes.values() for name in cls.properties}
            found = [place for place in found if not place[0].endswith(tuple(computed))]
        return found

    def _walk(self, text, kind, writable, found, depth):
        found.append((text, kind, writable))
        for inside, inner, changeable in self.tables.parts_of.get(kind, ()):
            found.append((text + inside, inner, changeable))
        cls = self.classes.get(kind)
        if cls and depth:
            for name, inner in cls.attributes.items():
                self._walk(f"{text}.{name}", inner, not cls.frozen, found, depth - 1)
            for name, (inner, changeable) in cls.properties.items():
                found.append((f"{text}.{name}", inner, changeable))

    def place(self, scope, kind, assigned):
        """Choose a place of a kind."""
        kinds = {"num": ("num",) if assigned else ("num", "int"), "obj": self.open_classes()}
        kinds = kinds.get(kind, (kind,))
        fitting = [
            t for t, k, writable in self.places(scope) if k in kinds and writable >= assigned
        ]
        if not fitting:
            raise NothingFits(kind)
        if "x" in fitting and self.rng.random() < 0.2:
            return "x"  # what differs between calls is used in many places
        return self.rng.choice(fitting)

    def open_classes(self):
        """Return the names of the classes whose objects can gain attributes."""
        return [cls.name for cls in self.classes.values() if not cls.frozen]

    # ---------------------------------------------------------- templates

    def choose(self, table):
        """Choose a template by weight."""
        return self.rng.choices([t for _, t in table], [w for w, _ in table])[0]

    def attempt(self, table, scope, depth, budget=0):
        """Fill some template of a table whose holes can be filled; None after many failures."""
        for _ in range(40):
            template = self.choose(table)
            with contextlib.suppress(NothingFits):
                lines = self.fill(template, scope, depth, budget)
                self.used.add(template)
                return lines
        return None

    def fill(self, template, scope, depth=2, budget=0):
        """Return the lines of a template, its holes filled."""
        bound, fresh, lines, has_block = {}, {}, [], False

        def hole(match):
            return self._hole(match, scope, depth, bound, fresh)

        for line in template.splitlines():
            if line.strip() == "<block>":
                has_block = True
                indent = line[: line.index("<")]
                lines += [indent + x for x in self.block(scope.within(fresh), budget)]
            else:
                lines.append(_HOLE.sub(hole, line))
        if not has_block:
            scope.names.update(fresh)
            scope.assignable.update(fresh)
        return lines

    def _hole(self, match, scope, depth, bound, fresh):
        new, kind, access, label = match.groups()
        if label in bound:
            return bound[label]
        if new:
            self._locals += 1
            text = f"v{self._locals}"
            fresh[text] = kind
            if scope.outside:
                raise NothingFits("locals")
        elif access:
            text = self.place(scope, kind, access == "!")
        else:
            text = self.value(kind, scope, depth)
            before, after = match.string[: match.start()], match.string[match.end() :]
            alone = _OPENS.search(before) and _CLOSES.match(after)
            text = f"({text})" if " " in text and not alone else text
        if label:
            bound[label] = text
        return text

    def value(self, kind, scope, depth):
        """Return an expression of a kind, in parentheses where it needs them."""
        if kind == "n":
            return str(self.size)
        if kind == "lit":
            return self.rng.choice(("1", "2", "3", "0.5", "1.5", "-1", "-0.25"))
        if kind == "key":
            return self.rng.choice("abc")
        if kind == "list":
            return repr([self.rng.choice((0.5, 1.0, -1.0, 2.0, 0.25)) for _ in range(self.size)])
        if kind == "call":
            return self.call(scope, depth)
        if scope.outside and self.rng.random() < 0.5:
            depth = 0
            with contextlib.suppress(NothingFits):
                return self.constant(kind)
        if depth > 0 and self.rng.random() < (0.9 if depth > 1 else 0.6):
            lines = self.attempt(self.expressions[kind], scope, depth - 1)
            if lines:
                return lines[0]
        try:
            return self.place(scope, kind, False)
        except NothingFits:
            return self.constant(kind)

    def constant(self, kind):
        """Return a literal of a kind."""
        plain = {"num": "<lit>", "int": "2", "str": "'<key>'", "bool": "True"}
        if kind not in plain:
            raise NothingFits(kind)
        return self.fill(plain[kind], Scope({}))[0]

    def call(self, scope, depth):
        """Return a call of a function or a method that gives an array."""
        able = list((scope.functions or {}).items())
        for text, kind, _ in self.places(scope):
            if kind in self.classes:
                methods = self.classes[kind].methods
                able += [(f"{text}{name}", params) for name, params in methods.items()]
        if not able or scope.functions is None:
            raise NothingFits("call")
        name, params = self.rng.choice(able)
        return f"{name}({self.arguments(params, scope, min(depth, 1))})"

    def arguments(self, params, scope, depth):
        """Return arguments for parameters ``name -> (kind, default)``; some by keyword."""
        texts, by_name = [], False
        for name, (kind, default) in params.items():
            if default and self.rng.random() < 0.4:
                by_name = True
                continue
            by_name = by_name or (default and self.rng.random() < 0.3)
            text = self.value(kind, scope, depth if kind in self.expressions else 0)
            texts.append(f"{name}={text}" if by_name else text)
        return ", ".join(texts)

    def block(self, scope, budget):
        """Return one statement or two."""
        return self.statements_in(scope, min(budget, 1), self.rng.choice((1, 1, 2))) or ["pass"]

    def statements_in(self, scope, budget, count):
        """Return statements; `budget` says how deep blocks may nest."""
        table = self.statements if budget else [x for x in self.statements if "block" not in x[1]]
        found = [self.attempt(table, scope, 2, budget - 1) for _ in range(count)]
        return [line for lines in found for line in lines or ()]

    # ---------------------------------------------------------- functions

    def function(self, name, params, scope, results=((1, "<arr>"),), count=2, first=""):
        """Return the lines of a function; its scope's assignable names are declared global."""
        names = ", ".join(
            f"{param}={default}" if default else param for param, (_, default) in params.items()
        )
        head = f"def {name}({', '.join(filter(None, (first, names)))}):"
        kinds = {param: kind for param, (kind, _) in params.items()}
        outer = sorted(scope.assignable)
        inner = scope.within(kinds)
        inner.assignable |= set(kinds)
        body = [f"global {', '.join(outer)}"] if outer else []
        body += self.statements_in(inner, 2, count)
        result = self.attempt(results, inner, 3) or ["None"]
        return [head, *(INDENT + line for line in body), f"{INDENT}return {result[0]}"]

    def parameters(self, most):
        """Return parameters: an array, and up to `most` others."""
        params = {"x": ("arr", "")}
        chosen = self.chosen("arguments", self.rng.randint(0, most))
        kinds = [(name, self.tables.arguments[name]) for name in chosen]
        kinds.sort(key=lambda item: item[1] in DEFAULTS)
        for name, kind in kinds:
            default = self.rng.choice(DEFAULTS[kind]) if kind in DEFAULTS else ""
            params[name] = (kind, default)
        return params

    def chosen(self, table, count):
        """Choose `count` names of a table, every other one from those of the program's themes."""
        names = sorted(getattr(self.tables, table))
        special = sorted({n for f in self.tables.families for n in getattr(f, table)})
        half = min(len(special), (count + 1) // 2)
        chosen = self.rng.sample(special, half)
        rest = [name for name in names if name not in chosen]
        return chosen + self.rng.sample(rest, min(count - half, len(rest)))

    def start(self, kind, scale):
        """Return an expression for a first value; `scale` stands for its ``s``."""
        if kind in self.classes:
            return f"{kind}({scale})"
        if kind.endswith("?"):
            return "None"
        text = self.fill(self.rng.choice(self.tables.start[kind]), Scope({}))[0]
        return re.sub(r"\bs\b", scale, text)
