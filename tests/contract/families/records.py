"""Records: dataclasses with what they compute, named tuples that are subclassed, enumerations."""

from tests.contract.families.family import Family

_DATA = Family(
    "dataclasses",
    source="""
@dataclasses.dataclass
class Rec:
    a: object = 1
    b: object = dataclasses.field(default=0.5, compare=False)
    c: list = dataclasses.field(default_factory=list, repr=False)
    def __post_init__(self):
        self.total = self.a + self.b

@dataclasses.dataclass(frozen=True)
class Fix:
    k: object = 2
    w: object = None
    start: dataclasses.InitVar = 0
    def grown(self, v):
        return dataclasses.replace(self, k=self.k + v, start=1)

@dataclasses.dataclass(frozen=True, kw_only=True)
class SubFix(Fix):
    z: object = 1
    @property
    def both(self):
        return self.k + self.z
""",
    expressions={
        "num": [
            "<rec.>.a + <rec.>.b", "<rec.>.total", "<fix.>.k", "<sub.>.both", "Rec.a", "Fix.k",
            "dataclasses.fields(<rec.>)[0].default", "Rec.__dataclass_fields__['b'].default",
            "sum(getattr(<rec.:r>, f.name) for f in dataclasses.fields(<:r>)[:2]) % 5",
            "dataclasses.asdict(<rec.>)['b']", "dataclasses.astuple(<sub.>)[0]",
            "len(<rec.>.c)", "len(dataclasses.fields(<sub.>))", "<fix.>.grown(<num>).k",
            "Rec().a", "Rec(b=<num>).total", "SubFix(z=<num>).both", "Fix().k",
        ],
        "bool": [
            "<rec.> == Rec(<num>)", "<fix.> == Fix(<num>)", "<fix.> == <fix.>",
            "<sub.> == <fix.>", "hash(<sub.>) == hash(<sub.>)", "<fix.> in {Fix(): 1, Fix(1): 2}",
            "dataclasses.is_dataclass(<fix.>)", "<fix.>.w is None",
        ],
        "str": ["repr(<fix.>)[-2:-1]", "repr(<rec.>)[:1].lower()"],
        "arr": ["<arr.> if <fix.>.w is None else <arr.> + jnp.asarray(<fix.>.w)[0]"],
    },
    statements=(
        "<rec!> = Rec(<num>)", "<rec!> = Rec(b=<num>)", "<rec!> = Rec()", "<rec.>.a = <num>",
        "<rec.>.b += <lit>", "<rec.>.c.append(<num>)", "<rec.>.__post_init__()",
        "<rec!> = dataclasses.replace(<rec.>, b=<num>)", "<rec!> = copy.copy(<rec.>)",
        "<fix!> = Fix(<num>)", "<fix!> = Fix(w=<arr>)", "<fix!> = <fix.>.grown(<num>)",
        "<fix!> = dataclasses.replace(<fix.>, w=<arr.>, start=0)",
        "<sub!> = SubFix(z=<num>)", "<sub!> = dataclasses.replace(<sub.>, z=<num>, start=2)",
        "object.__setattr__(<fix.>, 'k', <num>)",
        "try:\n    <fix.>.k = <num>\nexcept dataclasses.FrozenInstanceError:\n    <block>",
        "try:\n    del <fix.>.k\nexcept AttributeError as e:\n    <words.>.append(str(e))",
        "Rec.a = <num>", "Fix.k = <num>",
        "<words.>.append(repr(<fix.>.k))", "<words.>.append(str(<rec.>)[:20])",
        "<words!> = [*dataclasses.asdict(<rec.>)]",
        "match <rec.>:\n    case Rec(1, _):\n        <block>\n"
        "    case Rec(b=0.5):\n        <block>",
        "match <fix.>:\n    case SubFix(z=1):\n        <block>\n    case Fix(k=int()):\n"
        "        <block>",
    ),
    results=("<rec.>", "Rec(<num>)", "<fix.>", "Fix(<num>, <arr>)", "<sub.>", "<rec.>.c"),
    outside=(
        "Rec.__init__.__defaults__ = (3, *Rec.__init__.__defaults__[1:])",
        "Rec.__init__.__defaults__ = (1, *Rec.__init__.__defaults__[1:])",
        "Rec.a = 3", "Rec.__dataclass_fields__['b'].default = 2",
        "Rec.__post_init__ = lambda self: setattr(self, 'total', self.b)",
        "SubFix.both = property(lambda self: self.k)", "Fix.grown = lambda self, v: self",
        "Rec.__eq__ = lambda self, other: True", "Rec.__repr__ = lambda self: 'rec'",
        "if 'k' in vars(Fix):\n    del Fix.k", "Fix.k = 2",
    ),
    start={"rec": ["Rec()", "Rec(s)"], "fix": ["Fix()", "Fix(s)", "SubFix()"],
           "sub": ["SubFix()", "SubFix(z=s)"]},
    parts_of={
        "rec": [(".a", "num", True), (".b", "num", True), (".c", "nums", False)],
        "fix": [(".k", "num", False)], "sub": [(".z", "num", False), (".both", "num", False)],
    },
    attributes={"rec": "rec", "fix": "fix", "sub": "sub", "words": "words"},
    globals={"REC": "rec", "FIX": "fix"},
    arguments={"rec": "rec", "fix": "fix"},
    shared=frozenset({"rec"}),
)  # fmt: skip

_TUPLES = Family(
    "named tuples",
    source="""
class Span(namedtuple("Span", "lo hi", defaults=(2,))):
    __slots__ = ()
    @property
    def width(self):
        return self.hi - self.lo
    def grown(self, v):
        return self._replace(hi=self.hi + v)

class Named(namedtuple("Named", "lo hi name")):
    def __new__(cls, lo, hi=1, name="a"):
        return super().__new__(cls, lo, hi, name)
""",
    expressions={
        "num": [
            "<span.>.lo", "<span.>.hi", "<span.>.width", "<span.>[<int> % 2]", "<span.>[-1]",
            "sum(<span.>) % 5", "<span.>.grown(<num>).hi", "Span._make([<num>, <lit>]).width",
            "<span.>._asdict()['hi']", "len(<span.>)", "<span.>._field_defaults['hi']",
            "getattr(<span.>, <span.>._fields[0])", "max(<span.>)", "Span(<num>).hi",
            "<wide.>.lo", "<wide.>.hi", "<span.>.count(<lit>)", "(<span.> + (<num>,))[2]",
        ],
        "bool": [
            "<span.> < Span(<num>)", "<span.> == (<num>, 2)", "isinstance(<span.>, tuple)",
            "<num> in <span.>", "<span.> is <span.>", "<wide.>.name == '<key>'",
        ],
        "str": ["<span.>._fields[0][:1]", "<wide.>.name[:1]", "repr(<span.>)[:1].lower()"],
    },
    statements=(
        "<span!> = Span(<num>)", "<span!> = Span(<num>, <num>)", "<span!> = Span(hi=<num>, lo=1)",
        "<span!> = <span.>._replace(lo=<num>)", "<span!> = <span.>.grown(<num>)",
        "<span!> = <span.>", "<span!> = Span(*<span.>)", "<span!> = Span._make(<span.>[::-1])",
        "<num!>, <num!> = <span.>", "<wide!> = Named(<num>, name=<str>)",
        "<wide!> = <wide.>._replace(hi=<num>)", "<nums.>.extend(<span.>)",
        "<words.>.append(str(<span.>))",
        "try:\n    <span.>.lo = <num>\nexcept AttributeError:\n    <block>",
        "try:\n    <wide.>.lo = <num>\nexcept AttributeError as e:\n    <words.>.append(str(e))",
        "for <+num:v> in <span.>:\n    <block>",
        "match <span.>:\n    case Span(1, _):\n        <block>\n    case (lo, hi) if hi == 2:\n"
        "        <block>",
        "<spans.>.append(<span.>)", "<spans!> = sorted(<spans.>, key=lambda v: v.hi)[-2:]",
        "<spans!> = [v._replace(lo=<num>) for v in <spans.>]",
    ),
    results=("<span.>", "Span(<num>, <arr>)", "<wide.>", "<spans.>", "Span(<arr>)"),
    outside=(
        "Span.width = property(lambda self: 1)", "Span.width = property(lambda self: self[1])",
        "Span.__new__.__defaults__ = (3,)", "Span.__new__.__defaults__ = (2,)",
        "Span._field_defaults['hi'] = 4", "Span.grown = lambda self, v: self",
        "Named.__new__.__defaults__ = (2, 'b')",
    ),
    start={"span": ["Span(1)", "Span(s, 0.5)"], "wide": ["Named(s)"], "spans": ["[]", "[Span(s)]"]},
    parts_of={"span": [(".lo", "num", False), (".hi", "num", False)]},
    attributes={"span": "span", "wide": "wide", "spans": "spans", "words": "words"},
    globals={"SPAN": "span", "SPANS": "spans"},
    arguments={"one_span": "span", "spans": "spans"},
    shared=frozenset({"spans"}),
)  # fmt: skip

_ENUMS = Family(
    "enumerations",
    source="""
class Tone(enum.Enum):
    LOW = (1, 0.5)
    HIGH = (2, 1.5)
    DEEP = LOW
    def __init__(self, rank, gain):
        self.rank, self.gain = rank, gain
    @property
    def loud(self):
        return self.rank * self.gain
    def louder(self):
        return Tone.HIGH

class Rank(enum.IntEnum):
    ONE = enum.auto()
    TWO = enum.auto()
    @classmethod
    def _missing_(cls, value):
        return cls.ONE

class Word(str, enum.Enum):
    A = "a"
    B = "b"

PRICES = {Tone.LOW: 1, Tone.HIGH: 0.5}
""",
    expressions={
        "num": [
            "<tone.>.gain", "<tone.:a>.gain + <:a>.gain * 0.5", "<tone.>.loud", "<tone.>.rank",
            "<tone.>.value[1]", "PRICES[<tone.>]", "PRICES.get(<tone.>, <num>)", "<rank.> * 0.5",
            "Rank(<int> % 4).value", "Tone['LOW'].gain", "sum(t.gain for t in Tone) % 5",
            "len(Tone)", "len(Tone.__members__)", "max(Rank) + <num>", "<tone.>.louder().rank",
            "{t.name: t.gain for t in Tone}['HIGH']", "getattr(<tone.>, 'extra', <num>)",
        ],
        "int": ["int(<rank.>)", "Rank(1 + <int> % 2).value", "<rank.> + 1",
                "[*Rank].index(<rank.>)"],
        "str": ["<word.>.value", "<word.> + ''", "<tone.>.name[:1].lower()", "f'{<rank.>}'[-1]"],
        "bool": [
            "<tone.> is Tone.LOW", "<tone.> is Tone.DEEP", "<tone.> in Tone", "<rank.> > 1",
            "<rank.> is Rank.TWO", "<word.> == '<key>'", "<tone.> == <tone.>",
            "<rank.> in (1, <int>)", "isinstance(<rank.>, int)",
        ],
    },
    statements=(
        "<tone!> = Tone.HIGH if <bool> else Tone.DEEP", "<tone!> = <tone.>.louder()",
        "<tone!> = [*Tone][<int> % 2]", "<tone!> = Tone((2, 1.5))", "<rank!> = Rank(<int> % 4)",
        "<rank!> = Rank['TWO']", "<word!> = Word(<str>) if <str> in ('a', 'b') else Word.A",
        "<word!> = Word.B", "<tone.>.gain = <num> % 3", "Tone.LOW.gain = <lit>",
        "<tone.>.extra = <num>", "vars(<tone.>).pop('extra', None)", "PRICES[<tone.>] = <num>",
        "try:\n    <word!> = Word(<str>)\nexcept ValueError:\n    <block>",
        "try:\n    Tone.LOW = <num>\nexcept AttributeError:\n    <block>",
        "match <tone.>:\n    case Tone.LOW:\n        <block>\n    case Tone.HIGH:\n        <block>",
        "for <+tone:t> in Tone:\n    <num!> = <:t>.gain * 0.5",
        "<words.>.append(f'{<tone.>} {<rank.>}')", "<words.>.append(repr(<tone.>))",
        "print(<tone.>, <rank.>, <word.>)",
    ),
    results=("<tone.>", "(<rank.>, <arr>)", "<word.>", "[*Tone]", "PRICES"),
    outside=(
        "Tone.LOW.gain = 2", "Tone.HIGH.gain = 0.25", "Tone.HIGH.rank = 4",
        "Tone.loud = property(lambda self: self.gain)", "Tone.louder = lambda self: Tone.LOW",
        "PRICES[Tone.LOW] = 3", "Rank._missing_ = classmethod(lambda cls, value: cls.TWO)",
    ),
    start={"tone": ["Tone.LOW", "Tone.HIGH"], "rank": ["Rank.ONE", "Rank(2)"],
           "word": ["Word.A", "Word.B"]},
    attributes={"tone": "tone", "rank": "rank", "word": "word", "words": "words"},
    globals={"TONE": "tone", "RANK": "rank"},
    arguments={"tone": "tone", "rank": "rank", "word": "word"},
)  # fmt: skip

FAMILIES = (_DATA, _TUPLES, _ENUMS)
