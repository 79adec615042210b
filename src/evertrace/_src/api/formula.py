"""Primitives that mean a formula: a function of arrays, from which all of their rules come."""

from evertrace._src.api.lowerings import lower_fun, register_lowering
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.primitive import Primitive
from evertrace._src.transforms.batching import batch_flat
from evertrace._src.transforms.jvp import jvp_flat
from evertrace._src.transforms.staging import stage
from evertrace._src.transforms.transpose import transpose_flat


def formula(name, *, linear=None, multiple_results=False):
    """Return a decorator that makes a function of arrays the primitive of that name.

    The function is all there is to know of the operation: it is staged to tell the type, run on
    concrete arrays, written out where it is compiled, and batched for batches. An operation that
    says in which operands it is linear stays one operation in derivatives, and its transpose is the
    function's. Of any other the function is differentiated.

    Args:
      name: as printed in jaxprs.
      linear: operands in each of which alone it is linear, or None.
      multiple_results: whether the function returns several arrays, a tuple.

    The params have to be hashable. What depends on options, such as a default dtype, is decided
    before it is bound: types are kept by operands and params alone.
    """

    def make(fun):
        def flat(params):
            """Return the function of the operands alone, with a list of results."""

            def of_operands(*operands):
                out = fun(*map(as_array, operands), **params)
                return list(map(as_array, out if multiple_results else (out,)))

            return of_operands

        def unflat(outs):
            return outs if multiple_results else outs[0]

        def abstract(*avals, **params):
            return unflat(stage(flat(params), avals, name=name).jaxpr.out_avals)

        def eager(*operands, **params):
            return unflat(flat(params)(*operands))

        def batch(axis, operands, dims, **params):
            return tuple(map(unflat, batch_flat(flat(params), axis, operands, dims)))

        def jvp(primals, tangents, **params):
            return tuple(map(unflat, jvp_flat(flat(params), primals, tangents)))

        def transpose(ct, *operands, **params):
            return transpose_flat(flat(params), operands, ct if multiple_results else [ct])

        rules: dict = {"jvp_call": jvp, "linearize": jvp}
        if linear is not None:
            rules = {"linear": linear, "transpose": transpose}
        prim = Primitive(
            name,
            multiple_results=multiple_results,
            abstract=abstract,
            eager=eager,
            batch_call=batch,
            **rules,
        )
        register_lowering(prim, lower_fun(fun, multiple_results))
        return prim

    return make
