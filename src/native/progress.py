"""Runs the build of the extension module: python progress.py COMMAND...

What the build prints goes where the output of this program goes, which pip keeps to itself. So that
whoever waits sees that something is done, the terminal shows its last step on one line, if there is
a terminal.
"""

import re
import subprocess
import sys
from contextlib import ExitStack


def main(command: list[str]) -> int:
    """Run the build; returns its exit status."""
    with ExitStack() as stack:
        try:
            terminal = stack.enter_context(open("/dev/tty", "w", encoding="utf-8"))
        except OSError:
            terminal = None
        build = stack.enter_context(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        )
        shown = False
        for line in build.stdout or ():
            print(line, end="", flush=True)
            if terminal and (step := re.match(r"\[\s*(\d+)/(\d+)\]", line)):
                text = f"\r  compiling evertrace's C++: {step[1]} of {step[2]} \x1b[K"
                print(text, end="", file=terminal, flush=True)
                shown = True
        if terminal and shown:
            print("\r\x1b[K", end="", file=terminal, flush=True)
        return build.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
