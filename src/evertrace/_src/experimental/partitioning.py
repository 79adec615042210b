"""`custom_partitioning`: functions of whole arrays, and what each device does of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable, flatten_arrays
from evertrace._src.arrays.interop import as_array
from evertrace._src.control.bodies import as_arrays, stage_body
from evertrace._src.control.custom_partitioning import custom_partitioning_p
from evertrace._src.control.lifted import unchanging
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.core.propagation import divide_by
from evertrace._src.experimental.sharding_rules import SdyShardingRule, read_rule
from evertrace._src.sharding.layout import NamedSharding, PartitionSpec
from evertrace._src.sharding.maps import shard_map
from evertrace._src.signatures import function_name, signature_of
from evertrace._src.support import set_module
from evertrace._src.transforms.staging import close_jaxpr


@set_module("evertrace.experimental.custom_partitioning")
class custom_partitioning:
    """A function of whole arrays, with what is said of how devices share it (`def_partition`).

    Args:
      fun: function of trees of arrays; what it computes, wherever it runs.
      static_argnums: positions of arguments that are no arrays, which have to be hashable.

    Returns:
      The function, which is called like `fun`.

    Raises:
      TypeError: `fun` cannot be called.
      ValueError: it is called before `def_partition`.

    A program that is divided among devices (`jit(..., engine="spmd")`, accelerators, several
    processes) has each of them do what the user's `partition` returns; virtual devices of one
    process compute `fun`, and lay its results out as `partition` says. Derivatives and `vmap` are
    those of `fun`, and within loops and branches the compiler divides it. Differs from JAX: there
    it has neither derivatives nor `vmap`.

    Example:
      >>> from evertrace.experimental.custom_partitioning import custom_partitioning
      >>> @custom_partitioning
      ... def double(x):
      ...     return 2 * x
      >>> def partition(mesh, arg_shapes, result_shape):
      ...     return mesh, lambda x: x + x, result_shape.sharding, (arg_shapes[0].sharding,)
      >>> double.def_partition(partition, sharding_rule="... -> ...")
      >>> double(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Any = ()) -> None:
        functools.update_wrapper(self, check_callable("custom_partitioning", fun))
        self._fun, self._where = fun, f"custom_partitioning({function_name(fun)})"
        static = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
        self._static = frozenset(static)
        self._partition: Any = None

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Any = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: Any = (),
        need_replication_factors: Any = (),
        permutation_factors: Any = (),
        **factor_sizes: int,
    ) -> None:
        """Say how devices share the function. Callbacks get the static arguments first.

        Args:
          partition: function ``(mesh, arg_shapes, result_shape) -> (mesh, lower_fn,
            result_shardings, arg_shardings)``. Shapes are trees of `ShapeDtypeStruct` with
            shardings: the arguments' as they lie, the results' as the next ones propose. `lower_fn`
            is the function of one device's parts, in which the axes of the mesh have names.
          infer_sharding_from_operands: function ``(mesh, arg_shapes, result_shape)`` that returns
            the shardings of the results.
          propagate_user_sharding: not called: what users ask of results is laid out after it.
          decode_shardings: has to be True: shardings are `NamedSharding`.
          sharding_rule: which dimensions are divided together, ``"i j, j k -> i k"``, an
            `SdyShardingRule`, or a function ``(mesh, arg_shapes, result_shape)`` that returns one.
            Taken where there is no `infer_sharding_from_operands`.
          reduction_factors: factors that are summed over; `lower_fn` sees to it.
          need_replication_factors: factors along which nothing may be divided.
          permutation_factors: factors along which devices exchange parts; `lower_fn` sees to it.
          **factor_sizes: of factors that are a dimension only in part, ``"(i j) -> i j"``.

        Raises:
          ValueError: `decode_shardings` is False, or the rule cannot be read.
        """
        del propagate_user_sharding, reduction_factors, permutation_factors
        if not decode_shardings:
            raise errors.unsupported("def_partition", "decode_shardings", decode_shardings)
        self._partition = check_callable(f"{self._where} partition", partition)
        self._infer = infer_sharding_from_operands
        whole = frozenset(need_replication_factors)

        def read(rule):
            rule = read_rule(self._where, rule, factor_sizes) if isinstance(rule, str) else rule
            return rule.without(whole)

        self._read = read
        self._rule = read(sharding_rule) if isinstance(sharding_rule, str) else sharding_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self._partition is None:
            raise errors.user_error(
                ValueError,
                f"{self._where}: nothing is known yet of how devices share it.",
                fix="call `f.def_partition(partition, ...)` first.",
                anchor="partition-spec",
            )
        bound = signature_of(self._fun).bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.args
        static = {i % len(given): given[i] for i in self._static}
        arrays = [x for i, x in enumerate(given) if i not in static]
        leaves, in_tree = flatten_arrays(self._where, tuple(arrays))
        leaves = [as_array(x) for x in leaves]

        def fun(*rest):
            rest = iter(rest)
            every = [static[i] if i in static else next(rest) for i in range(len(given))]
            return self._fun(*every, **bound.kwargs)

        avals = [x.aval for x in leaves]
        body = stage_body(unchanging(self._where, fun), in_tree, avals, where=self._where)
        outs = custom_partitioning_p.bind(
            *body.captured,
            *leaves,
            jaxpr=close_jaxpr(body.jaxpr),
            name=function_name(self._fun),
            sharing=_Sharing(self, tuple(static.values()), in_tree, body),
        )
        return tree.unflatten(body.out_tree, as_arrays(outs))


class _Sharing:
    """How devices share one application; see `control.custom_partitioning`."""

    def __init__(self, owner, static, in_tree, body):
        self._owner, self._static = owner, static
        self._in_tree, self._out_tree = in_tree, body.out_tree
        self._captured, self._jaxpr = len(body.captured), body.jaxpr

    def divide(self, sizes, operands, divisions, results):
        """Return the divisions of the results."""
        _, _, outs = self._decided(sizes.mesh, operands, divisions, results)
        return [s.spec_division(aval.ndim) for s, aval in zip(outs, results, strict=True)]

    def on_parts(self, mesh, operands, divisions, results):
        """Apply what each device does to its parts of the operands."""
        avals = [x.aval for x in operands]
        lower, ins, outs = self._decided(mesh, avals, divisions, results)
        out_tree, where = self._out_tree, self._owner._where

        def of_parts(*leaves):
            found = tree.leaves(lower(*tree.unflatten(self._in_tree, leaves)))
            if len(found) != out_tree.num_leaves:
                raise errors.user_error(
                    ValueError,
                    f"{where}: what each device does returns {len(found)} arrays, and the function "
                    f"{out_tree.num_leaves}.",
                    fix="return from partition's `lower_fn` what the function returns.",
                    anchor="tree-structure",
                )
            return found

        mapped = shard_map(
            of_parts,
            mesh=mesh,
            in_specs=tuple([s.spec for s in ins]),
            out_specs=[s.spec for s in outs],
            check_vma=False,
        )
        return mapped(*operands[self._captured :])

    def _decided(self, mesh, operands, divisions, results):
        """Ask the user; returns the function of parts, shardings of arguments and of results."""
        owner, like = self._owner, NamedSharding(mesh, PartitionSpec())
        given = list(zip(operands, divisions, strict=True))[self._captured :]
        shapes = [_shape(aval, like.divided(division)) for aval, division in given]
        arg_shapes = tree.unflatten(self._in_tree, shapes)
        result_shape = tree.unflatten(self._out_tree, [_shape(aval, None) for aval in results])
        asked = *self._static, mesh, arg_shapes
        proposed = self._proposed(like, given, results, asked, result_shape)
        shapes = [_shape(aval, s) for aval, s in zip(results, proposed, strict=True)]
        result_shape = tree.unflatten(self._out_tree, shapes)
        _, lower, outs, ins = owner._partition(*asked, result_shape)
        return (
            lower,
            self._shardings("arg_shardings", like, self._in_tree, ins),
            self._shardings("result_shardings", like, self._out_tree, outs),
        )

    def _proposed(self, like, given, results, asked, result_shape):
        owner = self._owner
        if owner._infer is not None:
            found = owner._infer(*asked, result_shape)
            return self._shardings("infer_sharding_from_operands", like, self._out_tree, found)
        rule = owner._rule
        if rule is not None:
            if callable(rule) and not isinstance(rule, SdyShardingRule):
                rule = rule(*asked, result_shape)
            avals, divisions = [aval for aval, _ in given], [d for _, d in given]
            factors = owner._read(rule).factors(owner._where, avals, results)
            found = divide_by(factors, avals, divisions, results, like.axis_sizes())
            return [like.divided(d) for d in found]
        return [like] * len(results)

    def _shardings(self, name, like, treedef, found):
        """Return the shardings of leaves that a user gives as a tree; None divides nothing."""
        where = f"{self._owner._where} {name}"
        leaves = tree.flatten_axes(where, treedef, found)
        return [
            like
            if s is None
            else NamedSharding(like.mesh, s if isinstance(s, PartitionSpec) else s.spec)
            for s in leaves
        ]


def _shape(aval, sharding):
    return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)
