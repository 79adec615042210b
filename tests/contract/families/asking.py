"""What is asked of values: their type, text, order, place in sets and views."""

from tests.contract.families.family import Family

_TYPES = Family(
    "changing types",
    source="""
@functools.singledispatch
def kind_of(v):
    return 0.25

@kind_of.register
def _(v: int):
    return v * 0.5

@kind_of.register
def _(v: float):
    return v + 1

def number(v):
    if isinstance(v, bool):
        return 2 if v else 0.5
    if isinstance(v, (int, float)):
        return v % 5
    return 3 if v is None else 0.25

def shifted(x, v):
    if v is None:
        return x
    if isinstance(v, jnp.ndarray):
        return x * 0.5 + jnp.sum(v) * 0.25
    if isinstance(v, np.generic):
        return x - v
    if type(v) is bool:
        return x if v else -x
    return x + v
""",
    expressions={
        "num": [
            "number(<any.>)", "kind_of(<any.>)", "<any.> if type(<any.:a>) is int else <num>",
            "<lit> if isinstance(<any.>, float) else <num>",
            "{int: 1, float: 0.5, bool: 2}.get(type(<any.>), <num>)",
            "len(type(<any.>).__name__)", "getattr(<any.>, 'ndim', <lit>)",
            "<lit> if <any.> is None else <num.>", "1 if hasattr(<any.>, 'dtype') else <num>",
        ],
        "arr": [
            "shifted(<arr>, <any.>)", "<arr.> if <any.:a> is None else <arr.> + <:a>",
            "<arr.> + jnp.asarray(number(<any.>))", "<arr.> * (<any.:a> is not None) + <arr.>",
            "jnp.where(<arr.> > 0, <arr.>, number(<any.>))",
            "grad(lambda z: jnp.sum(shifted(z, <any.>)))(<arr.>)",
        ],
        "bool": [
            "isinstance(<any.>, int)", "isinstance(<any.>, (float, np.floating))",
            "type(<any.>) is bool", "<any.> is None", "<any.> is True", "isinstance(<any.>, bool)",
            "type(<any.>) is type(<any.>)", "isinstance(<any.>, jnp.ndarray)",
            "type(<any.>) in (int, float)", "<any.> is not <any.>",
        ],
        "str": ["type(<any.>).__name__[:1]"],
    },
    statements=(
        "<any!> = <int>", "<any!> = <num> * 0.5", "<any!> = <bool>", "<any!> = None",
        "<any!> = jnp.float32(<num>)", "<any!> = np.float32(2)", "<any!> = jnp.sum(<arr>)",
        "<any!> = <any.>", "<any!> = <num.>",
        "if isinstance(<any.:a>, int):\n    <any!> = <num.>\nelse:\n    <block>",
        "if <any.:a> is not None:\n    <arr!> = <arr.> + <:a>",
        "match <any.>:\n    case bool():\n        <block>\n    case int() | float() as n:\n"
        "        <num!> = n % 5\n    case None:\n        <block>",
        "match <any.>:\n    case True | 2:\n        <block>\n    case _:\n        <block>",
        "if isinstance(<any.:a>, (int, float)):\n    <any!> = <:a> + 1",
        "try:\n    <num!> = len(<any.>)\nexcept TypeError:\n    <block>",
        "<vals.>.append(<any.>)", "<vals!> = [v for v in <vals.> if v is not None][-2:]",
        "<num!> = sum(isinstance(v, int) for v in <vals.>)",
        "<num!> = sum(number(v) for v in <vals.>) % 5",
    ),
    results=("<any.>", "(<any.>, <arr>)", "<vals.>", "type(<any.>) is int"),
    start={
        "any": ["s", "2", "0.5", "None", "True", "jnp.float32(2)", "np.float32(s)", "np.int32(2)"],
        "vals": ["[]", "[1, 0.5, None]", "[True, s]"],
    },
    attributes={"val": "any", "other_val": "any", "vals": "vals"},
    globals={"ANY": "any", "VALS": "vals"},
    arguments={"any_of": "any", "vals": "vals"},
    shared=frozenset({"vals"}),
)  # fmt: skip

# Arrays of multiples of 1/4, which every engine computes exactly: their texts have to agree.
_ARRAYS = Family(
    "texts of arrays",
    expressions={
        "xa": [
            "<xa.> + <int> % 5", "<xa.> * 0.5 + 1", "-<xa.>", "<xa.> % 4", "<xa.> + <xa.> % 2",
            "jnp.where(<xa.> > 1, <xa.> % 3, <xa.>)", "<xa.>[::-1]", "<xa.> + <whole.>",
        ],
        "whole": ["<whole.> + 1", "<whole.> * <int> % 7", "<xa.>.astype(int)", "<whole.>[::-1]"],
        "str": ["<text.>[:4]", "<text.>[-1:]"],
        "int": ["len(<text.>)", "len(str(<num.>))", "len(f'{<num.>:.2f}')"],
        "bool": ["<text.> == f'{<num.>}'", "<text.>.startswith('[')", "str(<num.>) == '1'"],
        "num": ["<keyed.>.get(str(<num.>), <lit>)", "<keyed.>.get(f'{<num.>:.1f}', <num>)",
                "float(str(<num.>))", "len(<keyed.>)"],
    },
    statements=(
        "<xa!> = <xa>", "<whole!> = <whole>",
        "<text!> = str(<xa.>)", "<text!> = repr(<xa.>)", "<text!> = f'{<xa.>}'",
        "<text!> = f'{<whole.>!r}'", "<text!> = f'{<xa.>[0]:.2f} {<whole.>[-1]:d}'",
        "<text!> = '%s' % <xa.>", "<text!> = '%r %d' % (<whole.>, <int.>)",
        "<text!> = '{} {:.3f}'.format(<whole.>, <num.>)", "<text!> = 'x={0!s:>12}'.format(<xa.>)",
        "<text!> = f'{[<whole.>, <num.>]}'", "<text!> = str({'a': <whole.>})",
        "<text!> = 'a' + str(<xa.>[0]) + 'b'", "<text!> = ', '.join([str(<xa.>[0]), f'{<int.>}'])",
        "<text!> = f'{float(<num.>):8.3f}|{<int.>:>4}|{<int.>:+d}|{<num.>:e}'",
        "<text!> = f'{<num.>:.{<int.:a> * <:a> % 3}f}'", "<text!> = f'{<num.>=}'",
        "<text!> = '%5.1f|%-4d|%s' % (<num.>, <int.>, <num.>)", "<text!> = format(<num.>, '.2f')",
        "<text!> = (<text.> + f' {<xa.>[0]}')[-20:]", "<text!> += f'{<int.>}'",
        "<words.>.append(str(<xa.>))", "<words.>.append(f'{<whole.>}: {<num.>}')",
        "<words.>.append(str(<num.>))", "print(<xa.>)", "print(f'{<whole.>} {<num.>:.2f}')",
        "print('w', <whole.>, <num.>, sep='=', end=';')", "print(repr(<xa.>), str(<int.>))",
        "<keyed.>[str(<num.>)] = <num>", "<keyed.>[f'{<num.>:.1f}'] = <int>",
        "<keyed.>['k%d' % <int.>] = <num>", "<keyed!> = {}",
        "if <int.> % 3 == 2:\n    raise ValueError(f'at {<xa.>}: {<num.>:.3f}')",
        "if <int.> % 3 == 2:\n    raise KeyError(str(<whole.>))",
        "if <int.> % 3 == 2:\n    raise ValueError('bad', str(<xa.>), <num.>)",
        "try:\n    raise LookupError(f'{<xa.>}')\nexcept LookupError as e:\n    <text!> = str(e)",
        "if str(<num.>) == '<lit>':\n    <block>",
        "if f'{<num.>:.1f}' in ('1.0', '0.5'):\n    <block>",
        "if <text.>:\n    <block>",
        "<num!> = float(f'{<num.>:.2f}')", "<int!> = int(str(<int.>)[-1])",
        "<text!> = <text.>.replace('0', 'o')[:12]", "<text!> = f'{<text.>:>4.6}'",
        "<text!> = str(<bool>)", "<text!> = f'{<obj.>.__class__.__name__} {<int.>}'",
        "<text!> = str(type(<num.>))", "<text!> = str(<cfg.>)", "<text!> = repr(<nums.>)",
    ),
    results=(
        "<text.>", "str(<xa.>)", "(<arr>, f'{<whole.>}')", "[repr(<xa.>)]", "f'{<num.>:.3f}'",
        "{'t': str(<num.>)}", "<keyed.>", "f'{<xa.>} {<int.>}'", "<xa.>",
    ),
    start={
        "xa": ["jnp.array([0.5, 2.0])", "jnp.arange(3) * 0.25", "jnp.array([[1.5, -1.0]])[0]"],
        "whole": ["jnp.array([1, 2])", "jnp.arange(2) + 3"],
        "text": ["''", "'t0'"],
        "keyed": ["{}", "{'1': 2, '0.5': 1}"],
    },
    attributes={
        "xa": "xa", "whole": "whole", "name": "text", "keyed": "keyed", "words": "words",
        "n": "int", "rate": "num",
    },
    globals={"XA": "xa", "NOTE": "text", "KEYED": "keyed"},
    arguments={"xa": "xa", "whole": "whole", "label": "text"},
    shared=frozenset({"keyed"}),
)  # fmt: skip

_ORDERS = Family(
    "orders",
    source="""
class Item:
    def __init__(self, v, tag="a"):
        self.v, self.tag = v, tag
    def rank(self):
        return -self.v

ITEMS = [Item(2, "b"), Item(0.5), Item(1, "c")]

def by_tag(item):
    return item.tag, item.v
""",
    expressions={
        "num": [
            "sorted(<nums.:a>, key=lambda v: -v)[0] if <:a> else <lit>",
            "min(<nums.>, key=lambda v: abs(v - <num>), default=<lit>)",
            "max(<nums.>, key=operator.neg, default=<num>)", "min(ITEMS, key=lambda i: i.v).v",
            "max(ITEMS, key=Item.rank).v", "sorted(ITEMS, key=by_tag)[-1].v",
            "sorted(ITEMS, key=operator.attrgetter('v'), reverse=True)[0].v",
            "min(<rows.>, key=operator.itemgetter(1), default=(<lit>, 1))[0]",
            "sorted(<rows.>)[0][1] if <rows.> else <num>",
            "max(<cfg.:a>.items(), key=lambda i: i[1])[1] if <:a> else <lit>",
            "heapq.nsmallest(1, [*<nums.>, <num>], key=lambda v: -v)[0]",
            "heapq.nlargest(2, [<num>, <lit>, <num>])[1]",
            "sorted([<num>, <num>], key=functools.cmp_to_key(lambda a, b: (a > b) - (a < b)))[0]",
            "max(<num>, <num>, key=lambda v: v % 2)", "min((<num>, 1), (<lit>, 2))[1]",
            "bisect.bisect_left([0, 1, 2], <num>)", "sorted((<num>, <lit>, <num.>))[1]",
        ],
        "str": [
            "max(<cfg.:a>, key=<:a>.get, default='<key>')",
            "min(<words.>, key=len, default='a')[:1]",
            "sorted(<words.:a>, key=lambda w: (-len(w), w))[0][:1] if <:a> else '<key>'",
            "sorted(<cfg.:a>, key=lambda k: <:a>[k])[0] if <:a> else '<key>'",
            "min(ITEMS, key=lambda i: i.v).tag", "max(<str>, <str>)",
        ],
        "bool": [
            "sorted(<nums.:a>) == <:a>", "min(<num>, <num>) == <lit>",
            "[*map(id, sorted(ITEMS, key=lambda i: i.tag))] == [*map(id, ITEMS)]",
        ],
        "int": ["sorted(range(3), key=lambda i: i * <num> % 2)[0]",
                "max(range(len(ITEMS)), key=lambda i: ITEMS[i].v)"],
    },
    statements=(
        "ITEMS[<int> % 3].v = <num>", "ITEMS[<int> % 3].tag = <str>",
        "ITEMS.sort(key=lambda i: i.v)", "ITEMS.sort(key=by_tag, reverse=<bool>)",
        "<nums.>.sort(key=abs)", "<nums!> = sorted(<nums.>, key=lambda v: v % 2)[:3]",
        "<rows.>.append((<num>, <int>))", "<rows.>.sort(key=lambda r: r[1])",
        "<rows!> = sorted(<rows.>, key=operator.itemgetter(0), reverse=True)[:2]",
        "<rows!> = [(<num>, 1), (<lit>, 2)]", "<cfg!> = dict(sorted(<cfg.>.items(), key=str))",
        "<cfg!> = dict(sorted(<cfg.>.items(), key=lambda i: i[1]))",
        "<words.>.sort(key=len)",
        "<num!> = sum(k + len([*g]) for k, g in itertools.groupby(sorted(<nums.>), bool))",
        "for <+num:a>, <+int:b> in sorted(<rows.>, key=lambda r: -r[1])[:2]:\n    <block>",
        "best = min(ITEMS, key=lambda i: (i.v - <num>) ** 2)\n<num!> = best.v\nbest.v = <num>\n"
        "del best",
    ),
    results=("sorted(<nums.>)", "ITEMS", "sorted([<num>, <lit>])", "max(ITEMS, key=by_tag)"),
    outside=("ITEMS.reverse()", "Item.rank = lambda self: self.v", "ITEMS[0].v = 5"),
    start={"rows": ["[]", "[(s, 1), (0.5, 2)]", "[(1, 2), (1, 1)]"]},
    attributes={"rows": "rows", "hist": "nums", "cfg": "cfg", "words": "words"},
    globals={"ROWS": "rows"},
    arguments={"rows": "rows"},
    shared=frozenset({"rows"}),
)  # fmt: skip

_SETS = Family(
    "sets of numbers",
    expressions={
        "num": [
            "sum(<ids.>) % 5", "max(<ids.>, default=<num>)", "min(<ids.>, default=<lit>)",
            "sorted(<ids.:a>)[0] if <:a> else <num>", "len(<ids.> | {<num>})",
            "len(<ids.> & <froz.>)", "len(<froz.> - {<num>, <lit>})", "next(iter(<ids.>), <lit>)",
            "sum(v * 0.5 for v in <froz.>) % 5", "len({<num>, <num>, <lit>})",
            "sum({<num>, <lit>, <num.>}) % 7", "len(set(<nums.>))", "<seen.>.get(<froz.>, <num>)",
            "sum({v % 2 for v in <nums.>}) % 5", "[*<ids.>, <num>][0]",
        ],
        "bool": [
            "<num> in <ids.>", "<int> in <ids.>", "<num> not in <froz.>", "<ids.> == {1, <num>}",
            "<ids.> <= {1, 2, 0.5, <num>}", "<froz.>.isdisjoint(<ids.>)", "bool(<ids.>)",
            "{<num>} < <froz.>", "<froz.> is <froz.>", "<froz.> == <ids.>", "1 in {<num>, <lit>}",
        ],
        "int": ["len(<ids.>)", "len(<froz.>)"],
    },
    statements=(
        "<ids.>.add(<num>)", "<ids.>.add(<int>)", "<ids.>.discard(<num>)", "<ids.>.update(<nums.>)",
        "<ids.>.difference_update({<lit>, <num>})", "<ids!> = <ids.> ^ {<num>}",
        "<ids!> = {v * 0.5 for v in <ids.>}", "<ids!> = {<num>, <lit>}", "<ids!> |= {<int>}",
        "<ids!> &= {1, 2, 0.5}", "<froz!> = frozenset([<num>, <lit>])",
        "<froz!> = <froz.> | {<num>}", "<froz!> = frozenset(<ids.>)", "<ids.>.clear()",
        "while len(<ids.:a>) > 3:\n    <:a>.discard(max(<:a>))", "<nums!> = sorted(<ids.>)",
        "try:\n    <ids.>.remove(<num>)\nexcept KeyError as e:\n    <num!> = e.args[0]",
        "for <+num:v> in sorted(<ids.>)[:2]:\n    <block>", "for <+num:v> in <froz.>:\n    <block>",
        "if <num> in <ids.>:\n    <block>\nelse:\n    <ids.>.add(<lit>)",
        "if not {<num>} & <ids.>:\n    <block>", "<seen.>[<froz.>] = <num>",
        "<seen.>[frozenset({<int>})] = <num>", "<ids!> = <ids.>.copy()", "<ids!> = <ids.>",
        "<int!> = <int.> + 1\n<ids.>.add(<int.>)",
    ),
    results=("<ids.>", "<froz.>", "{<num>, <lit>}", "sorted(<ids.>)", "frozenset({<num>})"),
    start={
        "ids": ["set()", "{1, 0.5}", "{s}", "{True, 2}"],
        "froz": ["frozenset()", "frozenset({1, s})"],
        "seen": ["{}", "{frozenset({1}): 2}"],
    },
    attributes={"members": "ids", "froz": "froz", "by_set": "seen", "hist": "nums", "n": "int"},
    globals={"MEMBERS": "ids", "FROZ": "froz"},
    arguments={"members": "ids", "froz": "froz"},
    shared=frozenset({"ids", "seen"}),
)  # fmt: skip

_VIEWS = Family(
    "views of dicts",
    expressions={
        "num": [
            "sum(<cfg.>.values()) % 5", "sum(v for k, v in <cfg.>.items() if k != '<key>') % 5",
            "max(<cfg.>.values(), default=<num>)", "len(<cfg.>.keys() & <bank.>.keys())",
            "len(<cfg.>.items() | <bank.>.items())",
            "[*<bank.>.values()][-1] if <bank.> else <lit>",
            "sum(map(operator.mul, <cfg.>.values(), <bank.>.values())) % 5",
            "next(iter(<bank.>.values()), <num>)", "next(reversed(<bank.>.values()), <lit>)",
            "sum(<view.>) % 5", "len(<view.>)", "sum(a * b for (_, a), (_, b) in "
            "zip(<cfg.>.items(), <bank.>.items())) % 5", "math.prod(<bank.>.values()) % 3",
            "{v: k for k, v in enumerate(<bank.>.values())}.get(<num>, <lit>)",
            "sum(<deep.>['<key>'].values()) % 5 if '<key>' in <deep.> else <lit>",
            "sum(sum(d.values()) for d in <deep.>.values()) % 5",
        ],
        "str": ["next(iter(<bank.>.keys()), '<key>')", "sorted(<cfg.>.keys() | {'a'})[0]",
                "max(<bank.>.items(), key=lambda i: i[1], default=('<key>',))[0]"],
        "bool": [
            "<num> in <cfg.>.values()", "('<key>', <num>) in <bank.>.items()",
            "<cfg.>.keys() == <bank.>.keys()", "'<key>' in <bank.>.keys()",
            "<cfg.>.items() <= <bank.>.items()", "all(<bank.>.values())", "<num> in <view.>",
            "<view.> is <view.>", "[*<bank.>] == ['a', 'b']",
        ],
        "arr": ["sum(<params.>.values(), <arr.>)", "<arr.> * (sum(<bank.>.values()) % 3)",
                "functools.reduce(operator.add, <params.>.values(), <arr.>)"],
    },
    statements=(
        "<bank.>['<key>'] = <num>", "<bank.>.update(<cfg.>)", "<bank!> = dict(<cfg.>.items())",
        "<bank.>.pop('<key>', None)", "<view!> = <bank.>.values()", "<view!> = <cfg.>.values()",
        "<view!> = {'a': <num>}.values()", "<nums!> = [*<cfg.>.values()]",
        "<nums.>.extend(<bank.>.values())", "<bank!> = dict(zip(<bank.>, <cfg.>.values()))",
        "for <+str:k>, <+num:v> in [*<bank.>.items()]:\n    <bank.>[<:k>] = <:v> * 0.5",
        "for <+num:v> in <bank.>.values():\n    <num!> = <:v> + <lit>",
        "for <+str:k> in <cfg.>.keys() - {'a'}:\n    <num!> = <lit>",
        "for <+num:v> in <view.>:\n    <num!> = <:v> * 0.5",
        "before = len(<bank.:a>)\nvals = <:a>.values()\n<:a>['<key>'] = <num>\n"
        "<num!> = len(vals) - before + sum(vals) % 5\ndel vals, before",
        "try:\n    for k in <bank.:a>:\n        <:a>[k + 'c'] = <num>\n"
        "except RuntimeError as e:\n    <words.>.append(str(e)[:12])",
        "<deep.>.setdefault('<key>', {})['<key>'] = <num>", "<deep.>['<key>'] = <bank.>",
        "<deep!> = {k: {**v} for k, v in <deep.>.items()}", "<words!> = [*<bank.>.keys()]",
        "<bank!> = {k: v for k, v in sorted(<bank.>.items(), key=lambda i: -i[1])}",
    ),
    results=("<bank.>", "<bank.>.values()", "[*<cfg.>.items()]", "sum(<bank.>.values())",
             "<view.>", "<deep.>"),
    start={
        "bank": ["{}", "{'a': 1, 'b': s}", "{'b': 0.5, 'c': 2}"],
        "view": ["{'a': s}.values()", "{'b': 1, 'a': 0.5}.values()"],
        "deep": ["{}", "{'a': {'b': s}}"],
    },
    attributes={"bank": "bank", "cfg": "cfg", "view": "view", "deep": "deep", "params": "params",
                "words": "words", "hist": "nums"},
    globals={"BANK": "bank", "VIEW": "view", "DEEP": "deep"},
    arguments={"bank": "bank", "view": "view"},
    shared=frozenset({"bank", "deep"}),
)  # fmt: skip

FAMILIES = (_TYPES, _ARRAYS, _ORDERS, _SETS, _VIEWS)
