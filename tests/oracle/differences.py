"""Reasons for which evertrace means to differ from JAX, for the `DIFFERENCES` of the tables.

`test_tables` checks that each case listed there still differs, so that the lists stay true.
"""

LENIENT = "JAX raises; evertrace has a meaning for it"
ACCIDENT = "what JAX raises is an accident of how it fails"
NUMPY = "evertrace raises what NumPy raises"
UNSUPPORTED = "evertrace says that it is not implemented, JAX that the argument is wrong"
CLASS = "the error says what is wrong in its own class"
INLINED = "JAX wraps these functions in calls of jit; evertrace traces them inline"
TAPE = "evertrace's tape writes derivatives in the order of the backward pass"
SIMPLER = "evertrace emits fewer or other operations for the same values"
WEAK = "evertrace's weak types follow the promotion rules here, JAX's its implementation"


def jaxpr(body: str, argument: str = "x") -> str:
    """Write the program that prints a jaxpr."""
    return f"str(ev.make_jaxpr(lambda {argument}: ({body}))(x))"
