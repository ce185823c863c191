"""Figure: steps per second of ViT-tiny against the number of tokens (Figure 4, right)."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import ATTENTION_LOOKS, GREY, reach

TITLE = "Vision Transformers: steps per second (the paper's Figure 4, right)"


def _rows(results: Results) -> list[Row]:
    found = results.experiment("vision") or results.none
    return sorted(found.timing.get("speed") or [], key=lambda row: row["tokens"])


def caption(results: Results) -> str:
    rows = _rows(results)
    last = rows[-1]
    gain = last["faster"]["favor++"]
    return (
        f"A training step of ViT-{last['model']} on one image, forward and backward, float32, on a "
        f"CPU, M = {last['features']}: steps per second, their ratio to softmax, and the peak "
        "memory of the compiled step, with weights and the optimizer's state. Marks are medians "
        "over interleaved rounds, bars the smallest and the largest. "
        f"At {last['tokens']} tokens FAVOR++ makes {number(gain['median']):.2f} times the steps of "
        f"softmax ({number(gain['least']):.2f} to {number(gain['most']):.2f})."
    )


def draw(results: Results) -> Figure | None:
    rows = _rows(results)
    if not rows:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    axes = figure.subplots(1, 3)
    _panel(axes[0], rows, lambda row, name: row["steps"][name])
    _panel(axes[1], rows, lambda row, name: row["faster"][name])
    axes[1].axhline(1.0, color=GREY, linewidth=1.0, zorder=0)
    found = results.experiment("vision") or results.none
    _memory(axes[2], found.numbers.get("memory") or [])
    labels = ("steps per second", "relative to softmax", "peak memory, MB")
    for axis, label in zip(axes, labels, strict=True):
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xlabel("tokens L")
        axis.set_title(label)
    axes[0].legend(fontsize="small")
    return figure


def _panel(axis: Axes, rows: Sequence[Row], pick: Callable[[Row, str], Any]) -> None:
    tokens = [number(row["tokens"]) for row in rows]
    for name in rows[0]["steps"]:
        spread = [pick(row, name) for row in rows]
        middle, least, most = (
            [number(each[key]) for each in spread] for key in ("median", "least", "most")
        )
        colour, marker, line = ATTENTION_LOOKS[name]
        axis.errorbar(
            tokens,
            middle,
            reach(middle, least, most),
            color=colour,
            marker=marker,
            linestyle=line,
            capsize=3,
            label=name.upper() if name != "softmax" else name,
        )


def _memory(axis: Axes, rows: Sequence[Row]) -> None:
    rows = sorted(rows, key=lambda row: row["tokens"])
    for name in rows[0]["bytes"] if rows else ():
        colour, marker, line = ATTENTION_LOOKS[name]
        sizes = [number(row["bytes"][name]) / 1e6 for row in rows]
        axis.plot(
            [row["tokens"] for row in rows], sizes, color=colour, marker=marker, linestyle=line
        )
