"""Figure: errors of kernel estimates on real data against what exact variances predict."""

from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import GREY, LOOKS, PAPER

TITLE = "Predicted against observed error on real data"
REACH = 10.0
"""Larger predicted errors are drawn at the edge: an error above 1 is no estimate at all."""
EDGE, END = 1.4 * REACH, 2.0 * REACH


def caption(results: Results) -> str:
    found = results.experiment("variance") or results.none
    rows = found.numbers.get("errors") or []
    ratios = sorted(number(row["observed"]) / number(row["predicted"]) for row in rows)
    most = max((number(row["predicted"]) for row in rows), default=0.0)
    beyond = sum(number(row["predicted"]) > REACH for row in rows)
    close = sum(0.8 <= ratio <= 1.25 for ratio in ratios)
    return (
        f"Each mark is a data set, a mechanism and a number of features ({len(rows)} in all): the "
        "root mean square error over draws against the root of the mean variance that "
        "estimator_variance gives. Filled: independent, open: orthogonal projections. On the line "
        f"both are equal; {close} lie within a factor of 1.25. Marks below the line belong to "
        "mechanisms whose variance sits in rare large values, which few draws do not meet. The "
        f"{beyond} at the right edge have a predicted error above {REACH:g}, up to {most:.2g}."
    )


def _place(row: Row) -> float:
    """Where a mark stands by its predicted error."""
    predicted = number(row["predicted"])
    return EDGE if predicted > REACH else predicted


def draw(results: Results) -> Figure | None:
    found = results.experiment("variance") or results.none
    rows = found.numbers.get("errors") or []
    if not rows:
        return None
    figure = Figure(figsize=(8.6, 4.4))
    axis = figure.subplots()
    axis.set_xscale("log")
    axis.set_yscale("log")
    for name, (colour, marker, _) in LOOKS.items():
        for orthogonal in (False, True):
            own = [r for r in rows if (r["mechanism"], bool(r["orthogonal"])) == (name, orthogonal)]
            axis.plot(
                [_place(row) for row in own],
                [number(row["observed"]) for row in own],
                linestyle="none",
                marker=marker,
                color=colour,
                markerfacecolor=PAPER if orthogonal else colour,
                label=None if orthogonal or not own else name,
            )
    values = [min(number(row[key]), REACH) for row in rows for key in ("predicted", "observed")]
    ends = [min(values), max(values)]
    if any(number(row["predicted"]) > REACH for row in rows):
        axis.axvspan(REACH, END, color=GREY, alpha=0.12, linewidth=0, zorder=0)
        axis.set_xlim(right=END)
        axis.text(EDGE, ends[0], f"> {REACH:g}", ha="center", fontsize=8)
    axis.plot(ends, ends, color=GREY, linewidth=1.0, zorder=0)
    axis.set_xlabel("predicted relative error")
    axis.set_ylabel("observed relative error")
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
