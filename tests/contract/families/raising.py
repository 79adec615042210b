"""Exceptions: raised with state, caught, chained, stored."""

from tests.contract.families.family import Family

_SOURCE = """
class Diverged(Exception):
    def __init__(self, step, *rest):
        super().__init__(step, *rest)
        self.step = step

class Halt(ValueError):
    pass
"""

FAMILIES = (
    Family(
        "raised",
        _SOURCE,
        statements=(
            "if <int.:a> % 3 == 2:\n    raise Diverged(<:a>, <num>)",
            "if <int.> % 3 == 2:\n    raise Diverged(<num.>, <arr.>)",
            "if <int.> % 3 == 2:\n    raise Diverged(<num>, <nums.>)",
            "if <int.> % 3 == 2:\n    raise Halt({'n': <int>, 'w': <arr>, 's': <str>})",
            "if <int.> % 3 == 2:\n    raise Halt(f'at {<int.>}: {<num.>:.2f}', <num>)",
            "if <bool>:\n    raise KeyError(<num.>)",
            "if <bool>:\n    raise Diverged(<obj.>)",
            "if <bool>:\n    raise ExceptionGroup('both', [Halt(<num>), Diverged(<int>)])",
            "assert <int.:a> % 3 != 2, (<:a>, <num.>)",
            "assert <num.:a> < 2, <:a>",
            "try:\n    <block>\n    raise Diverged(<num>, <int>)\nexcept Diverged as e:\n"
            "    <num!> = e.step",
            "try:\n    raise Diverged(<num>, <arr>)\nexcept Diverged as e:\n"
            "    <arr!>, <num!> = e.args[1], e.step",
            "try:\n    if <bool>:\n        raise Halt(<num>)\n    <block>\n"
            "except Halt as e:\n    if <bool>:\n        raise Diverged(*e.args) from e\n"
            "else:\n    <block>",
            "try:\n    <cfg.>[<str>]\nexcept KeyError as e:\n    <words.>.append(e.args[0])",
            "try:\n    <nums.>[<int>]\nexcept IndexError as e:\n    <str!> = str(e)[:4]",
            "try:\n    1 / <num.>\nexcept ZeroDivisionError as e:\n    <words.>.append(str(e))",
            "try:\n    raise Halt(<int>, <num>)\nexcept (Halt, Diverged) as e:\n"
            "    print(e, e.args)",
            "with contextlib.suppress(Diverged):\n    <block>\n    if <bool>:\n"
            "        raise Diverged(<num>)\n    <block>",
            "try:\n    if <bool>:\n        raise StopIteration(<num>)\n"
            "except StopIteration as e:\n    <num!> = e.value",
            "try:\n    raise Diverged(<num>)\nexcept Diverged as e:\n"
            "    e.add_note(f'n {<int.>}')\n    <words.>.extend(e.__notes__)",
        ),
        attributes={"rate": "num", "n": "int", "words": "words", "hist": "nums", "cfg": "cfg"},
    ),
    Family(
        "stored exceptions",
        _SOURCE,
        expressions={
            "num": ["<err.>.step", "<err.>.args[0]", "len(<err.>.args)", "len(<errs.>)"],
            "str": ["str(<err.>)[:3]", "type(<err.>).__name__[:1]"],
            "bool": [
                "<err.> is <err.>",
                "isinstance(<err.>, Diverged)",
                "<err.> in <errs.>",
                "<err.>.__cause__ is None",
            ],
        },
        statements=(
            "<err!> = Diverged(<num>, <int>)",
            "<err!> = Diverged(<num>, <arr>)",
            "<err.>.step = <num>",
            "<err.>.args = (<num>, <str>)",
            "<err!> = <err.>",
            "<errs.>.append(<err.>)",
            "<errs.>.append(Halt(<num>))",
            "<errs.>[1:] = []",
            "if <bool>:\n    raise <err.>",
            "try:\n    raise <err.>\nexcept Diverged as e:\n    <num!> = e.step",
            "try:\n    raise Diverged(<num>)\nexcept Diverged as e:\n    <err!> = e",
            "try:\n    raise Diverged(<num>) from <err.>\nexcept Diverged as e:\n    <err!> = e",
            "try:\n    raise <err.>\nexcept Diverged as e:\n    <errs.>.append(e)\n    <block>",
        ),
        results=("<err.>", "<errs.>", "Halt(<num>)", "<err.>, <arr>"),
        start={"err": ["Diverged(s)", "Diverged(2, 0.5)"], "errs": ["[]", "[Halt(1)]"]},
        parts_of={"err": [(".step", "num", True)]},
        attributes={"err": "err", "last": "err", "errs": "errs"},
        globals={"ERR": "err", "ERRS": "errs"},
        arguments={"e": "err"},
        shared=frozenset({"err", "errs"}),
    ),
)
