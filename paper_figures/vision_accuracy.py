"""Figure: accuracy of Vision Transformers against steps (the paper's Figure 4, left)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number, numbers
from paper_figures.style import ATTENTION_LOOKS, PAPER, reach

TITLE = "Vision Transformers: accuracy (the paper's Figure 4, left)"
PANELS = {"scratch": "from scratch", "uptrain": "uptrained from MAE", "long": "from scratch"}


def caption(results: Results) -> str:
    found = results.experiment("vision") or results.none
    rows, size = found.numbers.get("accuracy") or [], found.numbers.get("setting") or {}
    ends = ", ".join(
        f"{row['name']} {number(row['mean']):.1f} ({PANELS[row['start']]}, {row['tokens']} tokens)"
        for row in rows
        if row["attention"] in ("softmax", "favor+", "favor++")
    )
    return (
        f"Test accuracy in percent against training steps on {size.get('data')}: means over seeds, "
        "bands and bars from the smallest to the largest; one seed has none. On the way at most "
        f"{number(size.get('curve_examples')):,.0f} test images are taken. The hollow marks at the "
        f"end are of at most {number(size.get('test_examples')):,.0f}, so that they need not be on "
        f"the lines: {ends}. The paper's figure is of ViT-Large on ImageNet."
    )


def draw(results: Results) -> Figure | None:
    found = results.experiment("vision") or results.none
    rows = [row for row in found.numbers.get("curves") or [] if len(row["steps"]) > 1]
    starts = [start for start in PANELS if any(row["start"] == start for row in rows)]
    if not starts:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    axes = figure.subplots(1, len(starts), sharey=True, squeeze=False)[0]
    tokens = {row["start"]: row["tokens"] for row in found.numbers.get("accuracy") or []}
    for axis, start in zip(axes, starts, strict=True):
        _panel(axis, [row for row in rows if row["start"] == start])
        axis.set_title(f"{PANELS[start]}, {tokens.get(start, '?')} tokens")
        axis.set_xlabel("steps")
    axes[0].set_ylabel("test accuracy, %")
    axes[0].legend(loc="lower right")
    return figure


def _panel(axis: Axes, rows: Sequence[Row]) -> None:
    for row in rows:
        colour, marker, line = ATTENTION_LOOKS[row["attention"]]
        steps, mean = numbers(row["steps"]), numbers(row["mean"])
        axis.plot(
            steps, mean, color=colour, marker=marker, markersize=4, linestyle=line,
            label=row["name"],
        )  # fmt: skip
        if row["seeds"] > 1:
            band = numbers(row["least"]), numbers(row["most"])
            axis.fill_between(steps, *band, color=colour, alpha=0.18, linewidth=0)
        last, mean, *ends = ([number(row["end"][k])] for k in ("step", "mean", "least", "most"))
        axis.errorbar(
            last, mean, reach(mean, *ends) if row["seeds"] > 1 else None, color=colour,
            marker=marker, markersize=6, markerfacecolor=PAPER, linestyle="", capsize=2,
        )  # fmt: skip
