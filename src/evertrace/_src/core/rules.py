"""What rules are written against: linear operands, and open tables of rules.

In every rule `None` in place of a tangent or cotangent means a symbolic zero.
"""


class LinearArg:
    """An operand that stands for the unknown of a linear map.

    Transposition rules find one in place of each operand whose cotangent is wanted. It is also the
    tape's node for a value: cotangents are accumulated per `LinearArg`.

    Example:
      >>> from evertrace import extend
      >>> def transpose(ct, a, x):
      ...     print(x)
      ...     return None, lax.mul(a, ct)
      >>> rules = dict(host=np.multiply, linear=(1,), transpose=transpose)
      >>> scale = extend.Primitive("scale", abstract=lambda a, x: x, **rules)
      >>> ev.linear_transpose(lambda x: scale.bind(2.0, x), jnp.ones(3))(jnp.ones(3))
      LinearArg(f32[3])
      (Array([2., 2., 2.], dtype=float32),)
    """

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    def __repr__(self):
        return f"LinearArg({self.aval.str_short()})"


def is_linear(x):
    """Whether a transposition rule must return a cotangent for this operand.

    Example:
      >>> from evertrace import extend
      >>> extend.is_linear(extend.LinearArg(ev.typeof(1.0))), extend.is_linear(1.0)
      (True, False)
    """
    return type(x) is LinearArg


class RuleTable:
    """A third party's or an engine's rules, kept by primitive.

    Args:
      name: says what the rules are for; used in the error about a missing one.

    Example:
      >>> from evertrace import extend
      >>> flops = extend.RuleTable("counting operations")
      >>> flops.rules[lax.add_p] = lambda x, y: x.size
      >>> eqn = ev.make_jaxpr(lax.add)(jnp.ones(3), jnp.ones(3)).eqns[0]
      >>> flops.rules[eqn.primitive](*[v.aval for v in eqn.invars])
      3
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
