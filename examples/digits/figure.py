"""The picture that the digits example draws: how training went, and what the network reads.

Plain NumPy and matplotlib: arrays come in, a PNG goes out.
"""

import matplotlib
import numpy as np

matplotlib.use("Agg")  # draws into a file, so that no display is needed
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

INK, FAINT, BLUE, GREEN, RED = "#22272e", "#8a939e", "#2f6fb0", "#2c8a57", "#c8432b"
COLUMNS = 6
STYLE = {
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}


def draw_report(path, losses, accuracies, images, labels, probabilities):
    """Write the report to `path`.

    Args:
      path: the file to write.
      losses: ``[epochs, steps]``, the loss of each training step.
      accuracies: ``[epochs]``, the share of test images read right after each epoch.
      images: ``[n, 8, 8]``, the test images.
      labels: ``[n]``, what they show.
      probabilities: ``[n, 10]``, what the trained network takes them for.
    """
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(12, 6), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        curves, digits = figure.subfigures(1, 2, width_ratios=(5, 6), wspace=0.04)
        loss_axes, accuracy_axes = curves.subplots(2, 1, sharex=True)
        draw_losses(loss_axes, losses)
        draw_accuracies(accuracy_axes, accuracies)
        draw_digits(digits, images, labels, probabilities)
        figure.savefig(path, dpi=150, facecolor="white")
        plt.close(figure)


def draw_losses(axes, losses):
    """Draw the loss of each step, and its mean over each epoch."""
    epochs, steps = losses.shape
    axes.plot(np.arange(1, losses.size + 1) / steps, losses.ravel(), color=BLUE, alpha=0.3, lw=0.8)
    axes.plot(np.arange(1, epochs + 1), losses.mean(axis=1), color=BLUE, lw=2)
    axes.set(title="Training loss", yscale="log", ylabel="cross-entropy", xlim=(0, epochs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.annotate("each step", (0.62, 0.62), xycoords="axes fraction", color=BLUE, alpha=0.6)
    axes.annotate("mean of the epoch", (0.62, 0.72), xycoords="axes fraction", color=BLUE)


def draw_accuracies(axes, accuracies):
    """Draw the accuracy on the test images after each epoch."""
    epochs = np.arange(1, len(accuracies) + 1)
    axes.plot(epochs, accuracies, color=GREEN, lw=2, marker="o", ms=3)
    axes.set(title=f"Test accuracy: {accuracies[-1]:.1%} at the end", xlabel="epoch")
    axes.set_ylim(min(0.9, accuracies.min() - 0.02), 1.003)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color=FAINT, alpha=0.25)


def draw_digits(figure, images, labels, probabilities):
    """Draw test images: some that were read right, the least certain of them, and wrong ones."""
    predicted, certainty = probabilities.argmax(axis=1), probabilities.max(axis=1)
    right, wrong = np.flatnonzero(predicted == labels), np.flatnonzero(predicted != labels)
    uncertain = right[np.argsort(certainty[right])][:COLUMNS]
    clear = right[np.unique(labels[right], return_index=True)[1]][:COLUMNS]  # one of each digit
    wrong = wrong[np.argsort(-certainty[wrong])]

    rows = figure.subfigures(3, 1)
    groups = (
        ("Read right", GREEN, clear),
        ("Right, but least certain", GREEN, uncertain),
        (f"Read wrong: {len(wrong)} of {len(labels)}", RED, wrong[:COLUMNS]),
    )
    for row, (title, color, chosen) in zip(rows, groups, strict=True):
        row.suptitle(title, x=0.02, ha="left", fontsize=11, fontweight="bold", color=color)
        for axes, index in zip(row.subplots(1, COLUMNS), padded(chosen), strict=True):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(visible=index is not None, color=FAINT, alpha=0.4)
            if index is not None:
                axes.imshow(images[index], cmap="gray_r", interpolation="nearest", vmin=0, vmax=1)
                axes.set_title(
                    caption(labels[index], predicted[index], certainty[index]),
                    loc="center",
                    fontsize=9,
                    fontweight="normal",
                )


def padded(chosen):
    """Return the chosen indices, filled up to a full row with None."""
    return [*chosen.tolist(), *[None] * (COLUMNS - len(chosen))]


def caption(label, predicted, certainty):
    """Say what the network reads and how sure it is, and the truth where that differs."""
    reading = f"{predicted}   {certainty:.0%}"
    return reading if label == predicted else f"{reading}\nis a {label}"
