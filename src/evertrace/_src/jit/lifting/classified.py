"""What the functions in C of the standard library read besides their arguments.

A compiled program would freeze what such a function gave once. So each of them is of one class:

  pure      reads its arguments only, or what no process changes; it may be called
  asked     reads a setting, cheaply: later calls have to find the same
  given     depends on a setting that it does not show; later calls have to find that one the same
  refused   anything else: it reads or changes what is outside, or what a trace itself changes

``"*"`` stands for all names that are not listed, also those of other versions of Python. What
`impure` has a row for (clocks, draws, files, `print`) is in no class here but ``"elsewhere"``.
`tests/jit/test_classified.py` walks through the standard library, so a new module has to be added.
"""

import functools
import sys
import types

_PURE_MODULES = (
    "_abc _bisect _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw "
    "_collections _csv _elementtree _functools _hashlib _heapq _hmac _json _lzma _md5 _opcode "
    "_pickle _sha1 _sha2 _sha256 _sha512 _sha3 _blake2 _sre _stat _statistics _string _struct "
    "_suggestions _symtable _types _typing _zstd array audioop binascii cmath itertools marshal "
    "math pyexpat unicodedata zlib dict frozenset"
)
_REFUSED_MODULES = (
    "_crypt _ctypes _curses _curses_panel _dbm _gdbm _imp _interpchannels _interpqueues "
    "_interpreters _multiprocessing _posixshmem _posixsubprocess _remote_debugging _scproxy _ssl "
    "_sqlite3 _testcapi _tkinter _uuid fcntl grp msvcrt nis ossaudiodev overlapped pwd readline "
    "select spwd syslog termios winreg winsound _winapi _overlapped"
)

TABLE = {
    **{name: {"pure": "*"} for name in _PURE_MODULES.split()},
    **{name: {"refused": "*"} for name in _REFUSED_MODULES.split()},
    # What evertrace looks at itself, and what `impure` has rows for.
    "builtins": {"elsewhere": "open input print id hash repr sum", "pure": "*"},
    "_operator": {"elsewhere": "is_ is_not", "pure": "*"},
    "posix": {"elsewhere": "*"},
    "nt": {"elsewhere": "*"},
    "io": {"elsewhere": "*"},
    "_io": {"elsewhere": "*"},
    "Random": {"elsewhere": "*"},
    "atexit": {"elsewhere": "register unregister", "refused": "*"},
    "_warnings": {"elsewhere": "warn", "refused": "*"},
    "time": {
        "elsewhere": "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns "
        "process_time process_time_ns thread_time thread_time_ns clock_gettime clock_gettime_ns "
        "localtime gmtime ctime asctime strftime sleep",
        "pure": "clock_getres get_clock_info strptime",
        "given": "mktime",
        "refused": "*",
    },
    "_asyncio": {"pure": "_set_running_loop _get_running_loop", "refused": "*"},
    "_contextvars": {"pure": "*"},  # a context does not show what it holds
    "_decimal": {"given": "getcontext localcontext", "refused": "*"},
    "_locale": {
        "given": "localeconv nl_langinfo strcoll strxfrm getencoding getpreferredencoding",
        "pure": "gettext dgettext dcgettext",
        "refused": "*",
    },
    "_signal": {
        "pure": "strsignal valid_signals default_int_handler",
        "elsewhere": "alarm raise_signal setitimer signal",
        "refused": "*",
    },
    "_socket": {
        "pure": "CMSG_LEN CMSG_SPACE htonl htons ntohl ntohs inet_aton inet_ntoa inet_ntop "
        "inet_pton",
        "asked": "getdefaulttimeout",
        "elsewhere": "getaddrinfo gethostbyaddr gethostbyname gethostname getnameinfo socketpair",
        "refused": "*",
    },
    "_sysconfig": {"pure": "*"},
    "_thread": {
        # Locks, which are compared at the end of a trace, and what `threading` is made of.
        "pure": "allocate allocate_lock daemon_threads_allowed exit exit_thread _excepthook "
        "_get_main_thread_ident _is_main_interpreter _set_sentinel _make_thread_handle",
        "asked": "get_ident get_native_id _count",
        "refused": "*",
    },
    "_tracemalloc": {"asked": "is_tracing get_traceback_limit", "refused": "*"},
    "_weakref": {"pure": "proxy _remove_dead_weakref", "refused": "*"},
    "faulthandler": {"asked": "is_enabled", "refused": "*"},
    "gc": {
        "asked": "isenabled get_debug get_threshold",
        "pure": "is_tracked is_finalized",
        "refused": "*",
    },
    "resource": {"pure": "getpagesize", "refused": "*"},
    "sys": {
        "pure": "intern exc_info exception exit is_finalizing getdefaultencoding _is_interned "
        "getfilesystemencoding getfilesystemencodeerrors _getframe _getframemodulename "
        "_is_gil_enabled "
        "breakpointhook",  # a stop while the function is traced is what was asked for
        "asked": "getrecursionlimit getswitchinterval get_int_max_str_digits getdlopenflags "
        "get_coroutine_origin_tracking_depth gettrace getprofile is_stack_trampoline_active",
        "refused": "*",
    },
}
TABLE["decimal"] = TABLE["_decimal"]  # its name up to Python 3.12
"""Module in C (or class whose bound methods a module shows) -> class -> names."""

_SHOWN_IN = {
    "_thread": "threading", "_signal": "signal", "_socket": "socket", "_locale": "locale",
    "_decimal": "decimal", "_weakref": "weakref", "_contextvars": "contextvars",
    "_tracemalloc": "tracemalloc", "_warnings": "warnings", "_asyncio": "asyncio",
    "_ctypes": "ctypes", "_ssl": "ssl", "_sqlite3": "sqlite3", "_curses": "curses",
}  # fmt: skip
"""Where user code finds the functions of a module, if not only in itself."""


def class_of(module, name):
    """Return the class of a function, or None for that of an unknown module."""
    if module not in TABLE:
        return None
    kinds, rest = _classes_of(module)
    return kinds.get(name, rest)


@functools.cache
def _classes_of(module):
    """Return the classes of a module's functions by name, and that of all others or None."""
    kinds, rest = {}, None
    for kind, names in TABLE[module].items():
        if names == "*":
            rest = kind
        else:
            kinds = dict.fromkeys(names.split(), kind) | kinds  # the first that names it
    return kinds, rest


def home_of(function):
    """Return under which key of the table a function in C is, or None if it is not one."""
    if type(function) is not types.BuiltinFunctionType:
        return None
    owner = function.__self__
    if type(owner) is types.ModuleType:
        return owner.__name__
    if owner is None:
        return function.__module__ or "_codecs"  # handlers of errors have no module
    return (owner if isinstance(owner, type) else type(owner)).__name__


def watched_modules():
    """Return pairs (module in C, module where user code finds its functions)."""
    found = [(m, m) for m, classes in TABLE.items() if classes not in _UNWATCHED]
    return [*_SHOWN_IN.items(), *found]


_UNWATCHED = ({"pure": "*"}, {"elsewhere": "*"})


def names_of(home, kind, module):
    """Return the names in a module of the functions of a class, or of what wraps them there.

    Args:
      home: key of the table.
      kind: the class.
      module: where user code finds the functions.
    """
    return " ".join(name for name, its in _shown_by(home, module) if its == kind)


@functools.cache
def _shown_by(home, module):
    """Return pairs (name in the module, class) of the functions of a home that are shown there."""
    own = vars(sys.modules.get(home, module))
    found = []
    for name, value in vars(module).items():
        if home_of(value) == home:  # it may have another name there: `threading.Lock`
            original = value.__name__
        elif module.__name__ != home and type(value) is types.FunctionType:
            original = name if home_of(own.get(name)) == home else None
        else:
            continue
        if original is not None:
            found.append((name, class_of(home, original)))
    return found
