"""Sizes that tell the value of the one variable in them: multiples of it, plus a number."""

from __future__ import annotations

from typing import Any, NamedTuple

from evertrace._src.dims.expression import terms_of, text_of, variable


class Multiple(NamedTuple):
    """The size ``times * name + plus``, of the variable of a name."""

    name: str
    times: int = 1
    plus: int = 0

    def solved(self, n: int) -> int | None:
        """Return the value of the variable where the size is `n`, None if there is none."""
        value, rest = divmod(n - self.plus, self.times)
        return value if rest == 0 and value >= 0 else None

    def size(self, scope: Any) -> Any:
        """Return the size in a scope."""
        return variable(scope, self.name) * self.times + self.plus

    def text(self, scope: Any) -> str:
        """Return it as sizes of a scope are written."""
        return text_of(self.size(scope))


def multiple_of(size: Any) -> Multiple | None:
    """Return a size, an expression or a number, as a `Multiple`, None if it is none."""
    terms = dict(terms_of(size))
    plus = terms.pop((), 0)
    if len(terms) != 1:
        return None
    ((monomial, times),) = terms.items()
    (factor, power), *others = monomial
    if others or power != 1 or factor.fn or times < 0:
        return None
    return Multiple(factor.name, times, plus)
