"""A smaller program with the same fault: arguments replaced by plain ones, or left out."""

from tests.fuzz import verdicts

PLAIN = ("1.0", "jnp.ones(3)", "jnp.ones((2, 2))", "'x'", "None", "0")


def minimised(program):
    """Return a program that has the same cause as `program`, with as little in it as possible."""
    cause = verdicts.judged(program).cause
    if verdicts.judged(program.eager()).cause == cause:
        program = program.eager()
    place = len(program.args) + len(program.kwargs) - 1
    while place >= 0:
        for text in (None, *PLAIN) if place >= len(program.args) else PLAIN:
            smaller = program.with_arg(place, text)
            if len(smaller.text) < len(program.text) and verdicts.judged(smaller).cause == cause:
                program = smaller
                break
        place -= 1
    return program
