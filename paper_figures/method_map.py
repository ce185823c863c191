"""Figure: the map of random-feature methods (Figure 1, left), from the registered mechanisms."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from paper_figures.results import Results, Row
from paper_figures.style import BLUE, GREEN, GREY, INK, RED

TITLE = "A map of random features for the Gaussian kernel (the paper's Figure 1, left)"
KNOWN = {
    "before": ("known before", RED, "--"),
    "paper": ("proposed in the paper", GREEN, "-"),
    "beyond": ("beyond the paper", BLUE, ":"),
}
FAMILIES = ("Gaussian\nprojections", "projections\nare counts")
VALUES = ("complex", "signed", "positive")
WIDTH, HEIGHT = 1.7, 0.62
STEP = 1.0


def _methods(results: Results) -> Mapping[str, Any] | None:
    found = results.experiment("variance")
    return (found.numbers.get("methods") or None) if found else None


def caption(results: Results) -> str:
    return (
        "Every mechanism of the library by the law of its projections and the values of its "
        "features. An arrow leads from a special case to the mechanism that contains it, with the "
        "parameters for which both are equal."
    )


def draw(results: Results) -> Figure | None:
    found = _methods(results)
    if found is None:
        return None
    figure = Figure(figsize=(8.6, 4.6))
    axis = figure.subplots()
    places = _places(found["methods"])
    for row in found["methods"]:
        _box(axis, places[row["name"]], row)
    for special, general, why in found["special_cases"]:
        _arrow(axis, places[special], places[general], why)
    _frame(axis, places)
    return figure


def _places(methods: Sequence[Row]) -> dict[str, tuple[float, float]]:
    """Columns by the values of the features, rows by family; several in one cell are stacked."""
    stacked: dict[tuple[bool, str], int] = {}
    places = {}
    for row in methods:
        cell = (bool(row["discrete"]), str(row["values"]))
        level = stacked.get(cell, 0)
        stacked[cell] = level + 1
        top = 0.0 if not row["discrete"] else -2.6
        places[row["name"]] = (3.2 * VALUES.index(cell[1]), top - STEP * level)
    return places


def _box(axis: Axes, place: tuple[float, float], row: Row) -> None:
    x, y = place
    _, colour, line = KNOWN[row["known"]]
    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    axis.add_patch(
        FancyBboxPatch(
            corner,
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor="none",
            edgecolor=colour,
            linestyle=line,
            linewidth=1.6,
        )
    )
    axis.text(x, y, row["title"], ha="center", va="center", color=INK, fontsize=10)


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], why: str) -> None:
    """From the edge of one box to the edge of another; around what lies between them."""
    across, down = end[0] - start[0], end[1] - start[1]
    if across:
        side = WIDTH / 2 if across > 0 else -WIDTH / 2
        tail, head, bend = (start[0] + side, start[1]), (end[0] - side, end[1]), 0.0
        text, align = ((tail[0] + head[0]) / 2, (tail[1] + head[1]) / 2 + 0.1), ("center", "bottom")
    elif abs(down) > STEP:
        tail, head, bend = (start[0] - WIDTH / 2, start[1]), (end[0] - WIDTH / 2, end[1]), 0.5
        text, align = (start[0] - 1.62, (start[1] + end[1]) / 2), ("right", "center")
    else:
        tail, head, bend = (start[0], start[1] - HEIGHT / 2), (end[0], end[1] + HEIGHT / 2), 0.0
        text, align = (start[0] + 0.12, (start[1] + end[1]) / 2), ("left", "center")
    arrow = {
        "arrowstyle": "-|>",
        "color": GREY,
        "linewidth": 1.0,
        "shrinkA": 2,
        "shrinkB": 2,
        "connectionstyle": f"arc3,rad={bend}",
    }
    axis.annotate("", xy=head, xytext=tail, arrowprops=arrow)
    axis.text(*text, why, ha=align[0], va=align[1], color=INK, fontsize=8)


def _frame(axis: Axes, places: Mapping[str, tuple[float, float]]) -> None:
    """Headings of columns and rows, and the legend; no axes."""
    right = 3.2 * (len(VALUES) - 1)
    low = min(y for _, y in places.values())
    for column, name in enumerate(VALUES):
        axis.text(3.2 * column, 0.75, f"{name} features", ha="center", color=INK, weight="bold")
    for name, y in zip(FAMILIES, (-0.5, -3.1), strict=True):
        axis.text(-3.5, y, name, va="center", color=INK, weight="bold")
    for label, colour, line in KNOWN.values():
        axis.plot([], [], color=colour, linestyle=line, linewidth=1.6, label=label)
    axis.axhline(-1.7, color=GREY, linewidth=0.5)
    axis.set_xlim(-3.6, right + 1.1)
    axis.set_ylim(low - 0.6, 1.1)
    axis.set_axis_off()
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 0.0))
