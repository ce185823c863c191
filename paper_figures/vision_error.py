"""Figure: the error of attention inside trained Vision Transformers, and their accuracy."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from paper_figures.results import Results, Row, number
from paper_figures.style import ATTENTION_LOOKS, GREY, PAPER

TITLE = "Vision Transformers: does a smaller error explain accuracy?"
STARTS = {"scratch": "from scratch", "uptrain": "uptrained"}
SURE = 0.05


def _rows(results: Results) -> list[Row]:
    found = results.experiment("vision") or results.none
    rows = found.numbers.get("errors") or []
    return [row for row in rows if number(row["output_predicted"]) > 0]


def own(rows: Sequence[Row]) -> list[Row]:
    """The error of the attention that a model was trained with; softmax has none.

    Runs with more tokens and fewer steps are no equals of the others.
    """
    return [
        row
        for row in rows
        if row["estimate"] == row["attention"] and row["start"] in STARTS and row["accuracy"]
    ]


def answer(rows: Sequence[Row]) -> str:
    """What the models of each start say to the question of the title."""
    return "Does a smaller error explain accuracy? " + " ".join(_said(row) for row in rows)


def _said(row: Row) -> str:
    chance = number(row["predicted"]["p"])
    size, other = (number(row[key]["correlation"]) for key in ("predicted", "observed"))
    told = ("Yes", "higher") if size < 0 else ("No", "lower")
    whole = "{}: a smaller one goes with a {} accuracy".format(*told)
    return (
        f"{STARTS[row['start']].capitalize()}, the predicted error and the accuracy of "
        f"{row['models']} models have a rank correlation of {_signed(size)} (p = {chance:.2g}; of "
        f"the observed error {_signed(other)}), and the model with the smaller predicted error is "
        f"the more accurate one for {row['agree']} of {row['pairs']} seeds. "
        f"{whole if chance < SURE else 'These models do not tell'}."
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def caption(results: Results) -> str:
    return (
        "Left: error of the kernel matrix relative to exact softmax on the queries and keys of "
        "trained models, RMS over layers and heads: predicted, which is the RMS over all draws of "
        "the projections, and observed with fresh ones; every model of the first seed has one "
        "filled mark for each estimate. Far below the line M is too small for the model's large "
        "queries and keys: the variance lies in draws too rare to be met. Hollow marks are of the "
        "projections that a model was trained with, and may have adapted to. Right: the accuracy "
        "of a model against the error of its attention's output, observed with the projections "
        "that it was trained with; filled marks are trained from scratch, "
        f"hollow ones uptrained. {_answer(results)}"
    )


def _answer(results: Results) -> str:
    found = (results.experiment("vision") or results.none).numbers.get("explained")
    return answer(found) if found else ""


def draw(results: Results) -> Figure | None:
    rows = _rows(results)
    if not rows:
        return None
    figure = Figure(figsize=(8.6, 3.8))
    left, right = figure.subplots(1, 2)
    _compare(left, rows)
    for row in own(rows):
        colour, marker, _ = ATTENTION_LOOKS[row["attention"]]
        face = PAPER if row["start"] == "uptrain" else colour
        place = number(row["output_observed"]), number(row["accuracy"])
        right.plot(*place, marker, color=colour, markerfacecolor=face)
    right.set_xscale("log")
    _plain(right.xaxis)
    right.set_xlabel("observed error, own projections")
    right.set_ylabel("test accuracy, %")
    return figure


def _plain(axis: Axis) -> None:
    """Numbers of a logarithmic scale, over hardly more than a decade, as people write them."""
    axis.set_minor_formatter("{x:g}")
    axis.set_major_formatter("{x:g}")


def _compare(axis: Axes, rows: Sequence[Row]) -> None:
    seen = []
    for name in dict.fromkeys(row["estimate"] for row in rows):
        picked = [row for row in rows if row["estimate"] == name]
        colour, marker, _ = ATTENTION_LOOKS[name]
        marks = {
            "fresh": [row for row in picked if row["kernel_fresh"] is not None],
            "observed": [row for row in picked if row["attention"] == name],
        }
        for kind, own in marks.items():
            x, y = ([number(row[f"kernel_{key}"]) for row in own] for key in ("predicted", kind))
            face, label = (colour, picked[0]["estimate_name"]) if kind == "fresh" else (PAPER, None)
            axis.plot(x, y, marker, color=colour, markerfacecolor=face, label=label)
            seen += y
    axis.set_xscale("log")
    axis.set_yscale("log")
    low, high = min(seen) / 2, max(seen) * 2
    axis.plot([low, high], [low, high], color=GREY, linewidth=1.0)
    axis.set_ylim(low, high)
    axis.set_xlabel("predicted error of the kernel")
    axis.set_ylabel("observed error of the kernel")
    axis.legend()
