"""Figure: time of attention per token against the length, beside its peers."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, number
from paper_figures.style import BLUE, GREEN, GREY, INK, MARKERS, ORANGE, PINK, RED, SKY

TITLE = "Attention: time per token"
FILE = "bench_attention.laptop.json"
COLOURS = {
    "FAVOR++": BLUE,
    "FAVOR+": SKY,
    "textbook FAVOR+": ORANGE,
    "per-token scan": GREEN,
    "performer-pytorch": RED,
    "torch SDPA": PINK,
    "exact, JAX": GREY,
}
PANELS = [(causal, gradients) for causal in (False, True) for gradients in (False, True)]


def _rows(results: Results) -> list[Mapping[str, Any]]:
    rows = (results.file(FILE) or {}).get("times")
    return rows if isinstance(rows, list) else []


def caption(results: Results) -> str:
    """What to see, and the targets with what was measured."""
    found = results.file(FILE) or {}
    said = [
        "Microseconds per token against the length L, medians of interleaved rounds of one run; "
        "one batch element, 4 heads of 64, 256 features, float32. A flat line is linear time."
    ]
    said += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in found.get("exact", [])]
    for each in found.get("targets", []):
        if each.get("measured") is not None:
            missed = "" if each["met"] else " (target missed)"
            said.append(f"{each['target']}: {number(each['measured']):.3g}{missed}.")
    return " ".join(said)


def draw(results: Results) -> Figure | None:
    rows = _rows(results)
    if not rows:
        return None
    figure = Figure(figsize=(8.6, 6.0))
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (causal, gradients) in zip(axes.flat, PANELS, strict=True):
        picked = [r for r in rows if (r["is_causal"], r["gradients"]) == (causal, gradients)]
        _panel(axis, picked)
        mode, what = (
            "causal" if causal else "bidirectional",
            "with gradients" if gradients else "forward",
        )
        axis.set_title(f"{mode}, {what}")
    for axis in axes[-1]:
        axis.set_xlabel("length L")
    for axis in axes[:, 0]:
        axis.set_ylabel("µs per token")
    return figure


def _panel(axis: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    for (name, colour), marker in zip(COLOURS.items(), MARKERS, strict=True):
        points = [
            (row["length"], 1e6 * number(row["seconds"][name]) / row["length"])
            for row in rows
            if name in row["seconds"]
        ]
        if points:
            x, y = zip(*points, strict=True)
            axis.plot(x, y, marker=marker, color=colour, label=name)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.tick_params(colors=INK)
    axis.legend(fontsize="x-small")
