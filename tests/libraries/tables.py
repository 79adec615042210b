"""Tables in a page of the documentation, between a comment that says who makes it and an end."""

from tests.libraries.environments import ROOT

PAGE = ROOT / "docs" / "interop.md"
END = "<!-- end of the table -->"


def rows(begin):
    """Return the cells of the table that begins there, without its head."""
    lines = PAGE.read_text().partition(begin)[2].partition(END)[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def put(begin, head, lines):
    """Put a table into the page, in the place of the one that begins there."""
    before, _, rest = PAGE.read_text().partition(begin)
    after = rest.partition(END)[2]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))
    PAGE.write_text(f"{before}{begin}\n{table}\n{END}{after}")
