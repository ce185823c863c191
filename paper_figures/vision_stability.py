"""Figure: loss and gradient norm in training, FAVOR+ beside FAVOR++."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import ATTENTION_LOOKS

TITLE = "Vision Transformers: stability"
SHOWN = ("softmax", "favor+", "favor++")
STARTS = {"scratch": "from scratch", "uptrain": "uptrained"}


def _rows(results: Results) -> list[Row]:
    found = results.experiment("vision") or results.none
    rows = found.numbers.get("stability") or []
    return [r for r in rows if r["attention"] in SHOWN and r["start"] in STARTS and r["windows"]]


def _largest(rows: Sequence[Row]) -> str:
    """The largest gradient over the usual one, by attention: geometric mean over runs."""
    said = []
    for name in SHOWN:
        own = [r for r in rows if r["attention"] == name]
        logs = [math.log(number(r["spikes"]["gradient_norm"]["largest"])) for r in own]
        if logs:
            said.append(f"{own[0]['name']} {math.exp(sum(logs) / len(logs)):.2f}")
    return ", ".join(said)


def caption(results: Results) -> str:
    rows = _rows(results)
    found = results.experiment("vision") or results.none
    lost = sum(row["diverged"] is not None for row in found.numbers.get("stability") or [])
    return (
        "Loss (means of windows) and norm of the gradient (largest in each window) of every seed. "
        "The largest norm in units of the median of the 50 steps before it, geometric mean over "
        f"{len(rows)} runs: {_largest(rows)}. Runs whose loss stopped being a number: {lost}."
    )


def draw(results: Results) -> Figure | None:
    rows = _rows(results)
    starts = [start for start in STARTS if any(row["start"] == start for row in rows)]
    if not starts:
        return None
    figure = Figure(figsize=(8.6, 5.4))
    axes = figure.subplots(2, len(starts), squeeze=False, sharex=True)
    for column, start in enumerate(starts):
        own = [row for row in rows if row["start"] == start]
        _panel(axes[0, column], own, "loss")
        _panel(axes[1, column], own, "norm_most")
        axes[0, column].set_title(STARTS[start])
        axes[1, column].set_yscale("log")
        axes[1, column].set_xlabel("steps")
    axes[0, 0].set_ylabel("loss")
    axes[1, 0].set_ylabel("largest gradient norm")
    axes[0, 0].legend()
    return figure


def _panel(axis: Axes, rows: Sequence[Row], key: str) -> None:
    named = set()
    for row in rows:
        colour, _, line = ATTENTION_LOOKS[row["attention"]]
        axis.plot(
            [number(each["step"]) for each in row["windows"]],
            [number(each[key]) for each in row["windows"]],
            color=colour,
            linestyle=line,
            linewidth=1.0,
            label=None if row["name"] in named else row["name"],
        )
        named.add(row["name"])
