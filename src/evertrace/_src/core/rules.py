"""What rules are written against: linear operands, and open tables of rules.

In every rule `None` in place of a tangent or cotangent means a symbolic zero.
"""

from evertrace._src import errors
from evertrace._src.doors import door
from evertrace._src.lazy import load


@door
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


@door
def is_linear(x):
    """Whether a transposition rule must return a cotangent for this operand.

    Example:
      >>> from evertrace import extend
      >>> extend.is_linear(extend.LinearArg(ev.typeof(1.0))), extend.is_linear(1.0)
      (True, False)
    """
    return type(x) is LinearArg


@door
class RuleTable:
    """A third party's or an engine's rules, kept by primitive.

    Args:
      name: says what the rules are for; used in the error about a missing one.
      modules: names of modules that define rules: they are imported, one after the other, until the
        rule that is looked for is there; first the one called as the file of the primitive's type
        rule, where it mostly is.

    Example:
      >>> from evertrace import extend
      >>> flops = extend.RuleTable("counting operations")
      >>> flops.rules[lax.add_p] = lambda x, y: x.size
      >>> eqn = ev.make_jaxpr(lax.add)(jnp.ones(3), jnp.ones(3)).eqns[0]
      >>> flops.rules[eqn.primitive](*[v.aval for v in eqn.invars])
      3
    """

    __slots__ = ("modules", "name", "rules")

    def __init__(self, name, modules=()):
        self.name = name
        self.rules = {}
        self.modules = tuple(modules)

    def define(self, *prims):
        """Decorate a function as the rule of each of the primitives."""

        def register(rule):
            for prim in prims:
                self.rules[prim] = rule
            return rule

        return register

    def find(self, prim):
        """Return the rule of a primitive, or None."""
        rule = self.rules.get(prim)
        if rule is None and self.modules:
            file = getattr(prim.abstract, "__module__", "").rpartition(".")[2]
            for module in sorted(self.modules, key=lambda m: m.rpartition(".")[2] != file):
                load(module)
                rule = self.rules.get(prim)
                if rule is not None:
                    break
        return rule

    def __contains__(self, prim):
        return self.find(prim) is not None

    def __getitem__(self, prim):
        rule = self.find(prim)
        if rule is None:
            raise errors.user_error(
                NotImplementedError,
                f"{prim.name} has no rule for {self.name}.",
                fix="add one to the table.",
                anchor="extend",
            )
        return rule
