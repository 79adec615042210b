"""Every kind of value that can hold numbers: what `jit` makes of it, cell by cell.

A cell that is not named in a row is exact: all that `values_columns` observes agrees with plain
Python. One that is named is refused, with an error whose text is looked for. `page` writes all of
it as Markdown: `python -m tests.contract.values_table` renews ``docs/values.md``.
"""

import array
import collections
import concurrent.futures
import contextlib
import contextvars
import copy
import ctypes
import datetime
import decimal
import fractions
import functools
import graphlib
import heapq
import inspect
import io
import ipaddress
import itertools
import mmap
import operator
import pathlib
import queue
import re
import string
import struct
import threading
import time
import types
import typing
import uuid
import weakref
import zoneinfo

from evertrace import errors
from tests.contract.compare import Record
from tests.contract.values_classes import (
    Bits,
    Color,
    Counting,
    Data,
    Failure,
    Frozen,
    FrozenSlotted,
    Items,
    Lists,
    Meta,
    Named,
    Number,
    Old,
    Pair,
    Pixel,
    Real,
    Sized,
    Slotted,
    Sub,
    Table,
    Text,
    Whole,
    WithDict,
    WithSlots,
)
from tests.contract.values_columns import COLUMNS, Refusal, Row

# ------------------------------------------------------------------------ what rows are made of

CONTEXT = contextvars.ContextVar("CONTEXT", default=0)


def of_lists(n):
    member = list(Lists)[n - 2]
    member.value[:] = [n]
    return member


def done(n):
    made = concurrent.futures.Future()
    made.set_result(n)
    return made


def in_variable(n):
    variable = contextvars.ContextVar("variable")
    return Record(variable=variable, token=variable.set(n))


def adder(n):
    def add(x):
        return x + n

    return add


def constant(n):
    return lambda: n


def with_default(n):
    def add(x, n=n, *, k=n):
        return x + n + k

    return add


def started(n):
    made = (i for i in (1, n))
    next(made)
    return made


def exhausted(n):
    made = (i for i in (n,))
    next(made)
    return made if next(made, None) is None else None


def queued(kind):
    def make(n):
        made = kind()
        made.put(n)
        return made

    return make


def put(q, n):
    q.get()
    q.put(n)


def local(n):
    made = threading.local()
    made.n = n
    return made


def held(n):
    """Return a weak dict with its object, which keeps the entry alive."""
    key = WithDict(n)
    made = weakref.WeakKeyDictionary()
    made[key] = n
    return Record(keys=[key], weak=made)


def held_value(n):
    value = WithDict(n)
    made = weakref.WeakValueDictionary()
    made["a"] = value
    return Record(values=[value], weak=made)


def held_member(n):
    member = WithDict(n)
    made = weakref.WeakSet()
    made.add(member)
    return Record(members=[member], weak=made)


def referred(kind):
    def make(n):
        target = WithDict(n)
        return Record(target=target, ref=kind(target))

    return make


def bound_reference(n):
    target = WithDict(n)
    return Record(target=target, ref=weakref.WeakMethod(target.double))


def set_of(name):
    return lambda v, n: setattr(v, name, n)


def set_item(key):
    def change(v, n):
        v[key] = n

    return change


def event(n):
    made = threading.Event()
    if n > 2:
        made.set()
    return made


def set_event(v, n):
    v.set() if n > 2 else v.clear()


def ordered(n):
    return collections.OrderedDict(a=n, b=1)


def reordered(n):
    return collections.OrderedDict(b=1, a=n)


def first_key(v):
    return len(next(iter(v))) + 2 * (next(iter(v)) == "a")


def missing(v):
    return v["a"] + v.default_factory()


def sorter(n):
    return graphlib.TopologicalSorter({n: {1}, 1: set()})


def group(n):
    return ExceptionGroup("several", [ValueError(n), KeyError("k")])


def new_class(n):
    return type("Made", (), {"n": n})


def with_meta(n):
    return Meta("Made", (), {"n": n})


def cell(n):
    return (lambda: n).__closure__[0]


def fill_cell(v, n):
    v.cell_contents = n


def write_text(n):
    made = io.StringIO()
    made.write(f"{n} ")
    return made


def write_bytes(n):
    made = io.BytesIO()
    made.write(bytes([n]))
    return made


def in_context(n):
    made = contextvars.copy_context()
    made.run(CONTEXT.set, n)
    return made


def mapped(n):
    made = mmap.mmap(-1, 16)
    made[0] = n
    return made


@functools.singledispatch
def scaled(v):
    return 2


@scaled.register
def _(v: int):
    return v * 3


_OPAQUE = errors.OpaqueStateError
HELD = dict.fromkeys(("read", "guarded", "changed"), Refusal(_OPAQUE, "could go stale unnoticed"))
UNMADE = dict.fromkeys(("stored", "returned"), Refusal(_OPAQUE, "could not make it again"))
UNSEEN = HELD | UNMADE


def _rest(v):
    """Return the type of an iterator, and at most four of what is left."""
    return [type(v), list(itertools.islice(v, 4))]


def _next(v):
    """Return what an iterator gives next as a number, 0 at its end."""
    found = next(v, 0)
    return sum(found) if type(found) is tuple else int(found) if type(found) is str else found


def _iterator(name, make, **options):
    options["refused"] = HELD | options.get("refused", {})
    options.setdefault("arrays", True)
    return Row(name, make, _next, lambda v, n: next(v, 0), show=_rest, **options)


# ------------------------------------------------------------------------ the rows

GROUPS = {
    "Numbers and text": (
        Row("`bool`", lambda n: n > 2, lambda v: 1 if v else 2),
        Row("`int`", lambda n: n + 1, lambda v: v * 2),
        Row("`int` beyond 64 bits", lambda n: 10**30 + n, lambda v: v % 1000),
        Row("`float`", lambda n: n / 4, lambda v: v),
        Row("`complex`", lambda n: complex(n, 1), lambda v: v.real),
        Row("`str`", lambda n: f"{n}", lambda v: int(v)),
        Row("`bytes`", lambda n: bytes([n]), lambda v: v[0]),
        Row("`...`, `NotImplemented`", lambda n: ... if n > 2 else NotImplemented,
            lambda v: 1 if v is ... else 2),
        Row("subclass of `str`", lambda n: Text(n), lambda v: int(v)),
        Row("subclass of `int`", lambda n: Whole(n), lambda v: v * 2),
        Row("subclass of `float`", lambda n: Real(n), lambda v: v * 2),
        Row("`Fraction`", lambda n: fractions.Fraction(n, 3), lambda v: v.numerator),
        Row("`Decimal`", lambda n: decimal.Decimal(n), lambda v: int(v)),
        Row("`Enum`", lambda n: list(Color)[n - 2], lambda v: v.value),
        Row("`IntEnum`", lambda n: Number(n), lambda v: v + 1),
        Row("`Flag`", lambda n: Bits.A | Bits(n & 6), lambda v: v.value),
    ),
    "Time, names, addresses": (
        Row("`datetime`", lambda n: datetime.datetime(2020, 1, n, 5), lambda v: v.day),
        Row("`date`", lambda n: datetime.date(2020, 1, n), lambda v: v.day),
        Row("`time`", lambda n: datetime.time(n, 5), lambda v: v.hour),
        Row("`timedelta`", lambda n: datetime.timedelta(seconds=n), lambda v: v.seconds),
        Row("`datetime` with a `ZoneInfo`",
            lambda n: datetime.datetime(2020, n, 1, tzinfo=zoneinfo.ZoneInfo("UTC")),
            lambda v: v.month),
        Row("`timezone`", lambda n: datetime.timezone(datetime.timedelta(hours=n)),
            lambda v: v.utcoffset(None).seconds),
        Row("`struct_time`", lambda n: time.struct_time((2020, 1, n, 5, 0, 0, 0, 1, 0)),
            lambda v: v.tm_mday),
        Row("`UUID`", lambda n: uuid.UUID(int=n), lambda v: v.int),
        Row("`PurePath`", lambda n: pathlib.PurePath("a", str(n)), lambda v: int(v.name)),
        Row("`IPv4Address`", lambda n: ipaddress.IPv4Address(n), lambda v: int(v)),
        Row("`IPv4Network`", lambda n: ipaddress.IPv4Network((n << 8, 24)),
            lambda v: int(v.network_address) >> 8),
        Row("`re.Pattern`", lambda n: re.compile(f"a{{{n}}}"), lambda v: 1 + bool(v.match("aa"))),
        Row("`re.Match`", lambda n: re.match(r"\d", f"{n}"), lambda v: int(v[0])),
        Row("`string.Template`", lambda n: string.Template(f"{n}$a"),
            lambda v: len(v.substitute(a="b")) + int(v.template[0]),
            lambda v, n: setattr(v, "template", f"{n}$a")),
        Row("`struct.Struct`", lambda n: struct.Struct(f"{n}i"), lambda v: v.size),
    ),
    "Containers": (
        Row("`tuple`", lambda n: (n, 1), lambda v: v[0], arrays=True),
        Row("`namedtuple` with defaults", lambda n: Old(n), lambda v: v.first, arrays=True),
        Row("`typing.NamedTuple`", lambda n: Pair(n), lambda v: v.first, arrays=True),
        Row("subclass of a named tuple", lambda n: Named(n), lambda v: v.total(), arrays=True),
        Row("`list`", lambda n: [n, 1], lambda v: v[0], set_item(0), arrays=True),
        Row("subclass of `list`", lambda n: Items([n]), lambda v: v[0], set_item(0), arrays=True),
        Row("`dict`", lambda n: {"a": n, "bb": 1}, lambda v: v["a"] * first_key(v),
            set_item("a"), others=(lambda n: {"bb": 1, "a": n},), arrays=True),
        Row("`OrderedDict`", ordered, lambda v: v["a"] * first_key(v), set_item("a"),
            others=(reordered,), arrays=True),
        Row("`OrderedDict`, moved", ordered, first_key,
            lambda v, n: v.move_to_end("a", last=n > 2), others=(reordered,)),
        Row("`defaultdict`", lambda n: collections.defaultdict(lambda: 1, a=n), missing,
            set_item("a"), others=(lambda n: collections.defaultdict(lambda: n, a=1),),
            arrays=True),
        Row("`defaultdict`, by its factory", lambda n: collections.defaultdict(lambda: n),
            lambda v: v["b"], lambda v, n: setattr(v, "default_factory", lambda: n)),
        Row("`Counter`", lambda n: collections.Counter(a=n), lambda v: v["a"] + v["z"],
            lambda v, n: v.update(a=n)),
        Row("`ChainMap`", lambda n: collections.ChainMap({}, {"a": n}), lambda v: v["a"],
            set_item("a"), arrays=True,
            others=(lambda n: collections.ChainMap({"a": n}, {"a": 5}),)),
        Row("`UserDict`", lambda n: collections.UserDict(a=n), lambda v: v["a"], set_item("a"),
            arrays=True),
        Row("`UserList`", lambda n: collections.UserList([n]), lambda v: v[0], set_item(0),
            arrays=True),
        Row("`UserString`", lambda n: collections.UserString(str(n)), lambda v: int(v.data),
            lambda v, n: setattr(v, "data", str(n))),
        Row("`set`", lambda n: {n, 1}, lambda v: sum(v), lambda v, n: v.add(n + 5)),
        Row("`frozenset`", lambda n: frozenset((n, 1)), lambda v: sum(v)),
        Row("`deque`", lambda n: collections.deque([n, 1]), lambda v: v[0], set_item(0),
            arrays=True),
        Row("`deque` with `maxlen`", lambda n: collections.deque([n], maxlen=2), lambda v: sum(v),
            lambda v, n: v.append(n), arrays=True,
            others=(lambda n: collections.deque([n], maxlen=1),
                    lambda n: collections.deque([n], maxlen=3))),
        Row("list kept by `heapq`", lambda n: [1, n], lambda v: v[0] + v[-1],
            lambda v, n: heapq.heappushpop(v, n)),
        Row("`mappingproxy`", lambda n: types.MappingProxyType({"a": n}), lambda v: v["a"],
            arrays=True),
        Row("`mappingproxy` of a class", lambda n: new_class(n).__dict__, lambda v: v["n"],
            refused=UNSEEN),
        Row("keys of a dict", lambda n: {n: 1}.keys(), sum),
        Row("values of a dict", lambda n: {"a": n}.values(), sum, arrays=True),
        Row("items of a dict", lambda n: {"a": n}.items(), lambda v: sum(b for _, b in v),
            arrays=True),
        Row("`range`", lambda n: range(1, n), lambda v: v.stop),
        Row("`slice`", lambda n: slice(1, n), lambda v: v.stop, arrays=True),
        Row("`bytearray`", lambda n: bytearray([n]), lambda v: v[0], set_item(0)),
        Row("`memoryview`", lambda n: memoryview(bytearray([n])), lambda v: v[0], set_item(0),
            others=(lambda n: memoryview(bytearray([n])).cast("b"),)),
        Row("`array.array`", lambda n: array.array("i", [n]), lambda v: v[0], set_item(0),
            others=(lambda n: array.array("f", [n]), lambda n: array.array("i", [1 << 30]),
                    lambda n: array.array("f", [2.0]))),
        Row("`mmap`", mapped, lambda v: v[0], set_item(0), refused=UNSEEN),
        Row("`collections.abc.Sequence` of one's own", Sized, lambda v: v[0], arrays=True),
        Row("`MutableMapping` of one's own", Table, lambda v: v["a"], set_item("a"), arrays=True),
        Row("`graphlib.TopologicalSorter`", sorter, lambda v: sum(copy.deepcopy(v).static_order()),
            lambda v, n: v.add(n)),
    ),
    "Objects": (
        Row("object with a dict", WithDict, lambda v: v.n, set_of("n"), arrays=True),
        Row("object with slots", WithSlots, lambda v: v.n, set_of("n"), arrays=True),
        Row("`SimpleNamespace`", lambda n: types.SimpleNamespace(n=n), lambda v: v.n, set_of("n"),
            arrays=True),
        Row("order of `__dict__`", lambda n: Record(a=1, bb=n),
            lambda v: len(next(iter(vars(v)))) * v.bb, set_of("bb"),
            others=(lambda n: Record(bb=n, a=1),)),
        Row("dataclass", Data, lambda v: v.n + v.scale + len(v.items), set_of("n"), arrays=True),
        Row("dataclass, frozen", Frozen, lambda v: v.n, arrays=True),
        Row("dataclass with slots", Slotted, lambda v: v.n, set_of("n"), arrays=True),
        Row("dataclass, frozen with slots", FrozenSlotted, lambda v: v.n, arrays=True),
        Row("`cached_property`", WithDict, lambda v: v.cached,
            lambda v, n: (setattr(v, "n", n), vars(v).pop("cached", None)), arrays=True),
        Row("`property`", WithDict, lambda v: v.plus, set_of("plus"), arrays=True),
        Row("`partialmethod`", WithDict, lambda v: v.tripled(), set_of("n"), arrays=True),
        Row("class", new_class, lambda v: v.n, set_of("n"), refused=UNMADE),
        Row("class of a metaclass", with_meta, lambda v: v.size, set_of("n"), refused=UNMADE),
        Row("`object()` as a sentinel", lambda n: Record(n=n, mark=object()),
            lambda v: v.n if v.mark is not None else 0, lambda v, n: setattr(v, "mark", object())),
        Row("exception", lambda n: ValueError(n), lambda v: v.args[0],
            lambda v, n: setattr(v, "args", (n,)), arrays=True),
        Row("exception with attributes", Failure, lambda v: v.n + v.args[1], set_of("n"),
            arrays=True),
        Row("`ExceptionGroup`", group, lambda v: v.exceptions[0].args[0],
            lambda v, n: setattr(v.exceptions[0], "args", (n,))),
        Row("`threading.local`", local, lambda v: v.n, set_of("n"), refused=UNMADE),
        Row("`threading.Event`", event, lambda v: 1 if v.is_set() else 2, set_event),
        Row("`Condition`", lambda n: threading.Condition(), lambda v: 1 + v._lock._is_owned()),
        Row("`Semaphore`", threading.Semaphore, lambda v: v._value,
            lambda v, n: [v.release() for _ in range(n)]),
        Row("`Future`", done, lambda v: v.result(), arrays=True),
        Row("iterator of one's own", Counting, next, lambda v, n: next(v), arrays=True),
        Row("`Enum` of lists", of_lists, lambda v: sum(v.value),
            lambda v, n: v.value.append(n)),
        Row("`contextlib.nullcontext`", contextlib.nullcontext, lambda v: v.enter_result,
            set_of("enter_result"), arrays=True),
        Row("`super`", lambda n: super(Sub, Sub(n)), lambda v: v.double(), refused=UNSEEN),
        Row("`functools.cmp_to_key`", lambda n: functools.cmp_to_key(operator.sub)(n),
            lambda v: v.obj, refused=UNSEEN),
        Row("`threading.Lock`", lambda n: threading.Lock(), lambda v: 1 + v.locked()),
        Row("`threading.RLock`", lambda n: threading.RLock(), lambda v: 1 + v._is_owned()),
        Row("`queue.Queue`", queued(queue.Queue), lambda v: v.queue[0], put, arrays=True),
        Row("`queue.LifoQueue`", queued(queue.LifoQueue), lambda v: v.queue[0], put, arrays=True),
        Row("`queue.PriorityQueue`", queued(queue.PriorityQueue), lambda v: v.queue[0], put),
        Row("`queue.SimpleQueue`", queued(queue.SimpleQueue), lambda v: v.qsize(), put,
            refused=UNSEEN),
        Row("`io.StringIO`", write_text, lambda v: int(v.getvalue().split()[-1]),
            lambda v, n: v.write(f"{n} "), refused=HELD, show=lambda v: (v.getvalue(), v.tell())),
        Row("`io.BytesIO`", write_bytes, lambda v: v.getvalue()[0],
            lambda v, n: v.write(bytes([n])), refused=HELD,
            show=lambda v: (v.getvalue(), v.tell())),
        Row("`ctypes` scalar", lambda n: ctypes.c_int(n), lambda v: v.value, set_of("value"),
            refused=UNSEEN),
        Row("`ctypes` structure", lambda n: Pixel(n), lambda v: v.n, set_of("n"), refused=UNSEEN),
    ),
    "References and context": (
        Row("`weakref.ref`", referred(weakref.ref), lambda v: v.ref().n,
            lambda v, n: setattr(v.ref(), "n", n), arrays=True),
        Row("`weakref.proxy`", referred(weakref.proxy), lambda v: v.ref.n,
            lambda v, n: setattr(v.ref, "n", n), refused=UNSEEN),
        Row("`WeakMethod`", bound_reference, lambda v: v.ref()(),
            lambda v, n: setattr(v.target, "n", n), arrays=True),
        Row("`WeakKeyDictionary`", held, lambda v: sum(v.weak.values()),
            lambda v, n: v.weak.update({v.keys[0]: n})),
        Row("`WeakValueDictionary`", held_value, lambda v: v.weak["a"].n,
            lambda v, n: setattr(v.weak["a"], "n", n)),
        Row("`WeakSet`", held_member, lambda v: sum(m.n for m in v.weak),
            lambda v, n: setattr(v.members[0], "n", n)),
        Row("`ContextVar` and `Token`", in_variable, lambda v: v.variable.get(),
            lambda v, n: v.variable.set(n), refused=UNMADE),
        Row("`Context`", in_context, lambda v: v[CONTEXT], lambda v, n: v.run(CONTEXT.set, n),
            refused=UNSEEN, show=lambda v: v[CONTEXT]),
    ),
    "Callables and what they are made of": (
        Row("function with a closure", adder, lambda v: v(1),
            lambda v, n: fill_cell(v.__closure__[0], n), arrays=True),
        Row("function with defaults", with_default, lambda v: v(1),
            lambda v, n: setattr(v, "__defaults__", (n,)), arrays=True),
        Row("cell", cell, lambda v: v.cell_contents, fill_cell, arrays=True),
        Row("bound method", lambda n: WithDict(n).double, lambda v: v(),
            lambda v, n: setattr(v.__self__, "n", n), arrays=True),
        Row("bound method of a list", lambda n: [n].index, lambda v: v.__self__[0],
            lambda v, n: v.__self__.__setitem__(0, n)),
        Row("`partial`", lambda n: functools.partial(operator.mul, n), lambda v: v(3),
            others=(lambda n: functools.partial(operator.add, n),), arrays=True),
        Row("`partialmethod` itself", lambda n: functools.partialmethod(WithDict.double, n),
            lambda v: v.args[0], arrays=True),
        Row("`methodcaller`", lambda n: operator.methodcaller("get", "z", n), lambda v: v({}),
            others=(lambda n: operator.methodcaller("get", "a", n),), arrays=True),
        Row("`methodcaller` by name", lambda n: operator.methodcaller("total", k=n),
            lambda v: v(types.SimpleNamespace(total=lambda k: k)), arrays=True),
        Row("`itemgetter`", lambda n: operator.itemgetter(n), lambda v: v([5, 6, 7, 8, 9]),
            others=(lambda n: operator.itemgetter(-n),)),
        Row("`itemgetter` of several", lambda n: operator.itemgetter(n, 0),
            lambda v: v([5, 6, 7, 8, 9])[0]),
        Row("`attrgetter`", lambda n: operator.attrgetter("real" if n > 2 else "imag"),
            lambda v: v(3 + 2j)),
        Row("`staticmethod` object", lambda n: staticmethod(adder(n)), lambda v: v(1),
            lambda v, n: fill_cell(v.__func__.__closure__[0], n), arrays=True),
        Row("`classmethod` object", lambda n: classmethod(adder(n)), lambda v: v.__func__(1),
            lambda v, n: fill_cell(v.__func__.__closure__[0], n), arrays=True),
        Row("`singledispatchmethod`", lambda n: functools.singledispatchmethod(adder(n)),
            lambda v: v.func(1), lambda v, n: fill_cell(v.func.__closure__[0], n), arrays=True),
        Row("`property` object", lambda n: property(adder(n)), lambda v: v.fget(1),
            lambda v, n: fill_cell(v.fget.__closure__[0], n), arrays=True),
        Row("`lru_cache`", lambda n: functools.lru_cache(maxsize=2)(adder(n)), lambda v: v(1),
            lambda v, n: (fill_cell(v.__wrapped__.__closure__[0], n), v.cache_clear())),
        Row("`singledispatch`", lambda n: n, lambda v: scaled(v)),
        Row("`GenericAlias`", lambda n: list[int] if n > 2 else dict[str, int],
            lambda v: len(v.__args__)),
        Row("`typing` alias", lambda n: typing.Literal[1] if n > 2 else typing.Literal[1, 2],
            lambda v: len(v.__args__)),
        Row("`inspect.Signature`", lambda n: inspect.signature(with_default(n)),
            lambda v: v.parameters["n"].default),
        Row("code", lambda n: (adder if n > 2 else with_default).__code__,
            lambda v: v.co_nlocals),
    ),
    "Iterators": (
        _iterator("of a list", lambda n: iter([n, n + 1])),
        _iterator("of a list, begun", lambda n: (it := iter([1, n]), next(it))[0]),
        _iterator("of a list, at its end", lambda n: (it := iter([n]), list(it))[0]),
        _iterator("of a tuple", lambda n: iter((n, n + 1))),
        _iterator("of a range", lambda n: iter(range(n)), arrays=False),
        _iterator("of a string", lambda n: iter(f"{n}1"), arrays=False),
        _iterator("of bytes", lambda n: iter(bytes([n])), arrays=False),
        _iterator("of a dict", lambda n: iter({n: 1}), arrays=False, refused=UNMADE),
        _iterator("of the values of a dict", lambda n: iter({1: n}.values()), refused=UNMADE),
        _iterator("of a set", lambda n: iter({n}), arrays=False, refused=UNMADE),
        _iterator("of a deque", lambda n: iter(collections.deque([n]))),
        _iterator("of a callable", lambda n: iter(constant(n), 0), arrays=False),
        _iterator("`reversed`", lambda n: reversed([n, 1])),
        _iterator("`reversed` of a tuple", lambda n: reversed((n, 1))),
        _iterator("`enumerate`", lambda n: enumerate([n, 5])),
        _iterator("`zip`", lambda n: zip([n, n], (n, 1), strict=False)),
        _iterator("`zip`, strict and begun",
                  lambda n: (it := zip([n, 1], [n, 1], strict=True), next(it))[0]),
        _iterator("`map`", lambda n: map(adder(n), [n, 1])),
        _iterator("`filter`", lambda n: filter(None, [n, 0]), arrays=False),
        _iterator("`itertools.count`", lambda n: itertools.count(n), refused=UNMADE),
        _iterator("`itertools.cycle`", lambda n: itertools.cycle([n]), refused=UNMADE),
        _iterator("`itertools.chain`", lambda n: itertools.chain([n], [1]), refused=UNMADE),
        _iterator("`itertools.islice`", lambda n: itertools.islice([n, 1], 1), refused=UNMADE),
        _iterator("`itertools.repeat`", lambda n: itertools.repeat(n), refused=UNMADE),
        _iterator("`itertools.accumulate`", lambda n: itertools.accumulate([n, n]),
                  refused=UNMADE),
        _iterator("`itertools.tee`", lambda n: itertools.tee([n])[0], refused=UNMADE),
        _iterator("`itertools.product`", lambda n: itertools.product([n], [1]), refused=UNMADE),
        _iterator("generator", lambda n: (i for i in (n,))),
        _iterator("generator, begun", started, refused=UNMADE),
        _iterator("generator, at its end", exhausted, refused=UNMADE),
    ),
}  # fmt: skip


def cells():
    """Return triples (group, row, column) of all that there is."""
    return [
        (group_, row, column)
        for group_, rows in GROUPS.items()
        for row in rows
        for column in COLUMNS
        if row.change or column != "changed"
    ]


def page():
    """Return the table as a page of the documentation."""
    lines = [_INTRODUCTION]
    for group, rows in GROUPS.items():
        lines += [f"\n## {group}\n", f"| | {' | '.join(COLUMNS)} |", "|---" * 6 + "|"]
        lines += [f"| {row.name} | {' | '.join(_word(row, c) for c in COLUMNS)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _word(row, column):
    if column == "changed" and not row.change:
        return "-"
    return "refused" if column in row.refused else "exact"


_INTRODUCTION = (
    """\
# Values

What a jitted function may do with a value of Python or its standard library that holds numbers.
This page is written by `tests/contract/values_table.py`, each of whose cells is a test: the same
program, as plain Python and jitted, called several times with other numbers.

| column | what is done |
|---|---|
"""
    + "".join(f"| {name} | {text} |\n" for name, text in COLUMNS.items())
    + """
- *exact*: every result, and every value left behind, has plain Python's type and contents, with
  plain numbers in it, never anything that stands for one while tracing. Lists, tuples and dicts
  that are *returned* are trees, whose numbers `jit` returns as arrays.
- *refused*: an [`OpaqueStateError`](errors.md), which names the value, the line and
  what to do instead.
- -: such a value never changes.

A value that is returned or kept without being looked into is always that very value, a generator or
an iterator too. What a type does besides what it contains is guarded with it: a default factory, a
maximal length, the order of a dict, the type code of an `array.array`. A function behind
`functools.lru_cache` is traced like any other: what its cache holds is neither used nor changed, so
one that changes something is refused ([`ImpurityError`](errors.md))."""
)


if __name__ == "__main__":
    home = pathlib.Path(__file__).resolve().parents[2]
    (home / "docs" / "values.md").write_text(page(), encoding="utf-8")
