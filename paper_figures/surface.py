"""Figure: relative variances of one product, and where OPRF beats TrigRF."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, numbers
from paper_figures.style import BLUE, GREY, INK, ORANGE, RED

TITLE = "The variance of one product: TrigRF, PosRF, OPRF"
CHECK = "variance-surface"
COLOURS = {"TrigRF": GREY, "PosRF": ORANGE, "OPRF, d = 2": RED, "OPRF, d = 64": BLUE}
BEST, RIVAL, PLAIN = "OPRF, d = 64", "TrigRF", "PosRF"
LEVELS = 12


def _surface(results: Results) -> dict[str, Any] | None:
    """The grid and the log variances over it, None if a part of them is missing."""
    for check in results.checks("quadrature"):
        found = (check.get("data") or {}).get("surface")
        if check["id"] == CHECK and isinstance(found, dict):
            logs = found.get("log variance") or {}
            if all(name in logs for name in (BEST, RIVAL, PLAIN)) and len(found["plus"]) > 1:
                return found
    return None


def caption(results: Results) -> str:
    found = _surface(results) or {}
    size = len(found.get("plus", [])) * len(found.get("minus", []))
    return (
        "Left: the variance of one product in units of K², on a logarithmic scale. PosRF and OPRF "
        "depend on ‖x+y‖² alone, TrigRF on ‖x-y‖² alone. Right: the ratio of OPRF's variance to "
        "TrigRF's at d = 64, as a power of ten; on the solid line both are equal, below it OPRF is "
        "better, and dashed is the same line for PosRF. The shipped code's variances agree with "
        f"Gaussian integrals at all {size} nodes."
    )


def draw(results: Results) -> Figure | None:
    found = _surface(results)
    if found is None:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    left, right = figure.subplots(1, 2)
    _curves(left, found)
    _plane(figure, right, found)
    return figure


def _relative(found: dict[str, Any], name: str) -> list[float]:
    """log10(Var/K²) by z, which is ‖x-y‖² for TrigRF and ‖x+y‖² for the others."""
    logs, kernel = found["log variance"][name], numbers(found["log kernel"])
    if name == RIVAL:
        values = zip(numbers(logs[0]), kernel, strict=True)
    else:
        values = ((numbers(row)[0], kernel[0]) for row in logs)
    return [(log - 2 * k) / math.log(10) for log, k in values]


def _curves(axis: Axes, found: dict[str, Any]) -> None:
    for name, colour in COLOURS.items():
        if name in found["log variance"]:
            z = numbers(found["minus" if name == RIVAL else "plus"])
            axis.plot(z, _relative(found, name), color=colour, label=name)
    axis.axhline(0, color=INK, linewidth=0.8)
    axis.set_xlabel("z = ‖x+y‖², for TrigRF ‖x-y‖²")
    axis.set_title("variance / K², power of ten")
    axis.legend()


def _ratio(found: dict[str, Any], name: str) -> list[list[float]]:
    """log10 of the variance over TrigRF's."""
    pairs = zip(found["log variance"][name], found["log variance"][RIVAL], strict=True)
    return [
        [(a - b) / math.log(10) for a, b in zip(numbers(own), numbers(rival), strict=True)]
        for own, rival in pairs
    ]


def _plane(figure: Figure, axis: Axes, found: dict[str, Any]) -> None:
    plus, minus = numbers(found["plus"]), numbers(found["minus"])
    ratio, plain = _ratio(found, BEST), _ratio(found, PLAIN)
    reach = max(abs(value) for row in ratio for value in row)
    steps = [reach * (2 * k / LEVELS - 1) for k in range(LEVELS + 1)]
    filled = axis.contourf(minus, plus, ratio, levels=steps, cmap="RdBu_r")
    axis.contour(minus, plus, ratio, levels=[0.0], colors=[INK], linewidths=1.2)
    axis.contour(minus, plus, plain, levels=[0.0], colors=[INK], linewidths=1.0, linestyles="--")
    axis.set_xlabel("‖x-y‖²")
    axis.set_ylabel("‖x+y‖²")
    axis.set_title("OPRF over TrigRF, d = 64")
    axis.grid(False)
    figure.colorbar(filled, ax=axis, format=lambda value, _: f"{value:.1f}".replace("-", "−"))
