"""Figure: what orthogonal projections do to the variance of every mechanism that has them."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, Run, number
from paper_figures.style import INK, LOOKS, nested

TITLE = "Orthogonal against independent projections"
REGIMES = ("normal", "sphere", "heterogen", "mnist")
NAMES = ("trig", "pos", "gerf", "oprf")
"""Mechanisms with Gaussian projections."""
CLOSE = 1.25


def _rows(found: Run) -> list[Row]:
    return [row for row in found.numbers.get("variances") or [] if "orthogonal" in row]


def caption(results: Results) -> str:
    pairs = ratios(results.experiment("variance") or results.none)
    rest = sum(pair.observed is None for pair in pairs)
    return (
        "Above: mean over pairs (every eighth row of x) of the exact log ratio of variances, "
        "orthogonal over independent, at M = d = 64; below 0 orthogonality helps. Discrete "
        "mechanisms have no orthogonal version. Below: error of kernel matrices of real data, "
        "orthogonal over independent, by the number of features. Lines: as exact variances predict "
        "it. Open marks: as draws show it, where both errors are within a factor of "
        f"{CLOSE:g} of the predicted ones; the other {rest} of {len(pairs)} ratios are left out, "
        "for so few draws say nothing of errors that sit in rare large values. Where lines agree, "
        "the wider are seen as rims of the thinner."
    )


def draw(results: Results) -> Figure | None:
    found = results.experiment("variance") or results.none
    rows = _rows(found)
    regimes = [name for name in REGIMES if any(row["regime"] == name for row in rows)]
    pairs = ratios(found)
    if not regimes or not pairs:
        return None
    figure = Figure(figsize=(8.6, 5.2))
    top, bottom = figure.subfigures(2, 1, squeeze=False)[:, 0]
    axes = top.subplots(1, len(regimes), squeeze=False, sharey=True)[0]
    for axis, regime in zip(axes, regimes, strict=True):
        _by_scale(axis, [row for row in rows if row["regime"] == regime])
        axis.set_title(regime)
    axes[0].set_ylabel("mean log ratio")
    sets = list(dict.fromkeys(pair.data for pair in pairs))
    lower = bottom.subplots(1, len(sets), squeeze=False, sharey=True)[0]
    for axis, name in zip(lower, sets, strict=True):
        _by_features(axis, [pair for pair in pairs if pair.data == name])
        axis.set_title(found.title(name))
    lower[0].set_ylabel("ratio of errors")
    lower[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


class Pair(NamedTuple):
    """The orthogonal error over the independent one: predicted, and observed if that is sure."""

    data: str
    mechanism: str
    features: int
    predicted: float
    observed: float | None


def ratios(found: Run) -> list[Pair]:
    """One pair for every data set, mechanism with both kinds of projections, and M."""
    seen = {
        (row["set"], row["mechanism"], row["features"], bool(row["orthogonal"])): row
        for row in found.numbers.get("errors") or []
    }
    return [
        Pair(
            *(name, mechanism, count),
            number(row["predicted"]) / number(seen[plain]["predicted"]),
            number(row["observed"]) / number(seen[plain]["observed"])
            if _close(row) and _close(seen[plain])
            else None,
        )
        for (name, mechanism, count, orthogonal), row in seen.items()
        if orthogonal and (plain := (name, mechanism, count, False)) in seen
    ]


def _close(row: Row) -> bool:
    """Whether the draws show the error that is predicted."""
    return 1 / CLOSE <= number(row["observed"]) / number(row["predicted"]) <= CLOSE


def _by_scale(axis: Axes, rows: Sequence[Row]) -> None:
    for name, width in nested(reversed(NAMES), 4.2):
        colour, _, dashes = LOOKS[name]
        own = sorted(
            (row for row in rows if row["mechanism"] == name), key=lambda row: row["sigma"]
        )
        if own:
            sigma = [number(row["sigma"]) for row in own]
            logs = [number(row["orthogonal"]) for row in own]
            axis.plot(sigma, logs, color=colour, linestyle=dashes, linewidth=width)
    axis.axhline(0, color=INK, linewidth=0.8)
    axis.set_xlabel("σ")


def _by_features(axis: Axes, pairs: Sequence[Pair]) -> None:
    for name, width in nested(reversed(NAMES), 4.2):
        colour, marker, dashes = LOOKS[name]
        own = sorted(pair for pair in pairs if pair.mechanism == name)
        if own:
            counts, values = zip(*((pair.features, pair.predicted) for pair in own), strict=True)
            axis.plot(counts, values, color=colour, linestyle=dashes, linewidth=width, label=name)
        sure = [(pair.features, pair.observed) for pair in own if pair.observed is not None]
        for count, ratio in sure:
            axis.plot(count, ratio, color=colour, marker=marker, markerfacecolor="none")
    axis.axhline(1, color=INK, linewidth=0.8)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_xlabel("number of features M")
