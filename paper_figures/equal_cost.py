"""Figure: error of a kernel estimate against its cost in milliseconds, not in features."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import LOOKS

TITLE = "Error at equal cost"


def _found(results: Results) -> tuple[Sequence[Row], Mapping[str, Mapping[str, float]]]:
    """Errors, and milliseconds by mechanism and number of features."""
    found = results.experiment("variance") or results.none
    return found.numbers.get("errors") or [], found.timing.get("milliseconds") or {}


def best(results: Results, name: str) -> list[Row]:
    """Of each mechanism and M the better kind of projections, on one data set."""
    errors, times = _found(results)
    least: dict[tuple[str, int], Row] = {}
    for row in errors:
        key = (row["mechanism"], row["features"])
        priced = str(key[1]) in times.get(key[0], {})
        if row["set"] == name and priced:
            known = least.get(key)
            if known is None or number(row["observed"]) < number(known["observed"]):
                least[key] = row
    return list(least.values())


def caption(results: Results) -> str:
    sets = _sets(results)
    stand_ins = (results.experiment("variance") or results.none).stand_ins
    notes = [f" {stand_ins[name]} stand in for {name}." for name in sets if name in stand_ins]
    return (
        "Root mean square of ‖K̂-K‖/‖K‖ over draws, against the time of the kernel operator with "
        "the same features at d = 64, all timed in one run. Each mark is a number of features; of "
        "independent and orthogonal projections the better is shown. Rows have mean squared "
        "length 1." + "".join(notes)
    )


def _sets(results: Results) -> list[str]:
    return list(dict.fromkeys(row["set"] for row in _found(results)[0]))


def draw(results: Results) -> Figure | None:
    sets = [name for name in _sets(results) if best(results, name)]
    if not sets:
        return None
    figure = Figure(figsize=(8.6, 3.7))
    axes = figure.subplots(1, len(sets), squeeze=False, sharey=True)[0]
    for axis, name in zip(axes, sets, strict=True):
        _panel(axis, best(results, name), _found(results)[1])
        axis.set_title((results.experiment("variance") or results.none).title(name))
        axis.set_xlabel("milliseconds")
    axes[0].set_ylabel("relative error")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _panel(axis: Axes, rows: Sequence[Row], times: Mapping[str, Mapping[str, float]]) -> None:
    for name, (colour, marker, dashes) in LOOKS.items():
        own = sorted(
            (row for row in rows if row["mechanism"] == name), key=lambda row: row["features"]
        )
        if own:
            cost = [number(times[name][str(row["features"])]) for row in own]
            error = [number(row["observed"]) for row in own]
            axis.plot(cost, error, color=colour, marker=marker, linestyle=dashes, label=name)
    axis.set_xscale("log")
    axis.set_yscale("log")
