"""Figure: which attention errs least against exact softmax, at equal M."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paper_figures.results import Results, number, numbers
from paper_figures.style import BLUE, GREY, ORANGE, SKY

TITLE = "Attention: where each method errs least"
FILE = "attention_error.laptop.json"
COLOURS = {"FAVOR": ORANGE, "FAVOR+": SKY, "FAVOR++": BLUE, "uniform": GREY}
FEATURES = 256
Row = Mapping[str, Any]


def _rows(results: Results, part: str) -> list[Row]:
    """The rows of one part at the number of features that is drawn, or at the largest there is."""
    rows = (results.file(FILE) or {}).get(part)
    rows = rows if isinstance(rows, list) else []
    counts = sorted({row["features"] for row in rows})
    wanted = FEATURES if FEATURES in counts else counts[-1] if counts else None
    return [row for row in rows if row["features"] == wanted]


def caption(results: Results) -> str:
    """What to see, with the number of cells that each method wins."""
    said = []
    for part, what in (("gaussian", "Gaussian inputs"), ("minilm", "heads of MiniLM")):
        rows = _rows(results, part)
        if rows:
            _, winners, _ = _cells(rows, part)
            counts = [int(np.sum(winners == i)) for i in range(len(COLOURS))]
            wins = ", ".join(f"{name} {n}" for name, n in zip(COLOURS, counts, strict=True) if n)
            said.append(f"{what} at {rows[0]['features']} features: {wins}.")
    lead = (
        "The method with the least relative error of the output against exact softmax attention, "
        "and that error. Left: standard normal queries and keys times σ in d dimensions, medians "
        "over draws. Right: queries, keys and values of MiniLM on paragraphs of WikiText-2, by "
        "layer and head. Grey: no features beat the mean of all values."
    )
    return " ".join([lead, *said])


def _cells(rows: Sequence[Row], part: str) -> tuple[list[list[str]], np.ndarray, np.ndarray]:
    """Names of columns and rows, the winner of each cell and its error."""
    if part == "gaussian":
        columns = sorted({row["sigma"] for row in rows})
        lines = sorted({row["dim"] for row in rows})
        table = {
            (row["dim"], row["sigma"]): [number(row[name]) for name in COLOURS] for row in rows
        }
        values = np.array([[table[line, column] for column in columns] for line in lines])
        names = [[f"{column:g}" for column in columns], [str(line) for line in lines]]
    else:
        ordered = sorted(rows, key=lambda row: row["layer"])
        values = np.array([[numbers(row[name]) for name in COLOURS] for row in ordered]).swapaxes(
            1, 2
        )
        names = [
            [str(head + 1) for head in range(values.shape[1])],
            [str(row["layer"] + 1) for row in ordered],
        ]
    return names, np.nanargmin(values, axis=2), np.nanmin(values, axis=2)


def _panel(axis: Axes, rows: Sequence[Row], part: str) -> None:
    (columns, lines), winners, errors = _cells(rows, part)
    axis.imshow(
        winners,
        cmap=ListedColormap(list(COLOURS.values())),
        vmin=-0.5,
        vmax=3.5,
        aspect="auto",
        alpha=0.75,
    )
    for (i, j), error in np.ndenumerate(errors):
        axis.text(j, i, f"{error:.2f}".lstrip("0"), ha="center", va="center", fontsize="x-small")
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(lines)), lines)
    axis.grid(False)


def draw(results: Results) -> Figure | None:
    parts = [(part, _rows(results, part)) for part in ("gaussian", "minilm")]
    present = [(part, rows) for part, rows in parts if rows]
    if not present:
        return None
    figure = Figure(figsize=(8.6, 3.7))
    axes = figure.subplots(1, len(present), squeeze=False)[0]
    for axis, (part, rows) in zip(axes, present, strict=True):
        _panel(axis, rows, part)
        gaussian = part == "gaussian"
        axis.set_title(f"{'Gaussian inputs' if gaussian else 'MiniLM'}, M = {rows[0]['features']}")
        axis.set_xlabel("σ" if gaussian else "head")
        axis.set_ylabel("d" if gaussian else "layer")
    handles = [Patch(color=colour, alpha=0.75, label=name) for name, colour in COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure
