"""Draws the pictures of the pages: what the cookbook's examples computed, tables of benchmarks.

    python docs/pictures.py

needs the extra `demo`. The pictures are kept beside the page, so that readers need neither.
"""

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

import evertrace as ev  # noqa: E402
import evertrace.numpy as jnp  # noqa: E402
from tests.docs.examples import blocks  # noqa: E402

PAGE = HERE / "guides" / "cookbook.md"
STYLE = {
    "svg.hashsalt": "evertrace", "svg.fonttype": "none", "axes.spines.top": False,
    "axes.spines.right": False, "figure.figsize": (6, 2.4), "figure.constrained_layout.use": True,
}  # fmt: skip


def mlp(made: dict[str, Any]) -> None:
    """Draw the data and what was learnt of them."""
    order = np.argsort(made["x"][:, 0])
    x = np.asarray(made["x"])[order]
    plt.plot(x, np.asarray(made["y"])[order], ".", markersize=3, label="data")
    plt.plot(x, made["mlp"](made["params"], x), label="network")
    plt.legend(frameon=False)


def cnn(made: dict[str, Any]) -> None:
    """Draw images with what they are taken for."""
    names = ("upright", "lying", "crossed")
    _, rows = plt.subplots(2, 6, figsize=(6, 2.6))
    for i, axes in enumerate(rows.flat):
        axes.imshow(made["images"][i], cmap="gray")
        axes.set_title(names[int(made["scores"][i].argmax())], fontsize=8)
        axes.axis("off")


def rnn(made: dict[str, Any]) -> None:
    """Draw a sequence, its running mean, and what the network says."""
    said = made["rnn"](made["params"], made["xs"][0])
    plt.plot(made["xs"][0], color="lightgray", label="sequence")
    plt.plot(made["ys"][0], label="running mean")
    plt.plot(said, "--", label="network")
    plt.legend(frameon=False)


def transformer(made: dict[str, Any]) -> None:
    """Draw the attention of both heads."""
    _, both = plt.subplots(1, 2, figsize=(6, 3))
    for i, axes in enumerate(both):
        axes.imshow(made["weights"][i], cmap="Blues")
        axes.set_title(f"head {i + 1}", fontsize=9)
        axes.set_xlabel("looks at")
        axes.set_ylabel("place")


def vae(made: dict[str, Any]) -> None:
    """Draw where the encoder puts the data."""
    mean, _ = made["encode"](made["params"], made["data"])
    plt.scatter(mean[:, 0], mean[:, 1], c=made["data"][:, 0], s=10)
    plt.colorbar(label="first component of the data")
    plt.gca().set_aspect("equal")


def gp(made: dict[str, Any]) -> None:
    """Draw the prediction with two standard deviations."""
    jnp, kernel, length = made["jnp"], made["kernel"], made["params"][0]
    at = jnp.linspace(-1.0, 7.0, 200)
    across = kernel(at, made["x"], length)
    mean = across @ jnp.linalg.solve(made["cov"], made["y"])
    spread = 1 - jnp.sum(across * jnp.linalg.solve(made["cov"], across.T).T, 1)
    width = 2 * jnp.sqrt(jnp.maximum(spread, 0))
    plt.fill_between(np.asarray(at), mean - width, mean + width, alpha=0.25)
    plt.plot(at, mean)
    plt.plot(made["x"], made["y"], "k.")


def mcmc(made: dict[str, Any]) -> None:
    """Draw the samples beside the density."""
    at = np.linspace(-2, 6, 200)
    plt.hist(np.ravel(made["samples"]), 80, density=True, alpha=0.4, label="samples")
    plt.plot(at, np.exp(-0.5 * (at - 2) ** 2) / np.sqrt(2 * np.pi), label="density")
    plt.legend(frameon=False)


def rl(made: dict[str, Any]) -> None:
    """Draw what the policy does beside what it is paid for it."""
    places = np.arange(4)
    plt.bar(places - 0.2, [0.1, 0.9, 0.3, 0.2], 0.4, label="payoff")
    plt.bar(places + 0.2, made["nn"].softmax(made["logits"]), 0.4, label="policy")
    plt.xticks(places)
    plt.xlabel("action")
    plt.legend(frameon=False)


DRAWN = {
    "A multilayer perceptron, with Adam by hand": mlp, "A convolutional network": cnn,
    "A recurrent network": rnn, "A transformer": transformer, "A variational autoencoder": vae,
    "A Gaussian process": gp, "Markov chain Monte Carlo": mcmc, "Reinforcement learning": rl,
}  # fmt: skip


def bars(table: list[str], unit: str) -> None:
    """Draw a table of a page: a group of bars for each row."""
    head, _, *rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in table]
    places, height = np.arange(len(rows)), 0.8 / (len(head) - 1)
    plt.figure(figsize=(6, 0.8 + 0.3 * len(rows)))
    for i, who in enumerate(head[1:]):
        values = [float(row[i + 1] or "nan") for row in rows]
        plt.barh(places + height * i, values, height, label=who)
    plt.yticks(places + height, [row[0] for row in rows])
    plt.gca().invert_yaxis()
    plt.xscale("log")
    plt.xlabel(unit)
    # Above, where no bar is.
    plt.legend(frameon=False, ncols=len(head) - 1, loc="lower left", bbox_to_anchor=(0, 1))


CHART = re.compile(
    r"(?P<table>(?:^\|.*\n)+)\n!\[[^:]+: (?P<unit>\w+), .*\]\(pictures/(?P<name>\w+)\.svg\)",
    re.MULTILINE,
)
"""A table with its picture below."""


def draw_benchmarks() -> None:
    """Draw the tables of the page of benchmarks."""
    page = HERE / "guides" / "benchmarks.md"
    for found in CHART.finditer(page.read_text(encoding="utf-8")):
        bars(found["table"].splitlines(), found["unit"])
        plt.savefig(page.parent / "pictures" / f"{found['name']}.svg", metadata={"Date": None})
        plt.close("all")


def sizes() -> None:
    """Draw how many traces batches of all sizes take, and which trace serves which size."""
    counts = range(2, 41)

    def step(x: Any) -> Any:
        half = x.shape[0] // 2
        return x[:half].sum() if half > 4 else x.sum()

    traces: dict[str, list[int]] = {}
    for name, strict in (("each shape is a trace (`ev.strict()`)", True), ("open sizes", False)):
        f: Any = ev.jit(step, strict=strict)
        f.clear_cache()
        found = traces[name] = []
        for n in counts:
            f(jnp.ones((n, 4)))
            found.append(f.cache_info().misses)
    for name, found in traces.items():
        plt.step(counts, found, where="mid", label=name)
    order = traces["open sizes"]
    for i, n in enumerate(counts):
        if i and order[i] != order[i - 1] and order[i] > TRACED_ALONE:
            plt.annotate(
                f"left open: the trace of {n} is for others",
                (n, order[i]),
                (16, 9 if order[i] > order[TRACED_ALONE] else 0.4),
                fontsize=8,
                arrowprops={"arrowstyle": "->", "color": "gray"},
            )
    plt.xlabel("sizes that have come, one after the other")
    plt.ylabel("traces")
    plt.legend(frameon=False, fontsize=8, loc="upper left")


TRACED_ALONE = 1
"""So many sizes are traced before one is left open."""


def attention() -> None:
    """Draw which blocks of scores flash attention looks at, and what it keeps of a query."""
    length, width, block, rows, query = 64, 8, 16, 32, 58
    rng = np.random.default_rng(3)
    q, k = (rng.normal(size=(length, width)) for _ in range(2))
    scores = q @ k.T / width**0.5
    weights = np.exp(scores - scores.max(1, keepdims=True)) * np.tri(length)
    _, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3), width_ratios=(1, 1.15))
    left.imshow(weights / weights.sum(1, keepdims=True), cmap="Blues", vmax=0.3)
    for i in range(length // rows):
        for j in range(length // block):
            seen = j * block < (i + 1) * rows
            left.add_patch(
                plt.Rectangle(
                    (j * block - 0.5, i * rows - 0.5),
                    block,
                    rows,
                    fill=False,
                    color="gray",
                    linewidth=0.8,
                    hatch=None if seen else "//",
                )
            )
    left.axhline(query, color="tab:orange", linewidth=1)
    left.set_xlabel("keys (hatched: never looked at)")
    left.set_ylabel("queries")
    greatest, total, steps = -np.inf, 0.0, []
    for j in range(length // block):
        part = scores[query, j * block : min((j + 1) * block, query + 1)]
        new = max(greatest, part.max())
        total = total * np.exp(greatest - new) + np.exp(part - new).sum()
        greatest = new
        steps.append((greatest, total))
    right.plot([g for g, _ in steps], "o-", label="greatest score so far")
    right.plot([t for _, t in steps], "o-", label="sum of exponentials")
    right.set_xticks(range(len(steps)), [f"j = {j}" for j in range(len(steps))])
    right.set_title("what is kept of the orange query", fontsize=9)
    right.set_ylim(0, 1.45 * max(max(pair) for pair in steps))
    right.legend(frameon=False, fontsize=8, loc="upper left")


def jaxpr() -> None:
    """Draw the program of the page on jaxprs, as notebooks do."""

    def predict(w: Any, b: Any, x: Any) -> Any:
        return jnp.tanh(x @ w + b).sum()

    made = ev.make_jaxpr(predict)(jnp.ones((3, 2)), jnp.ones(2), jnp.ones((4, 3)))
    shown = str(made._repr_html_())
    style = "".join(re.findall("<style>(.*?)</style>", shown, re.DOTALL))
    size, inside = re.findall("<svg ([^>]*)>(.*?)</svg>", shown, re.DOTALL)[0]
    width, height = [float(x) + 16 for x in re.findall(r'(?:width|height)="([\d.]+)"', size)]
    inside = re.sub(r"\n[^<]*:\d+ in predict:", "\n", inside)  # where this file lies
    (HERE / "tutorial" / "pictures" / "jaxpr.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="-8 -8 {width} {height}"><style>{style}'
        "svg { color: #222; background: #fff }"
        f'</style><g class="evertrace"><g class="graph">{inside}</g></g></svg>\n',
        encoding="utf-8",
    )


TUTORIAL = sizes, attention


def main() -> None:
    """Draw what the tutorial explains, the tables of benchmarks, and the cookbook's sections."""
    made: dict[str, Any] = {"__name__": "__main__"}
    plt.rcParams.update(STYLE)
    jaxpr()
    for draw in TUTORIAL:
        draw()
        path = HERE / "tutorial" / "pictures" / f"{draw.__name__}.svg"
        path.parent.mkdir(exist_ok=True)
        plt.savefig(path, metadata={"Date": None})
        plt.close("all")
    draw_benchmarks()
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        for block in blocks(section):
            exec(compile(block.source, PAGE, "exec"), made)  # noqa: S102 - our own page
        draw = DRAWN[section.partition("\n")[0]]
        plt.figure()
        draw(made)
        path = PAGE.parent / "pictures" / f"{draw.__name__}.svg"
        plt.savefig(path, metadata={"Date": None})
        plt.close("all")


if __name__ == "__main__":
    main()
