"""Classes: their data under any name, what they lack and gain, and code that is long."""

from tests.contract.families.family import Family

_DATA_SOURCE = """
class Table:
    __scale__ = 0.5
    __opts__ = {'a': 1}
    __log__ = []
    size: int = 2

class Wide(Table):
    __scale__ = 2

class Order:
    __match_args__ = ('a', 'b')
    def __init__(self):
        self.a, self.b = 1, 0.5

MORE, table, wide, order = [], Table(), Wide(), Order()
"""

_DATA = Family(
    "data of classes",
    source=_DATA_SOURCE,
    expressions={
        "num": [
            "Table.__scale__ * <num>",
            "<num> - Wide.__scale__",
            "Table.__opts__.get('<key>', <num>)",
            "getattr(Wide, '__rate__', <num>)",
            "table.__scale__",
            "sum(c.__scale__ for c in Table.__subclasses__()) % 5",
            "sum(v for k, v in vars(Wide).items() if k in ('__scale__', '__rate__')) % 5",
        ],
        "int": [
            "len(Table.__subclasses__())",
            "len(Table.__annotations__)",
            "len([k for k in dir(wide) if k[0] != '_'])",
            "len([k for k in vars(Table) if k[:2] != '__'])",
            "len(Table.__log__)",
        ],
        "bool": [
            "hasattr(Table, '__rate__')",
            "'__rate__' in vars(Wide)",
            "'extra' in dir(table)",
            "'__scale__' in Wide.__dict__",
        ],
    },
    statements=(
        "Table.__scale__ = <num> % 3",
        "Wide.__scale__ = (Wide.__scale__ + <lit>) % 3",
        "Table.__opts__['<key>'] = <num>",
        "Table.__log__.append(<num>)",
        "Table.__log__[:] = []",
        "Wide.__rate__ = <num>",
        "if '__rate__' in vars(Wide):\n    del Wide.__rate__",
        "Table.extra = <num>",
        "wide.extra = <lit>",
        "match order:\n    case Order(first, _) if first == 1:\n        <block>\n"
        "    case Order(_, 1):\n        <block>",
        "order.a, order.b = order.b, order.a",
    ),
    outside=(
        "MORE.append(type('More', (Table,), {'__scale__': 3}))",
        "if MORE:\n    MORE[-1].__scale__ = 0.25",
        "Table.__annotations__['<key>'] = int",
        "Order.__match_args__ = ('b', 'a')",
        "Order.__match_args__ = ('a', 'b')",
    ),
)

_METHODS_SOURCE = """
class Grow:
    def __init__(self):
        self.v = 1

def added(p, v):
    try:
        return p + v
    except TypeError:
        return 0.25

def less(p, v):
    try:
        return p < v
    except TypeError:
        return False

def tried(fn, *args):
    try:
        return fn(*args)
    except TypeError:
        return 3

grow = Grow()
"""

_METHODS = Family(
    "methods that come and go",
    source=_METHODS_SOURCE,
    expressions={
        "num": [
            "added(grow, <num>)",
            "added(<num>, grow)",
            "tried(operator.sub, grow, <num>)",
            "tried(grow, <num>)",
            "tried(lambda p: p[0], grow)",
            "tried(lambda p: -p, grow)",
        ],
        "int": ["tried(len, grow)", "tried(lambda p: sum(1 for _ in p), grow)"],
        "bool": [
            "less(grow, <num>)",
            "bool(grow)",
            "tried(operator.contains, grow, <lit>) is True",
        ],
    },
    statements=(
        "grow.v = <num>",
        "grow.v += 1",
        "Grow.__add__ = lambda self, other: self.v",
        "Grow.__neg__ = lambda self: self.v * 0.5",
        "Grow.__len__ = lambda self: 2",
        "Grow.__lt__ = lambda self, other: self.v == 1",
        "if '__add__' in vars(Grow):\n    del Grow.__add__",
    ),
    outside=(
        "Grow.__add__ = lambda self, other: other * 0.5",
        "Grow.__add__ = lambda self, other: self.v",
        "Grow.__radd__ = lambda self, other: other + self.v",
        "Grow.__sub__ = lambda self, other: self.v",
        "Grow.__call__ = lambda self, x: x - 1",
        "Grow.__neg__ = lambda self: self.v * 0.5",
        "Grow.__getitem__ = lambda self, i: [self.v, 1][i]",
        "Grow.__len__ = lambda self: 2",
        "Grow.__bool__ = lambda self: self.v == 1",
        "Grow.__lt__ = lambda self, other: self.v == 1",
        "Grow.__contains__ = lambda self, v: self.v == v",
        "Grow.__iter__ = lambda self: iter((1, self.v))",
        *(
            f"if '__{name}__' in vars(Grow):\n    del Grow.__{name}__"
            for name in ("add", "radd", "call", "getitem", "len", "bool", "lt", "iter")
        ),
    ),
)

# Code that no call reaches, and that is long: jumps, names and constants need two bytes.
_FAR = "\n".join(f"    far = math.name{i} + math.other{i % 7} * {i}.125" for i in range(140))

_LONG = Family(
    "long code",
    statements=(
        f"if <int.> > 10**9:\n{_FAR}",
        f"if <bool>:\n    <block>\nif <num.> > 10**9:\n{_FAR}",
        f"while <int.> > 10**9:\n{_FAR}",
        f"for <+num:v> in <nums.>:\n    if <:v> < 10**9:\n        continue\n{_FAR}",
        f"try:\n    <block>\nexcept MemoryError:\n{_FAR}",
        f"for <+int:v> in range(3):\n    <block>\n    if <:v> < 9:\n        continue\n{_FAR}",
        f"with contextlib.suppress(ValueError):\n    <block>\nif <maybe.> == 10**9:\n{_FAR}",
        "print(f'{<num.>:.1f}', <num.> is <maybe.>, <str>)",
        "def gen(n):\n    for i in range(n):\n        yield i if n is <maybe.> else <num>\n"
        f"    if n > 10**9:\n    {_FAR.replace(chr(10), chr(10) + '    ')}\n"
        "<nums!> = list(gen(<int> % 3))",
    ),
)

FAMILIES = (_DATA, _METHODS, _LONG)
