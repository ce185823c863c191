"""Figure: the largest error over a ball of queries and keys against the number of features."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number, numbers
from paper_figures.style import BLUE, GREY, ORANGE

TITLE = "Uniform convergence: the largest error over a ball"
SLOPE = "uniform-slope"
"""The check whose series is drawn."""
NEEDED = ("M", "median", "median from", "median to")


def suprema(results: Results) -> tuple[Row, dict[str, list[float]]] | None:
    """The check of the slope, and the columns of its table by name."""
    for check in results.checks("uniform"):
        data = check.get("data") or {}
        names, rows = data.get("columns"), data.get("suprema")
        if check["id"] == SLOPE and isinstance(names, list) and isinstance(rows, list):
            table = [numbers(row) for row in rows]
            if len(table) > 1 and set(NEEDED) <= set(names) and _drawable(table, len(names)):
                columns = map(list, zip(*table, strict=True))
                return check, dict(zip(names, columns, strict=True))
    return None


def _drawable(table: list[list[float]], width: int) -> bool:
    """Whether all rows are complete and have a logarithm."""
    return all(
        len(row) == width and all(math.isfinite(value) and value > 0 for value in row)
        for row in table
    )


def caption(results: Results) -> str:
    check, _ = suprema(results) or ({}, {})
    observed, allowed = number(check.get("observed")), number(check.get("allowed"))
    return (
        "The largest difference between the estimated and the exact softmax kernel over all "
        "queries and keys of a ball, in repeated draws of M features: median with its confidence "
        "interval, and the 95 % quantile. The dashed line has slope −½, the rate of the theorem; "
        f"the slope seen is {observed:.3f}, and {allowed:.3f} is allowed."
    ).replace(" -", " −")


def draw(results: Results) -> Figure | None:
    found = suprema(results)
    if found is None:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    _panel(figure.subplots(), found[1])
    return figure


def _panel(axis: Axes, columns: dict[str, list[float]]) -> None:
    sizes, median = columns["M"], columns["median"]
    guide = [median[0] * math.sqrt(sizes[0] / size) for size in sizes]
    axis.plot(sizes, guide, color=GREY, linewidth=1.0, linestyle="--", label="slope −½")
    reach: Any = [
        [middle - low for middle, low in zip(median, columns["median from"], strict=True)],
        [high - middle for middle, high in zip(median, columns["median to"], strict=True)],
    ]
    axis.errorbar(sizes, median, reach, fmt="o", color=BLUE, label="median")
    if "95 %" in columns:
        axis.plot(sizes, columns["95 %"], "s", color=ORANGE, label="95 % quantile")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel("number of features M")
    axis.set_title("largest error over the ball")
    axis.legend()
