"""What the classes of the programs of `programs.py` may have, as templates of `grammar.py`."""

from typing import NamedTuple

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
    Member(
        0.15,
        "def __getitem__(self, key):\n    return getattr(self, 'extra', <num>) + key\n"
        "def __setitem__(self, key, value):\n    self.extra = value + key",
        templates={
            "num": [(1, "<C.>[<int>]")],
            "statement": [(1, "<C.>[<int>] = <num>"), (1, "<C.>[1] += <num>")],
        },
    ),
    Member(
        0.15,
        "def __contains__(self, key):\n    return <bool>",
        templates={"bool": [(1, "<str> in <C.>"), (1, "<num> not in <C.>")]},
    ),
    Member(
        0.15,
        "def __iter__(self):\n    for i in range(2):\n        self.extra = i\n"
        "        yield <num> + i",
        templates={
            "num": [(1, "sum(<C.>) % 5")],
            "statement": [(1, "for <+num:v> in <C.>:\n    <block>"), (1, "<nums!> = [*<C.>]")],
        },
    ),
    Member(
        0.15,
        "@functools.cached_property\ndef once(self):\n    return <num>",
        forms=("plain", "data"),
        # No property: arguments of failing calls would stay cached, for plain Python is rewound.
        templates={"num": [(2, "<C.>.once")], "statement": [(1, "vars(<C.>).pop('once', None)")]},
    ),
    Member(
        0.15,
        "@classmethod\ndef made(cls, x):\n    cls.count = getattr(cls, 'count', 0) + 1\n"
        "    return x * 0.5 + cls.count",
        methods={".made": {"x": ("arr", "")}},
    ),
    Member(
        0.15,
        "def __lt__(self, other):\n    return <num> < getattr(other, 'extra', <lit>)",
        templates={"bool": [(1, "<C.> < <C.>")], "statement": [(1, "<C!> = min(<C.>, <C.>)")]},
    ),
    Member(
        0.15,
        "def __add__(self, x):\n    return x * 0.5 + <arr.>\n__radd__ = __add__",
        templates={"arr": [(1, "<C.> + <arr.>"), (1, "<arr.> + <C.>")]},
    ),
]
