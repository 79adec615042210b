"""Python's own test suite as an oracle: a test that passes has to pass when it is jitted.

Each method of these test cases is a program that somebody wrote to look closely at what a type
promises. It runs as it is and, if it passes, under `jit`, twice: when it is traced, and when it is
called again. An error of evertrace's is a refusal; any other failure is a difference.
"""

import contextlib
import doctest
import importlib
import io
import random
import signal
import unittest
import warnings

import evertrace
from evertrace._src.errors import EvertraceWarning
from tests.contract.foreign import Finding
from tests.contract.oracle import is_refusal, one_line, process_settings

MODULES = (
    "test_augassign", "test_binop", "test_bisect", "test_bool", "test_class", "test_colorsys",
    "test_collections", "test_complex", "test_contains", "test_contextlib", "test_copy",
    "test_dataclasses", "test_decorators", "test_defaultdict", "test_deque", "test_dict",
    "test_dictcomps", "test_dictviews", "test_difflib", "test_dynamicclassattribute",
    "test_enum", "test_enumerate", "test_exception_variations", "test_float", "test_fractions",
    "test_fstring", "test_functools", "test_generators", "test_genexps", "test_graphlib",
    "test_heapq", "test_index", "test_int", "test_isinstance", "test_iter", "test_itertools",
    "test_keywordonlyarg", "test_list", "test_listcomps", "test_long", "test_math",
    "test_named_expressions", "test_numeric_tower", "test_operator", "test_ordered_dict",
    "test_patma", "test_positional_only_arg", "test_pow", "test_property", "test_raise",
    "test_range", "test_richcmp", "test_scope", "test_set", "test_setcomps", "test_slice",
    "test_statistics", "test_string", "test_subclassinit", "test_super", "test_textwrap",
    "test_tuple", "test_types", "test_unpack", "test_unpack_ex", "test_userdict",
    "test_userlist", "test_userstring", "test_weakset", "test_with",
)  # fmt: skip
# What is about the process, the compiler, the collector or the memory and not about values.
_SKIPPED = (
    "pickl", "thread", "subprocess", "gc", "refleak", "leak", "recurs", "memory", "bigmem",
    "sys_settrace", "pyrepl", "doc", "large", "huge", "interning", "monotonic", "warn",
)  # fmt: skip
SECONDS = 60


def cases(module):
    """Yield a name and a test case for each test method of a module."""
    found = unittest.defaultTestLoader.loadTestsFromName(f"test.{module}")
    todo = [found]
    while todo:
        x = todo.pop()
        if isinstance(x, unittest.TestSuite):
            todo += list(x)
        elif not isinstance(x, doctest.DocTestCase) and not any(
            word in x.id().lower() for word in _SKIPPED
        ):
            yield x


def available():
    """Return the modules that this Python has."""
    found = []
    for module in MODULES:
        with contextlib.suppress(ImportError, unittest.SkipTest):
            importlib.import_module(f"test.{module}")
            found.append(module)
    return found


class _TimeIsUp(BaseException):
    pass


def _ring(*_):
    raise _TimeIsUp


def examine(case, jit=evertrace.jit):
    """Return the `Finding` about a test, or None if plain Python does not pass it."""
    signal.signal(signal.SIGALRM, _ring)
    try:
        # Their own draws are no state that they check.
        with warnings.catch_warnings(), process_settings(), evertrace.impurity("ignore"):
            warnings.simplefilter("ignore")
            if _failure(case, lambda method: method):
                return None
            warnings.simplefilter("ignore", EvertraceWarning)
            for _ in range(2):
                error = _failure(case, jit)
                if error:
                    verdict = "refused" if is_refusal(error) else "raw error"
                    if isinstance(error, AssertionError) and "its own call" not in str(error):
                        verdict = "silent difference"
                    return Finding(case.id(), verdict, one_line(error), 1)
    finally:
        signal.alarm(0)
    return Finding(case.id(), "same", "", 2)


def _failure(case, jit):
    """Run a test with its method jitted; return what it raised, or None."""
    case = type(case)(case._testMethodName)
    signal.alarm(SECONDS)
    before = random.getstate()
    random.seed(0)  # some pass by luck: `sqrt(pvariance(x))` is mostly `pstdev(x)`
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            type(case).setUpClass()
            case.setUp()
            jit(getattr(case, case._testMethodName))()
            case.tearDown()
            case.doCleanups()
            type(case).tearDownClass()
    except (Exception, _TimeIsUp) as error:
        return error
    finally:
        signal.alarm(0)
        random.setstate(before)
    return None
