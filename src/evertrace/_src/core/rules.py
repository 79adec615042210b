"""What rules are written against: linear operands, and open tables of rules.

In every rule `None` in place of a tangent or cotangent means a symbolic zero.
"""


class LinearArg:
    """An operand that stands for the unknown of a linear map.

    Transposition rules find one in place of each operand whose cotangent is wanted. It is also the
    tape's node for a value: cotangents are accumulated per `LinearArg`.
    """

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    def __repr__(self):
        return f"LinearArg({self.aval.str_short()})"


def is_linear(x):
    """Whether a transposition rule must return a cotangent for this operand."""
    return type(x) is LinearArg


class RuleTable:
    """A third party's or an engine's rules, kept by primitive.

    Args:
      name: says what the rules are for; used in the error about a missing one.
    """

    __slots__ = ("name", "rules")

    def __init__(self, name):
        self.name = name
        self.rules = {}

    def define(self, *prims):
        """Decorate a function as the rule of each of the primitives."""

        def register(rule):
            for prim in prims:
                self.rules[prim] = rule
            return rule

        return register

    def __contains__(self, prim):
        return prim in self.rules

    def __getitem__(self, prim):
        try:
            return self.rules[prim]
        except KeyError:
            raise NotImplementedError(f"{prim.name} has no rule for {self.name}") from None
