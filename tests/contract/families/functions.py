"""Functions and their state: globals that two share, `nonlocal`, defaults, `with`, generators."""

from tests.contract.families.family import Family

_X, _XS = {"x": ("arr", "")}, {"x": ("arr", ""), "v": ("num", "2")}

_GLOBALS = Family(
    "globals between functions",
    source="""
G_NUM, G_ARR, G_LOG, G_MAP = 1, None, [], {'a': 1}

@jit
def put(x, v=2):
    global G_NUM, G_ARR
    G_NUM, G_ARR = v, x * 0.5
    return x + v

@jit
def bump(x):
    global G_NUM
    G_NUM = (G_NUM + 1) % 7
    G_LOG.append(G_NUM)
    return x * 0.5 + G_NUM

@jit
def take(x):
    return (x if G_ARR is None else x * 0.5 + G_ARR) + G_NUM

@jit
def swap(x):
    global G_ARR, G_EXTRA
    G_ARR, old = x, G_ARR
    try:
        G_EXTRA += 1
    except NameError:
        G_EXTRA = 1
    return x if old is None else old

@jit
def drop(x):
    global G_EXTRA
    if "G_EXTRA" in globals():
        del G_EXTRA
        return x
    return x - 1

def set_plainly(v):
    global G_NUM, G_MAP
    G_NUM, G_MAP = v, {**G_MAP, 'b': v}
    return v
""",
    expressions={
        "arr": [
            "put(<arr>, <num>)", "bump(<arr>)", "take(<arr>)", "take(put(<arr.>, <lit>))",
            "swap(<arr>)", "drop(<arr>)", "<arr.> if G_ARR is None else G_ARR + <arr.>",
            "bump(<arr.>) + bump(<arr.>)", "grad(lambda z: jnp.sum(take(z)))(<arr.>)",
        ],
        "num": [
            "G_NUM", "G_NUM + G_NUM * 0.5", "set_plainly(<num>)", "G_MAP.get('b', <num>)",
            "len(G_LOG)", "globals().get('G_EXTRA', <lit>)", "sum(G_LOG) % 5",
        ],
        "bool": ["G_NUM > <lit>", "G_ARR is None", "'G_EXTRA' in globals()", "G_NUM is G_NUM"],
    },
    statements=(
        "<arr!> = put(<arr.>, <num>)", "bump(<arr.>)", "set_plainly(<num>)",
        "globals()['G_NUM'] = <num>", "G_MAP['<key>'] = <num>", "G_LOG[2:] = []",
        "<num!> = G_NUM\nbump(<arr.>)\n<num!> = G_NUM",
        "<arr!> = take(<arr.>)\nset_plainly(<num>)\n<arr!> = take(<arr.>) + <arr.>",
        "swap(<arr.>)", "drop(<arr.>)",
        "try:\n    <num!> = G_EXTRA\nexcept NameError:\n    <block>",
    ),
    results=("G_NUM", "(G_ARR, G_NUM)", "G_MAP"),
    outside=(
        "G_NUM = 3", "G_NUM = 0.5", "G_ARR = None", "G_ARR = x0", "G_EXTRA = 2",
        "globals().pop('G_EXTRA', None)", "G_MAP = {}", "G_LOG = [2]", "G_NUM = True",
        "G_NUM = jnp.float32(2)", "set_plainly(4)",
    ),
    entries=(("put", _XS), ("bump", _X), ("take", _X), ("swap", _X), ("drop", _X)),
)  # fmt: skip

_NONLOCAL = Family(
    "nonlocal",
    source="""
def make_tally(start):
    count, last, log = start, None, []
    def add(x, v=1):
        nonlocal count, last
        count = (count + v) % 9
        last = x * 0.5
        log.append(count)
        return x * 0.5 + count
    def peek(x):
        return x * 0.5 + count if last is None else x * 0.5 + last + count
    def reset(v=0):
        nonlocal count, last
        count, last = v, None
        return count
    def late(x):
        nonlocal extra
        try:
            extra = extra + 1
        except NameError:
            extra = count
        return x + extra
    def forget():
        nonlocal extra
        extra = 0
        del extra
    extra = 0
    del extra
    return add, peek, reset, late, forget

add1, peek1, reset1, late1, forget1 = make_tally(1)
add2, peek2, reset2, late2, forget2 = make_tally(0.5)
tally, look, later = jit(add1), jit(peek1), jit(late1)
""",
    expressions={
        "arr": [
            "add1(<arr>, <num>)", "peek1(<arr>)", "add2(<arr>)", "peek2(<arr>)", "late1(<arr>)",
            "peek1(add1(<arr.>))", "tally(<arr>, <num>)", "look(<arr>)",
            "grad(lambda z: jnp.sum(peek2(z)))(<arr.>)",
        ],
        "num": ["reset1(<num>)", "add1.__closure__[0].cell_contents", "len(add2.__closure__)"],
    },
    statements=(
        "reset1(<num>)", "reset2()", "<arr!> = add1(<arr.>) + peek1(<arr.>)", "forget1()",
        "<+num:v> = <num>\ndef up(k):\n    nonlocal <:v>\n    <:v> = <:v> * 0.5 + k\n"
        "    return <:v>\n<num!> = up(<lit>) + up(<num>) + <:v>",
        "<+arr:v> = <arr>\ndef turn(z):\n    nonlocal <:v>\n    <:v> = jnp.sin(<:v>) + z\n"
        "    return z * <num>\n<arr!> = turn(<arr.>) + turn(<arr.>)\n<arr!> = <:v> + <arr.>",
        "<+num:v> = <num>\ndef loss(z):\n    nonlocal <:v>\n    <:v> = <:v> + <lit>\n"
        "    return jnp.sum(z * <:v>)\n<arr!> = grad(loss)(<arr.>)\n<num!> = <:v>",
        "<+int:v> = <int>\n@jit\ndef inner_step(z):\n    nonlocal <:v>\n    <:v> += 1\n"
        "    return z * 0.5 + <:v>\n<arr!> = inner_step(<arr.>) + inner_step(<arr.>)",
        "<+arr:v> = <arr>\ndef body(i, z):\n    nonlocal <:v>\n    <:v> = <:v> * 0.5 + z\n"
        "    return z * 0.5\n<arr!> = lax.fori_loop(0, 3, body, <arr.>) + <:v>",
        "<+num:v> = <num>\ndef outer():\n    def deep(k):\n        nonlocal <:v>\n"
        "        <:v> = k\n        return [<:v>]\n    return deep(<num>) + deep(<lit>)\n"
        "<nums!> = outer()",
        "<+num:v> = <num>\nfs = [lambda k=k: k + <:v> for k in range(2)]\n<:v> = <num>\n"
        "<num!> = fs[<int> % 2]()",
        "<+nums:v> = []\ndef note(k):\n    <:v>.append(k)\n    return len(<:v>)\n"
        "<num!> = note(<num>) + note(<lit>)\n<nums!> = <:v>",
        "<fn!> = add2", "<fn!> = peek1",
    ),
    results=("peek1(<arr>)", "add2(<arr>)"),
    outside=(
        "reset1(3)", "reset2(0.5)", "add1.__defaults__ = (2,)", "forget1()",
        "add1.__closure__[0].cell_contents = 2", "add2(x0, 3)", "late2(x0)",
        "peek1.__code__ = peek2.__code__", "reset1(jnp.float32(1))", "reset1(True)",
    ),
    attributes={"act": "fn", "hist": "nums"},
    entries=(("tally", _XS), ("look", _X), ("later", _X), ("jit(add2)", _XS)),
)  # fmt: skip

_DEFAULTS = Family(
    "defaults",
    source="""
def affine(x, k=0.5, *, c=1):
    return x * k + c

def logged(v, seen=[]):
    seen.append(v)
    return len(seen)

def both(v=1, w=None):
    return v if w is None else v + w

class Tool:
    def use(self, x, k=1, *rest, sign=1):
        return x * 0.5 + k * sign + len(rest)

tool, SHARED_K = Tool(), [1]
affine_too = functools.partial(affine, c=2)
run_affine = jit(affine)

@jit
def run_tool(x, v=2, *more, w=1):
    return tool.use(x) + v * w + sum(more)
""",
    expressions={
        "arr": [
            "affine(<arr>)", "affine(<arr>, <num>)", "affine(<arr>, c=<num>)", "tool.use(<arr>)",
            "tool.use(<arr>, <num>)", "tool.use(<arr>, 1, 2, sign=<lit>)", "affine_too(<arr>)",
            "run_affine(<arr>)", "affine(**{'x': <arr>, 'c': <num>})", "tool.use(*[<arr.>, <num>])",
            "run_tool(<arr>)", "(lambda z, k=<num>: z * 0.5 + k)(<arr>)",
        ],
        "num": [
            "affine.__defaults__[0]", "affine.__kwdefaults__['c']", "logged(<num>)", "both()",
            "both(w=<num>)", "both(<num>)", "len(logged.__defaults__[0])",
            "(Tool.use.__defaults__ or (<lit>,))[0]", "affine_too.keywords['c']",
        ],
        "bool": ["affine.__kwdefaults__ == {'c': 1}", "both.__defaults__ == (1, None)"],
    },
    statements=(
        "affine.__defaults__ = (<num> % 3,)", "affine.__kwdefaults__ = {'c': <num>}",
        "affine.__kwdefaults__['c'] = <num>", "both.__defaults__ = (<num>, <lit>)",
        "Tool.use.__defaults__ = (<num>,)", "tool.use.__func__.__kwdefaults__['sign'] = <lit>",
        "logged.__defaults__[0][2:] = []", "both.__defaults__ = (1, None)",
        "def fresh(z, k=<num>, *, c=[<num>]):\n    c.append(k)\n    return z * 0.5 + len(c)\n"
        "<arr!> = fresh(<arr.>) + fresh(<arr.>)\nfresh.__defaults__ = (<lit>,)\n"
        "<arr!> = fresh(<arr.>)",
        "try:\n    <num!> = both()\nexcept TypeError:\n    <block>",
    ),
    outside=(
        "affine.__defaults__ = (2,)", "affine.__defaults__ = (0.25,)", "affine.__defaults__ = None",
        "affine.__kwdefaults__ = {'c': 3}", "affine.__kwdefaults__ = None",
        "affine.__kwdefaults__ = {'c': jnp.float32(1)}", "Tool.use.__defaults__ = (0.5,)",
        "Tool.use.__kwdefaults__ = {'sign': -1}", "both.__defaults__ = (1, 2)",
        "both.__defaults__ = (True, None)", "both.__defaults__ = None",
        "both.__defaults__ = (0.5, None)",
        "logged.__defaults__[0].clear()",
        "logged.__defaults__ = ([1, 2],)",
        "affine_too = functools.partial(affine, c=0.5)", "affine.__defaults__ = (0.5,)",
        "affine.__code__ = (lambda x, k=1, *, c=1: x - k * c).__code__",
    ),
    entries=(
        ("run_affine", {"x": ("arr", ""), "k": ("num", "0.5")}),
        ("run_tool", _XS),
        ("jit(tool.use)", {"x": ("arr", ""), "k": ("num", "1")}),
    ),
)  # fmt: skip

_WITH = Family(
    "context managers",
    source="""
class Guard:
    def __init__(self, swallow=()):
        self.depth, self.seen, self.swallow = 0, [], swallow
    def __enter__(self):
        self.depth += 1
        return self
    def __exit__(self, kind, error, trace):
        self.depth -= 1
        self.seen.append(kind.__name__ if kind else "-")
        del self.seen[3:]
        return kind is not None and issubclass(kind, self.swallow)

@contextlib.contextmanager
def entered(guard, v):
    guard.depth += v
    try:
        yield guard.depth
    except ZeroDivisionError:
        guard.seen.append("zero")
    finally:
        guard.depth -= v

class Deco(contextlib.ContextDecorator):
    def __enter__(self):
        GUARD.depth += 1
    def __exit__(self, *_):
        GUARD.depth -= 1

GUARD = Guard()

@Deco()
def decorated(x, v=1):
    return x * 0.5 + GUARD.depth + v
""",
    expressions={
        "num": ["<guard.>.depth", "len(<guard.>.seen)"],
        "str": ["(<guard.>.seen or ['-'])[-1][:1]"],
        "bool": ["'-' in <guard.>.seen", "<guard.>.depth == 0"],
        "arr": ["decorated(<arr>, <num>)"],
    },
    statements=(
        "with <guard.>:\n    <block>",
        "with <guard.> as g:\n    <num!> = g.depth\n    <block>",
        "with <guard.>, <guard.>:\n    <block>",
        "with entered(<guard.>, <num>) as <+num:v>:\n    <block>",
        "with entered(<guard.>, 1):\n    <num!> = <lit> / <num.>",
        "with <guard.>:\n    if <bool>:\n        raise ValueError(<num>)\n    <block>",
        "with Guard((KeyError,)) as g:\n    <num!> = <cfg.>['<key>']",
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(<guard.>)\n"
        "    stack.callback(<nums.>.append, <num>)\n    <block>",
        "with contextlib.nullcontext(<num>) as <+num:v>:\n    <block>",
        "try:\n    with <guard.>:\n        raise LookupError(<num>)\nexcept LookupError as e:\n"
        "    <num!> = e.args[0]",
        "for <+int:i> in range(2):\n    with <guard.>:\n        if <bool>:\n            continue\n"
        "        <block>",
        "def leave(z):\n    with <guard.>:\n        return z * 0.5 + <num>\n<arr!> = leave(<arr.>)",
        "with <guard.>:\n    <arr!> = grad(lambda z: jnp.sum(jnp.sin(z)) * <num>)(<arr.>)",
        "with contextlib.suppress(ValueError, KeyError):\n    <block>\n    raise KeyError(<num>)",
        "<guard!> = Guard((ValueError,))", "<guard.>.swallow = (ValueError, LookupError)",
        "<guard.>.seen.clear()",
    ),
    outside=(
        "Guard.__exit__ = lambda self, *_: True",
        "Guard.__exit__ = lambda self, *_: None",
        "Guard.__enter__ = lambda self: setattr(self, 'depth', 2) or self",
        "GUARD.swallow = (ValueError,)", "GUARD.depth = 1", "Deco.__enter__ = lambda self: None",
    ),
    start={"guard": ["Guard()", "Guard((ValueError,))", "GUARD"]},
    parts_of={"guard": [(".depth", "num", True)]},
    attributes={"guard": "guard", "lock_guard": "guard", "cfg": "cfg", "hist": "nums"},
    globals={"WATCH": "guard"},
    arguments={"guard": "guard"},
    shared=frozenset({"guard"}),
    entries=(("jit(decorated)", _XS),),
)  # fmt: skip

_GENERATORS = Family(
    "generators",
    source="""
def feed(v, n=3):
    for i in range(n):
        yield v * 0.5 + i

def pairs(d):
    for k, v in d.items():
        yield k, v

def chained(*parts):
    for part in parts:
        yield from part
    return 2

def echo(total=0):
    while True:
        got = yield total
        total = total + (got or 1)

class Stream:
    def __init__(self, v):
        self.v, self.i = v, 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.i > 2:
            raise StopIteration
        self.i += 1
        return self.v + self.i

@jit
def drain(x, v=1):
    return x * 0.5 + sum(feed(v))
""",
    expressions={
        "num": [
            "next(<flow.>, <lit>)", "sum(itertools.islice(<flow.>, 2)) % 5", "sum(feed(<num>)) % 5",
            "max(feed(<num>, 2))", "next(feed(<num>))", "sum(<stream.>) % 5", "next(<stream.>, 1)",
            "sum(v for _, v in pairs(<cfg.>)) % 5", "[*chained(<nums.>, feed(<num>))][-1]",
            "min(chained([<num>], (v * 0.5 for v in <nums.>)))", "len([*feed(<lit>)])",
            "dict(pairs(<cfg.>)).get('<key>', <num>)",
            "next((v for v in feed(<num.>) if v > <lit>), <lit>)",
            "sum(a * b for a, b in zip(feed(<num.>), <stream.>)) % 5",
        ],
        # No name may be bound in what a comprehension goes through, so that is drawn simple.
        "arr": ["drain(<arr>, <num>)", "sum((v * 0.5 for v in [<arr.>, <arr.>]), <arr>)"],
        "bool": ["any(v > <lit> for v in <flow.>)", "<num> in feed(<lit>)"],
    },
    statements=(
        "for <+num:v> in itertools.islice(<flow.>, 2):\n    <block>",
        "<nums!> = list(itertools.islice(<flow.>, 3))", "<flow!> = feed(<num>)",
        "<flow!> = (v + <num> for v in <nums.>)", "<nums.>.extend(feed(<num>, 2))",
        "for <+num:v> in feed(<num>, <int> % 3):\n    <block>",
        "for <+num:v> in <stream.>:\n    <block>", "<stream!> = Stream(<num>)",
        "<stream.>.v = <num>", "<num!>, *<nums!> = feed(<num>)",
        "talk = echo(<num>)\nnext(talk)\n<num!> = talk.send(<num>) + talk.send(<lit>)\n"
        "talk.close()\ndel talk",
        "ways = feed(<num>)\n<num!> = next(ways)\nways.close()\n<num!> = next(ways, <lit>)\n"
        "del ways",
        "def numbers():\n    <num!> = yield <num>\n    yield <num.>\n<nums!> = list(numbers())",
        "def rest():\n    v = yield from feed(<num>, 1)\n    yield v\n"
        "<words.>.append(str([*rest()]))",
        "<cfg!> = dict(zip('ab', feed(<num>)))", "<nums!> = sorted(feed(<num>), reverse=True)",
        "<num!> = math.fsum(feed(<num>)) % 5", "<recent.>.extend(feed(<num>))",
        "try:\n    next(iter(()))\nexcept StopIteration as e:\n    <block>",
    ),
    results=("[*feed(<num>)]", "(<arr>, sum(feed(<num>)))", "feed(<num>)", "<stream.>"),
    start={
        "flow": ["feed(s)", "(v * 0.5 for v in [1, s])", "feed(1)", "chained([1, s], feed(2))"],
        "stream": ["Stream(s)"],
    },
    attributes={
        "stream": "stream", "hist": "nums", "cfg": "cfg", "recent": "recent",
        "words": "words",
    },
    globals={"STREAM": "stream"},
    outside=("stream_in.i = 0", "stream_in.v = 2", "Stream.__iter__ = lambda self: iter([self.v])"),
    arguments={"flow": "flow", "stream": "stream"},
    shared=frozenset({"stream"}),
    entries=(("drain", _XS),),
)  # fmt: skip

FAMILIES = (_GLOBALS, _NONLOCAL, _DEFAULTS, _WITH, _GENERATORS)
