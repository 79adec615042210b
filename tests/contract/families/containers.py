"""Containers whose behaviour depends on more than their contents, and logs inside of others."""

from tests.contract.families.family import Family

FAMILIES = (
    Family(
        "parameters of containers",
        expressions={
            "num": [
                "<dd.>['<key>']",
                "<dd.>.get('<key>', <num>)",
                "<dq.>.maxlen or <lit>",
                "<dq.:a>[-1] if <:a> else <lit>",
                "sum(<dq.>) % 5",
                "<dd.>.default_factory() if <dd.>.default_factory else <lit>",
            ],
            "int": ["len(<dd.>)", "len(<dq.>)"],
            "bool": ["<dd.>.default_factory is None", "'<key>' in <dd.>"],
        },
        statements=(
            "<dd.>.default_factory = float",
            "<dd.>.default_factory = lambda: 2",
            "<dd.>.default_factory = lambda: <num.>",
            "<dd.>.default_factory = None",
            "<dd.>['<key>'] += <num>",
            "<dd.>[<str>]",
            "<dd.>[<str>] = <num>",
            "<dd!> = defaultdict(int, <dd.>)",
            "<dd!> = defaultdict(lambda: <num>)",
            "<dd!> = <dd.>.copy()",
            "<dq!> = deque(<dq.>, maxlen=2)",
            "<dq!> = deque(<dq.>, maxlen=<int> % 3 + 1)",
            "<dq.>.append(<num>)",
            "<dq.>.extendleft([<num>, <lit>])",
            "<dq.>.rotate(<int>)",
            "<dq!> = <dq.> + deque([<num>])",
            "<dq!> = <dq.>.copy()",
        ),
        results=("<dd.>", "<dq.>", "defaultdict(int, a=<num>)", "deque([<num>], maxlen=2)"),
        start={
            "dd": ["defaultdict(int)", "defaultdict(lambda: 2)", "defaultdict(float, a=s)"],
            "dq": ["deque([1, 2.5], maxlen=2)", "deque([s])"],
        },
        attributes={"dd": "dd", "sums": "dd", "dq": "dq"},
        globals={"DD": "dd", "DQ": "dq"},
        arguments={"dd": "dd", "dq": "dq"},
        shared=frozenset({"dd", "dq"}),
    ),
    Family(
        "mappings in Python",
        """
class Registry(UserDict):
    def __missing__(self, key):
        return 0.5

class Bag(dict):
    def __missing__(self, key):
        self[key] = 2
        return self[key]

class Stack(list):
    def push(self, v):
        self.append(v)
        return len(self)

class Quiet(list):
    def __len__(self):
        return 2
""",
        expressions={
            "num": [
                "<cm.>.get('<key>', <num>)",
                "<cm.>['a']",
                "len(<cm.>.maps)",
                "<ud.>['<key>']",
                "sum(<ud.>.values()) % 5",
                "<bag.>['<key>']",
                "<ul.:a>[-1] if <:a> else <lit>",
                "<stack.:a>[0] if <:a> else <lit>",
                "<cnt.>.most_common(1)[0][1] if <cnt.> else <lit>",
                "<cnt.>.total()",
                "next(iter(<od.>.values()), <lit>)",
                "len(<quiet.>)",
                "sum(<quiet.>) % 5",
            ],
            "str": ["next(iter(<od.>), '<key>')", "next(reversed(<od.>), '<key>')"],
            "bool": ["'<key>' in <cm.>", "<ud.> == {'a': <num>}", "'<key>' in <bag.>"],
        },
        statements=(
            "<cm.>['<key>'] = <num>",
            "<cm!> = <cm.>.new_child()",
            "<cm!> = <cm.>.new_child({'a': <num>})",
            "<cm!> = <cm.>.parents",
            "<cm.>.maps[-1]['b'] = <num>",
            "<cm.>.maps.reverse()",
            "<ud.>['<key>'] = <num>",
            "<ud.>.update(a=<num>)",
            "<ud.>.data = {'b': <num>}",
            "<ud!> = Registry(a=<num>)",
            "<bag.>[<str>] += <num>",
            "<bag!> = Bag(a=<num>)",
            "<ul.>.append(<num>)",
            "<ul!> = UserList([<num>])",
            "<stack.>.push(<num>)",
            "<num!> = <stack.>.push(<lit>)",
            "<quiet.>.append(<num>)",
            "<cnt.>[<str>] += <int> % 3",
            "<cnt!> = <cnt.> + Counter(a=<int> % 3)",
            "<cnt!> = <cnt.> | Counter('ab')",
            "<od.>.move_to_end('<key>') if '<key>' in <od.:a> else <:a>.update({'<key>': <num>})",
            "if <od.:a>:\n    <:a>.popitem(last=False)",
            "<od.>['<key>'] = <num>",
            "<od!> = OrderedDict(reversed(<od.>.items()))",
        ),
        results=("<cm.>", "<ud.>", "<bag.>", "<stack.>", "<cnt.>", "<od.>", "Registry(a=<num>)"),
        start={
            "cm": ["ChainMap({}, {'a': 1, 'b': s})", "ChainMap({'a': 0.5})"],
            "ud": ["Registry()", "Registry(a=s)"],
            "bag": ["Bag()", "Bag(b=s)"],
            "ul": ["UserList([s])"],
            "stack": ["Stack()", "Stack([1])"],
            "quiet": ["Quiet([1, s, 3])"],
            "cnt": ["Counter()", "Counter('aab')"],
            "od": ["OrderedDict(b=1, a=s)", "OrderedDict()"],
        },
        attributes={
            "cm": "cm", "ud": "ud", "bag": "bag", "ul": "ul", "stack": "stack", "cnt": "cnt",
            "od": "od", "quiet": "quiet",
        },
        globals={"CM": "cm", "UD": "ud", "BAG": "bag", "OD": "od"},
        arguments={"cm": "cm", "od": "od"},
        shared=frozenset({"cm", "ud", "bag", "stack", "od"}),
    ),
    Family(
        "order of attributes",
        """
class Box:
    def __init__(self, s):
        self.p, self.q = s, 2
""",
        expressions={
            "num": [
                "next(iter(vars(<box.>).values()))",
                "sum(v * 10**i for i, v in enumerate(vars(<box.>).values())) % 7",
                "len(vars(<box.>))",
                "<box.>.__dict__['p']",
                "dict(vars(<box.>)).get('q', <lit>)",
            ],
            "str": ["next(iter(vars(<box.>)))", "[*<box.>.__dict__][-1]"],
            "bool": ["[*vars(<box.>)] == ['p', 'q']", "'extra' in vars(<box.>)"],
        },
        statements=(
            "vars(<box.:o>)['p'] = vars(<:o>).pop('p')",
            "old = <box.:o>.q\ndel <:o>.q\n<:o>.q = old\ndel old",
            "<box.>.p = <num>",
            "<box.>.extra = <num>",
            "vars(<box.>).pop('extra', None)",
            "<box.:o>.__dict__ = dict(reversed(vars(<:o>).items()))",
            "<box!> = copy.copy(<box.>)",
            "<box.>.__dict__.update(q=<num>)",
            "for <+str:k>, <+num:v> in sorted(vars(<box.>).items()):\n    <block>",
        ),
        results=("vars(<box.>)", "[*vars(<box.>)]", "<box.>"),
        start={"box": ["Box(s)", "Box(0.5)"]},
        parts_of={"box": [(".p", "num", True), (".q", "num", True)]},
        attributes={"box": "box", "other_box": "box"},
        globals={"BOX": "box"},
        arguments={"box": "box"},
        shared=frozenset({"box"}),
    ),
    Family(
        "logs",
        """
class Hub:
    log, table, count = [], {"a": []}, 0

class Proxy:
    def __init__(self):
        self.log_items = []
    def write(self, v):
        self.log_items.append(v)

Logs = namedtuple("Logs", "train test")
""",
        statements=(
            "<logd.>['loss'].append(<num>)",
            "<logd.>['n'].append(<int>)",
            "<logd.>['loss'].append(<arr>)",
            "<logd.>.setdefault('<key>', []).append(<num>)",
            "<logl.>[0].append(<num>)",
            "<logl.>[1].append(<arr>)",
            "<logt.>[0].append(<num>)",
            "<logn.>.train.append(<num>)",
            "<logn.>.test.append((<int>, <num>))",
            "<logdd.>['<key>'].append(<num>)",
            "<logdd.>[<str>].append(<num>)",
            "<logp.>.write(<num>)",
            "<logp.>.write({'n': <int>, 'y': <arr>})",
            "Hub.log.append(<num>)",
            "Hub.table['a'].append(<num>)",
            "Hub.count += 1",
            "<logs!> += [<num>]",
            "<logs.>.append([<num>, <int>])",
            "<logs.>.extend([<num>])",
            "<int!> += 1",
            "<num!> = <num.> * 0.5 + <lit>",
        ),
        start={
            "logd": ["{'loss': [], 'n': []}"],
            "logl": ["[[], []]"],
            "logt": ["([], [])"],
            "logn": ["Logs([], [])"],
            "logdd": ["defaultdict(list)"],
            "logp": ["Proxy()"],
            "logs": ["[]"],
        },
        attributes={
            "logd": "logd", "logl": "logl", "logt": "logt", "logn": "logn", "logdd": "logdd",
            "logp": "logp", "logs": "logs", "n": "int", "rate": "num",
        },
        globals={"LOGD": "logd", "LOGS": "logs", "LOGP": "logp"},
        arguments={"log": "logd"},
        shared=frozenset({"logd", "logl", "logdd", "logp", "logs"}),
    ),
)  # fmt: skip
