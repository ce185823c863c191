"""Figure: means and variances of every mechanism, simulated, against what the code predicts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, number
from paper_figures.style import BLUE, GREY, INK, ORANGE, PAPER

TITLE = "Simulated means and variances against the predicted ones"
NAMED = re.compile(r"(mean|variance)-(.+)-(iid|orthogonal)-d(\d+)")
"""Identifiers of the checks: what, mechanism, projections, dimension."""
LOOKS = {"iid": (BLUE, BLUE, "o"), "orthogonal": (ORANGE, PAPER, "s")}
SPREAD = 0.78
"""Width that the points of one mechanism share, the distance of two mechanisms being 1."""


@dataclass(frozen=True)
class Point:
    """One check: relative error and the error that is allowed."""

    what: str
    mechanism: str
    projections: str
    dim: int
    error: float
    allowed: float


def points(results: Results) -> list[Point]:
    """The Monte Carlo checks of means and variances, in units of what was predicted."""
    found = []
    for check in results.checks("montecarlo"):
        match = NAMED.fullmatch(check["id"])
        predicted = number(check["predicted"])
        if match and predicted:
            error = number(check["observed"]) / predicted - 1
            allowed = number(check.get("allowed")) / abs(predicted)
            found.append(Point(*match.groups()[:3], int(match[4]), error, allowed))  # type: ignore[arg-type]
    return found


def caption(results: Results) -> str:
    found = points(results)
    dims = sorted({point.dim for point in found})
    strain = max(abs(point.error) / point.allowed for point in found)
    return (
        "Each mark is one check of draws from the shipped samplers (d = "
        f"{', '.join(map(str, dims))} from left to right within a mechanism). The line is the "
        "error that is allowed, wide because heavy tails are taken into account and all checks of "
        f"a run share one false-alarm probability. The largest error seen is {strain:.2f} of its "
        "limit."
    )


def draw(results: Results) -> Figure | None:
    found = points(results)
    kinds = [what for what in ("mean", "variance") if any(p.what == what for p in found)]
    if not kinds:
        return None
    figure = Figure(figsize=(8.6, 2.5 * len(kinds) + 0.4))
    axes = figure.subplots(len(kinds), 1, squeeze=False)[:, 0]
    names = list(dict.fromkeys(point.mechanism for point in found))
    for axis, what in zip(axes, kinds, strict=True):
        _panel(axis, [point for point in found if point.what == what], names)
        axis.set_title(f"{what}: observed over predicted, minus 1")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _panel(axis: Axes, found: Sequence[Point], names: Sequence[str]) -> None:
    for kind, (colour, fill, marker) in LOOKS.items():
        chosen = [point for point in found if point.projections == kind]
        if not chosen:
            continue
        places = [_place(point, found, names) for point in chosen]
        axis.errorbar(
            places,
            [100 * point.error for point in chosen],
            [100 * point.allowed for point in chosen],
            fmt=marker,
            color=colour,
            markerfacecolor=fill,
            markersize=3.6,
            elinewidth=1.0,
            label=f"{kind} projections",
        )
    axis.axhline(0, color=INK, linewidth=0.8)
    for edge in range(1, len(names)):
        axis.axvline(edge - 0.5, color=GREY, linewidth=0.4)
    axis.set_xticks(range(len(names)), names)
    axis.set_xlim(-0.5, len(names) - 0.5)
    axis.grid(False, axis="x")
    axis.tick_params(axis="x", length=0)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g} %".replace("-", "−"))


def _place(point: Point, found: Sequence[Point], names: Sequence[str]) -> float:
    """Position within a mechanism: by dimension, orthogonal projections just beside."""
    keys = sorted({(p.dim, p.projections) for p in found if p.mechanism == point.mechanism})
    rank = keys.index((point.dim, point.projections))
    shift = (rank + 0.5) / len(keys) - 0.5
    return names.index(point.mechanism) + SPREAD * shift
