"""Texts that recur in a module.

What a rule writes is a function of the types and params of an equation; of its operands it knows
only the names. So the text is kept, and filled in where names stand. What comes out is what the
rule would write, but for the numbers in the names where it makes a region before a constant.
"""

import re
from operator import itemgetter

_NAME = re.compile(r"%((?:arg|a|)\d+)")
_OTHER = re.compile(r"%(?!(?:arg|a|)\d)")


class Template:
    """What a rule writes for operands of certain types.

    Args:
      scratch: the builder in which the rule wrote it for operands ``%arg0``, ``%arg1``, ...
      num_operands: how many those were.
      results: the names of the results.

    Attributes:
      parts: in order, constants (text, None, ()) and pieces of text (with ``%s`` for names, a
        function that picks these out of all names known by then, a prefix per name that the piece
        makes).
      results: per result the place of its name and a suffix, such as ``#1``.
      text, order: of the only part of one operation whose one result is all that has a new name;
        None for other templates.
    """

    __slots__ = ("order", "parts", "results", "text")

    def __init__(self, scratch, num_operands, results):
        self.parts = []
        places = {f"arg{i}": i for i in range(num_operands)}
        constants = {name: text for text, name in scratch.constants.items()}
        piece = []
        for line in scratch.lines if constants else ():
            name = line.partition(" = ")[0]
            if name not in constants:
                piece.append(line)
                continue
            self._add_piece(piece, places)
            piece = []
            self.parts.append((constants[name], None, ()))
            places[name[1:]] = len(places)
        self._add_piece(piece if constants else scratch.lines, places)
        found = [name.partition("#") for name in results]
        self.results = [(places[name[1:]], mark + i) for name, mark, i in found]
        self.text = self.order = None
        if len(self.parts) == 1 and self.results == [(num_operands, "")]:
            text, order, made = self.parts[0]
            if made == ["%"]:
                self.text, self.order = text, order

    def _add_piece(self, lines, places):
        """Add a piece of text; `places` gains the names that are made in it."""
        if not lines:
            return
        text = "\n".join(lines)
        names = _NAME.findall(text)
        if text.count("%") > len(names):
            text = _OTHER.sub("%%", text)
        made = sorted(set(names) - places.keys(), key=lambda name: int(name.removeprefix("a")))
        for name in made:
            places[name] = len(places)
        prefixes = ["%a" if name[0] == "a" else "%" for name in made]
        order = itemgetter(*[places[name] for name in names])
        self.parts.append((_NAME.sub("%s", text), order, prefixes))

    def write(self, b, names):
        """Write the operations for operands of these names; returns the names of the results.

        The list is added to.
        """
        for text, order, made in self.parts:
            if order is None:
                names.append(b.dense(text))
                continue
            for prefix in made:
                names.append(f"{prefix}{b.count}")
                b.count += 1
            b.lines.append(text % order(names))
        return [names[place] + suffix for place, suffix in self.results]
