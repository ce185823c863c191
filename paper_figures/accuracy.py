"""Figure: test accuracy of every method on every set, ours and the paper's (Table 1)."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import BLUE, GREY, INK, LOOKS, RED

TITLE = "Non-parametric classification (the paper's Table 1)"
COLUMNS = 4
EXACT: dict[str, Any] = {"color": GREY, "linewidth": 1.2, "label": "exact kernel"}
"""Its line in all figures of the classification; no mechanism is grey."""
COMMONEST: dict[str, Any] = EXACT | {"linestyle": ":", "label": "commonest class"}


def cells(results: Results) -> dict[str, dict[str, Row]]:
    """The rows of the study by set and method."""
    found = results.experiment("classification")
    table: dict[str, dict[str, Row]] = {}
    for row in (found.numbers.get("accuracy") or []) if found else []:
        table.setdefault(row["set"], {})[row["method"]] = row
    return table


def methods(table: Mapping[str, Mapping[str, Row]]) -> list[str]:
    """The mechanisms at hand, without the exact kernel, the majority class and misread TrigRF."""
    known = {method for rows in table.values() for method in rows}
    return [name for name in (*LOOKS, "trig-128") if name in known]


def caption(results: Results) -> str:
    table = cells(results)
    row = next(iter(next(iter(table.values())).values()))
    splits = len(row["splits"])
    return (
        f"Test accuracy in percent, mean over {splits} random splits with its 95 % confidence "
        "interval, and the paper's value, of one split. The lines are the exact kernel and the "
        "class that is commonest in training. σ is chosen on the validation rows of each split. "
        "optpois and trig-128, TrigRF with twice the features, are not in the paper."
    )


def draw(results: Results) -> Figure | None:
    table = cells(results)
    if not table:
        return None
    found = results.experiment("classification") or results.none
    printed = (found.numbers.get("printed") or {}).get("accuracy") or {}
    names, lines = methods(table), -(-len(table) // COLUMNS)
    figure = Figure(figsize=(8.6, 2.7 * lines + 0.3))
    axes = figure.subplots(lines, min(COLUMNS, len(table)), squeeze=False, sharey=True)
    for axis in axes.flat[len(table) :]:
        axis.set_visible(False)
    for axis, (name, rows) in zip(axes.flat, table.items(), strict=False):
        _panel(axis, rows, names, {} if name in found.stand_ins else printed.get(name, {}))
        axis.set_title(found.title(name))
    for axis in axes[-1]:
        axis.set_xlabel("accuracy, %")
    legend(figure)
    return figure


def legend(figure: Figure) -> None:
    """One legend above all panels, where it covers nothing; every label once."""
    found = [axis.get_legend_handles_labels() for axis in figure.axes]
    once = {
        label: handle
        for handles, labels in found
        for handle, label in zip(handles, labels, strict=True)
    }
    figure.legend(once.values(), once.keys(), loc="outside upper center", ncols=len(once))


def _panel(
    axis: Axes, rows: Mapping[str, Row], names: Sequence[str], printed: Mapping[str, float]
) -> None:
    for key, look in (("exact", EXACT), ("majority", COMMONEST)):
        axis.axvline(number(rows[key]["accuracy"]), **look)
    places = range(len(names))
    ours = [number(rows[name]["accuracy"]) for name in names]
    reach = [number(rows[name]["confidence"]) for name in names]
    axis.errorbar(
        ours, places, xerr=reach, fmt="o", color=BLUE, markersize=4, zorder=3, label="ours"
    )
    shown = [(value, names.index(name)) for name, value in printed.items() if name in names]
    if shown:
        look = {"color": RED, "markerfacecolor": "none", "markersize": 6, "label": "the paper's"}
        axis.plot(*zip(*shown, strict=True), "D", zorder=4, **look)
    axis.set_yticks(places, names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0, colors=INK)
