"""Runs each docstring's example in a process of its own: ``python -m tests.docs.bare [NAME...]``.

A test process has loaded what all tests need; a user's first program has not. Here each example is
run by a child of a process that has loaded evertrace, NumPy and what runs examples, in an empty
folder. The exit status is 1 where one printed something else, or died.
"""

import inspect
import json
import os
import subprocess
import sys
import tempfile

from tests.docs.docstrings import has_example, public_objects, run_text


def main(names):
    """Run the examples of the functions of some names, or all."""
    listed = subprocess.run(
        [sys.executable, "-m", __spec__.name, "--list"], stdout=subprocess.PIPE, check=True
    )
    texts = json.loads(listed.stdout)
    failed = []
    for i, name in enumerate(names or texts, 1):
        print(f"\r{i} of {len(names or texts)}, {len(failed)} failed", end="", flush=True)
        report = in_child(name, texts[name])
        if report:
            failed.append(name)
            print(f"\n{name}: {report}")
    print()
    return 1 if failed else 0


def in_child(name, text):
    """Return what was wrong with an example that a child of this process has run, or ""."""
    read, write = os.pipe()
    if os.fork() == 0:
        report = "it died"
        try:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                run_text(name, text)
            report = ""
        except BaseException as error:
            report = str(error) or repr(error)
        finally:
            os.write(write, f"ran{report}".encode()[:60_000])
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.wait()
    return said.removeprefix("ran") if said else "it died"


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        objects = public_objects().items()
        texts = {name: inspect.getdoc(x) for name, x in objects if has_example(x)}
        json.dump(dict(sorted(texts.items())), sys.stdout)
    else:
        sys.exit(main(sys.argv[1:]))
