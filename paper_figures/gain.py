"""Figure: what orthogonal projections gain, by formula and from draws of the shipped sampler."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.results import Results, number, numbers
from paper_figures.style import BLUE, INK

TITLE = "The gain of orthogonal projections"
CURVES, DRAWS = "ortho-quadrature", "ortho-pairs"
"""Checks whose series are drawn."""
DASHES = (0, (4, 2))


def _data(results: Results, name: str, key: str, kind: type) -> Any:
    for check in results.checks("orthogonality"):
        found = (check.get("data") or {}).get(key)
        if check["id"] == name and isinstance(found, kind) and found:
            return found
    return None


def caption(results: Results) -> str:
    """What to see, from the panels that are there."""
    said = []
    if _data(results, CURVES, "gain", dict):
        said.append(
            "Curves: the exact gain G in units of K², which does not depend on A, against "
            "z = ‖x+y‖², and dashed the corrected lower bound of Theorem 4.1, "
            "2(1-e^(-z/2))²/(d+2); the fewer the dimensions, the more is gained."
        )
    if _data(results, DRAWS, "means", list):
        said.append(
            "Bars: means of products of pairs from the shipped sampler, relative to what the exact "
            "gain predicts, with the error that is allowed; only pairs within a block differ from "
            "independent ones."
        )
    return " ".join(said)


def draw(results: Results) -> Figure | None:
    curves = _data(results, CURVES, "gain", dict)
    means = _data(results, DRAWS, "means", list)
    panels = [(_curves, curves), (_means, means)]
    present = [(panel, data) for panel, data in panels if data]
    if not present:
        return None
    figure = Figure(figsize=(8.6, 3.5))
    axes = figure.subplots(1, len(present), squeeze=False)[0]
    for axis, (panel, data) in zip(axes, present, strict=True):
        panel(axis, data)
    return figure


def _curves(axis: Axes, curves: dict[str, Any]) -> None:
    """(z, gain, bound) by dimension."""
    handles = []
    for d in sorted(curves, key=int):
        z, gain, bound = (numbers(list(column)) for column in zip(*curves[d], strict=True))
        handles += axis.plot(z, gain, label=f"d = {d}")
        axis.plot(z, bound, color=handles[-1].get_color(), linestyle=DASHES, linewidth=1.1)
    handles.append(Line2D([], [], color=INK, linestyle=DASHES, linewidth=1.1, label="lower bound"))
    axis.set_xscale("log")
    axis.set_ylim(0, None)
    axis.set_xlabel("z = ‖x+y‖²")
    axis.set_title("gain G / K²")
    axis.legend(handles=handles)


def _means(axis: Axes, means: Sequence[Sequence[Any]]) -> None:
    """(name, observed, predicted, allowed): one row each, in percent of what is predicted."""
    for place, (_, observed, predicted, allowed) in enumerate(means):
        unit = number(predicted) / 100
        error, reach = number(observed) / unit - 100, number(allowed) / unit
        axis.errorbar(error, place, xerr=reach, fmt="o", color=BLUE)
    axis.axvline(0, color=INK, linewidth=0.8)
    axis.set_yticks(range(len(means)), [str(each[0]) for each in means])
    axis.set_ylim(len(means) - 0.5, -0.5)
    axis.grid(False, axis="y")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g} %".replace("-", "−"))
    axis.set_title("from draws: observed over predicted, minus 1")
