"""What a code object shows without being run: the names it uses, and whose code it is."""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import os
import site
import sys
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from evertrace._src import config
from evertrace._src.jit.lifting.asking import asking, asks, original
from evertrace._src.source import NUMPY_PREFIXES, PACKAGE_PREFIX
from evertrace._src.support import WeakKeys

_MATCH_CLASS = dis.opmap["MATCH_CLASS"]
CLASSES = "class of any object"
"""What code is said to mention that has the classes of objects gone through unseen."""

_LOOKING = frozenset({"inspect", "typing"})
_READ_BY = {
    **dict.fromkeys(("dir", "getmembers", "getmembers_static"), ("__dict__", CLASSES)),
    **dict.fromkeys(("getattr_static", "classify_class_attrs"), ("__dict__", CLASSES)),
    **dict.fromkeys(("get_type_hints", "get_annotations"), ("__annotations__",)),
    **dict.fromkeys(("signature", "getfullargspec"), ("__defaults__", "__annotations__")),
}
"""A function of the library that code mentions -> what it reads of classes and functions."""
_BLIND = frozenset({"globals", "eval", "exec", "__import__", "import_module", "_getframe"})


class CodeInfo(NamedTuple):
    """What a code object, with those nested in it, mentions.

    Attributes:
      global_names: globals that are read, written or deleted.
      attribute_names: names of attributes, and strings that could be one (for ``getattr``).
      attributes_of: name of a global -> the attributes that are read of it right away.
      imports: modules that it imports.
      stored: free variables that it assigns to.
      set: attributes that it sets.
      deleted: attributes and globals that it deletes.
      catches: whether it handles exceptions.
      asks: whether it compares identities of numbers or texts, or converts numbers.
      blind: name of a function it uses that can reach names which no instruction shows, or None.
    """

    global_names: frozenset
    attribute_names: frozenset
    attributes_of: dict
    imports: frozenset
    stored: frozenset
    set: frozenset
    deleted: frozenset
    catches: bool
    asks: bool
    blind: str | None


_infos = WeakKeys()


def info_of(code):
    """Return the (memoised) `CodeInfo` of a code object."""
    code = original(code)
    found = _infos.get(code)
    if found is None:
        found = _infos[code] = _analyse(code)
    return found


def _analyse(code):
    seen = _Seen(code)
    instructions = _instructions(code)
    for instruction, after in itertools.zip_longest(instructions, instructions[1:]):
        if instruction is not None:
            seen.instruction(instruction, after)
    for constant in code.co_consts:
        seen.attributes.update(strings_in(constant))
        if isinstance(constant, CodeType):
            seen.nested(info_of(constant))
    return seen.info()


class _Instruction(NamedTuple):
    """An instruction about names: where it is, its operation, the names and whether it calls."""

    offset: int
    op: str
    names: tuple
    is_method: bool


_FLAGGED = {"LOAD_GLOBAL": 1, "LOAD_ATTR": int(sys.version_info >= (3, 12)), "LOAD_SUPER_ATTR": 2}
"""Operation -> how many low bits of its argument are flags, not the number of a name."""

_OF_NAMES = {number: name for name, number in dis.opmap.items() if number in dis.hasname}
_OF_VARIABLES = {
    number: name
    for name, number in dis.opmap.items()
    if (number in dis.haslocal or number in dis.hasfree)
    and name not in ("STORE_FAST", "DELETE_FAST")
}
_CACHE, _EXTENDED_ARG = dis.opmap.get("CACHE", 0), dis.EXTENDED_ARG


def _instructions(code):
    """Return the instructions of a code object, None for those of which names say nothing."""
    local = variables_of(code)
    found = []
    for offset, number, arg in decoded(code):
        if number in _OF_NAMES:
            found.append(_of_name(offset, _OF_NAMES[number], arg, code.co_names))
        elif number == _MATCH_CLASS:
            found.append(_Instruction(offset, "MATCH_CLASS", ("__match_args__",), False))
        elif number in _OF_VARIABLES:
            names = names_of_variables(_OF_VARIABLES[number], arg, local)
            found.append(_Instruction(offset, _OF_VARIABLES[number], names, False))
        else:
            found.append(None)
    return found


def decoded(code):
    """Return triples (offset, number of the operation, argument) of a code object's instructions.

    `dis.get_instructions` would do, at ten times the price: it finds lines and texts as well.
    """
    raw, found, extension = code.co_code, [], 0
    for i, number in enumerate(raw[::2]):
        if number == _CACHE:
            continue
        arg = extension << 8 | raw[2 * i + 1]
        if number == _EXTENDED_ARG:
            extension = arg
            continue
        extension = 0
        found.append((2 * i, number, arg))
    return found


def variables_of(code):
    """Return the names of a code object's local and free variables, in its instructions' order."""
    cells = [c for c in code.co_cellvars if c not in code.co_varnames]
    return [*code.co_varnames, *cells, *code.co_freevars]


def name_of_attribute(op, arg, names):
    """Return the name that an instruction is about, and whether it loads a method."""
    flags = _FLAGGED.get(op, 0)
    return names[arg >> flags], op == "LOAD_METHOD" or (op == "LOAD_ATTR" and bool(flags & arg))


def names_of_variables(op, arg, local):
    """Return the variables that an instruction is about: from Python 3.13 on it may be two."""
    return (local[arg >> 4], local[arg & 15]) if op.count("_FAST") > 1 else (local[arg],)


def _of_name(offset, op, arg, names):
    name, is_method = name_of_attribute(op, arg, names)
    return _Instruction(offset, op, (name,), is_method)


class _Seen:
    """What the analysis of a code object has found so far."""

    def __init__(self, code):
        self.code = code
        self.global_names, self.imports = set(), set()
        self.stored, self.set, self.deleted = set(), set(), set()
        self.attributes = set(code.co_names)
        self.attributes_of = {}
        self.catches = bool(code.co_exceptiontable)
        self.blind = next((n for n in code.co_names if n in _BLIND), None)

    def instruction(self, instruction, after):
        """Note what one instruction, and the one after it, show."""
        _, op, names, _ = instruction
        if op == "STORE_DEREF":
            self.stored.update(names)
        elif op == "STORE_ATTR":
            self.set.update(names)
        elif op in ("DELETE_ATTR", "DELETE_GLOBAL"):
            self.deleted.update(names)
        elif op == "IMPORT_NAME":
            self.imports.update(names)
        elif op == "MATCH_CLASS":
            self.attributes.update(names)
        if "GLOBAL" in op or op in ("LOAD_NAME", "STORE_NAME", "DELETE_NAME"):
            self.global_names.update(names)
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            found = self.attributes_of.setdefault(names[0], set())
            if after is not None and after.op in ("LOAD_METHOD", "LOAD_ATTR"):
                found.add(after.names[0])
            else:
                found.add(None)

    def nested(self, inner):
        """Note what a function, class or comprehension inside mentions."""
        self.global_names |= inner.global_names
        self.attributes |= inner.attribute_names
        self.imports |= inner.imports
        self.set |= inner.set
        self.deleted |= inner.deleted
        self.catches |= inner.catches
        self.blind = self.blind or inner.blind
        for name in inner.global_names:
            found = inner.attributes_of.get(name, {None})
            self.attributes_of.setdefault(name, set()).update(found)

    def info(self):
        """Return the `CodeInfo`."""
        named = self.global_names | self.attributes
        if not named.isdisjoint(("delattr", "__delattr__", "__delete__")):
            self.deleted |= self.attributes
        if not named.isdisjoint(("setattr", "__setattr__", "__set__")):
            self.set |= self.attributes
        self.attributes |= _read_by_library(self)
        return CodeInfo(
            frozenset(self.global_names),
            frozenset(self.attributes),
            {k: v for k, v in self.attributes_of.items() if None not in v},
            frozenset(self.imports),
            frozenset(self.stored),
            frozenset(self.set),
            frozenset(self.deleted),
            self.catches,
            asks(self.code),
            self.blind,
        )


def _read_by_library(seen):
    """Return what functions of the library that code mentions read in its stead."""
    if seen.imports & _LOOKING:  # a local variable is the module
        mentioned = seen.attributes
    else:
        mentioned = seen.global_names.union(*seen.attributes_of.values())
    return {name for called in mentioned & _READ_BY.keys() for name in _READ_BY[called]}


def strings_in(constant):
    """Return the strings in a constant that could be names of attributes."""
    if isinstance(constant, str):
        return (constant,) if constant.isidentifier() else ()
    if isinstance(constant, (tuple, frozenset)):
        return [s for c in constant for s in strings_in(c)]
    return ()


# ------------------------------------------------------------------------ whose code it is


_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
"""Folders of packages in any environment: one may borrow another's, by a path or a ``.pth``."""


@functools.cache
def _package_prefixes():
    paths = {site.getusersitepackages()}
    if hasattr(site, "getsitepackages"):
        paths.update(site.getsitepackages())
    return (*NUMPY_PREFIXES, *_spelled(paths))


@functools.cache
def _standard_prefixes():
    return _spelled({os.path.dirname(os.__file__)})


def _spelled(paths):
    spelled = {os.path.abspath(p) for p in paths if p} | {os.path.realpath(p) for p in paths if p}
    return tuple([os.path.join(p, "") for p in sorted(spelled)])


@functools.cache
def is_library_file(filename):
    """Whether a file belongs to the standard library, an installed package or evertrace."""
    if filename.startswith("<frozen"):
        return True
    if filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    return path.startswith((PACKAGE_PREFIX, *_standard_prefixes())) or is_package_file(path)


@functools.cache
def is_package_file(filename):
    """Whether a file belongs to an installed package that is not evertrace."""
    path = os.path.abspath(filename)
    if path.startswith(PACKAGE_PREFIX):
        return False
    return path.startswith(_package_prefixes()) or any(folder in path for folder in _INSTALLED)


def is_others_code(code):
    """Whether code is of an installed package that is neither evertrace nor NumPy."""
    file = code.co_filename
    return is_package_file(file) and not os.path.abspath(file).startswith(NUMPY_PREFIXES)


def is_asked_by_package(frame):
    """Whether a package that may know evertrace or JAX, or evertrace itself, asks a tracer.

    Args:
      frame: of the tracer's method that answers.
    """
    while frame is not None and frame.f_code.co_filename.startswith(_ANSWERING):
        frame = frame.f_back
    if frame is None:
        return False
    return is_own_file(frame.f_code.co_filename) or is_others_code(frame.f_code)


_ANSWERING = tuple(
    os.path.join(PACKAGE_PREFIX, "_src", *path.split())
    for path in ("numpy concrete.py", "core operators.py", "tracebacks.py", f"jit lifting{os.sep}")
)
"""What lies between a method of tracers and those that call it: nobody there catches its error."""


def is_own_file(filename):
    """Whether a file is one of evertrace's."""
    return filename.startswith(PACKAGE_PREFIX)


def is_written_for_jax(frame):
    """Whether a frame is an installed package's to which evertrace lends JAX's name and rules.

    Args:
      frame: of the code that calls a function of ours, or of ours in between.
    """
    lent = sys.modules.get("jax")
    if lent is None or not is_own_file(str(getattr(lent, "__file__", ""))):
        return False
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    by_package = frame is not None and is_package_file(frame.f_code.co_filename)
    return by_package and config.current().library_rules == "jax"


RULES = set()
"""Codes that call rules of primitives, which see a trace as it is, as under JAX."""


def in_rule(frame):
    """Whether a frame runs for the rule of a primitive."""
    while frame is not None and frame.f_code not in RULES:
        frame = frame.f_back
    return frame is not None


def is_library_code(code):
    """Whether a code object is library code."""
    return is_library_file(code.co_filename)


def is_library_module(name):
    """Whether the module of that name is library code; built-in modules are."""
    module = sys.modules.get(name)
    if module is None or name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return is_library_file(file) if file else name in sys.builtin_module_names


def is_library_function(fun):
    """Whether a Python function is library code, generated code included."""
    code = code_of(fun)
    if code.co_filename.startswith("<"):  # a namedtuple's __new__, a dataclass's __init__
        return is_library_module(fun.__globals__.get("__name__", ""))
    return is_library_file(code.co_filename)


def is_library_class(cls):
    """Whether a class is defined by library code or in C."""
    return is_library_module(cls.__module__)


# ------------------------------------------------------------------------ trampolines

_HOOK = 0x65766572747261636500  # stands for the hook in the compiled template
_templates = WeakKeys()
changed_functions: dict[int, Any] = {}
"""Id of a function that a trace has changed, for its time -> (code, defaults, kwdefaults, hook)."""


class _Hook:
    """What a trampoline calls; emptied afterwards, since sources may keep the trampoline's code."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def __call__(self, /, *args, **kwargs):
        return self.call(*args, **kwargs)


def install_trampoline(fun, hook):
    """Make the next call of a Python function ``hook(*args, **kwargs)``."""
    code = fun.__code__
    template = _templates.get(code)
    if template is None:
        template = _templates[code] = _template(code)
    made = _Hook(hook)
    constants = tuple([made if c == _HOOK else c for c in template.co_consts])
    changed_functions[id(fun)] = code, fun.__defaults__, fun.__kwdefaults__, made
    fun.__code__ = template.replace(co_consts=constants)


def install_asking(fun, code):
    """Have a Python function, whose code is `code`, run as code that asks, until it is put back."""
    made = _Hook(None)
    changed_functions.setdefault(id(fun), (code, fun.__defaults__, fun.__kwdefaults__, made))
    fun.__code__ = asking(code, fun.__globals__)


def is_trampoline(code):
    """Whether code is a trampoline's: its frames stand beside those of the user's function."""
    return "evertrace_hook" in code.co_varnames


def forget_trampoline(fun, after=None):
    """Undo `install_trampoline` for good, and put the defaults back.

    Args:
      fun: the function.
      after: what calls come to that are in the trampoline now, on other threads.
    """
    original = changed_functions.get(id(fun))
    if original is not None:
        code, defaults, kwdefaults, hook = original
        if fun.__code__ is not code:
            fun.__code__ = code
        fun.__defaults__, fun.__kwdefaults__ = defaults, kwdefaults
        hook.call = after
        del changed_functions[id(fun)]  # last: a forked child may have to do it all again


def has_other_code(fun, code):
    """Whether a function that a trace has reached has other code than its own and the trace's.

    Args:
      fun: the function.
      code: its own.
    """
    now, hook = fun.__code__, changed_functions.get(id(fun), (None,))[-1]
    return original(now) is not code and not any(x is hook for x in now.co_consts if hook)


def code_of(fun):
    """Return the code of a Python function as the user wrote it."""
    found = changed_functions.get(id(fun)) if changed_functions else None
    return original(fun.__code__) if found is None else found[0]


def defaults_of(fun):
    """Return a function's defaults as the user wrote them."""
    found = changed_functions.get(id(fun)) if changed_functions else None
    return fun.__defaults__ if found is None else found[1]


def kwdefaults_of(fun):
    """Return the defaults of a function's keyword-only parameters as the user wrote them."""
    found = changed_functions.get(id(fun)) if changed_functions else None
    return fun.__kwdefaults__ if found is None else found[2]


def clone(fun: Any, code: Any, defaults: Any, kwdefaults: Any) -> Any:
    """Return a function that does what `fun` does without a trampoline."""
    made = FunctionType(code, fun.__globals__, fun.__name__, defaults, fun.__closure__)
    made.__kwdefaults__ = kwdefaults
    return made


def _template(code):
    """Compile a function of the same parameters that hands them on to the hook."""
    names = list(code.co_varnames)
    n, k = code.co_argcount, code.co_kwonlyargcount
    positional, keyword = names[:n], names[n : n + k]
    rest = names[n + k :]
    parameters = [*positional]
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    passed = list(positional)
    if code.co_flags & 0x04:
        star = rest.pop(0)
        parameters.append(f"*{star}")
        passed.append(f"*{star}")
    elif keyword:
        parameters.append("*")
    parameters += keyword
    passed += [f"{name}={name}" for name in keyword]
    if code.co_flags & 0x08:
        double = rest.pop(0)
        parameters.append(f"**{double}")
        passed.append(f"**{double}")
    # The free variables have to be free in the template too: who looks at its frame reads them.
    free = "".join(f"    {name} = None\n" for name in code.co_freevars)
    uses = f"0 and ({', '.join(code.co_freevars)}); " if code.co_freevars else ""
    # A trampoline is of its function's kind: a generator delegates, a coroutine awaits.
    kind = "async def" if code.co_flags & inspect.CO_COROUTINE else "def"
    how = "await " if code.co_flags & inspect.CO_COROUTINE else ""
    how = "yield from " if code.co_flags & inspect.CO_GENERATOR else how
    # All on the line of the `def`, or debuggers would see it run through the function's own lines.
    source = (
        f"def outer():\n{free}"
        f"    {kind} f({', '.join(parameters)}): {uses}evertrace_hook = {_HOOK}; "
        f"return ({how}evertrace_hook({', '.join(passed)}))\n"
    )
    outer = _code_in(compile(source, code.co_filename, "exec"))
    made = _code_in(outer)
    assert made.co_freevars == code.co_freevars, "the compiler sorts free variables"
    return made.replace(
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )


def _code_in(code):
    return next(c for c in code.co_consts if isinstance(c, CodeType))
