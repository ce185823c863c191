"""Figure: accuracy of the feature-based classifier by the number of features."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.accuracy import EXACT, legend
from paper_figures.results import Results, Row, number
from paper_figures.style import LOOKS

TITLE = "Classification approaches the exact kernel's"
DODGE = 0.16
"""Distance of two mechanisms at the same M, in powers of two."""


def _rows(results: Results) -> Sequence[Row]:
    found = results.experiment("classification")
    return (found.numbers.get("convergence") or []) if found else []


def caption(results: Results) -> str:
    sigmas = {row["set"]: number(row["sigma"]) for row in _rows(results)}
    told = ", ".join(f"{name} {sigma:.2g}" for name, sigma in sigmas.items())
    return (
        "Test accuracy by the number of features M (complex ones for trig), mean over draws with "
        "one standard deviation, on one split at the σ that is best for the exact kernel "
        f"({told}). The line is the exact kernel's accuracy. How soon it is reached depends on the "
        "variance of the mechanism at that σ: where σ is large, the exact kernel all but answers "
        f"with the nearest row. {_left(_rows(results))}"
    )


def _left(rows: Sequence[Row]) -> str:
    """What is missing at the largest M in points, and where the bars end below the line."""
    most = max(row["features"] for row in rows)
    gaps, short = dict[str, list[str]](), dict[str, list[str]]()
    for row in rows:
        if row["features"] == most:
            gap = number(row["exact"]) - number(row["accuracy"])
            gaps.setdefault(row["set"], []).append(f"{row['method']} {gap:.1f}".replace("-", "−"))
            if gap > number(row["spread"]):
                short.setdefault(row["set"], []).append(row["method"])
    told = [f"{name}: {', '.join(each)}" for name, each in gaps.items()]
    missed = [f"{', '.join(each)} on {name}" for name, each in short.items()]
    return (
        f"Points that are missing at M = {most}, {'; '.join(told)}. The line is not reached, to "
        f"within one standard deviation, by {'; '.join(missed) or 'none'}."
    )


def draw(results: Results) -> Figure | None:
    rows, found = _rows(results), results.experiment("classification") or results.none
    sets = list(dict.fromkeys(row["set"] for row in rows))
    if not sets or len({row["features"] for row in rows}) < 2:
        return None
    figure = Figure(figsize=(8.6, 3.4))
    axes = figure.subplots(1, len(sets), squeeze=False)[0]
    for axis, name in zip(axes, sets, strict=True):
        _panel(axis, [row for row in rows if row["set"] == name])
        axis.set_title(found.title(name))
    axes[0].set_ylabel("accuracy, %")
    legend(figure)
    return figure


def _panel(axis: Axes, rows: Sequence[Row]) -> None:
    axis.axhline(number(rows[0]["exact"]), **EXACT)
    methods = [name for name in LOOKS if name in {row["method"] for row in rows}]
    for place, method in enumerate(methods):
        own = sorted((r for r in rows if r["method"] == method), key=lambda row: row["features"])
        colour, marker, dashes = LOOKS[method]
        # Side by side: bars at the same M would cover each other.
        beside = 2 ** (DODGE * (place - (len(methods) - 1) / 2))
        axis.errorbar(
            [beside * row["features"] for row in own],
            [number(row["accuracy"]) for row in own],
            [number(row["spread"]) for row in own],
            color=colour,
            marker=marker,
            linestyle=dashes,
            label=method,
        )
    sizes = sorted({row["features"] for row in rows})
    axis.set_xscale("log", base=2)
    # As powers of two: the numbers themselves would touch each other in a narrow panel.
    axis.set_xticks(sizes)
    axis.minorticks_off()
    axis.set_xlabel("number of features M")
