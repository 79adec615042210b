"""Questions to traced values that a function catches: plain Python would have had an answer."""

import contextlib
import hashlib
import io
import struct
import zlib

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.errors import ConcretizationTypeError, NonConcreteBooleanIndexError
from tests.contract.compare import X, case
from tests.support.runtime import lends_buffers

pytestmark = pytest.mark.engine


def first(x):
    return x[0].astype(int)


QUESTIONS = {
    "a condition": (lambda x: 1 if x[0] > 5 else 2, "bool \\(an array as the condition"),
    "float": (lambda x: float(x[0]), "float\\(\\) of an array"),
    "an index": (lambda x: [1, 2, 3][first(x)], "__index__"),
    "range": (lambda x: len(range(first(x))), "__index__"),
    "in a list": (lambda x: x[1] in [1, 2], "bool \\("),
    "sorted": (lambda x: sorted([x[1], x[0]])[0], "bool \\("),
    "NumPy": (lambda x: np.linalg.det(np.diag(x)), "__array__"),
    "NumPy, of a list": (lambda x: np.array([x[0], 1.0])[0], "__array__"),
    "NumPy, which catches it": (lambda x: np.array_equal(x, X), "__array__"),
    "code in C with its own words": (lambda x: len(struct.pack("f", x[0])), "float\\(\\) of an"),
    "item": (lambda x: x[0].item(), "item\\(\\)"),
    "a mask": (lambda x: x[x > 1].sum(), "boolean indices must be concrete"),
    "a size": (lambda x: jnp.arange(x[2]).sum(), "arange: stop must be known"),
    "nonzero": (lambda x: jnp.nonzero(x)[0].sum(), "nonzero: the size"),
    "a text": (lambda x: len(f"{x[0]:.3f}"), "a text of a traced array"),
    "a place": (lambda x: len(x.devices()), "devices: a traced array f32\\[.*no place"),
    "memory": (lambda x: np.from_dlpack(x).sum(), "__dlpack__: a traced array"),
}


def by_except(ask, x):
    try:
        return x + ask(x)
    except Exception:
        return x - 1


def by_any_except(ask, x):
    try:
        return x + ask(x)
    except:  # noqa: E722
        return x - 1


def by_base_class(ask, x):
    try:
        return x + ask(x)
    except (OSError, TypeError, LookupError, AttributeError, struct.error, ValueError):
        return x - 1


def by_a_with(ask, x):
    with contextlib.suppress(Exception):
        return x + ask(x)
    return x - 1


def by_a_return(ask, x):
    try:
        x = x + ask(x)
    finally:
        return x  # noqa: B012


def by_another_error(ask, x):
    try:
        return x + ask(x)
    except Exception as error:
        raise LookupError("no answer") from error


LENT = {
    "memoryview": lambda x: memoryview(x)[0],
    "a hash": lambda x: hashlib.md5(x, usedforsecurity=False).digest()[0],
    "a checksum": zlib.crc32,
    "NumPy's view of bytes": lambda x: np.frombuffer(x, "f4")[0],
    "bytes that are joined": lambda x: len(b"".join([x])),
    "a file in memory": lambda x: len(io.BytesIO(x).getvalue()),
    "bytes": lambda x: bytes(x)[0],
}

HANDLERS = [by_except, by_any_except, by_base_class, by_a_with, by_a_return, by_another_error]


@pytest.mark.parametrize("how", HANDLERS)
@pytest.mark.parametrize("what", QUESTIONS)
def test_question_to_a_tracer_that_the_function_catches_is_refused(what, how):
    ask, message = QUESTIONS[what]
    how(ask, X)  # plain Python answers
    with pytest.raises((TypeError, IndexError, AttributeError), match=message) as caught:
        ev.jit(lambda x: how(ask, x))(X)
    assert "Fix: " in str(caught.value)
    assert "at " in str(caught.value)


@lends_buffers
@pytest.mark.parametrize("how", HANDLERS)
@pytest.mark.parametrize("what", LENT)
def test_bytes_of_a_tracer_whose_lack_the_function_catches_are_refused(what, how):
    how(LENT[what], X)
    message = r"__buffer__ \(an array handed to what reads its bytes\): a traced array f32\[3\] has"
    with pytest.raises(ev.errors.TracerArrayConversionError, match=message) as caught:
        ev.jit(lambda x: how(LENT[what], x))(X)
    assert "Fix: do it outside, with what the call returns, or in a `pure_callback`" in str(
        caught.value
    )


@lends_buffers
def test_bytes_of_what_a_transformation_knows_are_lent():
    @case()
    def program(_):
        yield ev.grad(lambda x: memoryview(lax.stop_gradient(x)).tolist() and x.sum())(X)

    program()


def test_handler_that_names_a_class_of_ours_is_run():
    def by_name(x):
        try:
            return x[x > 1].sum() * float(x[0])
        except (ConcretizationTypeError, NonConcreteBooleanIndexError):
            return x * 3
        finally:
            x = None

    assert ev.jit(by_name)(X).tolist() == (X * 3).tolist()


BODIES = {
    "vmap": lambda x: ev.vmap(lambda y: x[0] * float(y))(x),
    "scan": lambda x: lax.scan(lambda c, y: (c, float(y)), 0.0, x)[1],
    "checkpoint": lambda x: ev.checkpoint(lambda y: float(y) * y)(x[0]),
    "custom_jvp": lambda x: ev.custom_jvp(lambda y: float(y) * y)(x[0]),
    "cond": lambda x: lax.cond(True, lambda y: float(y) * y, lambda y: y, x[0]),
    "jit": lambda x: ev.jit(lambda y: float(y) * y)(x[0]),
    "grad": lambda x: ev.grad(lambda y: float(y) * y)(x[0]),
    "jvp": lambda x: ev.jvp(lambda y: y.item() * y, (x[0],), (x[1],))[1],
    "NumPy in grad": lambda x: ev.grad(lambda y: np.dot(y, y))(x),
    "bytes in grad": lambda x: ev.grad(lambda y: memoryview(y).tolist() and y.sum())(x),
}


@pytest.mark.parametrize("what", BODIES)
def test_question_that_no_transformation_answers_is_caught_as_in_plain_python(what):
    @case()
    def program(jit):
        yield jit(lambda x: by_except(BODIES[what], x))(X)

    program()


def test_part_of_numpy_arrays_that_does_not_show_is_refused():
    def f(x, a):
        try:
            return x + (a.ctypes is not None)
        except Exception:
            return x - 1

    with pytest.raises(TypeError, match="ctypes: not available of a NumPy array while"):
        ev.jit(f)(X, np.ones(3))
