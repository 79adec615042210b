"""Texts with holes for sizes as StableHLO with sizes that are not known, which is JAX's form.

In evertrace's text a size is an expression in a hole, ``tensor<⟦2*b⟧x4xf32>``; in JAX's the type is
``tensor<?x4xf32>``, functions take the variables as numbers, and operations whose sizes are no
types of operands take them as operands: `broadcast_in_dim` is `dynamic_broadcast_in_dim` there.

The text is what `Builder` writes: an operation to a line, but for its regions. What is computed of
sizes goes to the beginning of its function, where it is known in all regions.
"""

import re
from typing import Any

from evertrace._src import dims, errors
from evertrace._src.dims.expression import FLOORDIV, MAX, MIN, MOD, terms_of

SIZE = "tensor<i32>"
"""The type of the variables, and of what is computed with them."""

_HOLE = re.compile("⟦([^⟧]*)⟧")
_TYPE = re.compile(r"tensor<(?:[^<>]|<[^<>]*>)*>")
_OP = re.compile(r'(?:(%\w+)(?::\d+)? = )?"([\w.]+)"\(([^)]*)\) ?(.*)')
_FUNCTION = re.compile(r"func\.func private @([\w.]+)\((.*)\) -> \((.*)\) \{")


class Sizes:
    """Writes what is computed of sizes, each expression once.

    Args:
      scope: of the variables.
      variables: name of a variable -> its name in the program.
      prefix: of the names that are written.
    """

    def __init__(self, scope: Any, variables: dict[str, str], prefix: str = "%size"):
        self.scope, self.lines = scope, []
        self._variables, self._prefix = variables, prefix
        self._found: dict[str, str] = {}

    def write(self, text: str) -> str:
        """Write an operation, given without its result; return the name of that, found or new."""
        name = self._found.get(text)
        if name is None:
            name = self._found[text] = f"{self._prefix}{len(self._found)}"
            self.lines.append(f"{name} = {text}")
        return name

    def number(self, n: Any) -> str:
        """Return the name of an expression or of a number."""
        if not dims.is_dim(n):
            return self.write(f"stablehlo.constant dense<{n}> : {SIZE}")
        total = None
        for monomial, coefficient in terms_of(n).items():
            product = None if coefficient == 1 and monomial else self.number(coefficient)
            for factor, power in monomial:
                value = self._factor(factor)
                for _ in range(power):
                    product = value if product is None else self.binary("multiply", product, value)
            assert product is not None
            total = product if total is None else self.binary("add", total, product)
        assert total is not None
        return total

    def binary(self, name: str, a: str, b: str) -> str:
        """Write an operation of two sizes."""
        return self.write(f"stablehlo.{name} {a}, {b} : {SIZE}")

    def compare(self, sign: str, a: str, b: str) -> str:
        """Write a comparison, EQ, NE, LT, LE, GT or GE."""
        kind = f"({SIZE}, {SIZE}) -> tensor<i1>"
        return self.write(f"stablehlo.compare {sign}, {a}, {b}, SIGNED : {kind}")

    def _factor(self, factor):
        if not factor.fn:
            return self._variables[factor.name]
        a, b = map(self.number, factor.args)
        if factor.fn in (MAX, MIN):
            return self.binary("maximum" if factor.fn == MAX else "minimum", a, b)
        # Remainders have the sign of the dividend, and are wanted with that of the divisor; XLA
        # finds sizes through few operations only.
        rest = self.binary("remainder", a, b)
        mod = self.binary("remainder", self.binary("add", rest, b), b)
        if factor.fn == MOD:
            return mod
        assert factor.fn == FLOORDIV
        return self.binary("divide", self.binary("subtract", a, mod), b)

    def parsed(self, text: str) -> Any:
        """Return the number or expression of a size in a text: ``4`` or ``⟦2*b⟧``."""
        hole = _HOLE.fullmatch(text)
        return int(text) if hole is None else self.scope.parsed(hole[1])

    def vector(self, texts: list[str]) -> tuple[str, str]:
        """Write sizes as a vector; return its name and type."""
        kind = f"tensor<{len(texts)}xi32>"
        if not any(_HOLE.search(text) for text in texts):
            listed = f"[{', '.join(texts)}]" if texts else ""
            return self.write(f"stablehlo.constant dense<{listed}> : {kind}"), kind
        parts = []
        for text in texts:
            number = self.number(self.parsed(text))
            parts.append(self.write(f"stablehlo.reshape {number} : ({SIZE}) -> tensor<1xi32>"))
        types = ", ".join(["tensor<1xi32>"] * len(parts))
        return self.write(
            f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({types}) -> {kind}"
        ), kind


class _Op:
    """An operation on one line, or what comes before or after its region.

    Attributes:
      result: the name it gives its results, or None.
      name, operands: its name and those of what it takes.
      attrs: name -> text.
      ins, outs: types, with holes.
    """

    def __init__(self, result, name, operands, rest):
        self.result, self.name = result, name
        self.operands = [x for x in operands.split(", ") if x]
        head, _, kind = f" {rest}".rpartition(" : (")
        ins, _, outs = kind.partition(") -> ")
        self.ins, self.outs = _TYPE.findall(ins), _TYPE.findall(outs)
        self.attrs = _attributes(head.strip())

    def shape(self, i=0):
        """Return the sizes of a result, as texts."""
        return sizes_of(self.outs[i])


def sizes_of(kind: str) -> list[str]:
    """Return the sizes in a type, as texts: ``["⟦b⟧", "4"]``."""
    found = re.match(r"tensor<((?:(?:\d+|⟦[^⟧]*⟧)x)*)", kind)
    assert found is not None, kind
    return re.findall(r"\d+|⟦[^⟧]*⟧", found[1])


def _element(kind):
    return re.sub(r"^tensor<((?:\d+|⟦[^⟧]*⟧)x)*", "", kind)[:-1]


_PART = re.compile(r'"(?:[^"\\\\]|\\\\.)*"|->|.')


def _attributes(text):
    """Split the attributes of an operation, ``{a = 1, b = [2, 3]}``."""
    found, depth, piece = {}, 0, ""
    for part in _PART.findall(text):
        depth += (part in tuple("{[(<")) - (part in tuple("}])>"))
        if (part == "," and depth == 1) or depth == 0:
            name, _, value = piece.strip().removeprefix("{").partition(" = ")
            found[name] = value
            piece = ""
            if depth == 0:
                break
        else:
            piece += part
    found.pop("", None)
    return found


def _listed(attribute):
    """Return the texts of the numbers in ``array<i64: 1, ⟦b⟧>`` or ``dense<[[1, ⟦b⟧]]> : ...``."""
    body = attribute.removeprefix("array<i64:").removeprefix("dense<")
    return re.findall(r"⟦[^⟧]*⟧|-?\d+", body.partition(" : ")[0])


def unknown(kind: str) -> str:
    """Return a type with ``?`` in its holes."""
    return _HOLE.sub("?", kind)


def converted(functions: list[str], scope: Any, variables: list[str]) -> list[str]:
    """Return functions with holes as those that take the variables first.

    Those of JAX's programs that are called are as they have to be.

    Args:
      functions: their texts.
      scope: of their sizes.
      variables: their names.

    Raises:
      NotImplementedError: they have an operation that JAX's form cannot express.
    """
    ours = [f for f in functions if '"func.return"(' in f]
    names = {_name_of(f) for f in ours}
    made = [unknown(f) for f in functions if '"func.return"(' not in f]
    for function in ours:
        made += _Converter(scope, variables, names).function(function.splitlines())
    return made


def _name_of(function):
    return function[: function.index("(")].rpartition("@")[2]


class _Converter:
    """Converts one function."""

    def __init__(self, scope, variables, functions):
        self._names = {v: f"%dim_{v}" for v in variables}
        self._sizes = Sizes(scope, self._names)
        self._functions = functions
        self._reducers = []

    def function(self, lines):
        """Return the texts of the function, and of others that it needs."""
        head = _FUNCTION.fullmatch(lines[0])
        assert head is not None, lines[0]
        self._name, args, results = head.groups()
        takes = [f"{v}: {SIZE}" for v in self._names.values()] + ([unknown(args)] if args else [])
        body, i = [], 1
        while i < len(lines) - 1:
            end = i
            if "stablehlo.reduce_window" in lines[i] and lines[i].endswith("({"):
                end = next(j for j in range(i, len(lines)) if lines[j].startswith("})"))
            body += self._converted(lines[i : end + 1])
            i = end + 1
        head = f"func.func private @{self._name}({', '.join(takes)}) -> ({unknown(results)}) {{"
        return ["\n".join([head, *self._sizes.lines, *body, "}"]), *self._reducers]

    def _converted(self, lines):
        """Return the lines of an operation, or of the beginning or the end of one."""
        text = "".join([lines[0].removesuffix(" ({"), lines[-1][2:]]) if lines[1:] else lines[0]
        found = _OP.fullmatch(text)
        if found is None:
            self._refuse_holes(text, text)
            return [unknown(line) for line in lines]
        op = _Op(*found.groups())
        rule = _RULES.get(op.name)
        made = None if rule is None else rule(self, op, lines)
        if made is not None:
            return [made] if isinstance(made, str) else made
        self._refuse_holes(op.name, text)
        return [unknown(line) for line in lines]

    def _refuse_holes(self, name, text):
        """Refuse what has sizes in other places than types."""
        if _HOLE.search(_TYPE.sub("", text)):
            raise errors.user_error(
                NotImplementedError,
                f"serialize: JAX's format does not have {name} with a symbolic size among its "
                f"parameters.",
                fix="export this part for sizes that are known, or write evertrace's format.",
                anchor="export",
            )

    def write(self, op, name, operands, kinds, attrs=None, outs=None):
        """Return the text of an operation."""
        pairs = ", ".join([f"{k} = {v}" for k, v in (attrs or {}).items()])
        result = "" if op.result is None else f"{op.result}{_count(op.outs)} = "
        given = ", ".join([unknown(kind) for kind in kinds])
        returned = ", ".join([unknown(kind) for kind in outs or op.outs])
        pairs = f" {{{pairs}}}" if pairs else ""
        return f'{result}"{name}"({", ".join(operands)}){pairs} : ({given}) -> ({returned})'

    # ------------------------------------------------------------ rules

    def constant(self, op, lines):
        """A number that is a size, or one that is spread over sizes."""
        del lines
        value, kind = op.attrs["value"][len("dense<") :].rsplit("> : ", 1)
        if not _HOLE.search(op.attrs["value"]):
            return None
        scalar = f"tensor<{_element(kind)}>"
        number = _HOLE.fullmatch(value.removesuffix(".0"))
        if number is not None:
            size = self._sizes.number(self._sizes.parsed(number[0]))
            made = f"stablehlo.convert {size} : ({SIZE}) -> {scalar}"
        elif _HOLE.search(value):
            vector, listed = self._sizes.vector(_listed(value))
            if sizes_of(kind) != sizes_of(listed):
                return None
            return f"{op.result} = stablehlo.convert {vector} : ({listed}) -> {kind}"
        else:
            made = f"stablehlo.constant dense<{value}> : {scalar}"
        if not sizes_of(kind):
            return f"{op.result} = {made}"
        return self._spread(op, self._sizes.write(made), scalar, "array<i64>", kind)

    def _spread(self, op, operand, kind, dimensions, out):
        shape, vector = self._sizes.vector(sizes_of(out))
        attrs = {"broadcast_dimensions": dimensions}
        name = "stablehlo.dynamic_broadcast_in_dim"
        return self.write(op, name, [operand, shape], [kind, vector], attrs, [out])

    def broadcast(self, op, lines):
        """Its shape is an operand."""
        del lines
        if not _HOLE.search(op.outs[0]):
            return None
        dimensions = op.attrs["broadcast_dimensions"]
        return self._spread(op, op.operands[0], op.ins[0], dimensions, op.outs[0])

    def shaped(self, op, lines):
        """`iota` and `reshape` have their shape as an operand."""
        del lines
        if not _HOLE.search(op.outs[0]):
            return None
        shape, vector = self._sizes.vector(op.shape())
        name = op.name.replace("stablehlo.", "stablehlo.dynamic_")
        return self.write(op, name, [*op.operands, shape], [*op.ins, vector], op.attrs)

    def with_vectors(self, op, lines, name, moved):
        """What is named in `moved` are operands."""
        del lines
        if not any(_HOLE.search(op.attrs[key]) for key in moved):
            return None
        vectors = [self._sizes.vector(_listed(op.attrs[key])) for key in moved]
        attrs = {k: v for k, v in op.attrs.items() if k not in moved}
        operands = [*op.operands, *[v for v, _ in vectors]]
        return self.write(op, name, operands, [*op.ins, *[kind for _, kind in vectors]], attrs)

    def slice(self, op, lines):
        """Bounds are operands."""
        moved = ("start_indices", "limit_indices", "strides")
        return self.with_vectors(op, lines, "stablehlo.real_dynamic_slice", moved)

    def pad(self, op, lines):
        """Padding is given by operands."""
        moved = ("edge_padding_low", "edge_padding_high", "interior_padding")
        return self.with_vectors(op, lines, "stablehlo.dynamic_pad", moved)

    def gather(self, op, lines):
        """Sizes of slices are an operand."""
        return self.with_vectors(op, lines, "stablehlo.dynamic_gather", ("slice_sizes",))

    def dynamic_slice(self, op, lines):
        """As a slice from where it begins, which is moved to where there is room for it."""
        del lines
        if not _HOLE.search(op.attrs["slice_sizes"]):
            return None
        sizes, made, starts = _listed(op.attrs["slice_sizes"]), [], []
        shape, prefix = sizes_of(op.ins[0]), f"%slice{op.result[1:]}"
        zero = self._sizes.number(0)
        kinds = zip(shape, sizes, op.operands[1:], op.ins[1:], strict=True)
        for i, (whole, part, start, kind) in enumerate(kinds):
            name = f"{prefix}_{i}"
            parsed = [self._sizes.number(self._sizes.parsed(n)) for n in (whole, part)]
            room = self._sizes.binary("subtract", *parsed)
            made += [
                f"{name}a = stablehlo.convert {start} : ({kind}) -> {SIZE}",
                f"{name}b = stablehlo.minimum {name}a, {room} : {SIZE}",
                f"{name}c = stablehlo.maximum {name}b, {zero} : {SIZE}",
                f"{name}d = stablehlo.reshape {name}c : ({SIZE}) -> tensor<1xi32>",
            ]
            starts.append(f"{name}d")
        lengths, vector = self._sizes.vector(sizes)
        types = ", ".join(["tensor<1xi32>"] * len(sizes))
        begin, end = f"{prefix}_begin", f"{prefix}_end"
        made += [
            f"{begin} = stablehlo.concatenate {', '.join(starts)}, dim = 0 : ({types}) -> {vector}",
            # XLA finds the sizes of the result in this sum.
            f"{end} = stablehlo.add {begin}, {lengths} : {vector}",
        ]
        strides, _ = self._sizes.vector(["1"] * len(sizes))
        operands = [op.operands[0], begin, end, strides]
        kinds = [op.ins[0], vector, vector, vector]
        return [*made, self.write(op, "stablehlo.real_dynamic_slice", operands, kinds)]

    def convolution(self, op, lines):
        """Padding is an operand."""
        del lines
        if not _HOLE.search(op.attrs.get("padding", "")):
            return None
        listed = _listed(op.attrs["padding"])
        flat, kind = self._sizes.vector(listed)
        pairs = f"tensor<{len(listed) // 2}x2xi32>"
        padding = self._sizes.write(f"stablehlo.reshape {flat} : ({kind}) -> {pairs}")
        attrs = {k: v for k, v in op.attrs.items() if k != "padding"}
        operands = [*op.operands, padding]
        return self.write(op, "stablehlo.dynamic_conv", operands, [*op.ins, pairs], attrs)

    def reduce_window(self, op, lines):
        """A custom call of a name that XLA knows, whose region is a function."""
        if not any(_HOLE.search(text) for text in op.attrs.values()):
            return None
        keys = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
        vectors = [self._sizes.vector(_listed(op.attrs[key])) for key in keys]
        listed = _listed(op.attrs["padding"])
        flat, kind = self._sizes.vector(listed)
        pairs = f"tensor<{len(listed) // 2}x2xi32>"
        padding = self._sizes.write(f"stablehlo.reshape {flat} : ({kind}) -> {pairs}")
        name = f"{self._name}_reducer{len(self._reducers)}"
        args = lines[1].removeprefix("^bb0(").removesuffix("):")
        results = lines[-2].rpartition(" : (")[2].partition(")")[0]
        body = [*lines[2:-2], lines[-2].replace("stablehlo.return", "func.return")]
        head = f"func.func private @{name}({args}) -> ({results}) {{"
        self._reducers.append("\n".join([head, *body, "}"]))
        return self.write(
            op,
            "stablehlo.custom_call",
            [*op.operands, *[v for v, _ in vectors], padding],
            [*op.ins, *[kind for _, kind in vectors], pairs],
            {
                "api_version": "2 : i32",
                "call_target_name": '"stablehlo.dynamic_reduce_window"',
                "called_computations": f"[@{name}]",
            },
        )

    def custom_call(self, op, lines):
        """Shapes of the results are operands, too, behind those of the call."""
        del lines
        if not any(map(_HOLE.search, op.outs)):
            return None
        vectors = [self._sizes.vector(sizes_of(kind)) for kind in op.outs]
        places = range(len(op.operands), len(op.operands) + len(vectors))
        attrs = dict(op.attrs)
        listed = ", ".join(map(str, places))
        attrs["indices_of_shape_operands"] = f"dense<[{listed}]> : tensor<{len(places)}xi64>"
        if "operand_layouts" in attrs:
            layouts = [attrs["operand_layouts"][1:-1]] if op.operands else []
            layouts += ["dense<0> : tensor<1xindex>"] * len(vectors)
            attrs["operand_layouts"] = f"[{', '.join(layouts)}]"
        operands = [*op.operands, *[v for v, _ in vectors]]
        kinds = [*op.ins, *[kind for _, kind in vectors]]
        return self.write(op, op.name, operands, kinds, attrs)

    def call(self, op, lines):
        """Functions take the variables first."""
        del lines
        callee = op.attrs.get("callee") or op.attrs["decomposition"]
        if callee[1:] not in self._functions:
            return None
        operands = [*self._names.values(), *op.operands]
        return self.write(op, op.name, operands, [SIZE] * len(self._names) + op.ins, op.attrs)


def _count(outs):
    return f":{len(outs)}" if len(outs) > 1 else ""


_RULES = {
    "stablehlo.constant": _Converter.constant,
    "stablehlo.broadcast_in_dim": _Converter.broadcast,
    "stablehlo.iota": _Converter.shaped,
    "stablehlo.reshape": _Converter.shaped,
    "stablehlo.slice": _Converter.slice,
    "stablehlo.dynamic_slice": _Converter.dynamic_slice,
    "stablehlo.pad": _Converter.pad,
    "stablehlo.gather": _Converter.gather,
    "stablehlo.convolution": _Converter.convolution,
    "stablehlo.reduce_window": _Converter.reduce_window,
    "stablehlo.custom_call": _Converter.custom_call,
    "func.call": _Converter.call,
    "stablehlo.composite": _Converter.call,
}
"""Operations that have sizes elsewhere than in types of operands; None: it has none here."""
