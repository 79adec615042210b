"""``python -m tests.fuzz``: hostile calls of the public API, and what comes of them."""

import argparse
import collections
import shlex
import sys
import time

from tests.fuzz import calls, minimise, pool, verdicts


def main():
    """Run as the command line says; the status is 1 where there are more faults than allowed."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--replay", metavar="TARGET:NUMBER", help="judge one program, here")
    parser.add_argument("--print", metavar="TARGET:NUMBER", help="print one program")
    parser.add_argument("--find", help="programs whose causes contain this text are shown")
    parser.add_argument("--causes", type=int, default=25, help="how many causes to show")
    parser.add_argument("--allow", type=float, default=0.0, help="rate of raw errors allowed")
    parser.add_argument("--unlike", type=float, default=0.0, help="the same of other than NumPy's")
    options = parser.parse_args()
    if options.print is not None:
        print(calls.program(options.print).text)
    elif options.replay is not None:
        replay(options.replay)
    else:
        sys.exit(run(options))


def replay(name):
    """Judge one program in this process, and show a smaller one with the same fault."""
    program = calls.program(name)
    print(program.text)
    verdict = verdicts.judged(program)
    print(f"{verdict.kind}: {verdict.cause}\n{verdict.detail}")
    if verdict.kind not in verdicts.GOOD:
        print("smaller:", minimise.minimised(program).text)


def run(options):
    """Judge many programs, and print the table of verdicts and causes."""
    names = calls.drawn(options.calls, options.seed)
    counts, causes, examples = collections.Counter(), collections.Counter(), {}
    begun = time.perf_counter()
    for done, (name, verdict) in enumerate(pool.judge(names, options.workers), 1):
        counts[verdict.kind] += 1
        if verdict.kind not in verdicts.GOOD:
            cause = f"{verdict.kind}: {verdict.cause}"
            causes[cause] += 1
            examples[cause] = min(name, examples.get(cause, name))
            if options.find and options.find in cause:
                print(f"\n{name} {cause}\n  {calls.program(name).text}\n  {verdict.detail}")
        if sys.stderr.isatty() or done % 5000 == 0:
            print(f"\r{done}/{options.calls} {dict(counts)}", end="", file=sys.stderr, flush=True)
    print(f"\n{options.calls} calls of seed {options.seed} in {time.perf_counter() - begun:.0f} s")
    for kind, count in counts.most_common():
        print(f"  {kind:8} {count:7} {count / options.calls:9.4%}")
    for cause, count in causes.most_common(options.causes):
        print(f"{count:5}  {cause}  [--replay {shlex.quote(examples[cause])}]")
    fatal = sum(counts[kind] for kind in (verdicts.CRASH, verdicts.HANG, verdicts.WRONG))
    allowed = {verdicts.RAW: options.allow, verdicts.UNLIKE: options.unlike}
    too_many = [k for k, rate in allowed.items() if counts[k] > rate * options.calls]
    return int(fatal > 0 or bool(too_many))


if __name__ == "__main__":
    main()
