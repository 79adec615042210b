"""The calls that a compiled program could not make again, and how a trace sees them.

Clocks, draws, files, `print` and the like are replaced, for the time of a trace, by an `Intercept`:
in the module that owns the function, or in the dict of its class. An intercept is the function
itself for every other thread and for library code's own purposes (imports, tracebacks, locks). To
user code it is what the table in `_rows` says of the function:

  redone    a clock reading or a draw that gives a number or an array: again at each call
  effect    `print`, logging, warnings, sleeping: recorded, to be repeated at each call
  stopped   `pdb.set_trace`, as `breakpoint()` is: by a debugger that sees none of our frames
  guarded   the environment, whether a logger is enabled: must be the same at each call
  refused   files, input, sockets, processes, entropy: an `ImpurityError`, or what
            ``impurity("warn" | "ignore")`` makes of it

Intercepts are made once and only put in place for a trace, so that entering one is cheap. Those of
a module that is not loaded wait for it: until then nobody has its functions.
"""

import contextvars
import ctypes
import functools
import gc
import os
import sys
import types
import warnings
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

from evertrace._src import config
from evertrace._src.jit.lifting import classified
from evertrace._src.jit.lifting import impure_calls as calls
from evertrace._src.jit.lifting import impure_guards as guarded
from evertrace._src.jit.lifting.code import (
    is_library_code,
    is_library_function,
    is_others_code,
)
from evertrace._src.jit.lifting.inplace import InPlace, function_of
from evertrace._src.support import insist

_active: "Patches | None" = None  # of the trace that runs; there is one at a time


def _words(text):
    return frozenset(text.split())


class Intercept(InPlace):
    """Stands for an impure function."""

    def __init__(self, real, shown, handler):
        super().__init__(real)
        self.shown, self.handler = shown, handler

    def __call__(self, /, *args, **kwargs):
        patches = _active
        if patches is None or patches.thread != get_ident():
            return self.real(*args, **kwargs)
        of_packages = self.handler is calls.warn_again  # which plain Python hears of at each call
        caller, via = _user_caller(sys._getframe(1), patches.entry, of_packages)
        if caller is None:
            return self.real(*args, **kwargs)
        return self.handler(calls.Call(patches, via or self.shown, self.real, caller, args, kwargs))


class InterceptedMethod(Intercept):
    """An `Intercept` in the dict of a class, which binds as a method."""

    def __get__(self, obj, objtype=None):
        return self if obj is None else types.MethodType(self, obj)


# ------------------------------------------------------------------------ who calls

# Library modules that do what they are asked to: a file read by `pathlib` was read by its caller.
_AGENTS = _words(
    "os genericpath posixpath ntpath pathlib glob shutil tempfile codecs fileinput configparser "
    "zipfile tarfile gzip bz2 lzma shelve dbm urllib http socket ssl subprocess multiprocessing "
    "concurrent asyncio selectors uuid secrets random logging collections numpy locale getpass"
)


def _user_caller(frame, entry, of_packages):
    """Return the frame of the user code that `frame` works for, and the function it called.

    Both are None when a library calls for itself or on behalf of an import. The function is None
    when `frame` is the user's own.

    Args:
      frame: the caller's.
      entry: the frame where the trace began.
      of_packages: whether what an installed package calls counts as the user's.
    """
    via = None
    while is_library_code(frame.f_code) and not (of_packages and is_others_code(frame.f_code)):
        module = frame.f_globals.get("__name__") or ""
        if module.partition(".")[0] not in _AGENTS or frame.f_back is None:
            return None, None
        module = "os.path" if module in ("genericpath", "posixpath", "ntpath") else module
        via = f"{module}.{_qualified_name(frame.f_code)}"
        frame = frame.f_back
    above = frame
    while above is not None and above is not entry:
        if above.f_code.co_filename.startswith("<frozen importlib"):
            return None, None  # the body of a module runs once in plain Python, too
        above = above.f_back
    return frame, via


def _qualified_name(code):
    return getattr(code, "co_qualname", code.co_name)


# ------------------------------------------------------------------------ the table

_PURE_OS = _words(
    "fspath strerror major minor makedev cpu_count WCOREDUMP WIFCONTINUED WIFSTOPPED WIFSIGNALED "
    "WIFEXITED WEXITSTATUS WTERMSIG WSTOPSIG waitstatus_to_exitcode"
)
_ASKED_OS = "getpid getppid getuid getgid geteuid getegid"
_LOCALE = "getlocale localeconv format_string currency str atof atoi delocalize localize"
_ASKED_LOGGER = "getEffectiveLevel hasHandlers isEnabledFor"
_READ = "read __getattr__"
_OPTIONS_SET = "update config_with_absl parse_flags_with_absl complete_absl_config"
_EVENTS = "record_event record_event_duration_secs record_event_time_span record_scalar"
_PROFILE = (
    "start_trace stop_trace start_server stop_server device_memory_profile "
    "save_device_memory_profile register_subprocess"
)
_REGISTRIES = {
    "abc: ABCMeta": "register",
    "asyncio": "set_event_loop set_event_loop_policy",
    "codecs": "register register_error unregister",
    "copyreg": "add_extension clear_extension_cache constructor pickle remove_extension",
    "csv": "field_size_limit list_dialects register_dialect unregister_dialect",
    "email.charset": "add_alias add_charset add_codec",
    "faulthandler": "disable dump_traceback_later enable register unregister",
    "gettext": "bindtextdomain install textdomain",
    "importlib": "invalidate_caches reload",
    "logging": "addLevelName captureWarnings setLogRecordFactory setLoggerClass",
    "logging: Filterer": "addFilter removeFilter",
    "logging: Handler": "setFormatter setLevel",
    "mimetypes": "add_type init",
    "multiprocessing": "set_executable set_forkserver_preload set_start_method",
    "shutil": "register_archive_format register_unpack_format unregister_archive_format "
    "unregister_unpack_format",
    "tracemalloc": "clear_traces reset_peak start stop",
    "urllib.request": "install_opener",
    "xml.etree.ElementTree": "register_namespace",
}
"""Module, or module and class -> functions that change tables of the process."""

_SYSTEM = calls.refused(calls.FIX_SYSTEM)
_GENERATOR_STATE = "seed getstate setstate get_state set_state"


class Row(NamedTuple):
    """Functions that are treated alike.

    Attributes:
      module: where they are.
      owner: class whose methods they are, or object whose attributes; empty for functions of the
        module.
      shown: what people write before their names.
      names: which, or a function that finds them in the module; those that this Python does not
        have are passed over.
      handler: function of a `calls.Call`; returns what the call returns.
    """

    module: str
    owner: str
    shown: str
    names: str | Callable[[types.ModuleType], str]
    handler: Callable[[calls.Call], Any]


def _rows():
    """Return the table of all that is intercepted."""
    file, system = calls.refused(calls.FIX_FILE), calls.refused(calls.FIX_SYSTEM)
    entropy, environ = calls.refused(calls.FIX_ENTROPY), calls.refused(calls.FIX_ENVIRON)
    stream = calls.refused_stream
    system_calls = _functions_but(
        {*_PURE_OS, *_words(_ASKED_OS), "urandom", "getrandom", "putenv", "unsetenv"}
    )
    os_calls = system_calls(sys.modules[os.name])
    clocks = "time monotonic perf_counter process_time thread_time clock_gettime"
    return (
        Row("time", "", "time.", clocks, calls.clock),
        Row("time", "", "time.", " ".join(f"{n}_ns" for n in clocks.split()), calls.clock),
        Row("time", "", "time.", "localtime gmtime ctime asctime", guarded.clock_unless_given(0)),
        Row("time", "", "time.", "strftime", guarded.clock_unless_given(1)),
        Row("time", "", "time.", "sleep", calls.effect),
        Row("datetime", "datetime", "datetime.", "now utcnow today", calls.clock),
        Row("datetime", "date", "date.", "today", calls.clock),
        Row("datetime", "datetime", "datetime.", "fromtimestamp", guarded.given(guarded.timezone)),
        Row("datetime", "date", "date.", "fromtimestamp", guarded.given(guarded.timezone)),
        *_rows_of_draws("random", calls.PYTHON),
        Row("random", "", "random.", "_urandom", entropy),
        Row("random", "Random", "random.Random.", "seed", calls.refused_unseeded),
        *_rows_of_draws("numpy.random", calls.NUMPY),
        Row("numpy.random.bit_generator", "", "entropy for numpy.random: ", "randbits", entropy),
        Row("os", "", "os.", "urandom getrandom", entropy),
        Row("secrets", "", "secrets.", "choice randbelow randbits", entropy),
        Row("secrets", "", "secrets.", "token_bytes token_hex token_urlsafe", entropy),
        Row("uuid", "", "uuid.", "getnode uuid1 uuid4 uuid6 uuid7 uuid8", entropy),
        Row("builtins", "", "", "open input", file),
        Row("io", "", "io.", "open open_code", file),
        Row("os", "", "os.", _ASKED_OS, guarded.asked),
        Row("os", "", "os.", os_calls, file),
        Row("_io", "TextIOWrapper", "file.", "write flush", calls.write_again),
        Row("_io", "TextIOWrapper", "file.", "read readline seek tell truncate", stream),
        Row("_io", "_IOBase", "file.", "readlines", stream),
        # Not `flush` and `close`: a file that dies while tracing calls them.
        Row("_io", "BufferedReader", "file.", "peek read read1 readinto readline", file),
        Row("_io", "BufferedWriter", "file.", "write", file),
        Row("_io", "FileIO", "file.", "read readall readinto write", file),
        # Python 3.13 remembers `__getitem__` for `environ[key]` of a class that was changed often.
        Row("os", "environ", "os.environ.", "encodekey", guarded.environ_key),
        Row("os", "environb", "os.environb.", "encodekey", guarded.environ_key),
        Row("os", "_Environ", "os.environ.", "__iter__ __len__ copy", guarded.environ),
        Row("os", "_Environ", "os.environ.", "__setitem__ __delitem__", environ),
        Row("os", "", "os.", "putenv unsetenv", environ),
        Row("subprocess", "Popen", "subprocess.Popen.", "__init__ communicate poll wait", system),
        Row("threading", "Thread", "threading.Thread.", "start", system),
        Row("signal", "", "signal.", "alarm raise_signal setitimer signal", system),
        Row("atexit", "", "atexit.", "register unregister", system),
        Row("weakref", "finalize", "weakref.finalize.", "__init__", system),
        Row("socket", "socket", "socket.", "__init__", system),
        Row("socket", "", "socket.", "getaddrinfo gethostbyaddr gethostbyname", system),
        Row("socket", "", "socket.", "gethostname getnameinfo socketpair", system),
        Row("_socket", "socket", "socket.", "_accept bind close connect connect_ex", system),
        Row("_socket", "socket", "socket.", "listen recv recv_into recvfrom recvmsg", system),
        Row("_socket", "socket", "socket.", "send sendall sendmsg sendto shutdown", system),
        Row("builtins", "", "", "print", calls.print_again),
        Row("pprint", "", "pprint.", "pprint pp", calls.effect),
        Row("logging", "Logger", "logging.Logger.", "_log", calls.log_again),
        Row("logging", "Logger", "logging.Logger.", _ASKED_LOGGER, guarded.demanded),
        Row("logging", "Logger", "logging.Logger.", "setLevel addHandler removeHandler", system),
        Row("logging", "", "logging.", "disable", system),
        Row("logging", "", "logging.", "getLogger", guarded.logger),
        Row("warnings", "", "warnings.", "warn", calls.warn_again),
        Row("warnings", "", "warnings.", "filterwarnings simplefilter", calls.filters_set),
        Row("warnings", "", "warnings.", "resetwarnings", calls.filters_set),
        Row("operator", "", "operator.", "is_ is_not", guarded.identity),
        Row("json", "", "json.", "dump dumps", calls.encode_numbers),
        Row("json", "JSONEncoder", "JSONEncoder.", "encode iterencode", calls.encode_numbers_by),
        Row("pdb", "", "pdb.", "set_trace", calls.stop),
        *_rows_of_settings(),
        *_rows_of_registries(),
    )


def _rows_of_registries():
    """Return the rows of functions that enter something in a table of the process."""
    for module, names in _REGISTRIES.items():
        home, _, owner = module.partition(": ")
        yield Row(home, owner, f"{home}.{owner}." if owner else f"{home}.", names, _SYSTEM)
    yield Row("logging", "", "logging.", "getLevelName", guarded.asked)
    guesses = "guess_all_extensions guess_extension guess_type"
    yield Row("mimetypes", "", "mimetypes.", guesses, guarded.asked)


def _rows_of_settings():
    """Return the rows of functions that read or change settings of the process."""
    system, asked = calls.refused(calls.FIX_SYSTEM), guarded.asked
    yield Row("gc", "", "gc.", "isenabled", guarded.collector)
    yield Row("threading", "", "threading.", "current_thread", guarded.given(guarded.this_thread))
    yield Row("threading", "", "threading.", "active_count", asked)
    yield Row("threading", "", "threading.", "enumerate settrace setprofile stack_size", system)
    yield Row("locale", "", "locale.", _LOCALE, guarded.given(guarded.locale_name))
    yield Row("numpy", "", "numpy.", "geterr", guarded.given(guarded.numpy_errors))
    yield Row("numpy", "", "numpy.", "get_printoptions", guarded.given(guarded.numpy_printing))
    yield Row("numpy", "", "numpy.", "getbufsize", asked)
    yield Row("numpy", "", "numpy.", "seterr seterrcall setbufsize set_printoptions", system)
    yield Row("evertrace._src.config", "Options", "evertrace.config.", _OPTIONS_SET, system)
    yield Row("evertrace._src.config", "Options", "evertrace.config.", _READ, guarded.option)
    yield Row("evertrace.monitoring", "", "evertrace.monitoring.", _EVENTS, calls.effect)
    listeners = _functions_but(_words(_EVENTS))
    yield Row("evertrace.monitoring", "", "evertrace.monitoring.", listeners, system)
    yield Row("evertrace.profiler", "", "evertrace.profiler.", _PROFILE, system)
    # Their results show the frames of jit itself.
    yield Row("inspect", "", "inspect.", "stack trace", system)
    yield Row("traceback", "", "traceback.", "extract_stack format_stack print_stack", system)
    yield Row("tracemalloc", "", "tracemalloc.", "take_snapshot", system)
    handlers = {"asked": asked, "refused": system}
    settings = {"time": guarded.timezone, "_locale": guarded.locale_name}
    for home, module in classified.watched_modules():
        handlers["given"] = guarded.given(settings.get(home, guarded.decimal_context))
        for kind, handler in handlers.items():
            names = functools.partial(classified.names_of, home, kind)
            yield Row(module, "", f"{module}.", names, handler)


def _rows_of_draws(module, generator):
    """Return the rows of a module of functions that draw from a global generator."""
    shown, state = f"{module}.", _GENERATOR_STATE
    draws = _functions_but({*state.split(), "shuffle", "default_rng"})
    return (
        Row(module, "", shown, draws, generator.draw),
        Row(module, "", shown, "shuffle", calls.shuffling(generator.draw)),
        Row(module, "", shown, state, calls.refused(calls.FIX_SYSTEM)),
    )


def _functions_but(without):
    """Return what finds the names of the public functions of a module but for some."""

    def find(module):
        namespace = vars(module)
        found = [n for n in namespace.get("__all__", namespace) if n not in without]
        functions = [n for n in found if callable(namespace[n]) and not n.startswith("_")]
        return " ".join(n for n in functions if not isinstance(namespace[n], type))

    return find


# ------------------------------------------------------------------------ putting in place

_place_of: dict[int, "Place"] = {}  # id of a function of a module -> its place


class Place:
    """Where an intercept goes: an entry of the dict of a module, class or object.

    Attributes:
      real: what is there while nobody traces.
      placed: what is there during a trace.
    """

    __slots__ = ("cls", "name", "namespace", "placed", "real", "row")

    def __init__(self, namespace, name, cls, row):
        self.namespace, self.name, self.cls, self.row = namespace, name, cls, row
        self.real = self.placed = None

    def renew(self):
        """Make the intercept of what is there now; returns whether there is something for it."""
        real = self.namespace.get(self.name)
        if real is None or isinstance(real, Intercept):  # the latter put back by a mock, too late
            return False
        if type(real) is types.FunctionType and not is_library_function(real):
            return False  # the user replaced it by code that is traced like any other
        shown, handler = self.row.shown + self.name, self.row.handler
        if self.cls is None:
            same = _place_of.setdefault(id(real), self)  # `open` is in two modules
            shared = same.real is real
            self.placed = same.placed if shared else Intercept(real, shown, handler)
            if not shared:
                _place_of[id(real)] = self
        else:
            method = InterceptedMethod(real, shown, handler)
            of_class = isinstance(getattr(self.cls, self.name), types.BuiltinMethodType)
            self.placed = classmethod(method) if of_class else method
        self.real = real
        return True


class Table:
    """The rows, resolved where their modules are loaded.

    Attributes:
      places: of modules that are loaded.
      classes: those whose dicts are among them.
      waiting: name of each module that is not loaded -> its rows.
    """

    def __init__(self):
        self.places, self.classes, self.waiting = [], [], {}
        for row in _rows():
            self.waiting.setdefault(row.module, []).append(row)

    def resolve(self, name, module):
        """Find the places of a module that was waited for; returns them."""
        found = []
        for row in self.waiting.pop(name, ()):
            owner = getattr(module, row.owner, None) if row.owner else module
            if owner is None:  # there is no `environb` on Windows
                continue
            cls = owner if isinstance(owner, type) else None
            if cls is not None and cls not in self.classes:
                self.classes.append(cls)
            namespace = vars(owner) if cls is None else _class_dict(cls)
            names = row.names if isinstance(row.names, str) else row.names(module)
            found += [Place(namespace, n, cls, row) for n in names.split() if n in namespace]
        self.places += found
        return found

    def renew(self):
        """Find the places of modules that have been loaded by now."""
        for name in list(self.waiting):
            module = sys.modules.get(name)
            if module is not None and not getattr(module.__spec__, "_initializing", False):
                self.resolve(name, module)


_table = functools.cache(Table)


def _class_dict(cls):
    """Return the dict of a class itself: those written in C take no assignments."""
    (namespace,) = (x for x in gc.get_referents(vars(cls)) if type(x) is dict)
    return namespace


_type_modified = ctypes.pythonapi.PyType_Modified
_type_modified.argtypes, _type_modified.restype = [ctypes.py_object], None


class Patches:
    """Context manager that has impure calls of user code recorded or refused.

    To be entered by the thread that traces, one trace at a time; a trace within a trace hands over
    to the inner recorder.

    Args:
      recorder: what calls are recorded with: its ``prologue.late``, ``prologue.demand``,
        ``late_array``, ``effect`` and ``guard_environ``.
    """

    def __init__(self, recorder):
        self.recorder = recorder
        self.thread = get_ident()
        self.entry = self.outer = self.filters = None
        self.context: Any = None  # of before the trace
        self.options = self.overrides = None  # of ours, of before the trace
        self.settings = {}  # what was read of them -> what it was
        self.signals = guarded.Signals(self)
        self.stream_names, self.draws, self.placed = {}, {}, []

    def __enter__(self):
        global _active
        self.entry, self.outer = sys._getframe(1), _active
        self.stream_names = {id(sys.stdout): "stdout", id(sys.stderr): "stderr"}
        self.filters = warnings.filters
        self.context = contextvars.copy_context()
        self.options, self.overrides = config.current(), config.overrides()
        if self.outer is None:
            table = _table()
            table.renew()
            self.place(table.places)
        self.draws = {g: calls.Draws(g) for g in (calls.PYTHON, calls.NUMPY)}
        for generator, drawn in self.draws.items():
            if generator.name not in _table().waiting:
                drawn.start()
        _active = self
        return self

    def before(self, read, *args):
        """Return what a function gives in the context of before the trace."""
        return self.context.run(read, *args)

    def depend_on(self, setting):
        """Have later calls find a setting as it is before this one.

        Args:
          setting: function without arguments that returns it as a plain value.
        """
        if setting is guarded.decimal_context:
            self.signals.begin()
        if setting not in self.settings:
            self.settings[setting] = self.before(setting)
            self.recorder.prologue.expect(setting, self.settings[setting])

    def _check_settings(self):
        """Refuse that settings, which the function has looked at, are others than before."""
        if config.overrides() is not self.overrides:
            config.set_overrides(self.overrides)
            guarded.complain_of_setting(guarded.config_of_this_thread)
        for setting, before in self.settings.items():
            if self.before(setting) != before:
                guarded.complain_of_setting(setting)

    def place(self, places):
        """Put intercepts in place, until this ends."""
        for place in places:
            if place.namespace.get(place.name) is place.real or place.renew():
                place.namespace[place.name] = place.placed
                self.placed.append(place)
        _classes_changed()

    def arrived(self, name, places):
        """Put the intercepts of a module in place that was loaded during the trace."""
        for generator, drawn in self.draws.items():
            if generator.name == name:
                drawn.start()
        if self.outer is None:
            self.place(places)
        else:
            self.outer.arrived(name, places)

    def abandon(self):
        """End this for a thread that a forked child does not have, at whatever point it was."""
        if self.outer is None:
            self.placed = _table().places
        self.__exit__(BaseException)

    def _take_back(self):
        global _active
        _active, self.entry = self.outer, None
        for place in self.placed:
            if place.namespace.get(place.name) is place.placed:  # else the user's, by now
                place.namespace[place.name] = place.real
        if self.placed:
            _classes_changed()

    def __exit__(self, kind, *rest):
        insist(self._take_back)
        self.signals.end()
        failed = kind is not None
        try:
            if not failed:
                self._check_settings()
            for drawn in () if failed else self.draws.values():
                drawn.check()
        except Exception:
            failed = True
            raise
        finally:
            for drawn in self.draws.values():
                drawn.rewind(failed)


def _classes_changed():
    """Tell the interpreter, which remembers where methods were found."""
    for cls in _table().classes:
        _type_modified(cls)


class Arrivals:
    """Has a module that is loaded during a trace intercepted; among the finders of modules.

    It stays there: a list that becomes shorter while an import on another thread goes through it
    has that import pass a finder over, and not find a module that is there.
    """

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        """Return how the other finders load a module, if it is one that is waited for."""
        if _active is None or name not in _table().waiting:
            return None
        for finder in sys.meta_path:
            find = None if finder is cls else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                spec.loader = _Arriving(spec.loader)
                return spec
        return None


sys.meta_path.insert(0, Arrivals)  # type: ignore[arg-type]


class _Arriving:
    """Loads a module as its own loader does; then it is intercepted."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        spec = module.__spec__
        module.__loader__ = spec.loader = self.loader
        self.loader.exec_module(module)
        if _active is not None and _active.thread == get_ident():
            _active.arrived(spec.name, _table().resolve(spec.name, module))


# ------------------------------------------------------------------------ values


def stand_in_of(value):
    """Return what stands for an impure function that was not looked up just now, or None.

    It is needed for what ``from time import time``, ``now = datetime.now`` or a default argument
    bound before the trace.
    """
    place = _place_of.get(id(value))
    if place is not None and place.real is value:
        return place.placed
    if type(value) is not types.BuiltinMethodType:
        return None
    owner = value.__self__
    mro = type.mro(owner) if isinstance(owner, type) else type(owner).__mro__
    if not any(cls is patched for cls in mro for patched in _table().classes):
        return None
    bound = getattr(owner, value.__name__)
    return bound if type(getattr(bound, "__func__", None)) is InterceptedMethod else None


def depend_on_settings_of(cls):
    """Have later calls find what a class's results depend on as it is."""
    if _active is not None and cls.__module__ == "decimal":
        _active.depend_on(guarded.decimal_context)


def depend_on_loggers(names, has_loggers):
    """Have later calls find the loggers that there are, if code mentions what shows them.

    Args:
      names: that it mentions, or None if that can be any.
      has_loggers: whether it comes to a logger, or another object with settings.
    """
    if names is None:
        shows = has_loggers
    else:
        shows = "loggerDict" in names or (has_loggers and not _SHOWING.isdisjoint(names))
    if _active is not None and shows and "logging" in sys.modules:
        _active.depend_on(guarded.loggers)


_SHOWING = frozenset({"parent", "getChildren"})


def real_of(value: Any) -> Any:
    """Return what a stand-in, or a bound one, stands for, to be kept; other values as they are."""
    if type(value) is types.MethodType and type(value.__func__) is InterceptedMethod:
        owner = value.__self__
        at = (None, owner) if isinstance(owner, type) else (owner, type(owner))
        return function_of(value.__func__).__get__(*at)
    return function_of(value)
