"""The text of expressions and shapes: ``b, 2*b + 1, floordiv(b, 4), max(b - 2, 0)``.

shape       dims, maybe in parentheses, with commas between them; ``...`` may be the last one
dim         expression, or ``_`` for the size that the array has
expression  [+ | -] term {(+ | -) term}
term        power {* power}
power       atom [^ number]
atom        number | name | function(expression, expression) | (expression)
"""

import re

from evertrace._src import errors
from evertrace._src.dims.expression import FLOORDIV, MAX, MIN, MOD, apply, variable

_TOKEN = re.compile(r"\s*(?:(\d+)|([^\W\d]\w*)|(\.\.\.|\*\*|>=|<=|==|.))", re.DOTALL)
_FUNCTIONS = (FLOORDIV, MOD, MAX, MIN)
_END = "the end"
_MOST_NESTED = 50
_MOST_CHARACTERS = 10_000

ELLIPSIS, PLACEHOLDER = "...", "_"


class Parser:
    """Reads one text.

    Args:
      text: it.
      scope: that of the variables in it.
      what: what the text is, for errors.
    """

    END = _END

    def __init__(self, text: str, scope, what: str):
        if len(text) > _MOST_CHARACTERS:
            raise errors.user_error(
                ValueError,
                f"{what} {text[:50]!r} and so on: it has {len(text):,} characters.",
                fix=f"write texts of up to {_MOST_CHARACTERS:,} characters.",
                anchor="symbolic-shapes",
            )
        self.text, self.scope, self.what = text, scope, what
        self.tokens, place = [], 0
        stripped = text.rstrip()
        while place < len(stripped):
            match = _TOKEN.match(stripped, place)
            assert match is not None  # a character is a token
            number, name, sign = match.groups()
            self.tokens.append(
                (int(number) if number else name or sign, match.start(match.lastindex or 0))
            )
            place = match.end()
        self.tokens.append((_END, len(stripped)))
        self.at = self.nested = 0

    @property
    def token(self):
        """The token that is read next: an int, a name or a sign."""
        return self.tokens[self.at][0]

    def take(self, *wanted):
        """Read a token if it is one of these; whether it was."""
        is_wanted = type(self.token) is str and self.token in wanted
        self.at += is_wanted
        return is_wanted

    def expect(self, wanted):
        """Read this token."""
        if not self.take(wanted):
            raise self.error(f"`{wanted}`" if wanted != _END else wanted)

    def error(self, wanted):
        """Build the error for a text that goes on with something else than what is wanted."""
        token, place = self.tokens[self.at]
        found = token if token == _END else f"`{token}`"
        return errors.user_error(
            ValueError,
            f"{self.what} {self.text!r}: expected {wanted}, got {found}"
            + (f" after {self.text[:place]!r}." if place else "."),
            fix="write sizes as `b`, `2*b + 1`, `floordiv(b, 4)`, `mod(b, 4)`, `max(b, c)`, "
            "`min(b, c)`, `b^2`, with commas between them.",
            anchor="symbolic-shapes",
        )

    def dims(self):
        """Read a shape: a list of expressions, numbers, `PLACEHOLDER`s and maybe `ELLIPSIS`."""
        opened, found = self._opens_a_shape(), []
        end = ")" if opened else _END
        while self.token != end:
            if self.take(ELLIPSIS):
                found.append(ELLIPSIS)
                self.take(",")
                break
            found.append(PLACEHOLDER if self.take(PLACEHOLDER) else self.expression())
            if self.token != end:
                self.expect(",")
        self.expect(end)
        if opened:
            self.expect(_END)
        return found

    def _opens_a_shape(self):
        """Whether the text is in parentheses that close at its end, which are then opened."""
        depth = 0
        for i, (found, _) in enumerate(self.tokens):
            depth += {"(": 1, ")": -1}.get(found, 0)
            if depth == 0:
                return i == len(self.tokens) - 2 and self.take("(")
        return False

    def expression(self):
        """Read an expression."""
        self.nested += 1
        if self.nested > _MOST_NESTED:
            raise self.error("fewer parentheses")
        total = 0
        sign = -1 if self.take("-") else 1
        self.take("+") if sign == 1 else None
        while True:
            total = self._term() * sign + total
            if self.take("+"):
                sign = 1
            elif self.take("-"):
                sign = -1
            else:
                self.nested -= 1
                return total

    def _term(self):
        product = self._power()
        while self.take("*"):
            product = product * self._power()
        return product

    def _power(self):
        base = self._atom()
        if not self.take("^"):
            return base
        power = self.token
        if type(power) is not int or power > 16:
            raise self.error("a number up to 16")
        self.at += 1
        return base**power

    def _atom(self):
        token = self.token
        if type(token) is int:
            self.at += 1
            return token
        if self.take("-"):
            return -self._atom()
        if self.take("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.take(*_FUNCTIONS):
            return self._function(token)
        if type(token) is str and token.isidentifier() and token != PLACEHOLDER:
            self.at += 1
            return variable(self.scope, token)
        raise self.error("a number, a name or a function")

    def _function(self, name):
        self.expect("(")
        a = self.expression()
        self.expect(",")
        b = self.expression()
        self.expect(")")
        try:
            return apply(name, a, b)
        except ZeroDivisionError:
            raise errors.user_error(
                ValueError,
                f"{self.what} {self.text!r}: it divides by zero.",
                fix="divide by a number that is not 0.",
                anchor="symbolic-shapes",
            ) from None

    def constraint(self):
        """Read a constraint: a tuple of the left side, the sign and the right side."""
        left = self.expression()
        for sign in (">=", "<=", "=="):
            if self.take(sign):
                right = self.expression()
                self.expect(_END)
                return left, sign, right
        raise self.error("`>=`, `<=` or `==`")
