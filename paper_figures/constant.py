"""Figure: the printed TrigRF column beside TrigRF, a missing conjugate and a constant predictor."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.accuracy import cells, legend
from paper_figures.results import Results, Row, number
from paper_figures.style import BLUE, GRID, INK, PAPER, RED

TITLE = "What the printed TrigRF column shows"


def _shares(results: Results) -> dict[str, Row]:
    found = results.experiment("classification")
    shares = (found.numbers.get("shares") or {}) if found else {}
    return {row["set"]: row for row in shares.get("sets") or []}


def caption(results: Results) -> str:
    found = results.experiment("classification") or results.none
    chance = number(found.numbers["shares"].get("p"))
    return (
        "Accuracy in percent. Grey: where the class that is commonest among the training rows lies "
        "in 95 % of random splits. Diamonds: the paper's TrigRF column. Dots: TrigRF with 64 "
        "complex features, tuned, with its 95 % confidence interval. Crosses: the same with the "
        "conjugate left out, so that cos(ω·(x+y)) takes the place of cos(ω·(x−y)), one for each "
        "split. Against the constant predictor, all "
        f"printed values together have p = {chance:.2f} (Fisher)."
    )


def draw(results: Results) -> Figure | None:
    shares, table = _shares(results), cells(results)
    names = [name for name in table if name in shares]
    if not names:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    axis = figure.subplots()
    for place, name in enumerate(names):
        _line(axis, place, shares[name], table[name])
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(0, 100)
    axis.tick_params(axis="y", length=0, colors=INK)
    axis.set_xlabel("accuracy, %")
    legend(figure)
    return figure


def _line(axis: Axes, place: int, share: Row, rows: Mapping[str, Row]) -> None:
    low, high = (100 * number(share[key]) / share["test"] for key in ("low", "high"))
    axis.barh(place, high - low, left=low, height=0.62, color=GRID, label="commonest class")
    wrong = rows.get("trig-unconjugated")
    if wrong:
        across = [place] * len(wrong["splits"])
        axis.plot(wrong["splits"], across, "x", color=INK, markersize=5, label="no conjugate")
    mean, reach = number(rows["trig"]["accuracy"]), number(rows["trig"]["confidence"])
    axis.errorbar(mean, place, xerr=reach, fmt="o", color=BLUE, label="TrigRF")
    printed = 100 * share["printed"] / share["test"]
    axis.plot(
        printed, place, "D", color=RED, markerfacecolor=PAPER, markersize=6, label="printed TrigRF"
    )
