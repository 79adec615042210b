"""Classes as state: attributes of a class and its bases, its namespace, its members replaced."""

from tests.contract.families.family import Family

_TREE_SOURCE = """
class Root:
    level, width = 1, 0.5

class Stem(Root):
    width = 2

class Leaf(Stem):
    def both(self):
        return self.level + self.width * self.level

class Other(Root):
    level = 3

leaf, stem = Leaf(), Stem()
"""

_CLASSES = ("Root", "Stem", "Leaf")

_ATTRIBUTES = Family(
    "class attributes",
    source=_TREE_SOURCE,
    expressions={
        "num": [
            "<node.:a>.level * 0.5 + <:a>.level",
            "<node.:a>.width - <:a>.width * 0.5 + type(<:a>).width",
            "leaf.both()",
            "(lambda o: o.level + o.level)(<node.>)",
            "sum(c.level for c in type(<node.>).__mro__[:-1]) % 5",
            "getattr(<node.>, 'height', <num>)",
            "[<node.:a>.level for _ in range(2)].count(<:a>.level)",
            "Leaf.level + Stem.level",
            "super(Stem, leaf).width",
            "<kind.>.level * 0.5 + <kind.>.width",
        ],
        "arr": [
            "<arr.> * (<node.:a>.level % 3) + <:a>.level",
            "grad(lambda z: jnp.sum(z * (<node.:a>.width + <:a>.width)))(<arr.>)",
            "lax.fori_loop(0, 2, lambda _, z: z * 0.5 + <node.>.level, <arr.>)",
        ],
        "bool": [
            "<node.:a>.level == <:a>.level",
            "<node.:a>.level is <:a>.level",
            "hasattr(<node.>, 'height')",
            "isinstance(<node.>, Stem)",
            "<kind.> is Leaf",
            "issubclass(<kind.>, Stem)",
        ],
    },
    statements=(
        *(f"{c}.level = <num> % 3" for c in _CLASSES),
        *(f"{c}.width = (<num> + <lit>) % 3" for c in _CLASSES[:2]),
        "Root.level += <lit>",
        "type(<node.>).level = <num> % 3",
        "<node.:a>.level = <:a>.level + <lit>",
        "<num!> = <node.:a>.level\nRoot.level = <num> % 3\n<num!> = <:a>.level",
        "<num!> = <node.:a>.width\nStem.width = <lit>\n<num!> = <:a>.width - <num>",
        "<node.:a>.width = <num>\n<num!> = <:a>.width + type(<:a>).width\n"
        "vars(<:a>).pop('width')\n<num!> = <:a>.width",
        "vars(<node.>).pop('level', None)",
        "if 'level' in vars(Leaf):\n    del Leaf.level",
        "if 'level' in vars(Stem):\n    del Stem.level",
        "Stem.height = <num>",
        "if hasattr(Stem, 'height'):\n    <num!> = leaf.height\n    del Stem.height",
        "try:\n    <num!> = <node.>.height\nexcept AttributeError:\n    <block>",
        "<node!> = <kind.>()",
        "<kind!> = type(<node.>)",
        "<kind!> = Leaf",
        "with contextlib.suppress(AttributeError):\n    del <node.>.level",
    ),
    results=("<node.>", "<kind.>.level", "(<node.:a>.level, <:a>.level, <arr>)"),
    outside=(
        "Root.level = 2", "Root.level = 0.5", "Stem.level = 1.5", "Leaf.level = jnp.float32(2)",
        "Leaf.level = True", "leaf.level = 0.25", "vars(leaf).pop('level', None)",
        "Stem.width = -1", "Root.width = 3", "Leaf.height = 1", "Root.height = 2",
        "for c in (Root, Stem, Leaf):\n    if 'height' in vars(c):\n        del c.height",
        "for c in (Stem, Leaf):\n    if 'level' in vars(c):\n        del c.level",
        "Leaf.__bases__ = (Other,)", "Leaf.__bases__ = (Stem,)",
        "stem.__class__ = Leaf", "stem.__class__ = Stem",
    ),
    start={"node": ["Leaf()", "leaf", "stem"], "kind": ["Leaf", "Stem"]},
    parts_of={
        "node": [(".level", "num", True), (".width", "num", True)],
        "kind": [(".level", "num", True), (".width", "num", True)],
    },
    attributes={"node": "node", "other_node": "node", "kind": "kind"},
    globals={"NODE": "node", "KIND": "kind"},
    arguments={"node": "node", "kind": "kind"},
    shared=frozenset({"node"}),
)  # fmt: skip

_NAMESPACE_SOURCE = """
class Meta(type):
    @property
    def depth(cls):
        return cls.base * 2

class Space(metaclass=Meta):
    base, extra_list = 1, []
    def call(self, x):
        return x * 0.5 + self.base

class Inner(Space):
    far = 2

space, inner_space = Space(), Inner()
"""

_NAMESPACE = Family(
    "namespaces of classes",
    source=_NAMESPACE_SOURCE,
    expressions={
        "num": [
            "vars(Space)['base']",
            "Space.__dict__['base'] * 0.5",
            "vars(Inner).get('far', <num>)",
            "vars(Inner).get('base', <lit>)",
            "getattr(Space, 'added', <num>)",
            "getattr(Inner, 'ba' + 'se')",
            "Space.depth",
            "Inner.depth + <num>",
            "sum(v for k, v in vars(Space).items() if k in ('base', 'added')) % 5",
            "dict(vars(Inner)).get('far', <lit>)",
            "type.__getattribute__(Space, 'base')",
            "object.__getattribute__(space, 'base')",
            "inspect_of(space, 'base')",
        ],
        "int": [
            "len([k for k in vars(Space) if k[:1] != '_'])",
            "len(Inner.__mro__)",
        ],
        "str": [
            "([k for k in vars(Inner) if k[:1] != '_'] or ['a'])[-1][:1]",
            "sorted(k for k in vars(Space) if k[:1] != '_')[0][:1]",
            "type(space).__name__[:1].lower()",
        ],
        "bool": [
            "'added' in vars(Space)", "'base' in Inner.__dict__", "hasattr(Inner, 'added')",
            "Inner.__bases__ == (Space,)", "space.__class__ is Space",
            "callable(vars(Space).get('call'))",
        ],
        "arr": ["space.call(<arr>)", "vars(Space)['call'](inner_space, <arr>)"],
    },
    statements=(
        "setattr(Space, 'base', <num> % 3)",
        "setattr(Space, 'added', <num>)",
        "setattr(Inner, 'k' + <str>, <num>)",
        "if hasattr(Space, 'added'):\n    delattr(Space, 'added')",
        "try:\n    delattr(Inner, 'added')\nexcept AttributeError:\n    <block>",
        "type.__setattr__(Space, 'base', <lit>)",
        "type.__setattr__(Inner, 'far', <num>)",
        "Space.extra_list.append(<num>)",
        "Inner.extra_list = [*Space.extra_list, <num>][-3:]",
        "for <+str:k>, <+num:v> in [i for i in vars(Space).items() if i[0] in 'base added']:\n"
        "    <block>",
        "try:\n    vars(Space)['base'] = <num>\nexcept TypeError:\n    <block>",
        "Space.base, Inner.far = Inner.far, Space.base",
        "Space.base = Space.base\n<num!> = Space.depth",
        "object.__setattr__(space, 'base', <num>)",
        "vars(space).pop('base', None)",
        "<words!> = [k for k in vars(Inner) if k[:1] != '_'][:3]",
        "more = type('More', (Inner,), {'far': <num>})\n<num!> = more.far + more().base\ndel more",
    ),
    results=("Space.base, Inner.far", "Space.depth"),
    outside=(
        "Space.base = 0.5", "Space.base = 3", "Inner.base = 2", "Space.added = 1",
        "for c in (Space, Inner):\n    if 'added' in vars(c):\n        del c.added",
        "if 'base' in vars(Inner):\n    del Inner.base",
        "Meta.depth = property(lambda cls: cls.base + 1)", "Meta.depth = 3",
        "Meta.depth = property(lambda cls: cls.base * 2)",
        "Meta.__call__ = lambda cls: type.__call__(cls)",
        "Space.call = lambda self, x: x - self.base",
        "Space.call = staticmethod(half)", "Inner.call = Space.call",
        "if 'call' in vars(Inner):\n    del Inner.call",
        "Space.__getattribute__ = lambda self, k: object.__getattribute__(self, k)",
        "if '__getattribute__' in vars(Space):\n    del Space.__getattribute__",
        "Inner.__name__ = 'Deep'", "Inner.__name__ = 'Inner'",
    ),
    attributes={"rate": "num", "words": "words"},
)  # fmt: skip
_NAMESPACE = _NAMESPACE._replace(
    source=_NAMESPACE.source + "\ndef inspect_of(o, name):\n"
    "    return next(vars(c)[name] for c in type(o).__mro__ if name in vars(c))\n"
)

_MEMBERS_SOURCE = """
class Ratio:
    def __init__(self, k):
        self.k = k
    def __get__(self, obj, owner=None):
        return self if obj is None else obj._v * self.k
    def __set__(self, obj, value):
        obj._v = value * 0.5

class Gadget:
    size, ratio = 2, Ratio(0.5)
    def __init__(self, v=1):
        self._v = v
    @property
    def value(self):
        return self._v
    @value.setter
    def value(self, v):
        self._v = v * 0.5
    @classmethod
    def scale(cls, v=1):
        return cls.size * v
    @staticmethod
    def mix(v=1):
        return v + 1
    def __getattr__(self, name):
        if name == "ghost":
            return self._v + 2
        raise AttributeError(name)

class Slim:
    __slots__ = ("v", "k")
    def __init__(self, v=1):
        self.v = v

class Tiny(Slim):
    __slots__ = ()
    def __getattr__(self, name):
        return 0.25 if name == "k" else object.__getattribute__(self, name)

GADGET = Gadget(2)
"""

_REPLACED = Family(
    "members replaced",
    source=_MEMBERS_SOURCE,
    expressions={
        "num": [
            "<gad.>.value", "<gad.:a>.value + <:a>.value * 0.5", "<gad.>.scale(<num>)",
            "<gad.>.scale()", "Gadget.scale()", "Gadget.mix(<num>)", "<gad.>.mix()", "<gad.>.ghost",
            "getattr(<gad.>, 'ghost', <num>)", "<gad.>.ratio", "<gad.>.size",
            "getattr(<gad.>, 'other', <num>)", "vars(Gadget)['ratio'].k", "Gadget.ratio.k",
            "Gadget.value.fget(<gad.>)", "<slim.>.v", "getattr(<slim.>, 'k', <num>)",
            "Slim.v.__get__(<slim.>)",
        ],
        "bool": [
            "hasattr(<gad.>, 'ghost')", "hasattr(<slim.>, 'k')", "hasattr(<gad.>, 'other')",
            "isinstance(vars(Gadget).get('value'), property)",
            "isinstance(vars(Gadget).get('mix'), staticmethod)",
            "<gad.:a>.scale == <:a>.scale",
        ],
    },
    statements=(
        "<gad.>.value = <num>", "<gad.>.value += <lit>", "<gad.>.ratio = <num>",
        "<gad.>.ratio += <num>", "<gad.>._v = <num>", "<gad!> = Gadget(<num>)",
        "Gadget.size = <num> % 3", "vars(Gadget)['ratio'].k = <num>",
        "<slim.>.v = <num>", "<slim.>.k = <num>", "<slim!> = Slim(<num>)", "<slim!> = Tiny(<num>)",
        "if hasattr(<slim.:a>, 'k'):\n    with contextlib.suppress(AttributeError):\n"
        "        del <:a>.k",
        "try:\n    <slim.>.zz = <num>\nexcept AttributeError:\n    <block>",
        "try:\n    <gad.>.value = <num>\nexcept AttributeError:\n    <block>",
        "Gadget.value = property(lambda self: self._v + <lit>)",
        "Gadget.mix = staticmethod(lambda v=1: v - <lit>)",
        "Gadget.scale = classmethod(lambda cls, v=1: cls.size - v)",
        "Gadget.scale.__func__.__defaults__ = (<lit>,)",
    ),
    results=("<gad.>", "<slim.>", "<gad.>.value, <gad.>.ratio"),
    outside=(
        "Gadget.value = property(lambda self: self._v + 3)",
        "Gadget.value = property(lambda self: 2, lambda self, v: None)",
        "Gadget.value = property(lambda self: self._v, lambda self, v: setattr(self, '_v', v))",
        "Gadget.value = functools.cached_property(lambda self: self._v)\n"
        "Gadget.value.__set_name__(Gadget, 'value')",
        "Gadget.value = 3",
        "Gadget.scale = classmethod(lambda cls, v=1: cls.size - v)",
        "Gadget.scale = staticmethod(lambda v=1: v * 0.5)",
        "Gadget.scale = lambda self=None, v=1: 2 if self is None else self._v if v == 1 else v",
        "Gadget.mix = staticmethod(lambda v=1: v - 1)", "Gadget.mix = staticmethod(half)",
        "Gadget.mix = classmethod(lambda cls, v=1: cls.size + v)",
        "Gadget.mix = lambda self, v=2: v * 0.5",
        "Gadget.mix = functools.partial(lambda k, v=1: k + v, 2)",
        "Gadget.__getattr__ = lambda self, name: 0.5 if name[:1] != '_' else self[name]",
        "if '__getattr__' in vars(Gadget):\n    del Gadget.__getattr__",
        "Gadget.ghost = 7", "if 'ghost' in vars(Gadget):\n    del Gadget.ghost",
        "Gadget.ratio = Ratio(2)", "Gadget.ratio = 1.5",
        "Ratio.__get__ = lambda self, obj, owner=None: self if obj is None else self.k",
        "if '__set__' in vars(Ratio):\n    del Ratio.__set__",
        "Ratio.__set__ = lambda self, obj, value: setattr(obj, '_v', value)",
        "Gadget.__setattr__ = lambda self, k, v: object.__setattr__(self, k, v)",
        "if '__setattr__' in vars(Gadget):\n    del Gadget.__setattr__",
        "Gadget.other = 4", "if 'other' in vars(Gadget):\n    del Gadget.other",
        "Slim.k = 5", "Slim.k = property(lambda self: self.v)", "Tiny.k = 2",
        "Tiny.__getattr__ = lambda self, name: 3 if name == 'k' else self[name]",
    ),
    start={"gad": ["Gadget()", "Gadget(s)", "GADGET"], "slim": ["Slim(s)", "Tiny(s)", "Slim()"]},
    parts_of={"gad": [("._v", "num", True)], "slim": [(".v", "num", True)]},
    attributes={"gad": "gad", "other_gad": "gad", "slim": "slim"},
    globals={"GAD": "gad", "SLIM": "slim"},
    arguments={"gad": "gad", "slim": "slim"},
    shared=frozenset({"gad", "slim"}),
)  # fmt: skip

FAMILIES = (_ATTRIBUTES, _NAMESPACE, _REPLACED)
