"""Programs exchanged with JAX: its own made into those that evertrace calls, and the reverse.

JAX's `main` takes the number of the platform, where there are several, a token for each ordered
effect, and the arguments that it needs. Ours takes all of them and nothing else, and knows its
sizes. So a `main` of ours is written that calls JAX's, and XLA puts the numbers in. In the other
direction a `main` of JAX's finds the sizes in its arguments, chooses the program of the platform,
and calls it.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from evertrace._src import dims, errors
from evertrace._src.dims.expression import variables
from evertrace._src.dims.scope import SymbolicScope
from evertrace._src.dims.shapes import sizes_of as sizes_of_call
from evertrace._src.engines.xla import compat, portable
from evertrace._src.engines.xla.dynamic import SIZE, Sizes, converted, sizes_of, unknown
from evertrace._src.engines.xla.portable import STABLE_TARGET
from evertrace._src.engines.xla.text import mlir_type, quoted, shardy_mesh

_ORDER = "!stablehlo.token"
_INNER = "wrapped"
_HOLE = "⟦"

_OF_XLA = re.compile(r"(mhlo|stablehlo|chlo)\..*|Sharding|SPMD\w+Shape|AllocateBuffer")
"""Custom calls that XLA itself knows."""


class ForeignCall(NamedTuple):
    """How a program of JAX's is called.

    Attributes:
      ins, outs: type of each argument and result, and whether evertrace's program has it: JAX's has
        cotangents of integers, too, which are arrays of booleans to XLA.
      kept: which arguments the program takes.
      tokens: how many tokens it takes and returns.
      has_effects: whether ours takes a token in front and returns one.
      platform: the number that it takes of the platform, or None.
      needs_refining: whether XLA has to find sizes in it, and the branch of the platform.
    """

    ins: Sequence[tuple[Any, bool]]
    outs: Sequence[tuple[Any, bool]]
    kept: Sequence[int]
    tokens: int
    has_effects: bool
    platform: int | None
    needs_refining: bool


def imported(blob: bytes, name: str, call: ForeignCall, platform: str) -> bytes:
    """Return JAX's program as evertrace's, in portable bytes; as text where sizes are symbolic.

    Args:
      blob: the portable bytes of JAX's.
      name: of the function.
      call: how it is called.
      platform: what it will run on, "cpu", "gpu" or "tpu".

    Raises:
      ValueError: XLA cannot read it, it is another program than was said, it refuses the sizes, or
        it calls what is not known here.
    """
    try:
        module = compat.read_portable(blob)
        takes, gives = compat.entry_types(module)
    except compat.UNREADABLE as error:
        raise _error(
            f"export: the installed XLA cannot read the program of {name} ({error}).",
            "install a jaxlib as new as the one that exported it, or export it again.",
        ) from error
    text = _entry(name, call, takes, gives)
    is_symbolic = _HOLE in text
    if compat.divide_no_more(module):
        raise _error(
            f"export: {name} is a program of JAX's with parts that each device computes by itself.",
            "export the function that it was before `shard_map`.",
        )
    try:
        whole = compat.with_entry(module, text, _INNER)
        if is_symbolic:
            return whole.encode()
        made = compat.refined(whole) if call.needs_refining else compat.parse_module(whole)
    except compat.UNREADABLE as error:
        raise _error(
            f"export: {name}, a program of JAX's, cannot be made for these arguments: "
            f"{compat.said(error)}",
            "call it with sizes that fulfil what was declared, or export it again.",
        ) from error
    _check_targets(name, compat.custom_calls(made), platform)
    return compat.write_portable_module(made, "sdy.mesh" in whole)


def _entry(name, call, takes, gives):
    """Write the `main` that takes all arguments and calls JAX's.

    Raises:
      ValueError: that has other arguments or results.
    """
    lines, given, wanted = [], [], []
    if call.platform is not None:
        kind = takes[0] if takes and takes[0] in ("tensor<i32>", "tensor<i64>") else "tensor<i32>"
        lines.append(f"%platform = stablehlo.constant dense<{call.platform}> : {kind}")
        given.append("%platform")
        wanted.append(kind)
    given += ["%token"] * call.tokens
    wanted += [_ORDER] * call.tokens
    for i in call.kept:
        aval, is_ours = call.ins[i]
        kind = mlir_type(aval)
        if not is_ours:
            lines.append(f"%arg{i} = stablehlo.constant dense<false> : {kind}")
        given.append(f"%arg{i}")
        wanted.append(kind)
    results = [_ORDER] * call.tokens + [mlir_type(aval) for aval, _ in call.outs]
    if not _fit(takes, wanted) or not _fit(gives, results):
        raise _error(
            f"export: the program of {name} is ({', '.join(takes)}) -> ({', '.join(gives)}), and "
            f"not the one that its bytes describe.",
            "export the function again.",
        )
    for i, (kind, is_now) in enumerate(zip(takes, wanted, strict=True)):
        if kind != is_now:
            lines.append(f"%in{i} = stablehlo.convert {given[i]} : ({is_now}) -> {kind}")
            given[i] = f"%in{i}"
    arrow = f"({', '.join(takes)}) -> ({', '.join(gives)})"
    out = f"%out:{len(gives)} = " if gives else ""
    lines.append(f"{out}func.call @{_INNER}({', '.join(given)}) : {arrow}")
    return _with_results(call, lines, gives)


def _with_results(call, lines, gives):
    """Return the function of lines that call JAX's, with the results that ours has."""
    ours = [f"%arg{i}: {mlir_type(aval)}" for i, (aval, is_ours) in enumerate(call.ins) if is_ours]
    returned, kinds = [], []
    if call.has_effects:
        ours.insert(0, f"%token: {_ORDER}")
        done = ", ".join([f"%out#{i}" for i in range(call.tokens)] or ["%token"])
        kind = ", ".join([_ORDER] * max(call.tokens, 1))
        lines.append(f'%done = "stablehlo.after_all"({done}) : ({kind}) -> {_ORDER}')
        returned.append("%done")
        kinds.append(_ORDER)
    for i, (aval, is_ours) in enumerate(call.outs, start=call.tokens):
        if not is_ours:
            continue
        found, kind = f"%out#{i}", mlir_type(aval)
        if gives[i] != kind:
            lines.append(f"%out{i} = stablehlo.convert {found} : ({gives[i]}) -> {kind}")
            found = f"%out{i}"
        returned.append(found)
        kinds.append(kind)
    lines.append(f"func.return {', '.join(returned)} : {', '.join(kinds)}" if kinds else "return")
    body = "\n".join(lines)
    return f"func.func public @main({', '.join(ours)}) -> ({', '.join(kinds)}) {{\n{body}\n}}"


def _fit(have, want):
    """Whether types are those wanted, some of whose sizes may not be known."""
    return len(have) == len(want) and all(
        re.fullmatch(re.escape(a).replace(r"\?", r"(\d+|⟦[^⟧]*⟧)"), b)
        for a, b in zip(have, want, strict=True)
    )


def _check_targets(name, targets, platform):
    known = compat.known_targets(platform)
    unknown = sorted(
        t
        for t in targets
        if t not in known and not STABLE_TARGET.fullmatch(t) and not _OF_XLA.fullmatch(t)
    )
    if unknown:
        raise _error(
            f"export: {name} calls {', '.join(unknown)}, which nobody has registered here for "
            f"{platform}.",
            "register it with `ffi.register_ffi_target` before the call, or export the function "
            "without it.",
        )


# ---------------------------------------------------------------- for JAX


class Given(NamedTuple):
    """An exported function of evertrace's, for JAX.

    Attributes:
      name: of the function.
      modules: its programs for each platform: portable bytes, or text with holes.
      ins, outs: as in `ForeignCall`.
      scope: of its symbolic sizes, or None.
      axes: of the mesh over which its values lie, pairs (name, size).
    """

    name: str
    modules: Sequence[bytes]
    ins: Sequence[tuple[Any, bool]]
    outs: Sequence[tuple[Any, bool]]
    scope: Any
    axes: Sequence[tuple[str, int]] = ()


def exported(given: Given) -> bytes:
    """Return the program as JAX calls it, in portable bytes.

    Raises:
      NotImplementedError: JAX's format cannot express what it does with symbolic sizes.
    """
    with dims.writing_holes():
        ins = [(i, mlir_type(aval)) for i, (aval, is_ours) in enumerate(given.ins) if is_ours]
        outs = [(mlir_type(aval), is_ours) for aval, is_ours in given.outs]
        shapes = [[str(n) for n in aval.shape] for aval, is_ours in given.ins if is_ours]
    sizes, named = _found_sizes(given, ins, shapes)
    names = sorted(named)
    functions = []
    different = list(dict.fromkeys(given.modules))
    for k, module in enumerate(different):
        functions += _functions(given, module, f"p{k}_", names)
    kinds = [unknown(kind) for kind, is_ours in outs if is_ours]
    arrow = ", ".join([SIZE] * len(names) + [unknown(kind) for _, kind in ins])
    operands = ", ".join([named[v] for v in names] + [f"%arg{i}" for i, _ in ins])
    out = f"%out:{len(kinds)} = " if kinds else ""

    def call(k):
        return f"{out}func.call @p{k}_main({operands}) : ({arrow}) -> ({', '.join(kinds)})"

    takes = [f"%arg{i}: {unknown(kind)}" for i, kind in ins]
    if len(given.modules) > 1:
        takes.insert(0, '%platform: tensor<i32> {jax.global_constant = "_platform_index"}')
    if len(different) > 1:
        places = [different.index(module) for module in given.modules]
        lines = _choice(places, call, kinds, out)
    else:
        lines = [call(0)]
    lines += _returned(outs, sizes)
    body = "\n".join([*sizes.lines, *lines])
    results = ", ".join([unknown(kind) for kind, _ in outs])
    main = f"func.func public @main({', '.join(takes)}) -> ({results}) {{\n{body}\n}}"
    try:
        mesh = [shardy_mesh(given.axes)] if given.axes and given.scope is None else []
        return compat.write_portable("\n".join([*mesh, main, *functions]))
    except compat.UNREADABLE as error:
        raise errors.user_error(
            NotImplementedError,
            f"serialize: the installed XLA cannot write {given.name} in JAX's form: "
            f"{compat.said(error)}",
            fix="export it for sizes that are known, or write evertrace's format.",
            anchor="export",
        ) from error


def _functions(given, module, prefix, names):
    """Return the texts of a program's functions, under names with a prefix."""

    def rename(name):
        return f"{prefix}{name}"

    if given.scope is not None:  # JAX's form of symbolic sizes has no constraints
        functions = list(portable.functions(module, rename).values())
        return converted(functions, given.scope, names)
    return list(portable.functions(module, rename, {name: name for name, _ in given.axes}).values())


def _choice(places, call, kinds, out):
    """Call one of several programs by the number of the platform."""
    names = ", ".join([f"%out#{i}" for i in range(len(kinds))])
    end = f'"stablehlo.return"({names}) : ({", ".join(kinds)}) -> ()'
    branches = ", ".join([f"{{\n{call(k)}\n{end}\n}}" for k in places])
    return [
        f'{out}"stablehlo.case"(%platform) ({branches}) : (tensor<i32>) -> ({", ".join(kinds)})'
    ]


def _returned(outs, sizes):
    """Return the lines that return all results: cotangents of integers are `false`."""
    lines, names, ours = [], [], itertools.count()
    for kind, is_ours in outs:
        names.append(f"%out#{next(ours)}" if is_ours else f"%none{len(lines)}")
        if is_ours:
            continue
        if unknown(kind) == kind:
            lines.append(f"{names[-1]} = stablehlo.constant dense<false> : {kind}")
            continue
        false = sizes.write("stablehlo.constant dense<false> : tensor<i1>")
        shape, vector = sizes.vector(sizes_of(kind))
        arrow = f"(tensor<i1>, {vector}) -> {unknown(kind)}"
        spread = f"stablehlo.dynamic_broadcast_in_dim {false}, {shape}, dims = [] : {arrow}"
        lines.append(f"{names[-1]} = {spread}")
    types = ", ".join([unknown(kind) for kind, _ in outs])
    return [*lines, f"func.return {', '.join(names)} : {types}" if outs else "func.return"]


def _found_sizes(given, ins, shapes):
    """Write what finds the variables in the shapes of arguments, and checks what was declared.

    Returns:
      The `Sizes` of the variables, and variable -> its name in the program.
    """
    if given.scope is None:
        return Sizes(None, {}), {}
    lines, places, wanted = [], {}, []
    for (i, kind), shape in zip(ins, shapes, strict=True):
        for d, text in enumerate(shape):
            if text.startswith("⟦"):
                place = f"arg{i}_{d}"
                places[place] = f"%{place}"
                read = f"stablehlo.get_dimension_size %arg{i}, dim = {d}"
                lines.append(f"%{place} = {read} : ({unknown(kind)}) -> {SIZE}")
                wanted.append((place, given.scope.parsed(text[1:-1])))
    of_places = SymbolicScope(least=0)
    have = [(place, of_places.parsed(place)) for place, _ in wanted]
    values, _ = sizes_of_call(have, [size for _, size in wanted])
    solver = Sizes(of_places, places, "%found")
    found = {variable: solver.number(value) for variable, value in values.items()}
    sizes = Sizes(given.scope, found)
    sizes.lines += [*lines, *solver.lines]
    least = sizes.number(given.scope.least)
    for variable, place in found.items():
        _check(given, sizes, "GE", place, least, f"{variable} >= {given.scope.least}")
    for place, size in wanted:
        _check(given, sizes, "EQ", f"%{place}", sizes.number(size), f"a size is {size}")
    for text, (left, sign, right) in zip(given.scope.constraints, given.scope.checks, strict=True):
        if variables(left) | variables(right) <= found.keys():
            sign = {">=": "GE", "<=": "LE", "==": "EQ"}[sign]
            _check(given, sizes, sign, sizes.number(left), sizes.number(right), text)
    return sizes, found


def _check(given, sizes, sign, a, b, text):
    """Write that two sizes compare so, which whoever compiles for some sizes checks."""
    if a == b:
        return
    holds = sizes.compare(sign, a, b)
    says = f"{given.name} was exported for sizes where {text}, and is called with {{0}} and {{1}}."
    attrs = f"api_version = 2 : i32, error_message = {quoted(says)}, has_side_effect = true"
    sizes.lines.append(
        f"stablehlo.custom_call @shape_assertion({holds}, {a}, {b}) {{{attrs}}} : "
        f"(tensor<i1>, {SIZE}, {SIZE}) -> ()"
    )


def _error(what, fix):
    return errors.user_error(ValueError, what, fix=fix, anchor="export")
