"""Figure: how often the estimate is off by ε, beside the printed bound and the corrected ones."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.markup import count
from paper_figures.results import Results, Row, numbers
from paper_figures.style import BLUE, GREEN, GREY, INK, ORANGE, PAPER, PINK, RED, SKY

TITLE = "Tail probabilities, the printed bound and the corrected ones"
COLUMNS = 3
FLOOR = 1e-8
"""Nothing below is drawn; the smallest bound of the counterexamples is a little larger."""
HIGH, LOW, PRINTED = "too high", "too low", "as printed"
BOUNDS: Mapping[str, tuple[str, str]] = {
    "hoeffding": (GREEN, "-."),
    "bernstein": (ORANGE, "-"),
    "bennett": (PINK, ":"),
    "legendre": (SKY, "--"),
}
"""Colour and line of the bounds of the upper tail."""


def curves(results: Results) -> Iterator[tuple[str, Row]]:
    """(kind of draws, curve) of every check with curves."""
    for check in results.checks("tails"):
        found = (check.get("data") or {}).get("curves")
        kind = check["id"].removeprefix("tails-")
        for curve in found if isinstance(found, list) else ():
            if numbers(curve.get("eps")) and isinstance(curve.get("upper"), dict):
                yield kind, curve


def refuted(curve: Row) -> bool:
    """Whether some tail's lower confidence limit exceeds the printed bound at some ε."""
    printed = numbers(curve.get("log printed"))
    lows = [
        [numbers(pair)[0] for pair in curve[side].get("limits") or []]
        for side in ("upper", "lower")
        if isinstance(curve.get(side), dict)
    ]
    return any(
        low > math.exp(bound) for each in lows for low, bound in zip(each, printed, strict=False)
    )


def caption(results: Results) -> str:
    found = [curve for _, curve in curves(results)]
    failing = sum(map(refuted, found))
    holding = all(check["ok"] for check in results.checks("tails"))
    return (
        "Dots: shares of repetitions in which the estimate of K is too high (filled) or too low "
        "(open) by ε or more, with limits that err as rarely as the whole check; a triangle is the "
        "upper limit where nothing was seen. Red: the bound that Theorem 4.2 prints, which fails "
        f"in {count(failing, 'panel')}. Other lines: the corrected bounds of the upper "
        "tail, and grey the best one of the lower tail"
        + ("; no share lies significantly above its own." if holding else ".")
    )


def draw(results: Results) -> Figure | None:
    # The counterexamples come first.
    found = sorted(curves(results), key=lambda each: not refuted(each[1]))
    if not found:
        return None
    columns = min(COLUMNS, len(found))
    rows = math.ceil(len(found) / columns)
    figure = Figure(figsize=(8.6, 2.3 * rows + 0.6))
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axis, (kind, curve) in zip(axes, found, strict=False):
        _panel(axis, kind, curve)
    for axis in axes[len(found) :]:
        axis.set_visible(False)
    for axis in axes[max(0, len(found) - columns) : len(found)]:
        axis.set_xlabel("ε")
    _legend(figure, axes)
    return figure


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One for all panels: what was seen, what is printed, what is right."""
    handles = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    first = [label for label in (HIGH, LOW, PRINTED) if label in handles]
    order = [*first, *(label for label in handles if label not in first)]
    shown = [handles[label] for label in order]
    figure.legend(shown, order, loc="outside lower center", ncols=4)


def _panel(axis: Axes, kind: str, curve: Row) -> None:
    eps = numbers(curve["eps"])
    for name, bound in (curve["upper"].get("log bounds") or {}).items():
        colour, line = BOUNDS.get(name, (INK, "-"))
        _line(axis, eps, numbers(bound), color=colour, linestyle=line, label=name.capitalize())
    lower = curve.get("lower") or {}
    bounds = [numbers(bound) for bound in (lower.get("log bounds") or {}).values()]
    best = [min(each) for each in zip(*bounds, strict=False)]
    _line(axis, eps, best, color=GREY, linewidth=1.0, linestyle="-", label="best of the lower tail")
    _line(axis, eps, numbers(curve.get("log printed")), color=RED, linewidth=2.2, label=PRINTED)
    step = (max(eps) - min(eps)) / 60
    _shares(axis, [e - step for e in eps], curve["upper"], BLUE, HIGH)
    _shares(axis, [e + step for e in eps], lower, PAPER, LOW)
    failing = refuted(curve)
    axis.set_yscale("log")
    axis.set_ylim(FLOOR if failing else _floor(curve["upper"], lower), 2)
    draws = f"{kind}: the printed bound fails" if failing else kind
    axis.set_title(f"{draws}\n{curve.get('case', '')}", fontsize=8, color=RED if failing else INK)


def _floor(*sides: Row) -> float:
    """A decade of room below the smallest share that was seen."""
    seen = [share for side in sides for share in numbers(side.get("observed")) if share > 0]
    return max(FLOOR, min([*seen, 0.1]) / 10)


def _line(axis: Axes, eps: Sequence[float], logs: Sequence[float], **look: Any) -> None:
    if len(logs) == len(eps):
        # A bound above 1 says nothing; far below the floor it leaves the panel as a straight line.
        values = [math.exp(max(min(log, 0.0), -700.0)) for log in logs]
        axis.plot(eps, values, **look)


def _shares(axis: Axes, eps: Sequence[float], side: Row, fill: str, label: str) -> None:
    """Shares with their limits on a logarithmic axis."""
    observed = numbers(side.get("observed"))
    limits = [tuple(numbers(pair)) for pair in side.get("limits") or []]
    limits = limits or [(share, share) for share in observed]
    look = {"color": BLUE, "markerfacecolor": fill, "markersize": 4, "linestyle": "none"}
    for e, share, (low, high) in zip(eps, observed, limits, strict=False):
        if share > 0:
            reach = [[share - low], [high - share]]
            axis.errorbar(e, share, reach, marker="o", elinewidth=1.1, label=label, **look)
        elif high > 0:
            axis.plot(e, high, marker="v", **look)
