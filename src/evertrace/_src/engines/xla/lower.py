"""Lowering: from a jaxpr to the text of a StableHLO module.

Every operation is written in MLIR's generic form, so one method of the builder serves all. A rule
for a primitive, in `rules/<family>.py`, is a function

    rule(b, outs, *operands, **params) -> Val | list[Val]

of the builder, the output avals and the operands' `Val`s. A nested jit becomes a private function,
written once per jaxpr.

Effects happen in the order of the program because a token goes from one to the next: `Builder`
holds the present one, and whatever contains effects (functions, loops, branches) takes it in front
of its operands and returns the next in front of its results. In a program that has effects, what
may see them (`SEES_EFFECTS`) has its place in that order, too.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, dtypes, errors, source
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.effects import observable
from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.core.rules import RuleTable, failed_rule
from evertrace._src.engines.xla import nan
from evertrace._src.engines.xla.templates import Template
from evertrace._src.engines.xla.text import (
    NOT_IN_XLA,
    PARTS_OF_BYTES,
    NotInXLA,
    TooManyPlaces,
    dense_scalar,
    ints,
    mlir_type,
    physical_aval,
    quoted,
    shardy,
    shardy_mesh,
)
from evertrace._src.interrupts import uncollected


class _Rules(RuleTable):
    """The engine's rules.

    Attributes:
      pure: primitives of which our rule writes what depends on types, params and the module's
        dialect only, so that it may be kept.
    """

    __slots__ = ("pure",)

    def __init__(self, name, modules):
        super().__init__(name, modules)
        self.pure = set()

    def define(self, *prims):
        """Decorate a function as our rule of each of the primitives that users have none for."""
        ours = [p for p in prims if p not in self.rules]
        self.pure.update([p for p in ours if p.cache_types and not p.effects])
        return super().define(*ours)

    def is_pure(self, prim):
        """Whether what is written of a primitive may be kept."""
        return self.find(prim) is not None and prim in self.pure

    def replace(self, prim, rule):
        """Take a rule of a user's, of which nothing is known."""
        self.pure.discard(prim)
        prim.forget_types()
        self.rules[prim] = rule


_FAMILIES = """
    elementwise structural convert compare select creation reduce slicing call custom dot
    indexing dynamic cumulative random scan loop cond sort bit_generator bits callback
    checkpoint composite conv exported ffi fft gamma linalg linear platform reduction
    rng_uniform search sharding_constraint sink sizes special windows
"""
# The first ones are those of most programs.
lowering = _Rules(
    "the XLA engine", [f"evertrace._src.engines.xla.rules.{f}" for f in _FAMILIES.split()]
)

LARGE = 40
"""Equations from which on a function is worth the price of calls, with the option quick_compile."""


class Val:
    """A value in the text: its name, its MLIR type and its aval (None for a token)."""

    __slots__ = ("aval", "name", "type")

    def __init__(self, name, type_, aval):
        self.name, self.type, self.aval = name, type_, aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)


def physical_val(x):
    """Return the same value under the aval of its memory, which differs for extended dtypes."""
    if x.aval is None or not isinstance(x.aval.dtype, dtypes.ExtendedDType):
        return x
    return Val(x.name, x.type, ShapedArray(*physical_aval(x.aval)))


class Divided(NamedTuple):
    """How a program is divided among devices.

    Attributes:
      sizes: pairs (axis of the mesh, its size).
      inputs, outputs: divisions, None for those of which nothing is said; outputs are None where
        that is all of them.
      devices: of the mesh, in order.
    """

    sizes: tuple
    inputs: Sequence[tuple | None]
    outputs: Sequence[tuple | None] | None
    devices: Sequence[Any] = ()


SEES_EFFECTS: set[Any] = set()
"""Primitives that have no effect, and may depend on those before them: they read on the host."""


class Module:
    """The module being written: its functions, and the names of those written already.

    Attributes:
      has_effects: whether the program has any.
      has_nan: whether NaN may be a constant of it: rules may have to keep it from XLA.
      sizes: of the mesh that it is divided over, pairs (axis, size); empty for one device.
      devices: those of that mesh, in order.
      meshes: the text of each mesh, by name.
      platform: what it will run on, "cpu", "gpu" or "tpu": rules may choose a form by it.
      located: whether operations are written with the places that they come from.
      quick: whether large functions stay functions in the compiled program.
      functions: their texts so far; `names` and `by_text` find those written already.
      dialect: what the texts of rules depend on besides; None where they are not kept.
      literals: id of a literal -> its constant.
    """

    devices: Sequence[Any]

    def __init__(self, name, platform, located=False, quick=False, sizes=(), has_effects=False):
        self.has_effects, self._in_order = has_effects, {}
        self.has_nan = False
        self.platform, self.located, self.quick = platform, located, quick
        self.sizes, self.devices = sizes, ()
        self.meshes = {"mesh": shardy_mesh(sizes)} if sizes else {}
        self.name = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        self.functions = []
        self.names, self.by_text = {}, {}
        self.literals = {}
        native = config.current().native_kernels
        self.dialect = f"StableHLO for {platform}, native kernels: {native}, mesh: {sizes}"
        if located:
            self.dialect = None
        self.taken = set(self.meshes)
        self.callbacks = []

    def knows_nan(self):
        """Have rules keep NaN from XLA."""
        self.has_nan = True
        self.dialect = self.dialect and f"{self.dialect}, NaN"

    def function_of(self, jaxpr, name):
        """Return the name of the private function that a jaxpr without constvars became.

        Jaxprs that are written in the same words are one function.
        """
        found = self.names.get(jaxpr)
        if found is None:
            fresh = self._fresh(name)
            text = _function(self, jaxpr, fresh, "private")
            body = text.replace(f"@{fresh}(", "(", 1)
            found = self.names[jaxpr] = self.by_text.setdefault(body, fresh)
            if found is fresh:
                self.functions.append(text)
        return found

    def mesh_of_one(self, number):
        """Return the name of the mesh of one device, by its number in that of the program."""
        name = f"device.{number}"
        self.meshes[name] = f"sdy.mesh @{name} = <[], device_ids=[{number}]>"
        return name

    def is_in_order(self, jaxpr):
        """Whether a jaxpr has a place in the order of effects."""
        found = self._in_order.get(jaxpr)
        if found is None:
            found = self.has_effects and (
                observable(jaxpr.effects)
                or any(
                    eqn.primitive in SEES_EFFECTS
                    or any(map(self.is_in_order, subjaxprs(eqn.params)))
                    for eqn in jaxpr.eqns
                )
            )
            self._in_order[jaxpr] = found
        return found

    def _fresh(self, name):
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "f"
        fresh, n = base, 0
        while fresh in self.taken or fresh == "main":
            n += 1
            fresh = f"{base}_{n}"
        self.taken.add(fresh)
        return fresh


class Builder:
    """Writes the body of one function.

    Attributes:
      module: the module it belongs to.
      lines: the operations so far.
      constants: names of the constants of one value in this region so far, by their text.
      token: the token of the last effect, or None before the first.
      location: what is written behind operations of where they come from, if it is wanted.
      src: the user's line of the equation that is being written, for errors, if it is known.
    """

    def __init__(self, module):
        self.module, self.lines = module, []
        self.constants = {}
        self.location = ""
        self.src = None
        self.count = 0
        self.token = None

    # ------------------------------------------------------------ writing operations

    def op(self, name, operands, outs, attrs=None, regions=()) -> Any:
        """Write one operation.

        Args:
          name: with its dialect, such as ``stablehlo.add``.
          operands: list of `Val`.
          outs: aval of the one result, or a list of avals.
          attrs: attribute name -> MLIR text.
          regions: texts made by `region` or `reducer`.
        """
        if isinstance(outs, list):
            kinds = [mlir_type(a) for a in outs]
            result, made = self._results(outs, kinds)
            types = ", ".join(kinds)
        else:  # nearly all operations: no lists
            types = mlir_type(outs)
            made = Val(f"%{self.count}", types, outs)
            result = f"{made.name} = "
            self.count += 1
        text = f'{result}"{name}"({", ".join([v.name for v in operands])})'
        if regions:
            text += f" ({', '.join(regions)})"
        if attrs:
            text += " {" + ", ".join([f"{k} = {v}" for k, v in attrs.items()]) + "}"
        ins = ", ".join([v.type for v in operands])
        self.lines.append(f"{text} : ({ins}) -> ({types}){self.location}")
        return made

    def elementwise(self, name, operands, out):
        """Write an operation of StableHLO whose operands and result mostly have one type."""
        kind = mlir_type(out)
        if any([x.type != kind for x in operands]):
            return self.op(name, operands, out)
        made = Val(f"%{self.count}", kind, out)
        self.count += 1
        names = ", ".join([x.name for x in operands])
        self.lines.append(f"{made.name} = {name} {names} : {kind}{self.location}")
        return made

    def _results(self, avals, types):
        name = f"%{self.count}"
        self.count += 1
        if len(avals) == 1:
            return f"{name} = ", [Val(name, types[0], avals[0])]
        vals = [Val(f"{name}#{i}", t, a) for i, (a, t) in enumerate(zip(avals, types, strict=True))]
        return (f"{name}:{len(avals)} = " if avals else ""), vals

    def constant(self, value, aval):
        """Write a constant, once a region: a scalar of the aval's dtype spread over its shape."""
        return Val(self.dense(dense_scalar(value, aval)), mlir_type(aval), aval)

    def dense(self, text):
        """Write a constant that is known by its text; returns its name."""
        name = self.constants.get(text)
        if name is None:
            name = self.constants[text] = f"%{self.count}"
            self.count += 1
            kind = text.partition(" : ")[2]
            self.lines.append(
                f'{name} = "stablehlo.constant"() {{value = {text}}} : () -> {kind}{self.location}'
            )
        return name

    def array(self, host, aval):
        """Write a constant that has the contents of an ndarray."""
        host = np.ascontiguousarray(host)
        if host.dtype.kind == "b":  # its elements are bits in MLIR's text
            byte = self.array(host.view(np.uint8), aval.update(dtype=np.uint8))
            return self.convert(byte, host.dtype)
        text = f'"0x{host.tobytes().hex().upper()}"' if host.size else ""
        dense = f"dense<{text}> : {mlir_type(aval)}"
        return self.op("stablehlo.constant", [], aval, {"value": dense})

    def full_like(self, x, value):
        """Write a constant like `x`."""
        return self.constant(value, x.aval)

    def spread(self, x, aval):
        """Broadcast an operand of rank 0 to the shape of `aval`."""
        if x.aval.shape == aval.shape:
            return x
        attrs = {"broadcast_dimensions": ints(())}
        return self.op("stablehlo.broadcast_in_dim", [x], x.aval.update(shape=aval.shape), attrs)

    def convert(self, x, dtype):
        """Convert to another NumPy dtype, as XLA does."""
        if x.aval.dtype == dtype:
            return x
        if x.aval.dtype.name in PARTS_OF_BYTES and dtype.itemsize == 1 and dtype.kind != "b":
            x = self.op("stablehlo.convert", [x], x.aval.update(dtype=np.dtype(np.int16)))
        return self.op("stablehlo.convert", [x], x.aval.update(dtype=dtype))

    def compare(self, direction, x, y):
        """Compare elementwise: `direction` is EQ, NE, LT, LE, GT or GE; floats as IEEE 754 does."""
        attrs = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"}
        return self.op("stablehlo.compare", [x, y], x.aval.update(dtype=np.dtype(bool)), attrs)

    # ------------------------------------------------------------ regions and calls

    def region(self, avals, body, end="stablehlo.return"):
        """Return the text of a region whose block arguments have these avals.

        Args:
          avals: of the block arguments.
          body: function of their `Val`s that writes operations and returns the results.
          end: the operation that hands the results out.
        """
        outer, token = (self.lines, self.constants), self.token
        self.lines, self.constants = [], {}
        args = []
        for aval in avals:
            args.append(Val(f"%a{self.count}", mlir_type(aval), aval))
            self.count += 1
        results = body(*args)
        self._return(end, results)
        header = ", ".join(f"{v.name}: {v.type}" for v in args)
        head = f"^bb0({header}):\n" if args else ""
        text = "{\n" + head + "\n".join(self.lines) + "\n}"
        (self.lines, self.constants), self.token = outer, token
        return text

    def reducer(self, name, aval):
        """Return the region that combines two scalars of the aval's dtype with one operation."""
        scalar = aval.update(shape=())
        return self.region([scalar, scalar], lambda x, y: [self.op(name, [x, y], scalar)])

    def _return(self, name, results):
        names = ", ".join(v.name for v in results)
        types = ", ".join(v.type for v in results)
        self.lines.append(f'"{name}"({names}) : ({types}) -> ()')

    def inline(self, jaxpr, operands):
        """Write the equations of a jaxpr without constvars; returns its outputs."""
        names = {id(v): x.name for v, x in zip(jaxpr.invars, operands, strict=True)}
        uses = Counter([eqn.typing for eqn in jaxpr.eqns])
        dialect, lines, outer = self.module.dialect, self.lines, self.location
        for eqn in jaxpr.eqns:
            inputs = []
            for x in eqn.invars:
                inputs.append(names[id(x)] if type(x) is not Literal else self._literal(x))
            typing = eqn.typing
            template = None if typing is None else typing.cache.get(dialect)
            if template is None:
                outputs = self._equation(eqn, inputs, recurs=uses[typing] > 1)
            elif template.text is None:
                outputs = template.write(self, inputs)
            else:  # nearly all: one operation with one result
                names[id(eqn.outvars[0])] = name = f"%{self.count}"
                self.count += 1
                inputs.append(name)
                lines.append(template.text % template.order(inputs))
                continue
            for var, name in zip(eqn.outvars, outputs, strict=True):
                names[id(var)] = name
        self.location = outer
        return [
            self._operand(x, self._literal(x) if type(x) is Literal else names[id(x)])
            for x in jaxpr.outvars
        ]

    def _operand(self, x, name):
        return Val(name, mlir_type(x.aval), x.aval)

    def _literal(self, x):
        """Write a literal; returns its name."""
        texts = self.module.literals
        text = texts.get(x)
        if text is None:
            text = texts[x] = dense_scalar(x.val, x.aval)
        return self.constants.get(text) or self.dense(text)

    def _equation(self, eqn, names, recurs):
        """Write an equation for operands of these names; returns the names of its results.

        Of those that recur, in the jaxpr or in another one, the text is kept.
        """
        if self.module.located:
            self.location = _location(self.module.name, eqn)
        elif lowering.is_pure(eqn.primitive) and eqn.typing is not None:
            kept, dialect = eqn.typing.cache, self.module.dialect
            if recurs or dialect in kept:
                kept[dialect] = self._template(eqn)
                return kept[dialect].write(self, names)
            kept[dialect] = None
        return self._by_rule(eqn, names)

    def _template(self, eqn):
        """Return what the rule writes for such equations."""
        scratch = Builder(self.module)
        results = scratch._by_rule(eqn, [f"%arg{i}" for i in range(len(eqn.invars))])
        return Template(scratch, len(eqn.invars), results)

    def _by_rule(self, eqn, names):
        """Write an equation with its rule; returns the names of its results."""
        prim, outvars = eqn.primitive, eqn.outvars
        operands = [self._operand(x, name) for x, name in zip(eqn.invars, names, strict=True)]
        outs = [v.aval for v in outvars] if prim.multiple_results else outvars[0].aval
        self.src = eqn.src
        try:
            made = self.apply(prim, outs, operands, eqn.params)
        except Exception as error:
            avals = [v.aval for v in eqn.invars]
            worded = failed_rule(error, "XLA", prim, avals, eqn.params, eqn.src)
            if worded is None:
                raise
            raise worded from error
        return [x.name for x in made] if prim.multiple_results else [made.name]

    def apply(self, prim, outs, operands, params) -> Any:
        """Write one application of a primitive with its rule; returns the results."""
        rule = lowering[prim]
        if not prim.moves_physical(outs):
            return rule(self, outs, *operands, **params)
        # Elements of an extended dtype are moved around as their words.
        params = prim.physical(*[x.aval for x in operands], **params)
        operands = [physical_val(x) for x in operands]
        if not prim.multiple_results:
            moved = rule(self, ShapedArray(*physical_aval(outs)), *operands, **params)
            return Val(moved.name, moved.type, outs)
        moved = rule(self, [ShapedArray(*physical_aval(a)) for a in outs], *operands, **params)
        return [Val(x.name, x.type, a) for x, a in zip(moved, outs, strict=True)]

    def call(self, jaxpr, operands, name):
        """Call the private function of a jaxpr without constvars; returns its outputs."""
        callee = self.module.function_of(jaxpr, name)
        tokens = self.tokens(jaxpr)
        outs = [*[None] * len(tokens), *[v.aval for v in jaxpr.outvars]]
        attrs = {"callee": f"@{callee}"}
        if self.module.quick and len(jaxpr.eqns) >= LARGE:
            attrs["mhlo.frontend_attributes"] = '{inlineable = "false"}'
        results = self.op("func.call", [*tokens, *operands], outs, attrs)
        return self.take_token(tokens, results)

    def while_loop(self, state, outs, cond, body, jaxprs):
        """Write a loop; returns its last state.

        Args:
          state: the `Val`s that go round.
          outs: avals of the last state.
          cond: function of the state that writes the condition and returns it in a list.
          body: function of the state that writes a turn and returns the new state.
          jaxprs: of both. What the condition does needs no place in the order: a turn begins when
            the condition has been computed.
        """
        tokens = self.tokens(*jaxprs)
        avals = [*[None] * len(tokens), *[x.aval for x in state]]

        def with_token(part, returns_token):
            def write(*values):
                results = part(*self.take_token(tokens, values))
                return [self.token, *results] if tokens and returns_token else results

            return self.region(avals, write)

        regions = [with_token(cond, False), with_token(body, True)]
        outs = [*[None] * len(tokens), *outs]
        results = self.op("stablehlo.while", [*tokens, *state], outs, regions=regions)
        return self.take_token(tokens, results)

    # ------------------------------------------------------------ effects

    def effect_token(self):
        """Return the token of the last effect, made now before the first one."""
        if self.token is None:
            self.token = self.op("stablehlo.create_token", [], None)
        return self.token

    def tokens(self, *jaxprs):
        """Return a list of the present token for an operation of such jaxprs, if they take it."""
        return [self.effect_token()] if any(map(self.module.is_in_order, jaxprs)) else []

    def take_token(self, tokens, values):
        """Take the next token off the front of values, if they come with one; returns the rest."""
        if not tokens:
            return values
        self.token, *rest = values
        return rest


def _location(module_name, eqn):
    """Return the location of an equation's operations: named scope, operation and line."""
    parts = [f"jit({module_name})", source.scope_of(eqn.src), eqn.primitive.name]
    name = quoted("/".join(filter(None, parts)))
    if eqn.src is None:
        return f" loc({name})"
    place = source.describe(eqn.src)
    return f" loc({name}({quoted(place.file)}:{place.line}:0))"


def _function(module, jaxpr, name, visibility, arg_attrs=None, consts=(), out_attrs=None):
    """Return the text of the function of a jaxpr without constvars, its first inputs `consts`."""
    b = Builder(module)
    invars = jaxpr.invars[len(consts) :]
    args = [Val(f"%arg{i}", mlir_type(v.aval), v.aval) for i, v in enumerate(invars)]
    written = [
        Val(b.array(x, ShapedArray(*physical_aval(v.aval))).name, mlir_type(v.aval), v.aval)
        for x, v in zip(consts, jaxpr.invars, strict=False)
    ]
    takes_token = visibility == "private" and module.is_in_order(jaxpr)
    if takes_token:
        b.token = Val("%token", mlir_type(None), None)
    results = b.inline(jaxpr, [*written, *args])
    if takes_token:
        args, results = [Val("%token", mlir_type(None), None), *args], [b.token, *results]
    b._return("func.return", results)
    attrs = arg_attrs or [""] * len(args)
    header = ", ".join(f"{v.name}: {v.type}{a}" for v, a in zip(args, attrs, strict=True))
    attrs = out_attrs or [""] * len(results)
    types = ", ".join(f"{v.type}{a}" for v, a in zip(results, attrs, strict=True))
    body = "\n".join(b.lines)
    return f"func.func {visibility} @{name}({header}) -> ({types}) {{\n{body}\n}}"


def lower_jaxpr(
    jaxpr,
    name,
    donated=(),
    platform="cpu",
    located=False,
    quick=False,
    consts=(),
    divided: Divided | None = None,
):
    """Return the StableHLO text of a jaxpr without constvars, and its Python callbacks.

    Args:
      jaxpr: the program.
      name: of the module, shown in profiles.
      donated: indices of the inputs whose memory outputs may take.
      platform: what the program will run on.
      located: whether operations are written with their places, as for people; compiled programs
        go without, or moving a line would make another program of one.
      quick: whether large functions stay functions in the compiled program. XLA writes calls out
        where they are, unless they are marked.
      consts: contents (ndarrays) of the first inputs, to be written into the text; the program
        takes the others.
      divided: how it is divided among several devices.

    Raises:
      DTypeError: a part of it has a dtype that XLA does not take.
    """
    sizes, ins, outs, devices = divided or ((), None, None, ())
    module = Module(name, platform, located, quick, sizes, observable(jaxpr.effects))
    module.devices = devices
    if nan.may_be_constant(jaxpr, consts):
        module.knows_nan()
    takes = jaxpr.invars[len(consts) :]
    donors = ["jax.buffer_donor = true" if i in donated else "" for i in range(len(takes))]
    attrs = _attributes(donors, _shardings(takes, ins))
    out_attrs = _attributes(_shardings(jaxpr.outvars, outs))
    try:
        with uncollected():
            main = _function(module, jaxpr, "main", "public", attrs, consts, out_attrs)
    except NotInXLA as refused:
        raise _dtype_error(jaxpr, refused.dtype, name) from None
    except TooManyPlaces as refused:
        raise _rows_error(jaxpr, refused.aval, name) from None
    functions = "\n".join([*module.meshes.values(), main, *module.functions])
    parts = math.prod([size for _, size in sizes])
    about = f" attributes {{mhlo.num_partitions = {parts} : i32, mhlo.num_replicas = 1 : i32}}"
    head = f"module @{module.name}{about if divided else ''}"
    return f"{head} {{\n{functions}\n}}\n", module.callbacks


def _shardings(atoms, divisions):
    """Return the attribute of each input or output that says how it is divided."""
    if divisions is None:
        return [""] * len(atoms)
    ranks = [len(physical_aval(x.aval)[0]) for x in atoms]
    pairs = zip(divisions, ranks, strict=True)
    return ["" if d is None else f"sdy.sharding = {shardy(d, rank)}" for d, rank in pairs]


def _attributes(*lists):
    """Return the dictionaries of attributes of arguments or results, from lists of them."""
    found = [", ".join(filter(None, texts)) for texts in zip(*lists, strict=True)]
    return [f" {{{texts}}}" if texts else "" for texts in found]


def _dtype_error(jaxpr, dtype, name):
    """Build the error of a program that has a dtype which XLA does not take."""
    eqn = next((e for e in _all_eqns(jaxpr) if _touches(e, dtype)), None)
    what = f"jit({name})" if eqn is None else eqn.primitive.name
    return errors.user_error(
        errors.DTypeError,
        f"{what}: programs for XLA cannot have arrays of dtype {dtype}.",
        fix=f"leave this part out of what is compiled, or compute in another dtype, e.g. "
        f'`x.astype("{NOT_IN_XLA[dtype.name]}")`, and convert back outside.',
        anchor="dtype-compiled",
        src=None if eqn is None else eqn.src,
    )


def _rows_error(jaxpr, aval, name):
    """Build the error of a program that has an array of no elements and very many rows."""
    eqn = next((e for e in _all_eqns(jaxpr) if any(v.aval is aval for v in e.outvars)), None)
    what = f"jit({name})" if eqn is None else eqn.primitive.name
    return errors.user_error(
        errors.ShapeError,
        f"{what}: programs for XLA cannot have an array of no elements in so many rows, "
        f"{aval.str_short()}: its compiler goes through them.",
        fix="leave this part out of what is compiled, or use an array of fewer rows where there is "
        "nothing in them.",
        anchor="shape",
        src=None if eqn is None else eqn.src,
    )


def _all_eqns(jaxpr):
    """Yield the equations of a jaxpr and of those inside of it, inner ones first."""
    for eqn in jaxpr.eqns:
        for inner in subjaxprs(eqn.params):
            yield from _all_eqns(inner)
        yield eqn


def _touches(eqn, dtype):
    """Whether an operand or a result of an equation has a dtype."""
    return any(v.aval is not None and v.aval.dtype == dtype for v in [*eqn.invars, *eqn.outvars])
