"""Effects: what an equation does besides computing its outputs.

An equation with an effect is never removed as dead code; one with an ordered effect is never moved
past another of the same kind.
"""


class Effect:
    """A kind of effect, known by its name.

    Args:
      name: shown in printed jaxprs.
      ordered: whether equations that carry it keep their order at run time.
    """

    __slots__ = ("name", "ordered")

    def __init__(self, name, ordered=False):
        self.name, self.ordered = name, ordered

    def __repr__(self):
        return self.name


NO_EFFECTS = frozenset()
