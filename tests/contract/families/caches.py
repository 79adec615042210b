"""Functions behind caches, and operators that are called as functions."""

from tests.contract.families.family import Family

# A cache takes 0.0 and -0.0 for one, so all functions give the same for both.

FAMILIES = (
    Family(
        "functions behind caches",
        """
@functools.lru_cache(typed=True)
def cached(n):
    return n + 1, n * 0.5 + 1

class Basis:
    size = 2

    @functools.lru_cache(typed=True)
    def ramp(self, n):
        return n * self.size + 1

    @property
    @functools.lru_cache
    def fixed(self):
        return jnp.asarray(0.5)

    @staticmethod
    @functools.lru_cache(typed=True)
    def double(n):
        return n * 2 + 1

    @classmethod
    @functools.lru_cache(typed=True)
    def scaled(cls, n):
        return n * cls.size + 1

class Finer(Basis):
    size = 3

BASES = [Basis(), Finer()]
""",
        expressions={
            "num": [
                "cached(<num>)[0]",
                "<basis.>.ramp(<num>)",
                "<basis.>.double(<num>)",
                "Basis.double(<num>)",
                "type(<basis.>).scaled(<num>)",
                "Basis.ramp(<basis.>, <num>)",
                "sum(map(<basis.>.ramp, (<num>, <lit>)))",
                "BASES[<int> % 2].scaled(<num>)",
                "len(type(cached).__name__)",
            ],
            "arr": [
                "<arr.> * <basis.>.fixed",
                "<arr.> + cached(<num>)[1]",
                "<arr.> - <basis.>.fixed * <num>",
            ],
            "bool": ["cached is <cf.>", "Basis.ramp is Finer.ramp", "{cached: 1}.get(<cf.>) == 1"],
            "str": ["<cf.>.__name__[:2]", "repr(<cf.>)[1:4]"],
        },
        statements=(
            "<basis!> = BASES[<int> % 2]",
            "<basis!> = Finer()",
            "<cf!> = Basis.double",
            "<cf!> = cached",
        ),
        results=("<cf.>", "<basis.>", "cached(<num>)"),
        start={"basis": ["BASES[0]", "Finer()"], "cf": ["cached", "Basis.double"]},
        attributes={"basis": "basis", "cf": "cf"},
        globals={"BASIS": "basis"},
        arguments={"basis": "basis"},
    ),
    Family(
        "operators of types",
        expressions={
            "num": [
                "int.__add__(<int>, <int>)",
                "float.__mul__(0.5, <num>)",
                "(<lit>).__add__(<num>)",
                "getattr(2, '__mul__')(<int>)",
                "functools.reduce(int.__add__, [<int>, <int>], 1)",
                "functools.reduce(operator.add, (<num>, <num>))",
                "<op.>(<int>, <int>)",
                "sum(map(int.__mul__, (<int>, 2), (3, <int>)))",
            ],
            "bool": ["int.__lt__(<int>, <int>)", "<op.> is int.__add__", "(2).__eq__(<int>)"],
        },
        statements=("<op!> = int.__sub__", "<op!> = int.__add__", "<op!> = operator.mul"),
        start={"op": ["int.__add__", "int.__sub__"]},
        attributes={"op": "op"},
        globals={"OP": "op"},
    ),
)  # fmt: skip
