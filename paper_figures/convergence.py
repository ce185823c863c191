"""Figure: accuracy of the feature-based classifier by the number of features."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.accuracy import EXACT, legend
from paper_figures.results import Results, Row, number
from paper_figures.style import LOOKS

TITLE = "Classification approaches the exact kernel's"


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
        "variance of the mechanism at that σ."
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
    for method in dict.fromkeys(row["method"] for row in rows):
        own = sorted((r for r in rows if r["method"] == method), key=lambda row: row["features"])
        colour, marker, dashes = LOOKS[method]
        axis.errorbar(
            [row["features"] for row in own],
            [number(row["accuracy"]) for row in own],
            [number(row["spread"]) for row in own],
            color=colour,
            marker=marker,
            linestyle=dashes,
            label=method,
        )
    sizes = sorted({row["features"] for row in rows})
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [f"{size}" for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel("number of features M")
