"""Figure: what OPRF gains over PosRF, by ‖x+y‖² and the dimension (Figure 1, right)."""

from typing import Any

from matplotlib.figure import Figure

from paper_figures.results import Results, number, numbers
from paper_figures.style import GREY, INK, MARKERS

TITLE = "The utility of optimal positive features (the paper's Figure 1, right)"
MARK = "64"
"""The dimension whose last point the paper names."""


def _curves(results: Results) -> dict[str, Any] | None:
    found = results.experiment("variance")
    return ((found.numbers.get("methods") or {}).get("curves") or None) if found else None


def caption(results: Results) -> str:
    curves = _curves(results) or {}
    last = number(curves["utility"][MARK][-1]) if MARK in curves.get("utility", {}) else 0.0
    return (
        "Logarithm of the ratio of the variances of OPRF and PosRF, a function of z = ‖x+y‖² and "
        "d alone: the lower, the more is gained. The paper reads off a factor above e^60 at "
        f"d = 64, z = 100; the value is {last:.2f}."
    ).replace(" -", " −")


def draw(results: Results) -> Figure | None:
    curves = _curves(results)
    if curves is None:
        return None
    figure = Figure(figsize=(8.6, 3.6))
    axis = figure.subplots()
    z = numbers(curves["z"])
    # Markers stand apart, so that curves are told from each other without colour.
    for place, (d, values) in enumerate(
        sorted(curves["utility"].items(), key=lambda each: int(each[0]))
    ):
        axis.plot(
            z, numbers(values), marker=MARKERS[place], markevery=(5 * place, 20), label=f"d = {d}"
        )
    if MARK in curves["utility"]:
        last = numbers(curves["utility"][MARK])[-1]
        axis.annotate(
            f"{last:.2f}".replace("-", "−"),
            (z[-1], last),
            xytext=(-46, -14),
            textcoords="offset points",
            color=INK,
        )
    axis.axhline(-60, color=GREY, linewidth=0.9, linestyle="--")
    axis.annotate("the paper: below −60", (1, -60), xytext=(4, -12), textcoords="offset points")
    axis.set_xlabel("z = ‖x+y‖²")
    axis.set_title("log(Var OPRF / Var PosRF)")
    axis.legend(loc="lower left")
    return figure
