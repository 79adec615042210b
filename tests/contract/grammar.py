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

# Kinds: arr (array), np (NumPy array), num (int or float), int, str, bool, fn (function of an
# array), maybe (a number or None), pair (of numbers), pt (named tuple), ns (namespace), parts (list
# of objects), and containers: nums, arrs (lists), cfg, params (dicts of numbers, of arrays), grid
# (dict by pairs of ints), recent (deque), tags (set), groups (defaultdict of lists), table (dict of
# lists), words (list of strings), counts (Counter).
# Classes of the program are kinds as well; `Part?` is a Part or None.

EXPRESSIONS = {
    "arr": [
        (9, "<arr> + <arr.>"),
        (2, "<arr.> - <arr>"),
        (3, "<arr> * 0.5"),
        (6, "<arr> + <num>"),
        (2, "<num> - <arr.>"),
        (3, "jnp.sin(<arr>)"),
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
        (1, "lax.cond(<bool>, lambda z: z * 0.5, lambda z: z - <num>, <arr>)"),
        (1, "lax.scan(lambda c, z: (c * 0.5 + z, c), <arr.>[0], <arr.>)[1]"),
        (1, "lax.while_loop(lambda z: z[0] > 1, lambda z: z * 0.5 - abs(<num>), -<arr.>)"),
        (1, "jvp(lambda z: jnp.sin(z) * <num>, (<arr.>,), (<arr.>,))[1]"),
        (1, "checkpoint(lambda z: jnp.sin(z) + <arr.>)(<arr>)"),
        (1, "vmap(lambda y, z: y * 0.5 - z, in_axes=(0, None))(<arr.>, <num>)"),
        (1, "<arr.>[::-1]"),
        (1, "<arr.>.astype(int) * 0.5"),
        (1, "jnp.stack([<arr.>, <arr>]).mean(0)"),
        (1, "<arr.>.reshape(-1, 1)[:, 0]"),
        (1, "functools.reduce(lambda y, z: y * 0.5 + z, <arrs.>, <arr.>)"),
        (1, "abs(<arr.>) if isinstance(<arr.>, jnp.ndarray) else <arr.>"),
        (12, "<call>"),
    ],
    "num": [
        (8, "<num.> + <lit>"),
        (4, "<num.> - <num>"),
        (5, "<num.> * 0.5"),
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
        (1, "getattr(<obj.>, 'rate', <num>)"),
        (1, "functools.reduce(lambda a, b: a * 0.5 + b, <nums.>, <num>)"),
        (1, "[*itertools.accumulate(<nums.>), <lit>][<int> % 2] % 7"),
        (1, "sum(a * b for a, b in zip(<nums.>, <pair.>, strict=False)) % 5"),
        (1, "max(<nums.>, key=lambda v: (v % 2, v), default=<lit>)"),
        (1, "min(<cfg.>.values(), default=<num>)"),
        (1, "math.copysign(<num>, <num.>)"),
        (1, "(<num.> if -1 < <num.> <= 2 else <lit>)"),
        (1, "[v for w in (<nums.>, <pair.>) for v in w if v > <lit>][-1:].count(<lit>)"),
        (1, "{1: <num>, 2: <lit>}.get(<int.>, <num.>)"),
        (1, "next((v for v in <nums.> if v < <num>), <lit>)"),
        (1, "math.fsum(<nums.>) % 5"),
        (1, "operator.sub(<num.>, <num>) % 3"),
        (1, "<counts.>['<key>']"),
        (1, "sum(<counts.>.values())"),
        (1, "int(<num.>).bit_length()"),
        (1, "complex(<num.>, <num>).real"),
        (1, "float(f'{<num.>:.2f}')"),
        (1, "<nums.:a>[::-1].index(<:a>[0]) if <:a> else <lit>"),
    ],
    "int": [
        (7, "<int.> + 1"),
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
        (1, "<arr.>.shape[0] + <arr.>.ndim"),
        (1, "len(<words.>)"),
        (1, "len(<str>)"),
        (1, "<words.>.count(<str>)"),
        (1, "'abc'.find(<str.>)"),
        (1, "len([*filter(None, <nums.>)])"),
        (1, "bisect.bisect(sorted(<nums.>), <num>)"),
        (1, "(<int.> << 1 | <int.> & 1) % 9"),
        (1, "-<int.> // 2"),
        (1, "hash(<int.>) % 5"),
    ],
    "str": [
        (2, "'<key>'"),
        (1, "'ab'[<int> % 2]"),
        (1, "f'k{<int.> % 3}'"),
        (1, "<str.>[:1] + '<key>'"),
        (1, "<str.> if <bool> else '<key>'"),
        (1, "''.join(sorted(<tags.>))[:2]"),
        (1, "f'{<num.>:.1f}'[-1]"),
        (1, "<str.>.upper()[:1].lower()"),
        (1, "'%s' % <str.>"),
        (1, "(<words.:a> or ['<key>'])[-1]"),
        (1, "max(<counts.>, default='<key>')"),
        (1, "str(<int.>)[0]"),
        (1, "'ab'.replace(<str.>, 'c')[:1]"),
        (1, "next(iter(<cfg.>), '<key>')"),
    ],
    "bool": [
        (6, "<int.> > <lit>"),
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
        (1, "<num.> < <num> <= <lit>"),
        (1, "<pair.> < (<lit>, <num>)"),
        (1, "<nums.> == [<num>]"),
        (1, "<cfg.> == {'a': 1, 'b': <num>}"),
        (1, "<tags.> <= {'a', <str>}"),
        (1, "<str.> < <str>"),
        (1, "<str>.isdigit()"),
        (1, "<nums.> is <nums.>"),
        (1, "all(k in <cfg.> for k in <words.>)"),
        (1, "callable(<fn.>)"),
        (1, "<arr.>.dtype == jnp.float32"),
        (1, "bool(<maybe.>)"),
        (1, "(n := <num>) > 1 and n < <lit>"),
        (1, "<int.> in range(1, <int>)"),
        (1, "math.isclose(<num.>, <num>)"),
    ],
}

STATEMENTS = [
    # attributes, variables, globals
    (10, "<arr!> = jnp.sin(<arr>)"),
    (9, "<arr!> = <arr.> * 0.5 + <arr.>"),
    (2, "<arr!> = <arr.>"),
    (4, "<arr!> += <num>"),
    (10, "<num!> = <num>"),
    (4, "<num!> += <lit>"),
    (12, "<int!> += 1"),
    (3, "<int!> = <int>"),
    (3, "<str!> = <str>"),
    (3, "<bool!> = <bool>"),
    (2, "<+num:v> = <num>"),
    (5, "<+arr:v> = <arr>"),
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
    (1, "<num!:a> = <num!:b> = <num>"),
    (1, "<num!>, *<+nums:v> = [<num>, <lit>, <num>]"),
    (1, "(<num!>, <int!>), <str!> = (<num>, <int>), <str>"),
    (1, "assert <int.:a> % 5 != 4, f'<key> {<:a>}'"),
    (1, "if hasattr(<obj.:o>, '__dict__'):\n    vars(<:o>)['extra'] = <num>"),
    (1, "if (<+int:v> := <int>) > 1:\n    <num!> = <:v> * 0.5"),
    (1, "print(f'{<num.>:.3f} {<words.>}')"),
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
    (1, "<nums.:a>[::2] = [<lit>] * len(<:a>[::2])"),
    (1, "while len(<nums.:a>) > 2:\n    del <:a>[0]"),
    (1, "if (v := <num>) in <nums.:a>:\n    <:a>.remove(v)"),
    (1, "<nums!> = (<nums.> * 2)[:4]"),
    (1, "<nums!> = sorted({*<nums.>}, reverse=True)"),
    (1, "<nums.>.sort(key=lambda v: -v)"),
    (1, "<arrs.>[-1:] = <arrs.>"),
    (1, "if <arrs.:a>:\n    <:a>[-1] = <:a>[-1] * 0.5 + <arr.>"),
    (1, "if <arrs.:a>:\n    <arr!> = <:a>.pop()"),
    (1, "heapq.heappush(<nums.>, <num>)"),
    (1, "bisect.insort(<nums.>, <num>)"),
    (2, "<words.>.append(<str>)"),
    (1, "<words!> = [w for w in <words.> if w != '<key>']"),
    (1, "<words.>.extend(<str>)"),
    (1, "<words!> = list(<cfg.>)"),
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
    (1, "<table.>.setdefault('<key>', []).append(<num>)"),
    (1, "<table.>['a'] = <nums.>"),
    (1, "<cfg!> = <cfg.> | {'<key>': <num>}"),
    (1, "<cfg!> |= {<str>: <num>}"),
    (1, "<cfg.:a>['<key>'] = <:a>.pop('<key>', <lit>)"),
    (1, "<cfg!> = dict(sorted(<cfg.>.items(), reverse=True))"),
    (1, "<cfg!> = dict.fromkeys(<words.>, <num>)"),
    (1, "<+cfg:v> = {v: k for k, v in enumerate('<key>a')}"),
    (1, "<params!> = tree.map(lambda v: v * 0.5, <params.>)"),
    (1, "<params.:a>['<key>'] = <:a>.pop('<key>', <arr.>) + <num>"),
    (2, "<counts.>[<str>] += 1"),
    (1, "<counts.>.update(<words.>)"),
    (1, "<counts.>.subtract({<str>: 1})"),
    (1, "<counts!> = +<counts.>"),
    (1, "<tags.>.symmetric_difference_update({'<key>'})"),
    (1, "<tags!> -= {<str>}"),
    (1, "<tags!> = {*<words.>, '<key>'}"),
    (1, "<tags.>.update(<cfg.>)"),
    # NumPy arrays, in place
    (2, "<np.>[<int> % <n>] = <num>"),
    (1, "<np.>[:] = <lit>"),
    (1, "<np!> = np.array(<list>, np.float32)"),
    # control
    (7, "if <bool>:\n    <block>"),
    (6, "if <bool>:\n    <block>\nelse:\n    <block>"),
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
    (
        1,
        "try:\n    <num!> = <table.>[<str>][0]\nexcept LookupError:\n    <block>\n"
        "else:\n    <block>",
    ),
    (
        1,
        "try:\n    <num!> = float(<str.>)\n"
        "except (TypeError, ValueError) as e:\n    <str!> = str(e)[:1]",
    ),
    (
        1,
        "try:\n    if <bool>:\n        raise LookupError(<num>)\n"
        "except LookupError as e:\n    <num!> = e.args[0]",
    ),
    (1, "for <+num:v> in <nums.>[:4]:\n    if <:v> > <num>:\n        break\nelse:\n    <block>"),
    (1, "for <+str:v> in <words.>[-2:]:\n    if <:v> == '<key>':\n        continue\n    <block>"),
    (1, "for <+str:v> in sorted(<tags.>):\n    <block>"),
    (1, "for <+str:k>, <+nums:v> in [*<table.>.items()][:2]:\n    <block>"),
    (1, "for <+num:v> in itertools.chain(<nums.>[:2], <pair.>):\n    <block>"),
    (1, "for <+arr:v> in reversed(<arrs.>[-2:]):\n    <block>"),
    (
        1,
        "match <pair.>:\n    case (0, _) | (1, 0.5):\n        <block>\n"
        "    case (p1, p2) if p1 > p2:\n        <block>",
    ),
    (1, "match <nums.>:\n    case []:\n        <block>\n    case [_, *_]:\n        <block>"),
    (
        1,
        "match <cfg.>:\n    case {'a': int()}:\n        <block>\n"
        "    case {'b': _}:\n        <block>",
    ),
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
    (
        1,
        "def loss(z):\n    <words.>.append('<key>')\n    return jnp.sum(jnp.sin(z)), z * <num>\n"
        "(_, <arr!>), <arr!> = value_and_grad(loss, has_aux=True)(<arr.>)",
    ),
    (
        1,
        "def block(z):\n    <counts.>['<key>'] += 1\n    return jnp.sin(z) * <num>\n"
        "<arr!> = grad(lambda z: jnp.sum(checkpoint(block)(z)))(<arr.>)",
    ),
    (
        1,
        "@jit\ndef once(z):\n    <nums.>.append(<num>)\n    <cfg.>['<key>'] = <num>\n"
        "    return z * 0.5\n"
        "<arr!> = once(<arr.>) + once(<arr.>)",
    ),
    (
        1,
        "def body(z, y):\n    for key in <params.:a>:\n        <:a>[key] = <arr.> * 0.5 + y\n"
        "    return z + y, z * 0.5\n"
        "_, <arr!> = lax.scan(body, <arr.>[0], <arr.>)",
    ),
    (
        1,
        "def body(_, z):\n    for key in <params.:a>:\n        <:a>[key] = jnp.sin(<:a>[key]) + z\n"
        "    return z * 0.5 + <num>\n"
        "<arr!> = lax.fori_loop(0, 3, body, <arr.>)",
    ),
    (
        1,
        "def yes(z):\n    for key in <params.:a>:\n        <:a>[key] = <:a>[key] * 0.5 + z\n"
        "    return z * 0.5\n"
        "<arr!> = lax.cond(<arr.>[0] > <num>, yes, lambda z: yes(z - 1), <arr.>)",
    ),
    (1, "<arrs!> = list(vmap(lambda z: (z * <num>, z + <num>))(<arr.>))"),
    # functions that remember, generate, call themselves
    (
        1,
        "def gen(n):\n    for i in range(n):\n        yield i * <num>\n"
        "<nums!> = list(gen(<int> % 3))",
    ),
    (
        1,
        "def down(n, z):\n    return z if n <= 0 else down(n - 1, z * 0.5 + <num>)\n"
        "<arr!> = down(<int> % 4, <arr.>)",
    ),
    (1, "<fn!> = operator.neg"),
    (1, "<fn!> = functools.wraps(half)(lambda *a, **k: half(*a, **k) + <num>)"),
    (1, "<+fn:f> = [lambda z, i=i: z * 0.5 + i for i in range(2)][<int> % 2]"),
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
    "words": ["[]", "['a', 'c', 'a']"],
    "counts": ["Counter()", "Counter(a=2, b=1)"],
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
    "words": "words", "counts": "counts",
}  # fmt: skip
GLOBALS = {
    "W": "arr", "RATE": "num", "COUNT": "int", "MODE": "str", "ON": "bool", "BUF": "np",
    "LOG": "nums", "CFG": "cfg", "TABLE": "table", "ACT": "fn", "TAGS": "tags",
    "NS": "ns", "PT": "pt", "MAYBE": "maybe", "GRID": "grid", "WORDS": "words", "COUNTS": "counts",
}  # fmt: skip
SHARED = frozenset({
    "np", "nums", "arrs", "cfg", "params", "tags", "table", "recent", "ns", "grid",
    "words", "counts",
})  # fmt: skip
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


class Tables:
    """The templates that a program draws from: those of this file and those of its themes."""

    def __init__(self, families=()):
        """Join the tables; the templates of themes are together as likely as all others."""
        self.families = families
        kinds = dict.fromkeys([*EXPRESSIONS, *(k for f in families for k in f.expressions)])
        self.expressions = {
            k: _joined(EXPRESSIONS.get(k, []), [f.expressions.get(k, ()) for f in families])
            for k in kinds
        }
        self.statements = _joined(STATEMENTS, [f.statements for f in families])
        self.results = _joined(RESULTS, [f.results for f in families])
        self.start, self.parts_of, self.arguments = dict(START), dict(PARTS_OF), dict(ARGUMENTS)
        self.attributes, self.globals, self.shared = dict(ATTRIBUTES), dict(GLOBALS), set(SHARED)
        for family in families:
            self.start |= family.start
            self.parts_of |= family.parts_of
            self.arguments |= family.arguments
            self.attributes |= family.attributes
            self.globals |= family.globals
            self.shared |= family.shared


def _joined(table, groups):
    """Return a table with the templates of some themes, which weigh as much as the table."""
    own = sum(weight for weight, _ in table) or 1
    groups = [group for group in groups if group]
    return table + [
        (own / len(groups) / len(group), template) for group in groups for template in group
    ]
