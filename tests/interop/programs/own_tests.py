"""Runs another library's own tests on evertrace: ``own_tests.py PYTEST_ARGUMENT...``."""

import sys

import pytest

import evertrace as ev

ev.as_jax()

import jax  # noqa: E402, F401  # libraries look for it among the loaded modules

options = ["-q", "-rf", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "--pyargs"]
sys.exit(pytest.main([*options, *sys.argv[1:]]))
