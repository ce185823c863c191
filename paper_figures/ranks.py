"""Figure: average ranks of the eight mechanisms over the sets, with their critical difference."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import BLUE, GREY, INK, RED

TITLE = "Average ranks in classification"
STEP = 0.6
"""Distance of two lines of labels."""
MARGIN = 1.3
"""Room for the labels on either side, in ranks: beyond all stems, which end at ranks 1 and 8."""


def _ranks(results: Results) -> Row:
    found = results.experiment("classification")
    return (found.numbers.get("ranks") or {}) if found else {}


def groups(ranks: Mapping[str, float], difference: float) -> list[tuple[float, float]]:
    """The longest runs of methods that are not told apart: their first and last rank."""
    values = sorted(ranks.values())
    reach = [(low, max(v for v in values if v <= low + difference)) for low in values]
    ends = dict.fromkeys(high for _, high in reach)
    return [
        (low, high)
        for high in ends
        if (low := min(start for start, end in reach if end == high)) < high
    ]


def caption(results: Results) -> str:
    found = _ranks(results)
    return (
        f"Rank of each mechanism among the eight of the paper, mean over {found['sets']} sets; 1 "
        "is best. Bars join mechanisms that Nemenyi's test at 5 % does not tell apart: their ranks "
        f"differ by less than {number(found['critical_difference']):.2f}. Friedman's test that all "
        f"are alike gives p = {number(found['friedman']):.2g}. Below, the ranks of the paper's own "
        "table, with its TrigRF column as printed."
    )


def draw(results: Results) -> Figure | None:
    found = _ranks(results)
    if not found:
        return None
    figure = Figure(figsize=(8.6, 4.4))
    axes = figure.subplots(2, 1, sharex=True)
    difference = number(found["critical_difference"])
    for axis, key, title, colour in zip(
        axes, ("ours", "printed"), ("ours", "the paper's table"), (BLUE, RED), strict=True
    ):
        _line(axis, found[key], difference, colour)
        axis.set_title(title)
    axes[-1].set_xlabel("average rank")
    return figure


def _line(axis: Axes, ranks: Mapping[str, float], difference: float, colour: str) -> None:
    """Ranks on a line; the better half has its labels left of all stems, the others right."""
    ordered = sorted(ranks, key=lambda name: ranks[name])
    half = len(ordered) // 2
    axis.plot([ranks[name] for name in ordered], [0] * len(ordered), "o", color=colour, zorder=3)
    for place, name in enumerate(ordered):
        left = place < half
        depth = -STEP * (1 + (place if left else len(ordered) - 1 - place))
        end = 0.8 if left else len(ordered) + 0.2
        axis.plot([ranks[name]] * 2 + [end], [0, depth, depth], color=GREY, linewidth=0.7)
        axis.annotate(f"{name} {ranks[name]:.2f}", (end, depth), (-3 if left else 3, 0), color=INK,
                      textcoords="offset points", va="center", ha="right" if left else "left",
        )  # fmt: skip
    for level, (low, high) in enumerate(groups(ranks, difference)):
        axis.plot([low, high], [0.35 + 0.25 * level] * 2, color=INK, linewidth=2.5)
    axis.set_xlim(1 - MARGIN, len(ordered) + MARGIN)
    axis.set_ylim(-STEP * (half + 0.6), 1.2)
    axis.set_xticks(range(1, len(ordered) + 1))
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.grid(False)
