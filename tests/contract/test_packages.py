"""What `packages` is built of: calls are recorded on copies, and made again beside plain Python."""

import sys

from tests.contract import foreign, packages
from tests.contract.recording import CALLS, Recorder

SOURCE = """
import random

def total(items, start=0):
    items.append(start)
    return sum(items)

def drawn():
    return random.random()

class Account:
    def __init__(self, balance):
        self.balance = balance
    def pay(self, amount):
        self.balance += amount
        return self.balance
    @property
    def doubled(self):
        return self.balance * 2
    @classmethod
    def opened(cls):
        return cls(1)
"""


def test_calls_are_recorded_on_copies_and_made_again(tmp_path, monkeypatch):
    (tmp_path / "recorded_package.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    recorder = Recorder("recorded_package")
    recorder.pytest_configure()
    module = sys.modules["recorded_package"]
    try:
        items = [1, 2]
        assert module.total(items, start=3) == 6
        account = module.Account.opened()
        assert [account.pay(n) for n in range(20)][-1] == 191
        assert account.doubled == 382
        module.drawn()
    finally:
        recorder.pytest_sessionfinish()
        del sys.modules["recorded_package"]
    assert not hasattr(module.total, "__wrapped__")
    assert not hasattr(vars(module.Account)["opened"].__func__, "__wrapped__")
    names = [function.__name__ for function, *_ in recorder.calls]
    assert names.count("pay") == CALLS
    assert sorted({*names}) == ["__init__", "doubled", "drawn", "opened", "pay", "total"]
    assert recorder.calls[0][1:] == (([1, 2],), {"start": 3})  # before the call has changed it
    result = packages.compare(recorder.calls)
    assert result.findings == []
    assert result.verdicts["same"] == len(recorder.calls) - 1
    assert result.verdicts["not repeatable"] == 1  # what is drawn


def test_a_difference_is_a_finding(monkeypatch):
    def wrong(fun):
        return packages._Plain(lambda *args: fun(*args) + 1)

    right = foreign.examine
    monkeypatch.setattr(foreign, "examine", lambda subject, jit=wrong: right(subject, jit))
    (finding,) = packages.compare([(len, ("abc",), {})]).findings
    assert finding.verdict == "silent difference"
    assert "is 4, not 3" in finding.text
