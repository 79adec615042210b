"""Iterators, wrappers of functions and buffers, enums, records, weak containers."""

from tests.contract.families.family import Family

FAMILIES = (
    Family(
        "iterators",
        expressions={
            "num": [
                "next(<it.>, <lit>)",
                "sum(<it.>) % 5",
                "next(<cyc.>)",
                "next(<en.>, (<lit>,))[0]",
            ],
        },
        statements=(
            "<it!> = iter([<num>, <lit>])",
            "<it!> = iter(<nums.>)",
            "<it!> = iter((<lit>, <num>))",
            "<it!> = reversed([<num>, <lit>])",
            "<it!> = iter(range(<int> % 4))",
            "<en!> = enumerate([<num>])",
            "<cyc!> = itertools.count(<int>)",
            # Whatever a block does: a list that grows meanwhile is never at its end.
            "for <+num:v> in itertools.islice(<it.>, 5):\n    <block>",
            "for <+num:v> in <it.>:\n    <num!> = <:v> + <lit>",
            "for <+int:i>, <+num:v> in zip(range(3), <it.>):\n    <block>",
        ),
        results=(
            "iter([<num>, <arr>])",
            "zip(<nums.>, [<num>])",
            "map(abs, <nums.>)",
            "enumerate(<nums.>)",
            "reversed(<nums.>)",
            "(v for v in <nums.>)",
            "<cfg.>.items()",
            "<cfg.>.keys()",
            "filter(None, [<num>])",
            "<it.>",
        ),
        start={
            "it": ["iter([1, 2.5, 3])", "iter([s] * 4)", "iter(range(4))", "reversed([1, s])"],
            "cyc": ["itertools.count(2)"],
            "en": ["enumerate([0.5, 2, 1])"],
        },
        attributes={"it": "it", "feed": "it", "cyc": "cyc", "en": "en", "hist": "nums"},
        globals={"IT": "it"},
        arguments={"it": "it"},
        shared=frozenset({"it"}),
    ),
    Family(
        "wrapped functions",
        expressions={
            "num": [
                "<pf.>(<num>)",
                "<pf.>.args[0]",
                "<mc.>([1, <num>, 2])",
                "<ig.>({'a': <num>, 'b': <lit>, 'c': 2})",
                "<ag.>(SimpleNamespace(k=<num>))",
            ],
            "bool": ["<pf.>.func is operator.add", "<pf.> is <pf.>"],
        },
        statements=(
            "<pf!> = functools.partial(operator.add, <num>)",
            "<pf!> = functools.partial(operator.mul, 0.5)",
            "<pf!> = functools.partial(<pf.>.func, <num>)",
            "<pf!> = <pf.>",
            "<mc!> = operator.methodcaller('count', <num>)",
            "<mc!> = operator.methodcaller('index', 2)",
            "<ig!> = operator.itemgetter('<key>')",
            "<pf.>.__setstate__((operator.sub, (<num>,), {}, {}))",
            "<fn!> = functools.partial(jnp.multiply, <num>)",
            "<fn!> = functools.partial(lambda x, c: x * 0.5 + c, c=<num>)",
        ),
        results=("<pf.>", "functools.partial(operator.add, <num>)", "<mc.>", "<ig.>"),
        start={
            "pf": ["functools.partial(operator.add, s)", "functools.partial(math.copysign, 0.5)"],
            "mc": ["operator.methodcaller('count', 1)"],
            "ig": ["operator.itemgetter('a')"],
            "ag": ["operator.attrgetter('k')"],
        },
        attributes={"pf": "pf", "mc": "mc", "ig": "ig", "ag": "ag", "act": "fn"},
        globals={"PF": "pf", "ACT": "fn"},
        arguments={"pf": "pf"},
    ),
    Family(
        "buffers and views",
        expressions={
            "num": [
                "<ar.>[<int> % 2]",
                "sum(<ar.>) % 5",
                "<ba.>[0]",
                "<px.>['a']",
                "<px.>.get('<key>', <num>)",
                "len(<px.>)",
                "<mv.>[0]",
                "len(<by.>)",
                "<by.>[0]",
            ],
            "bool": ["<ba.> == b'ab'", "<by.> == b'ab'", "'<key>' in <px.>"],
            "arr": ["<arr.> + jnp.asarray(<ar.>)[0]"],
        },
        statements=(
            "<ar.>[0] = <num>",
            "<ar.>.append(<num>)",
            "<ar!> = array.array('d', [<num>, 2])",
            "<ba.>[0] = <int> % 200",
            "<ba.>.append(<int> % 200)",
            "<ba!> = bytearray([<int> % 200, 1])",
            "<by!> = bytes([<int> % 200])",
            "<by!> = <by.>[:2] + b'c'",
            "<px!> = MappingProxyType({'a': <num>})",
            "<px!> = MappingProxyType(<cfg.>)",
            "<mv.>[0] = <num>",
            "<mv!> = memoryview(array.array('d', [<num>]))",
        ),
        results=("<px.>", "<ba.>", "<by.>", "<ar.>", "bytes([<int> % 9])"),
        start={
            "ar": ["array.array('d', [0.1, s])"],
            "ba": ["bytearray(b'ab')"],
            "by": ["b'ab'"],
            "px": ["MappingProxyType({'a': s})"],
            "mv": ["memoryview(array.array('d', [0.1, s]))"],
        },
        attributes={"ar": "ar", "ba": "ba", "by": "by", "px": "px", "mv": "mv", "cfg": "cfg"},
        globals={"AR": "ar", "PX": "px"},
        arguments={"ar": "ar", "px": "px"},
        shared=frozenset({"ar", "ba", "px"}),
    ),
    Family(
        "enums and records",
        """
class Mode(enum.Enum):
    FAST = 1
    SLOW = "slow"

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3

class Opt(enum.Flag):
    A = 1
    B = 2

@dataclasses.dataclass(slots=True)
class Row:
    a: object = 1
    b: list = dataclasses.field(default_factory=list)

@dataclasses.dataclass(frozen=True, order=True)
class Key:
    k: object = 1
    tag: str = "a"

Spec = namedtuple("Spec", "lr steps", defaults=(2,))
""",
        expressions={
            "num": [
                "<lv.> * 0.5",
                "<lv.>.value + <num>",
                "<row.>.a",
                "dataclasses.asdict(<row.>)['a']",
                "len(dataclasses.fields(<row.>)) + len(<row.>.b)",
                "dataclasses.astuple(<key.>)[0]",
                "<spec.>.lr",
                "<spec.>._asdict()['steps']",
                "{Mode.FAST: <num>, Mode.SLOW: <lit>}[<mode.>]",
                "<opt.>.value",
            ],
            "bool": [
                "<mode.> is Mode.FAST",
                "<mode.> == <mode.>",
                "<lv.> > 2",
                "<lv.> is Level.LOW",
                "Opt.A in <opt.>",
                "<key.> == Key(<num>)",
                "<key.> < Key(2)",
            ],
            "str": ["<mode.>.name[:1].lower()"],
        },
        statements=(
            "<mode!> = Mode.SLOW if <bool> else Mode.FAST",
            "<mode!> = <mode.>",
            "<lv!> = Level(1 + 2 * (<int> % 2))",
            "<opt!> = <opt.> ^ Opt.B",
            "<row!> = dataclasses.replace(<row.>, a=<num>)",
            "<row!> = Row(<num>)",
            "<row.>.a = <num>",
            "<row.>.b.append(<num>)",
            "<key!> = Key(<num>)",
            "<key!> = dataclasses.replace(<key.>, k=<num>)",
            "<spec!> = <spec.>._replace(lr=<num>)",
            "<spec!> = Spec(<num>)",
            "match <mode.>:\n    case Mode.FAST:\n        <block>\n    case _:\n        <block>",
            "match <key.>:\n    case Key(k=int()):\n        <block>\n    case Key(tag='a'):\n"
            "        <block>",
        ),
        results=("<row.>", "Row(<num>)", "<key.>", "<mode.>", "Spec(<num>)", "<lv.>"),
        start={
            "mode": ["Mode.FAST", "Mode.SLOW"],
            "lv": ["Level.LOW", "Level.HIGH"],
            "opt": ["Opt.A", "Opt(0)"],
            "row": ["Row()", "Row(s)"],
            "key": ["Key()", "Key(s)"],
            "spec": ["Spec(s)"],
        },
        attributes={
            "md": "mode", "lv": "lv", "opt": "opt", "row": "row", "key": "key", "spec": "spec"
        },
        globals={"MD": "mode", "ROW": "row", "SPEC": "spec", "KEY": "key"},
        arguments={"md": "mode", "row": "row", "key": "key"},
        shared=frozenset({"row"}),
    ),
    Family(
        "weak containers and cached properties",
        """
class Thing:
    def __init__(self, k):
        self.k = k
    @functools.cached_property
    def twice(self):
        return self.k * 2

THINGS = [Thing(1), Thing(0.5)]
""",
        expressions={
            "num": [
                "<wv.>['a'].k",
                "len(<wv.>)",
                "<wr.>().k",
                "<wk.>.get(<thing.>, <lit>)",
                "<thing.>.twice",
                "<thing.>.k",
                "THINGS[<int> % 2].k",
                "len(<ws.>)",
            ],
            "bool": [
                "<wr.>() is <thing.>",
                "'<key>' in <wv.>",
                "'twice' in vars(<thing.>)",
                "<thing.> in <wk.>",
                "<thing.> in <ws.>",
            ],
        },
        statements=(
            "<wv.>['<key>'] = THINGS[<int> % 2]",
            "<wr!> = weakref.ref(THINGS[<int> % 2])",
            "<wr!> = weakref.ref(<thing.>)",
            "<wk.>[<thing.>] = <num>",
            "<ws.>.add(<thing.>)",
            "<thing.>.k = <num>",
            "<thing!> = THINGS[<int> % 2]",
            "vars(<thing.>).pop('twice', None)",
            "<thing.>.twice = <num>",
        ),
        start={
            "thing": ["THINGS[0]", "THINGS[1]"],
            "wv": ["weakref.WeakValueDictionary(a=THINGS[0])"],
            "wr": ["weakref.ref(THINGS[0])"],
            "wk": ["weakref.WeakKeyDictionary({THINGS[0]: s})"],
            "ws": ["weakref.WeakSet(THINGS[:1])"],
        },
        attributes={"thing": "thing", "wv": "wv", "wr": "wr", "wk": "wk", "weak_set": "ws"},
        globals={"WV": "wv", "WR": "wr", "THING": "thing"},
        arguments={"t": "thing"},
        shared=frozenset({"wv", "wk", "ws"}),
    ),
)  # fmt: skip
