"""Figure: error of a kernel estimate against its cost in milliseconds, not in features."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import LOOKS, PAPER

TITLE = "Error at equal cost"
HIGHEST = 3.0
"""Where the drawing ends: an error above 1 is no estimate at all."""
LUCKY = 2.0
"""Draws whose error is this many times below the predicted one have not met what it consists of."""


def _found(results: Results) -> tuple[Sequence[Row], Mapping[str, Mapping[str, float]]]:
    """Errors, and milliseconds by mechanism and number of features."""
    found = results.experiment("variance") or results.none
    return found.numbers.get("errors") or [], found.timing.get("milliseconds") or {}


def best(results: Results, name: str) -> list[Row]:
    """Of each mechanism and M the kind of projections with the smaller variance, on one data set.

    Variances are exact: what is chosen does not hang on the luck of the draws.
    """
    errors, times = _found(results)
    least: dict[tuple[str, int], Row] = {}
    for row in errors:
        key = (row["mechanism"], row["features"])
        priced = str(key[1]) in times.get(key[0], {})
        if row["set"] == name and priced:
            known = least.get(key)
            if known is None or number(row["predicted"]) < number(known["predicted"]):
                least[key] = row
    return list(least.values())


def lucky(row: Row) -> bool:
    """Whether the draws show far less than the error that is predicted."""
    return LUCKY * number(row["observed"]) < number(row["predicted"])


def caption(results: Results) -> str:
    sets = _sets(results)
    stand_ins = (results.experiment("variance") or results.none).stand_ins
    notes = [f" {stand_ins[name]} stand in for {name}." for name in sets if name in stand_ins]
    rows = [row for name in sets for row in best(results, name)]
    few = sum(lucky(row) for row in rows)
    above = sum(number(row["predicted"]) > HIGHEST and lucky(row) for row in rows)
    beyond = f", and the {above} above the drawing," if above else ""
    return (
        "Lines: the root mean square of ‖K̂-K‖/‖K‖ that exact variances predict, against the time "
        "of the kernel operator with the same features at d = 64, all timed in one run. Each mark "
        "is a number of features; of independent and orthogonal projections, those with the "
        f"smaller variance are shown. Open marks{beyond} are {few} of {len(rows)} whose draws show "
        "less than half of the predicted error: it sits in rare large values that few draws meet, "
        "and an estimate that looks better than its line has been lucky. Rows have mean squared "
        "length 1." + "".join(notes)
    )


def _sets(results: Results) -> list[str]:
    return list(dict.fromkeys(row["set"] for row in _found(results)[0]))


def draw(results: Results) -> Figure | None:
    sets = [name for name in _sets(results) if best(results, name)]
    if not sets:
        return None
    figure = Figure(figsize=(8.6, 4.2))
    axes = figure.subplots(1, len(sets), squeeze=False, sharey=True)[0]
    for axis, name in zip(axes, sets, strict=True):
        _panel(axis, best(results, name), _found(results)[1])
        axis.set_title((results.experiment("variance") or results.none).title(name))
        axis.set_xlabel("milliseconds")
    axes[0].set_ylabel("relative error")
    shown = [number(row["predicted"]) for name in sets for row in best(results, name)]
    axes[0].set_ylim(min(*shown, HIGHEST) / 1.5, HIGHEST)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _panel(axis: Axes, rows: Sequence[Row], times: Mapping[str, Mapping[str, float]]) -> None:
    for name, (colour, marker, dashes) in LOOKS.items():
        own = sorted(
            (row for row in rows if row["mechanism"] == name), key=lambda row: row["features"]
        )
        if not own:
            continue
        cost = [number(times[name][str(row["features"])]) for row in own]
        error = [number(row["predicted"]) for row in own]
        axis.plot(cost, error, color=colour, linestyle=dashes, marker=marker, label=name)
        for at, high, row in zip(cost, error, own, strict=True):
            if lucky(row):
                axis.plot(at, high, color=colour, marker=marker, markerfacecolor=PAPER)
    axis.set_xscale("log")
    axis.set_yscale("log")
    hidden = _hidden(rows)
    if hidden:
        said = f"above {HIGHEST:g}: {', '.join(hidden)}"
        axis.text(0.03, 0.03, said, transform=axis.transAxes, fontsize=8)


def _hidden(rows: Sequence[Row]) -> list[str]:
    """Mechanisms that lie above the drawing with every number of features."""
    least: dict[str, float] = {}
    for row in rows:
        name = row["mechanism"]
        least[name] = min(least.get(name, math.inf), number(row["predicted"]))
    return [name for name in LOOKS if least.get(name, 0.0) > HIGHEST]
