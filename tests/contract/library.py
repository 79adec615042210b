"""Functions and classes of the standard library's modules in Python, and what to call of them.

Each module is executed anew as a module of the user's, without its twin in C, so that its code is
traced as if the user had written it.
"""

import functools
import importlib
import sys
import types
from unittest import mock

# What a module's own speed-ups are called; without them the Python code runs.
_TWINS = {
    "heapq": "_heapq",
    "bisect": "_bisect",
    "functools": "_functools",
    "operator": "_operator",
    "datetime": "_datetime",
    "statistics": "_statistics",
    "collections": "_collections",
}


@functools.cache
def load(name):
    """Return a module of the standard library as one of the user's; None if Python lacks it."""
    try:
        original = importlib.import_module(name)
    except ImportError:
        return None
    with open(original.__file__, encoding="utf-8") as file:
        code = compile(file.read(), f"<users {name}>", "exec")
    module = types.ModuleType(f"users_{name.replace('.', '_')}")
    is_package = hasattr(original, "__path__")
    module.__package__ = name if is_package else name.rpartition(".")[0]
    sys.modules[module.__name__] = module
    blocked = {_TWINS[name]: None} if name in _TWINS else {}
    with mock.patch.dict(sys.modules, blocked):
        exec(code, vars(module))
    return module


_XS = [1, 2.5, 4, 2.5, 7]
_DATE, _TIME = (2024, 2, 29), (2023, 5, 17, 10, 30)

# module: {function: lists of arguments} or {class: (arguments, steps)}. A step is the name of a
# method and its arguments.
TABLE = {
    "statistics": {
        **{
            name: [(_XS,), ([3, 1, 2],), ([0.5],), ([],)]
            for name in (
                "mean", "fmean", "geometric_mean", "harmonic_mean", "median", "median_low",
                "median_high", "median_grouped", "mode", "multimode", "pstdev", "pvariance",
                "stdev", "variance", "quantiles",
            )
        },
        "covariance": [(_XS, [1, 2, 3, 4, 5]), (_XS, [5, 2, 3, 4, 1.5])],
        "correlation": [(_XS, [1, 2, 3, 4, 5]), ([1, 1], [2, 3])],
        "linear_regression": [(_XS, [1, 2, 3, 4, 5]), ([1], [1])],
        "NormalDist": (
            (1.5, 2),
            [("pdf", 0.5), ("cdf", 1), ("inv_cdf", 0.25), ("zscore", 3), ("__add__", 2),
             ("__mul__", 0.5), ("quantiles",), ("inv_cdf", 2), ("__repr__",)],
        ),
    },
    "colorsys": {
        name: [(0.2, 0.4, 0.6), (1, 0, 0), (0.5, 0.5, 0.5)]
        for name in (
            "rgb_to_yiq", "yiq_to_rgb", "rgb_to_hls", "hls_to_rgb", "rgb_to_hsv", "hsv_to_rgb"
        )
    },
    "heapq": {
        "heapify": [([3, 1, 2.5],), ([5, 4, 3, 2, 1],)],
        "heappush": [([1, 2, 3], 0.5), ([], 1)],
        "heappop": [([1, 2, 3],), ([1],), ([],)],
        "heapreplace": [([1, 2, 3], 5), ([1], 0.5)],
        "heappushpop": [([1, 2, 3], 5), ([1], 0.5), ([], 1)],
        "nlargest": [(2, _XS), (1, [3, 4]), (9, _XS)],
        "nsmallest": [(2, _XS), (1, [3, 4]), (9, _XS)],
        "_heapify_max": [([3, 1, 2.5],)],
    },
    "bisect": {
        name: [([1, 2, 2, 3], 2), ([1, 2.5], 9), ([1, 3], 2, 0, 1), ([1], 1, -1)]
        for name in ("bisect_left", "bisect_right", "insort_left", "insort_right")
    },
    "textwrap": {
        "wrap": [("the quick brown fox", 9), ("a b", 5)],
        "fill": [("the quick brown fox", 9), ("a-b c", 2)],
        "shorten": [("the quick brown fox", 12), ("a b", 1)],
        "dedent": [("  a\n   b",), ("x",)],
        "indent": [("a\nb", "> "), ("\n", "  ")],
        "TextWrapper": ((10,), [("wrap", "one two three"), ("fill", "four five six"), ("wrap",
            "")]),
    },
    "difflib": {
        "get_close_matches": [("appel", ["ape", "apple"]), ("x", ["y"])],
        "SequenceMatcher": (
            (None, "abcd", "bcde"),
            [("ratio",), ("set_seq2", "xbc"), ("get_opcodes",), ("quick_ratio",),
             ("find_longest_match",), ("real_quick_ratio",), ("get_matching_blocks",)],
        ),
        "ndiff": [(["a\n"], ["b\n"])],
        "Match": ((1, 2, 3), [("_asdict",)]),
    },
    "calendar": {
        "isleap": [(2000,), (1900,), (2024,)],
        "leapdays": [(1999, 2009), (2000, 2001)],
        "weekday": [_DATE, (1999, 12, 31), (2023, 2, 30)],
        "monthrange": [(2024, 2), (2023, 2), (2023, 13)],
        "timegm": [((1970, 1, 2, 0, 0, 1),), ((2020, 2, 29, 12, 0, 0),)],
        "Calendar": (
            (0,),
            [("monthdayscalendar", 2024, 2), ("setfirstweekday", 6), ("getfirstweekday",),
             ("monthdayscalendar", 2024, 2), ("monthdays2calendar", 2023, 1)],
        ),
        "TextCalendar": ((), [("formatmonth", 2024, 2), ("formatweekday", 1, 3)]),
        "HTMLCalendar": ((), [("formatmonth", 2023, 4), ("formatday", 3, 2)]),
    },
    "datetime": {
        "date": (
            _DATE,
            [("toordinal",), ("weekday",), ("isocalendar",), ("isoformat",), ("replace", 2023, 1),
             ("strftime", "%d.%m."), ("timetuple",), ("__str__",), ("replace", 2023)],
        ),
        "datetime": (
            _TIME,
            [("isoformat",), ("replace", 2024), ("date",), ("time",), ("weekday",), ("ctime",)],
        ),
        "time": ((10, 30, 1), [("isoformat",), ("replace", 9), ("strftime", "%H"), ("replace",
            25)]),
        "timedelta": (
            (1, 30.5),
            [("total_seconds",), ("__mul__", 2), ("__mul__", 0.5), ("__floordiv__", 7),
                ("__abs__",),
             ("__neg__",), ("__str__",), ("__floordiv__", 0), ("__bool__",)],
        ),
        "_days_before_year": [(2000,), (1,)],
        "_ymd2ord": [_DATE, (1999, 12, 31), (1999, 2, 30)],
        "_ord2ymd": [(738000,), (1,)],
        "_isoweek1monday": [(2024,), (1999,)],
    },
    "_pydecimal": {
        "Decimal": (
            ("3.25",),
            [("sqrt",), ("quantize", 1), ("to_integral_value",), ("__float__",), ("__neg__",),
             ("__abs__",), ("__add__", 2), ("__mul__", 3), ("__floordiv__", 2), ("ln",),
             ("as_tuple",), ("__truediv__", 0), ("__str__",), ("is_signed",), ("__pow__", 3)],
        ),
        "_sqrt_nearest": [(50, 7), (10**20, 10**10)],
        "_rshift_nearest": [(10, 1), (11, 1)],
        "_div_nearest": [(7, 2), (9, 2)],
        "_ilog": [(150, 100), (99, 100)],
        "_dlog10": [(5, 0, 3), (7, 1, 3)],
        "_iexp": [(50, 100), (0, 100)],
    },
    "fractions": {
        "Fraction": (
            (6, 4),
            [("limit_denominator", 1), ("__add__", 1), ("__mul__", 0.5), ("__pow__", 2),
             ("__floor__",), ("__round__",), ("__neg__",), ("as_integer_ratio",), ("__eq__", 1.5),
             ("__lt__", 2), ("__truediv__", 0), ("__str__",), ("__bool__",), ("__float__",)],
        ),
    },
    "functools": {
        "reduce": [(max, [1, 3, 2]), (min, [2.5, 1], 0), (max, [])],
        "cmp_to_key": [(max,)],
        "partial": ((pow, 2), [("__call__", 3), ("__call__", 0.5), ("__repr__",)]),
        "partialmethod": ((pow, 2), [("__repr__",)]),
    },
    "operator": {
        **{
            name: [(3, 2), (0.5, 2), (-7, 2)]
            for name in (
                "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne",
                "ge", "gt", "is_", "is_not",
            )
        },
        "contains": [([1, 2], 1), ("abc", "d")],
        "countOf": [([1, 2, 1], 1), ([], 1)],
        "indexOf": [([1, 2], 2), ([1], 3)],
        "delitem": [([1, 2, 3], 1), ({"a": 1}, "b")],
        "setitem": [([1, 2, 3], 1, 0.5), ({"a": 1}, "b", 2)],
        "iadd": [(1, 2), ([1], [2.5])],
        "length_hint": [([1, 2],), ("abc",)],
        "truth": [(0,), (0.5,), ([],)],
        "not_": [(0,), (0.5,)],
        "neg": [(1,), (0.5,)],
        "attrgetter": (("real",), [("__call__", 2), ("__call__", 0.5), ("__repr__",)]),
        "itemgetter": ((1,), [("__call__", [1, 2]), ("__call__", "ab"), ("__call__", [1])]),
        "methodcaller": (("count", 1), [("__call__", [1, 1]), ("__call__", [2]), ("__repr__",)]),
    },
    "collections": {
        "Counter": (
            ("abca",),
            [("most_common", 1), ("update", "ab"), ("total",), ("subtract", "aa"),
             ("__missing__", "z"), ("__pos__",), ("copy",), ("__repr__",)],
        ),
        "ChainMap": (
            ({"a": 1}, {"a": 2, "b": 3.5}),
            [("__getitem__", "b"), ("__setitem__", "c", 1), ("get", "z", 0.5), ("__len__",),
             ("__getitem__", "z"), ("new_child",), ("pop", "c"), ("popitem",)],
        ),
        "UserDict": (
            ({"a": 1},),
            [("__setitem__", "b", 2.5), ("__getitem__", "a"), ("pop", "a"), ("__len__",),
             ("setdefault", "c", 1), ("__getitem__", "z"), ("update", {"q": 1}), ("copy",)],
        ),
        "UserList": (
            ([1, 2.5],),
            [("append", 3), ("pop",), ("__getitem__", 0), ("extend", [4]), ("index", 4),
             ("reverse",), ("sort",), ("__add__", [1]), ("__mul__", 2), ("__getitem__", 9)],
        ),
        "UserString": (("abc",), [("upper",), ("__getitem__", 1), ("find", "c"), ("__add__", "d")]),
        "OrderedDict": (
            (),
            [("__setitem__", "a", 1), ("__setitem__", "b", 2), ("move_to_end", "a"),
             ("popitem", False), ("copy",), ("__repr__",), ("pop", "z", 3), ("pop", "z")],
        ),
    },
    "graphlib": {
        "TopologicalSorter": (
            ({"d": ["b", "c"], "b": ["a"]},),
            [("add", "c", "a"), ("prepare",), ("get_ready",), ("done", "a"), ("is_active",),
             ("get_ready",), ("prepare",)],
        ),
    },
    "ipaddress": {
        "ip_address": [("10.0.0.1",), (1,), ("x",)],
        "IPv4Address": (("10.0.0.1",), [("__add__", 1), ("__int__",), ("__str__",), ("__sub__",
            1)]),
        "IPv4Network": (
            ("10.0.0.0/30",),
            [("__getitem__", 1), ("__getitem__", 9), ("__str__",)],
        ),
        "IPv6Address": (("::1",), [("__add__", 1), ("__str__",), ("__int__",)]),
        "_count_righthand_zero_bits": [(8, 32), (0, 32), (12, 32)],
        "v4_int_to_packed": [(1,), (2**31,)],
    },
    "string": {
        "capwords": [("ab cd",), ("x",)],
        "Template": (
            ("$a is $b",), [("safe_substitute", {"a": 1}), ("substitute", {"a": 2, "b": 0.5}),
             ("substitute", {"a": 2})],
        ),
        "Formatter": ((), [("format", "{} {:.2f}", 1, 0.5), ("vformat", "{a}", (), {"a": 3})]),
    },
    "random": {
        "Random": (
            (3,),
            [("random",), ("randint", 1, 6), ("uniform", 0, 2.5), ("choice", [1, 2, 3]),
             ("gauss", 0, 1), ("shuffle", [1, 2, 3]), ("sample", [1, 2, 3], 2), ("seed", 3),
             ("expovariate", 1.5), ("betavariate", 1, 2), ("triangular",), ("choices", [1, 2])],
        ),
    },
    "dataclasses": {"field": [()]},
    "copy": {
        "copy": [([1, 2],), ({"a": 1},), (0.5,)],
        "deepcopy": [([[1], 2.5],), ({"a": [1]},), ((1, [2]),)],
    },
    "fnmatch": {"fnmatch": [("a.py", "*.py"), ("a", "b")], "translate": [("a*?",)]},
    "posixpath": {
        "join": [("a", "b"), ("a", "/b")],
        "normpath": [("a/../b",), ("",)],
        "split": [("a/b",), ("a",)],
        "commonpath": [(["a/b", "a/c"],), ([],)],
        "relpath": [("a/b", "a")],
    },
    "ntpath": {"splitdrive": [("c:\\a",), ("a",)], "normcase": [("A/b",)]},
    "urllib.parse": {
        "urlsplit": [("http://a.b:80/c?d=1",)],
        "quote": [("a b/c",)],
        "unquote": [("a%20b",)],
        "urlencode": [({"a": 1, "b": 0.5},), ({"a": 2, "b": 0.5},)],
        "parse_qs": [("a=1&b=2",)],
        "urljoin": [("http://a/b", "c")],
    },
    "shlex": {"split": [("a 'b c'",)], "quote": [("a b",), ("a",)]},
    "html": {"escape": [("<a>",)], "unescape": [("&lt;a&gt;",)]},
    "json.encoder": {
        "JSONEncoder": ((), [("encode", [1, 2.5, "a"]), ("encode", {"a": [None, True]}),
                             ("encode", [3, 2.5, "a"])]),
        "py_encode_basestring": [("a\n",)],
    },
    "reprlib": {"Repr": ((), [("repr", [1, 2.5]), ("repr", list(range(20)))])},
    "pprint": {"pformat": [([1, {"a": 0.5}],), ([2, {"a": 0.5}],)]},
    "ast": {"literal_eval": [("[1, 2.5]",), ("{'a': 1}",)]},
    "contextlib": {
        "ExitStack": ((), [("callback", len, [1]), ("pop_all",), ("close",)]),
        "suppress": ((KeyError,), [("__enter__",)]),
        "nullcontext": ((1.5,), [("__enter__",)]),
    },
    "types": {"DynamicClassAttribute": ((), [("getter", len)])},
    "uuid": {"UUID": (("12345678" * 4,), [("__str__",), ("__int__",), ("__repr__",)])},
    "locale": {"delocalize": [("1.5",)], "atof": [("1.5",)]},
    "base64": {"b16encode": [(b"ab",)], "b85encode": [(b"abcd",)], "b32decode": [(b"ME======",)]},
    "quopri": {"ishex": [(b"a",), (b"z",)], "unhex": [(b"1f",)]},
    "email.utils": {"formatdate": [(0,), (86400,)], "parseaddr": [("A <a@b.c>",)]},
    "_strptime": {
        "_calc_julian_from_U_or_W": [(2024, 5, 2, True), (2023, 1, 6, False)],
    },
    "getopt": {"getopt": [(["-a", "x"], "a")]},
    "tabnanny": {"format_witnesses": [([1, 2],)]},
    "nturl2path": {"url2pathname": [("///C:/a",)]},
    "pickletools": {"decode_long": [(b"\xff\x7f",), (b"",)]},
}  # fmt: skip


def subjects(make):
    """Return the subjects of the table, each made by ``make(module, table)``."""
    found = []
    for name, table in TABLE.items():
        module = load(name)
        there = {key: calls for key, calls in table.items() if hasattr(module, key)}
        found += make(name, {getattr(module, key): calls for key, calls in there.items()})
    return found
