"""What the programs of `programs.py` are made of: tables of templates.

A template is Python text with holes. The kind in a hole says what may fill it:

* ``<num>`` an expression, ``<num.>`` a place that can be read, ``<num!>`` one that can be assigned;
* ``<num.:a>`` the same, and every further ``<:a>`` repeats it;
* ``<+num:v>`` a new local variable;
* ``<block>`` on a line of its own: statements, which see the template's new variables;
* ``<call>`` a call that gives an array, ``<lit>`` a small number, ``<key>`` a key,
  ``<n>`` the size of arrays, ``<list>`` a list of as many numbers.

Values stay small and computations well conditioned, so that two engines agree: sums of products of
bounded factors, and branches on host values only.
"""

from typing import NamedTuple

# Kinds: arr (array), np (NumPy array), num (int or float), int, str, bool, fn (function of an
# array), maybe (a number or None), pair (of numbers), pt (named tuple), ns (namespace), parts (list
# of objects), and containers: nums, arrs (lists), cfg, params (dicts of numbers, of arrays), grid
# (dict by pairs of ints), recent (deque), tags (set), groups (defaultdict of lists), table (dict of
# lists).
# Classes of the program are kinds as well; `Part?` is a Part or None.

EXPRESSIONS = {
    "arr": [
        (6, "<arr> + <arr.>"),
        (2, "<arr.> - <arr>"),
        (3, "<arr> * 0.5"),
        (3, "<arr> + <num>"),
        (2, "<num> - <arr.>"),
        (2, "jnp.sin(<arr>)"),
        (2, "jnp.sin(<arr.>) * (<num> % 1)"),
        (1, "jnp.sin(<arr.>) * <arr.>"),
        (1, "<arr.> + jnp.sum(<arr.>) * 0.25"),
        (1, "<arr> if <bool> else <arr.>"),
        (1, "<arr.> + <arr.>[<int> % <n>]"),
        (1, "<arr.>.at[<int> % <n>].set(<num>)"),
        (1, "jnp.where(<arr.> > 0, <arr.>, <num>)"),
        (2, "<arrs.:a>[-1] + <arr.> if <:a> else <arr.>"),
        (1, "sum(<arrs.>, <arr.>)"),
        (2, "<params.>.get('<key>', <arr.>)"),
        (1, "<arr> + <np.>"),
        (1, "<arr.> + <np.>[<int> % <n>]"),
        (1, "jnp.sin(<np.>) + <arr.>"),
        (3, "<fn.>(<arr>)"),
        (1, "grad(lambda z: jnp.sum(jnp.sin(z) * <arr.>))(<arr.>)"),
        (1, "vmap(lambda z: z * 0.5 + <num>)(<arr.>)"),
        (1, "lax.fori_loop(0, 2, lambda _, z: z * 0.5 + <arr.>, <arr.>)"),
        (8, "<call>"),
    ],
    "num": [
        (4, "<num.> + <lit>"),
        (2, "<num.> - <num>"),
        (3, "<num.> * 0.5"),
        (1, "<num.> * <num.> % 5"),
        (1, "<num.> / (1 + abs(<num>))"),
        (1, "-<num.>"),
        (1, "min(<num>, <num.>)"),
        (1, "max(<num.>, <lit>)"),
        (1, "0.5 ** (<int.> % 4)"),
        (1, "float(<int>)"),
        (1, "round(<num.>, 1)"),
        (1, "math.floor(<num.>)"),
        (2, "<num> if <bool> else <num.>"),
        (2, "<nums.:a>[<int> % len(<:a>)] if <:a> else <lit>"),
        (1, "<nums.:a>[-1] if <:a> else <num.>"),
        (1, "sum(<nums.>) % 7"),
        (1, "len(<nums.>)"),
        (2, "<cfg.>.get('<key>', <num>)"),
        (1, "<cfg.>.get(<str>, <lit>)"),
        (1, "sum(<cfg.>.values()) % 5"),
        (1, "sum(v for v in <nums.> if v > <lit>) % 7"),
        (1, "<pair.>[<int> % 2]"),
        (1, "<recent.:a>[0] if <:a> else <lit>"),
        (1, "sum(len(v) for v in <groups.>.values())"),
        (1, "float(np.sum(<np.>)) % 3"),
        (1, "float(np.max(<np.>))"),
        (1, "sorted(<nums.:a>)[0] if <:a> else <lit>"),
        (1, "max(<nums.>, default=<num>)"),
        (1, "sum(map(abs, <nums.>)) % 7"),
        (1, "[*<nums.>, <num>][-1]"),
        (1, "<nums.>.count(<lit>)"),
        (1, "dict(zip('abc', <nums.>)).get('<key>', <num>)"),
        (1, "next(iter(<nums.>), <lit>)"),
        (1, "(lambda k: k * 0.5)(<num>)"),
        (1, "pow(<num.>, 2) % 5"),
        (1, "<grid.>.get((<int.> % 2, 1), <lit>)"),
        (2, "<lit> if <maybe.:a> is None else <:a>"),
        (1, "getattr(<obj.>, 'extra', <num>)"),
    ],
    "int": [
        (4, "<int.> + 1"),
        (1, "<int.> - <int.>"),
        (2, "<int.> % 3"),
        (1, "<int> // 2"),
        (1, "<int.> * 3 % 11"),
        (1, "int(<num.>)"),
        (1, "len(<arrs.>)"),
        (1, "len(<tags.>)"),
        (1, "divmod(<int.>, 3)[1]"),
        (1, "len({*<tags.>, <str>})"),
        (1, "len(<recent.>) + len(<groups.>)"),
        (1, "<int.> ^ 1"),
        (1, "sum(1 for v in <nums.> if v > <num>)"),
    ],
    "str": [
        (2, "'<key>'"),
        (1, "'ab'[<int> % 2]"),
        (1, "f'k{<int.> % 3}'"),
        (1, "<str.>[:1] + '<key>'"),
        (1, "<str.> if <bool> else '<key>'"),
    ],
    "bool": [
        (4, "<int.> > <lit>"),
        (3, "<int> % 2 == 0"),
        (2, "<num.> < <num>"),
        (2, "not <bool.>"),
        (4, "<str.> == '<key>'"),
        (1, "<str.> in ('a', 'c')"),
        (2, "'<key>' in <cfg.>"),
        (1, "<str> in <tags.>"),
        (1, "len(<nums.>) > 2"),
        (1, "bool(<arrs.>)"),
        (1, "any(v > <lit> for v in <nums.>)"),
        (1, "<lit> in <nums.>"),
        (1, "<maybe.> is None"),
        (1, "(<int.> % 2, 1) in <grid.>"),
        (1, "hasattr(<obj.>, 'extra')"),
        (1, "isinstance(<num.>, int)"),
        (1, "type(<num.>) is float"),
        (1, "<bool> and <bool>"),
        (1, "<bool> or <bool>"),
    ],
}

STATEMENTS = [
    # attributes, variables, globals
    (6, "<arr!> = jnp.sin(<arr>)"),
    (5, "<arr!> = <arr.> * 0.5 + <arr.>"),
    (2, "<arr!> = <arr.>"),
    (2, "<arr!> += <num>"),
    (6, "<num!> = <num>"),
    (2, "<num!> += <lit>"),
    (7, "<int!> += 1"),
    (3, "<int!> = <int>"),
    (3, "<str!> = <str>"),
    (3, "<bool!> = <bool>"),
    (2, "<+num:v> = <num>"),
    (3, "<+arr:v> = <arr>"),
    (1, "<num!:a>, <num!:b> = <:b>, <:a>"),
    (1, "<arr!:a>, <arr!:b> = <:b>, <:a>"),
    (2, "<pair!> = (<num>, <num.>)"),
    (1, "<pt!> = <pt.>._replace(n=<num>)"),
    (1, "<pt!> = Pt(<arr>, <num>)"),
    (1, "<maybe!> = None"),
    (1, "<maybe!> = <num>"),
    (1, "if <maybe.:a> is not None:\n    <num!> = <:a>"),
    (2, "<obj.>.extra = <num>"),
    (1, "if hasattr(<obj.:o>, 'extra'):\n    del <:o>.extra"),
    (1, "if hasattr(<obj.:o>, 'extra'):\n    <:o>.extra += 1\nelse:\n    <:o>.extra = <lit>"),
    (1, "setattr(<obj.>, 'extra', <num>)"),
    (1, "print('<key>', <int>, <str>)"),
    # lists and deques
    (4, "<nums.>.append(<num>)"),
    (4, "<arrs.>.append(<arr>)"),
    (2, "<nums.>.extend([<num>, <lit>])"),
    (2, "if len(<nums.:a>) > 3:\n    <:a>.pop(0)"),
    (1, "if <nums.:a>:\n    <:a>[0] = <num>"),
    (1, "del <arrs.>[2:]"),
    (1, "<nums.>[:] = [<num>, <num>]"),
    (1, "<nums.>.insert(0, <num>)"),
    (1, "<nums.>.reverse()"),
    (1, "<arrs.>.clear()"),
    (2, "<nums!> = <nums.> + [<lit>]"),
    (1, "<nums!> = <nums.>[-2:]"),
    (1, "<nums!> = <nums.>"),
    (1, "<arrs!> = [<arr>, <arr.>]"),
    (2, "<recent.>.append(<num>)"),
    (1, "if <recent.:a>:\n    <:a>.popleft()"),
    (1, "<nums.>.sort()"),
    (1, "<nums!> += [<num>]"),
    (1, "<nums.>[1:2] = [<num>, <lit>]"),
    (1, "<arrs.>[:] = [jnp.sin(v) for v in <arrs.>]"),
    (1, "<+nums:v> = [v * 0.5 for v in <nums.>]"),
    (1, "<nums!> = list(<nums.>)"),
    (1, "<nums!> = copy.copy(<nums.>)"),
    (1, "<recent.>.appendleft(<num>)"),
    (1, "<recent.>.rotate(1)"),
    (1, "<recent.>.extend(<nums.>)"),
    (1, "<recent!> = deque(<nums.>, maxlen=3)"),
    # dictionaries and sets
    (3, "<cfg.>['<key>'] = <num>"),
    (2, "<cfg.>[<str>] = <num>"),
    (2, "<cfg.:a>['<key>'] = <:a>.get('<key>', 0) + 1"),
    (1, "<cfg.>.pop('<key>', None)"),
    (1, "<cfg.>.setdefault('<key>', <num>)"),
    (1, "<cfg.>.update(a=<num>, c=<lit>)"),
    (1, "<cfg!> = {**<cfg.>, '<key>': <num>}"),
    (1, "<cfg!> = <cfg.>"),
    (2, "<params.>['<key>'] = jnp.sin(<arr>)"),
    (1, "for key in <params.:a>:\n    <:a>[key] = <:a>[key] * 0.5"),
    (1, "<cfg.>.clear()"),
    (1, "if <cfg.:a>:\n    <:a>.popitem()"),
    (1, "with contextlib.suppress(KeyError):\n    del <cfg.>['<key>']"),
    (1, "<cfg!> = {k: v for k, v in <cfg.>.items() if v != <lit>}"),
    (1, "<+params:v> = {k: v * 0.5 for k, v in <params.>.items()}"),
    (1, "<params!> = dict(<params.>)"),
    (1, "<grid.>[<int.> % 2, 1] = <num>"),
    (1, "<tags!> |= {<str>}"),
    (1, "<tags!> = <tags.> | {<str>}"),
    (1, "<tags.>.add(<str>)"),
    (1, "<tags.>.discard('<key>')"),
    (2, "<groups.>[<str>].append(<num>)"),
    (1, "<table.>['<key>'] = [<num>]"),
    # NumPy arrays, in place
    (2, "<np.>[<int> % <n>] = <num>"),
    (1, "<np.>[:] = <lit>"),
    (1, "<np!> = np.array(<list>, np.float32)"),
    # control
    (5, "if <bool>:\n    <block>"),
    (4, "if <bool>:\n    <block>\nelse:\n    <block>"),
    (2, "for <+int:v> in range(<int> % 3):\n    <block>"),
    (1, "for <+num:v> in <nums.>[:3]:\n    <block>"),
    (1, "for key, <+num:v> in sorted(<cfg.>.items()):\n    <block>"),
    (1, "for <+int:i>, <+arr:v> in enumerate(<arrs.>[:2]):\n    <block>"),
    (1, "for <+int:i>, <+num:v> in zip(range(2), <nums.>):\n    <block>"),
    (1, "match <str.>:\n    case 'a':\n        <block>\n    case _:\n        <block>"),
    (1, "<+int:v> = <int> % 3\nwhile <:v> > 0:\n    <:v> -= 1\n    <block>"),
    (1, "try:\n    <num!> = <cfg.>['<key>']\nexcept KeyError:\n    <block>"),
    (1, "try:\n    <num!> = 1 / <num.>\nexcept ZeroDivisionError:\n    <block>"),
    (1, "try:\n    <num!> = <obj.>.extra\nexcept AttributeError:\n    <block>"),
    (1, "try:\n    <block>\nfinally:\n    <int!> += 1"),
    (3, "if <int.:a> % 4 == 3:\n    raise ValueError(f'no {<:a>}')"),
    (3, "if <str.:a> == 'c':\n    raise KeyError(<:a>)"),
    (2, "<arr!> = jnp.sin(<call>)"),
    # transformations of functions that change something
    (
        1,
        "def loss(z):\n    <nums.>.append(<num>)\n    return jnp.sum(jnp.sin(z) * <arr.>)\n"
        "<arr!> = grad(loss)(<arr.>)",
    ),
    (
        1,
        "def loss(z):\n    <obj.>.extra = <num>\n    return jnp.sum(z * <arr.>) * 0.5\n"
        "<arr!> = grad(loss)(<arr.>)",
    ),
    # functions and lists of objects
    (1, "<fn!> = half"),
    (1, "<fn!> = <fn.>"),
    (1, "<fn!> = functools.partial(jnp.add, <num>)"),
    (1, "def <+fn:f>(z, c=<num>):\n    return z * c + <num>"),
    (1, "<fn!> = lambda x, c=<num>: x * 0.5 + c"),
    (2, "for <+Part:v> in <parts.>[:2]:\n    <block>"),
    (1, "<parts.>.append(<Part.>)"),
    (1, "<parts.>.append(Part(<lit>))"),
    (1, "<parts.:a>.insert(0, <:a>.pop())"),
]

RESULTS = [
    (8, "<arr>"),
    (3, "<arr>, <num>"),
    (1, "[<arr.>, <int>, <nums.>]"),
    (2, "{'y': <arr>, 'n': <int>}"),
    (1, "Pt(<arr.>, <num>)"),
    (1, "<num>"),
    (1, "<obj.>"),
    (1, "<cfg.>"),
    (1, "None"),
]

# Templates that a class adds for objects of its kind.
OF_CLASS = {
    "bool": [(2, "<C.> is <C.>"), (1, "<C?.> is None"), (1, "<C?.> is <C.>")],
    "statement": [
        (1, "<C!> = <C.>"),
        (1, "<C!> = C(<lit>)"),
        (1, "<C!:a>, <C!:b> = <:b>, <:a>"),
        (1, "<C?!> = <C.>"),
        (1, "<C?!> = None"),
        (2, "<+C:v> = <C?.>\nif <:v> is not None:\n    <block>"),
    ],
}

# Templates for dataclasses.
OF_COPIED_CLASS = {
    "statement": [(2, "<C!> = dataclasses.replace(<C.>, s=<num>)"), (1, "<C!> = copy.copy(<C.>)")]
}


class Member(NamedTuple):
    """Something that a class may have besides its methods, and the templates that use it."""

    chance: float
    text: str
    forms: tuple[str, ...] = ("plain", "slots", "data")
    classes: tuple[str, ...] = ("Part", "Model")
    properties: dict = {}  # noqa: RUF012 - never changed
    methods: dict = {}  # noqa: RUF012
    templates: dict = {}  # noqa: RUF012


MEMBERS = [
    Member(
        0.4,
        "@property\ndef gain(self):\n    return <num>",
        properties={"gain": ("num", False)},
    ),
    Member(
        0.2,
        "@property\ndef level(self):\n    return getattr(self, 'extra', <num>)\n"
        "@level.setter\ndef level(self, value):\n    self.extra = value * 0.5",
        properties={"level": ("num", True)},
    ),
    Member(
        0.2,
        "def __enter__(self):\n    self.extra = getattr(self, 'extra', 0) + 1\n    return self\n"
        "def __exit__(self, *_):\n    self.extra -= 1",
        templates={"statement": [(2, "with <C.>:\n    <block>")]},
    ),
    Member(
        0.15,
        "def __len__(self):\n    return <int> % 3",
        templates={"int": [(1, "len(<C.>)")], "bool": [(1, "bool(<C.>)")]},
    ),
    Member(
        0.2,
        "def __call__(self, x):\n    return x + <arr.>",
        methods={"": {"x": ("arr", "")}},
    ),
    Member(
        0.2,
        "@staticmethod\ndef blend(x, s=2):\n    return x * 0.5 + s",
        methods={".blend": {"x": ("arr", ""), "s": ("num", "2")}},
    ),
    Member(  # not for what is jitted itself: `inspect.signature` compares it with types
        0.2,
        "__hash__ = None\ndef __eq__(self, _):\n    raise RuntimeError('compared')",
        classes=("Part",),
    ),
    Member(
        0.1,
        "def __getattr__(self, name):\n    if name == 'hidden':\n        return <num>\n"
        "    raise AttributeError(name)",
        properties={"hidden": ("num", False)},
    ),
    Member(
        0.1,
        "def __setattr__(self, name, value):\n    super().__setattr__(name, value)",
        forms=("plain",),
    ),
]

# What is inside of a kind: how to get there, of which kind it is, whether it can be assigned.
PARTS_OF = {
    "table": [("['a']", "nums", False)],
    "ns": [(".k", "num", True), (".y", "arr", True)],
    "pt": [(".n", "num", False), (".y", "arr", False)],
}

# Names of attributes and globals: their kind, and how they start; `s` is a small number.
START = {
    "arr": ["jnp.array(<list>)", "jnp.array(<list>) * s"],
    "np": ["np.array(<list>, np.float32)"],
    "num": ["0.5 * s", "<lit>", "s"],
    "int": ["0", "2", "int(s)"],
    "str": ["'a'", "'b'"],
    "bool": ["True", "False", "s > 1"],
    "nums": ["[]", "[1, 2.5]", "[s]"],
    "arrs": ["[]", "[jnp.array(<list>)]"],
    "cfg": ["{}", "{'a': 1, 'b': 0.5}", "OrderedDict(b=s, a=1)"],
    "params": ["{'a': jnp.array(<list>)}", "{'b': jnp.array(<list>), 'a': jnp.ones(<n>)}"],
    "recent": ["deque([1], maxlen=3)", "deque()"],
    "tags": ["{'a'}", "set()"],
    "groups": ["defaultdict(list)"],
    "table": ["{'a': [1], 'b': [0.5, 2]}"],
    "grid": ["{(0, 1): 0.5}", "{}"],
    "ns": ["SimpleNamespace(k=1, y=jnp.array(<list>))"],
    "pt": ["Pt(jnp.array(<list>), s)"],
    "maybe": ["None", "0.5 * s"],
    "pair": ["(1, 0.5)", "(s, s)"],
    "parts": ["[Part(1), Part(s)]", "[self.part, Part(s), self.part]"],
    "fn": ["half", "lambda x: x + 1", "lambda x, k=2: x * 0.5 - k"],
}
ATTRIBUTES = {
    "w": "arr", "b": "arr", "ema": "arr", "rate": "num", "bias": "num", "n": "int", "t": "int",
    "mode": "str", "flag": "bool", "buf": "np", "hist": "nums", "ws": "arrs", "cfg": "cfg",
    "params": "params", "recent": "recent", "tags": "tags", "groups": "groups", "table": "table",
    "pair": "pair", "act": "fn", "grid": "grid", "ns": "ns", "pt": "pt", "maybe": "maybe",
}  # fmt: skip
GLOBALS = {
    "W": "arr", "RATE": "num", "COUNT": "int", "MODE": "str", "ON": "bool", "BUF": "np",
    "LOG": "nums", "CFG": "cfg", "TABLE": "table", "ACT": "fn", "TAGS": "tags",
    "NS": "ns", "PT": "pt", "MAYBE": "maybe", "GRID": "grid",
}  # fmt: skip
SHARED = frozenset({"np", "nums", "arrs", "cfg", "params", "tags", "table", "recent", "ns", "grid"})
ARGUMENTS = {
    "s": "num", "k": "int", "tag": "str", "flag": "bool", "xs": "nums", "d": "cfg",
    "a": "np", "q": "maybe",
}  # fmt: skip
DEFAULTS = {
    "num": ["0.5", "2"],
    "int": ["1", "2"],
    "str": ["'a'"],
    "bool": ["False", "True"],
    "maybe": ["None", "1"],
}
