"""What JAX answered, remembered between test runs.

JAX compiles each operation of each case, which takes minutes for a few thousand; its answers do
not change. So they are kept in pytest's cache folder, by what was called and with what, for one
version of JAX and one version of the code that calls it. `pytest --cache-clear` forgets them.
"""

import hashlib
import pickle
from collections.abc import Sequence
from pathlib import Path

from tests.oracle import cases as cases_module
from tests.oracle.cases import Case, Outcome
from tests.oracle.oracle import Oracle


class Answers:
    """JAX's outcomes by case; as a context manager, written to the folder in the end."""

    def __init__(self, oracle: Oracle, folder: Path) -> None:
        """Read what was asked before."""
        self._oracle = oracle
        source = Path(str(cases_module.__file__)).read_bytes()
        version = hashlib.sha256(source + oracle.version.encode()).hexdigest()[:16]
        self._path = folder / f"{version}.pickle"
        known = self._path.exists()
        self._known: dict[str, Outcome] = pickle.loads(self._path.read_bytes()) if known else {}
        self._read = len(self._known)

    def ask(self, cases: Sequence[Case]) -> None:
        """Let JAX run those of the cases that it never ran."""
        new = [case for case in cases if _key(case) not in self._known]
        for case, outcome in zip(new, self._oracle.run(new), strict=True):
            self._known[_key(case)] = outcome

    def __getitem__(self, case: Case) -> Outcome:
        """Return JAX's outcome of a case."""
        self.ask([case])
        return self._known[_key(case)]

    def __enter__(self) -> "Answers":
        return self

    def __exit__(self, *exc_info: object) -> None:
        if len(self._known) > self._read:
            self._path.write_bytes(pickle.dumps(self._known))


def _key(case: Case) -> str:
    return repr((case.function, case.args, case.kwargs, case.config))
