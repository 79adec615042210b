"""Random stateful programs, as source text, from the templates of `grammar.py`.

A program has one or two classes (with slots, as a dataclass, inherited), helper functions, globals,
sometimes a closure factory, a few objects that share parts, and entry points that are jitted in the
ways users do it. Its events call the entry points and change the objects in between.
"""

import random

from tests.contract.families import FAMILIES
from tests.contract.grammar import DEFAULTS
from tests.contract.members import MEMBERS
from tests.contract.oracle import Event, Program
from tests.contract.writer import INDENT, Class, Scope, Writer


class Maker:
    """Puts a program together; its parts are drawn from one generator."""

    def __init__(self, seed, families=None):
        """Make the program of this seed, of these themes or of such as are drawn."""
        self.seed, self.rng = seed, random.Random(seed)
        if families is None:
            count = self.rng.choices((0, 1, 2), (3, 5, 2))[0]
            families = self.rng.sample(FAMILIES, count)
        self.writer = Writer(self.rng, families)
        self.tables = self.writer.tables
        self.lines = []
        self.names, self.functions, self.entries, self.changes = {}, {}, [], []

    def program(self):
        """Return the program."""
        chance = lambda p: self.rng.random() < p  # noqa: E731
        self.lines += dict.fromkeys(f.source.strip("\n") for f in self.tables.families if f.source)
        self.globals()
        self.helper()
        if chance(0.85):
            self.models(with_part=chance(0.65), with_conf=chance(0.3), with_sub=chance(0.3))
        else:
            self.objects()
        if chance(0.25) or not self.writer.classes:
            self.closure()
        if chance(0.4) or not self.entries:
            self.free_function()
        if chance(0.2):
            scope = self.scope({"x": "arr", "s": "num"})
            scope.assignable = set()
            self.lines.append(f"lam = jit(lambda x, s=2: {self.writer.value('arr', scope, 3)})")
            self.entries.append(("lam", {"x": ("arr", ""), "s": ("num", "2")}))
        self.entries += [entry for f in self.tables.families for entry in f.entries]
        source, events = "\n".join(self.lines), tuple(self.events())
        return Program(source, events, f"program_{self.seed}")

    def scope(self, extra=None, calls=True):
        """Return the scope of a function at the top level; some globals are assigned in it."""
        plain = [name for name in self.names if name in self.tables.globals]
        assigned = self.rng.sample(plain, self.rng.randint(0, min(1, len(plain))))
        return Scope(self.names | (extra or {}), assigned, self.functions if calls else None)

    def globals(self):
        """Define some globals."""
        table = self.tables.globals
        for name in self.writer.chosen("globals", self.rng.randint(1, 3)):
            self.lines.append(f"{name} = {self.writer.start(table[name], '2')}")
            self.names[name] = table[name]

    def helper(self):
        """Define a function that others call."""
        params = {"x": ("arr", ""), "s": ("num", self.rng.choice(("0.5", "2")))}
        write = lambda calls, count: self.writer.function(  # noqa: E731
            "helper", params, self.scope(calls=calls), count=count
        )
        self.lines += ["", *write(True, 1), ""]
        self.changes.append(lambda: "\n".join(write(False, 1)))
        self.changes.append(lambda: f"helper.__defaults__ = ({self.rng.choice(('3', '0.25'))},)")
        self.functions["helper"] = params

    # ------------------------------------------------------------- classes

    def models(self, with_part, with_conf, with_sub):
        """Define the classes, their objects and entry points."""
        part = Class("Part", self.attributes(0, 2), self.rng.choice(("plain", "slots", "data")))
        form = self.rng.choice(("plain", "plain", "slots", "data"))
        model = Class("Model", self.attributes(1, 4), form)
        if with_conf:
            simple = {"rate": "num", "n": "int", "mode": "str", "w": "arr"}
            conf = Class(
                "Conf", {k: simple[k] for k in self.rng.sample(sorted(simple), 2)}, "frozen"
            )
            self.define(conf, [])
            model.attributes["conf"] = "Conf"
        if with_part:
            model.attributes |= {"part": "Part", "other": "Part"}
            model.attributes |= {"parts": "parts"} if self.rng.random() < 0.3 else {}
            if self.rng.random() < 0.3:
                part.attributes["owner"] = "Model?"
            self.define(part, ["apply"])
        if self.rng.random() < 0.3:
            model.attributes["peer"] = "Model?"
        self.define(model, ["mix", "step"])
        if with_sub:
            self.subclass(model)
        self.objects()
        self.instances(model, with_part, with_sub)
        self.method_entries(model)

    def attributes(self, least, most):
        """Choose attributes."""
        names = self.writer.chosen("attributes", self.rng.randint(least, most))
        return {"w": "arr"} | {name: self.tables.attributes[name] for name in names}

    def define(self, cls, methods):
        """Write a class with some methods; the last of a model's is an entry point."""
        writer = self.writer
        if cls.form in ("data", "frozen"):
            cls.attributes = {"s": "num"} | cls.attributes
        writer.add_class(cls)
        lines = getattr(self, f"_begin_{cls.form}")(cls)
        if methods:
            lines += self.members(cls)
        for name in methods:
            jitted = name == "step" and self.rng.random() < 0.6
            params = writer.parameters(2 if name == "step" else 1)
            results = self.tables.results if name == "step" else ((1, "<arr>"),)
            count = self.rng.randint(2, 3) if name == "step" else self.rng.randint(1, 2)
            scope = self.scope({"self": cls.name})
            lines += ["", "@jit"] if jitted else [""]
            lines += writer.function(name, params, scope, results, count, "self")
            if name == "step":
                cls.step, cls.jitted = params, jitted
            else:
                cls.methods[f".{name}"] = params
                self.changes.append(lambda name=name, p=params: self._replaced(cls, name, p))
        base = {
            "data": "@dataclasses.dataclass(eq=False)",
            "frozen": "@dataclasses.dataclass(frozen=True)",
        }
        decorator = [base[cls.form]] if cls.form in base else []
        self.lines += [
            "",
            *decorator,
            f"class {cls.name}:",
            *(INDENT + x if x else "" for x in lines),
        ]

    def members(self, cls):
        """Return the lines of properties and special methods that a class happens to have."""
        lines, scope = [], Scope({"self": cls.name}, (), None)
        for member in MEMBERS:
            fits = cls.form in member.forms and cls.name in member.classes
            if not fits or self.rng.random() > member.chance:
                continue
            lines += ["", *self.writer.fill(member.text, scope)]
            for name, (kind, changeable) in member.properties.items():
                cls.properties[name] = (kind, changeable)
            cls.methods |= member.methods
            self.writer.add_templates(cls, member.templates)
        return lines

    def _begin_plain(self, cls):
        lines = ["total = 0", ""] if self.rng.random() < 0.4 else []
        if lines:
            self.names[f"{cls.name}.total"] = "int"
            self.changes.append(lambda: f"{cls.name}.total = {self.rng.choice((0, 3, 0.5))}")
        lines += ["def __init__(self, s):"]
        return lines + [
            f"    self.{name} = {self.writer.start(kind, 's')}"
            for name, kind in cls.attributes.items()
        ]

    def _begin_slots(self, cls):
        names = (*cls.attributes, "extra")
        lines = [line for line in self._begin_plain(cls) if "total" not in line]
        self.names.pop(f"{cls.name}.total", None)
        return [f"__slots__ = {names}", "", *filter(None, lines)]

    def _begin_data(self, cls):
        lines = ["s: object = 1"]
        for name, kind in list(cls.attributes.items())[1:]:
            text = self.writer.start(kind, "2").replace("self.part", "Part(3)")
            lines.append(f"{name}: object = dataclasses.field(default_factory=lambda: {text})")
        return lines

    _begin_frozen = _begin_data

    def _replaced(self, cls, name, params):
        """Return an event that replaces a method on its class."""
        scope = Scope(self.names | {"self": cls.name}, (), None)
        lines = self.writer.function("replacement", params, scope, count=1, first="self")
        return "\n".join([*lines, f"{cls.name}.{name} = replacement"])

    def subclass(self, model):
        """Write a subclass that overrides a method."""
        params = model.methods[".mix"]
        scope = Scope(self.names | {"self": "Model"}, (), None)
        lines = self.writer.function("mix", params, scope, count=1, first="self")
        lines[-1] += (
            " + super().mix(x)" if all(d or n == "x" for n, (_, d) in params.items()) else ""
        )
        self.lines += ["", "class Sub(Model):", *(INDENT + line for line in lines)]
        self.writer.statements.append((1, "<Model!> = Sub(<lit>)"))

    def instances(self, model, with_part, with_sub):
        """Write the objects; they may share parts and containers."""
        self.lines += ["", f"m = Model(1)\nm2 = {'Sub' if with_sub else 'Model'}(2)"]
        self.names |= {"m": "Model", "m2": "Model"}
        if with_part:
            self.lines.append("part = Part(3)")
            self.names["part"] = "Part"
            shared = ("m.other = m.part", "m2.part = m.part", "m.part = part", "pass")
            self.lines.append(self.rng.choice(shared))
        for name, kind in model.attributes.items():
            if kind in self.tables.shared and self.rng.random() < 0.4:
                others = [f"m.{name}", *(n for n, k in self.names.items() if k == kind)]
                self.lines.append(f"m2.{name} = {self.rng.choice(others)}")

    def objects(self):
        """Write the arrays that are passed as arguments."""
        for name in ("x0", "x1"):
            self.lines.append(f"{name} = {self.writer.start('arr', '2')}")
        self.lines.append("xs, d, q = [1, 0.5], {'a': 1, 'b': 0.5}, None")
        self.lines.append(f"a = {self.writer.start('np', '2')}")
        for family in self.tables.families:
            for name, kind in family.arguments.items():
                self.lines.append(f"{name}_in = {self.writer.start(kind, '2')}")
                self.names[f"{name}_in"] = kind
        self.names |= {"x0": "arr", "x1": "arr", "xs": "nums", "d": "cfg", "a": "np", "q": "maybe"}

    def method_entries(self, model):
        """Jit the method `step` in one of the ways users do it."""
        if model.jitted:
            self.entries += [("m.step", model.step), ("m2.step", model.step)]
            return
        way = self.rng.choice(("bound", "anew", "function", "object"))
        way = "anew" if way == "object" and "" in model.methods else way
        if way == "bound":
            self.lines.append("run, run2 = jit(m.step), jit(m2.step)")
            self.entries += [("run", model.step), ("run2", model.step)]
        elif way == "anew":
            self.entries += [("jit(m.step)", model.step), ("jit(m2.step)", model.step)]
        elif way == "function":
            self.lines.append("run = jit(Model.step)")
            self.entries.append(("run", {"m": ("Model", "")} | model.step))
        else:
            self.lines += ["Model.__call__ = Model.step", "run = jit(m)"]
            self.entries.append(("run", model.step))

    # ----------------------------------------------------------- functions

    def closure(self):
        """Write a factory of a jitted closure, and one instance of it or two."""
        cells = self.writer.chosen("globals", self.rng.randint(1, 3))
        kinds = {f"{name.lower()}_": self.tables.globals[name] for name in cells}
        scope = Scope(self.names | kinds, (), self.functions)
        changed = [name for name in kinds if self.rng.random() < 0.7]
        scope.assignable |= set(changed)
        params = self.writer.parameters(1)
        inner = self.writer.function("inner", params, scope, self.tables.results, 3)
        inner = [
            line.replace("global ", "nonlocal ") if "global " in line else line for line in inner
        ]
        poke = next((n for n in changed if kinds[n] in DEFAULTS), next(iter(kinds)))
        lines = [f"{name} = {self.writer.start(kind, 's')}" for name, kind in kinds.items()]
        lines += ["@jit", *inner, "def poke(value):", f"    nonlocal {poke}", f"    {poke} = value"]
        self.lines += [
            "",
            "def factory(s):",
            *(INDENT + x for x in [*lines, "return inner, poke"]),
        ]
        self.lines += ["", "inner, poke = factory(1)", "inner2, poke2 = factory(2)"]
        self.entries += [("inner", params), ("inner", params), ("inner2", params)]
        value = lambda: self.writer.start(kinds[poke], "3")  # noqa: E731
        self.changes += [lambda: f"poke({value()})", lambda: f"poke2({value()})"]

    def free_function(self):
        """Write a jitted function of arrays and objects."""
        params = self.writer.parameters(2)
        if "m" in self.names and self.rng.random() < 0.8:
            params = {"o": ("Model", "")} | params
        if "part" in self.names and self.rng.random() < 0.5:
            params = {"p": ("Part", "")} | params
        lines = self.writer.function(
            "go", params, self.scope(), self.tables.results, self.rng.randint(2, 4)
        )
        self.lines += ["", *(["@jit"] if self.rng.random() < 0.5 else []), *lines]
        if self.lines[-len(lines) - 1] != "@jit":
            self.lines.append("go = jit(go)")
        self.entries.append(("go", params))

    # -------------------------------------------------------------- events

    def events(self):
        """Yield calls of the entry points, and changes in between."""
        names = dict(self.names)
        scope = Scope(names, names, None, outside=True)
        plain = Scope(names, (), None, outside=True, properties=False)  # they may change something
        entry, call = self.rng.choice(self.entries), None
        outside = [form for family in self.tables.families for form in family.outside]
        for _ in range(self.rng.randint(9, 15)):
            if call and self.rng.random() < 0.2:
                yield call
            elif self.rng.random() < 0.55:
                if self.rng.random() < 0.35:
                    entry = self.rng.choice(self.entries)
                name, params = entry
                arguments = self.writer.arguments(params, plain, 0)
                target = self.rng.choice(("result",) * 4 + ("kept0", "kept1"))
                call = Event(f"{target} = {name}({arguments})", True)
                yield call
            elif outside and self.rng.random() < 0.1:
                yield Event(self.rng.choice(outside), False)
            elif self.changes and self.rng.random() < 0.3:
                yield Event(self.rng.choice(self.changes)(), False)
            else:
                lines = self.writer.statements_in(scope, 0, 1)
                if lines:
                    yield Event("\n".join(lines), False)


def make(seed, families=None):
    """Return the program of a seed, of these themes or of such as are drawn."""
    return Maker(seed, families).program()
