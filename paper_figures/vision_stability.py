"""Figure: loss and gradient norm in training, FAVOR+ beside FAVOR++."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import ATTENTION_LOOKS

TITLE = "Vision Transformers: stability"
SHOWN = ("softmax", "favor+", "favor++")
BOUNDS = {"loss": "1.5", "gradient_norm": "3.0"}
"""From where on spikes are counted."""
STARTS = {"scratch": "from scratch", "uptrain": "uptrained"}


def _rows(results: Results) -> list[Row]:
    found = results.experiment("vision") or results.none
    rows = found.numbers.get("stability") or []
    return [r for r in rows if r["attention"] in SHOWN and r["start"] in STARTS and r["windows"]]


def _spikes(rows: Sequence[Row], key: str) -> str:
    """Of each attention the largest spike, geometric mean over runs, and how many are large."""
    said = []
    for name in SHOWN:
        own = [r for r in rows if r["attention"] == name]
        if own:
            spikes = [r["spikes"][key] for r in own]
            mean = sum(math.log(number(each["largest"])) for each in spikes) / len(own)
            above = sum(each["counts"][BOUNDS[key]] for each in spikes)
            said.append(f"{own[0]['name']} {math.exp(mean):.2f} ({above})")
    return ", ".join(said)


def caption(results: Results) -> str:
    rows = _rows(results)
    found = results.experiment("vision") or results.none
    lost = sum(row["diverged"] is not None for row in found.numbers.get("stability") or [])
    return (
        "Largest loss and norm of the gradient in each fortieth of a run, for every seed. A "
        "spike is a value in units of the median of the 50 steps before it. The largest of a run, "
        f"geometric mean over {len(rows)} runs, and the number of all above {BOUNDS['loss']}: loss "
        f"{_spikes(rows, 'loss')}; and above {BOUNDS['gradient_norm']}: norm "
        f"{_spikes(rows, 'gradient_norm')}. Runs whose loss stopped being a number: {lost}."
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
        _panel(axes[0, column], own, "loss_most")
        _panel(axes[1, column], own, "norm_most")
        axes[0, column].set_title(STARTS[start])
        axes[1, column].set_yscale("log")
        axes[1, column].set_xlabel("steps")
    axes[0, 0].set_ylabel("largest loss")
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
