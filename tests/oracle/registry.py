"""All tables of cases, found by the names of their files."""

import importlib
import pkgutil

import tests.oracle

PREFIX = "cases_"
MODULES = {
    found.name.removeprefix(PREFIX): importlib.import_module(f"tests.oracle.{found.name}")
    for found in pkgutil.iter_modules(tests.oracle.__path__)
    if found.name.startswith(PREFIX)
}
TABLES = {table: module.CASES for table, module in MODULES.items()}
DIFFERENCES = {table: getattr(module, "DIFFERENCES", {}) for table, module in MODULES.items()}
NAMED = [(table, case) for table, cases in TABLES.items() for case in cases]
