"""Tables of the process: a jitted function that enters something in one is refused, by name."""

import codecs
import copyreg
import csv
import encodings.aliases
import linecache
import logging
import mimetypes
import numbers
import shutil
import sys
import types
import xml.etree.ElementTree

import pytest

import evertrace as ev
from evertrace.errors import ImpurityError

LOGGER, HANDLER = logging.getLogger("tests.registries"), logging.NullHandler()


class Mine:
    pass


def reduced(x):
    return Mine, ()


def found(name):
    return None


def sets_an_item(s):
    sys.modules["registries_mine"] = types


def deletes_an_item(s):
    del sys.modules["registries_there"]


def sets_an_attribute(s):
    LOGGER.propagate = False


def disables(s):
    LOGGER.disabled = True


CHANGES = {
    "sys.modules, an item": (sets_an_item, "sys.modules"),
    "sys.modules, deleted": (deletes_an_item, "sys.modules"),
    "sys.modules, update": (lambda s: sys.modules.update(registries_mine=types), "sys.modules"),
    "sys.modules, pop": (lambda s: sys.modules.pop("registries_there"), "sys.modules"),
    "sys.meta_path": (lambda s: sys.meta_path.append(Mine), "sys.meta_path"),
    "sys.path_hooks": (lambda s: sys.path_hooks.append(found), "sys.path_hooks"),
    "copyreg.dispatch_table": (
        lambda s: copyreg.dispatch_table.__setitem__(Mine, reduced), "copyreg.dispatch_table"
    ),
    "copyreg.pickle": (lambda s: copyreg.pickle(Mine, reduced), "copyreg.pickle"),
    "codecs.register": (lambda s: codecs.register(found), "codecs.register"),
    "codecs.register_error": (lambda s: codecs.register_error("mine", found), "register_error"),
    "encodings.aliases": (
        lambda s: encodings.aliases.aliases.update(mine="utf_8"), "encodings.aliases.aliases"
    ),
    "linecache.cache": (lambda s: linecache.cache.update(mine=1), "linecache.cache"),
    "ABCMeta.register": (lambda s: numbers.Number.register(Mine), "ABCMeta.register"),
    "csv.register_dialect": (lambda s: csv.register_dialect("mine"), "csv.register_dialect"),
    "csv.list_dialects": (lambda s: csv.list_dialects(), "csv.list_dialects"),
    "csv.field_size_limit": (lambda s: csv.field_size_limit(1000), "csv.field_size_limit"),
    "mimetypes.add_type": (lambda s: mimetypes.add_type("a/mine", ".mine"), "mimetypes.add_type"),
    "shutil": (
        lambda s: shutil.register_archive_format("mine", found), "shutil.register_archive_format"
    ),
    "ElementTree": (
        lambda s: xml.etree.ElementTree.register_namespace("mine", "http://mine"),
        "register_namespace",
    ),
    "logging.addLevelName": (lambda s: logging.addLevelName(77, "MINE"), "logging.addLevelName"),
    "logging.captureWarnings": (lambda s: logging.captureWarnings(True), "captureWarnings"),
    "a logger's filter": (lambda s: LOGGER.addFilter(found), "Filterer.addFilter"),
    "a logger's attribute": (sets_an_attribute, r"sets global LOGGER\.propagate"),
    "a logger's other attribute": (disables, r"sets global LOGGER\.disabled"),
    "a handler's level": (lambda s: HANDLER.setLevel(30), "Handler.setLevel"),
}  # fmt: skip


def tables():
    """Return what is in the tables."""
    found = sys.modules, copyreg.dispatch_table, encodings.aliases.aliases, linecache.cache
    settings = LOGGER.propagate, LOGGER.disabled, LOGGER.filters[:], HANDLER.level
    return [set(x) & MENTIONED for x in found], sys.meta_path[:], sys.path_hooks[:], settings


MENTIONED = {"registries_mine", "registries_there", Mine, "mine"}


@pytest.mark.parametrize(("change", "name"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_table_is_refused_and_not_made(change, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "registries_there", types)
    jitted = ev.jit(change)  # the first one of a process adds a finder of modules, which stays
    before = tables()
    for _ in range(2):
        with pytest.raises(ImpurityError, match=name):
            jitted(Mine())
        assert tables() == before


def test_an_import_is_no_change_of_the_table(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)

    @ev.jit
    def f(x):
        import colorsys  # noqa: PLC0415

        return x * len(sys.modules["colorsys"].__all__) / len(colorsys.__all__)

    assert f(2.0) == 2.0


READS = {
    "level": (lambda: LOGGER.level, lambda: LOGGER.setLevel(10)),
    "effective level": (lambda: LOGGER.getEffectiveLevel(), lambda: LOGGER.setLevel(10)),
    "propagate": (lambda: LOGGER.propagate, lambda: setattr(LOGGER, "propagate", False)),
    "handlers": (lambda: len(LOGGER.handlers), lambda: LOGGER.addHandler(HANDLER)),
    "level of a handler": (lambda: HANDLER.level, lambda: HANDLER.setLevel(40)),
    "name of a level": (lambda: logging.getLevelName(78), lambda: logging.addLevelName(78, "MY")),
    "type of a file": (
        lambda: mimetypes.guess_type("a.mine")[0], lambda: mimetypes.add_type("a/mine", ".mine")
    ),
}  # fmt: skip


@pytest.mark.parametrize(("read", "change"), READS.values(), ids=READS)
def test_a_setting_that_is_read_is_read_at_each_call(read, change, monkeypatch):
    for owner, names in ((LOGGER, "level propagate handlers _cache"), (HANDLER, "level")):
        for name in names.split():
            value = getattr(owner, name)
            monkeypatch.setattr(owner, name, value.copy() if hasattr(value, "copy") else value)
    monkeypatch.setattr(logging, "_levelToName", dict(logging._levelToName))
    monkeypatch.setattr(logging, "_nameToLevel", dict(logging._nameToLevel))
    mimetypes.init()
    monkeypatch.setattr(mimetypes, "_db", mimetypes.MimeTypes())
    holder = Mine()

    @ev.jit
    def f(s):
        s.found = read()

    f(holder)
    before = holder.found
    assert before == read()
    change()
    f(holder)
    assert holder.found == read() != before
