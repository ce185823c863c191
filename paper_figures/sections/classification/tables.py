"""Tables 1 and 5: accuracies and their spreads, the paper's below ours."""

import math

from paper_figures.markup import Markup, element, join, row, table
from paper_figures.results import Row, number
from paper_figures.sections.classification.wording import SMALL, cells, num

SHOWN = (
    *("trig", "pos", "gerf", "pois", "geom", "oprf", "pois+", "geom+"),
    *("optpois", "trig-128", "exact", "majority"),
)
ACCURACY = (
    "Test accuracy in percent, mean over splits ± half of its 95 % confidence interval (corrected "
    "for splits that share training rows); the paper’s value, of one split, below. The columns of "
    "a set share their splits, so they rise and fall together. L is the number of training rows, "
    "from the lines of the file as in the paper."
)
SPREAD = (
    "Standard deviation of the test accuracy over the draws of ω in percent, mean over splits; the "
    "paper’s value below. It tells nothing of other splits."
)


def render(numbers: Row) -> list[Markup]:
    return [
        element("h4", "Both tables"),
        *_table(numbers, "accuracy", ACCURACY + _optimal_rates(numbers)),
        *_table(numbers, "spread", SPREAD),
    ]


def _optimal_rates(numbers: Row) -> str:
    """A remark if OptPoisRF nowhere differs from PoisRF."""
    rows = cells(numbers).values()
    if all("optpois" in own and own["optpois"]["splits"] == own["pois"]["splits"] for own in rows):
        return (
            " OptPoisRF answers as PoisRF does on every split: columns of equal second moments, as "
            "standardised ones are, have equal optimal rates."
        )
    return ""


def _table(numbers: Row, key: str, lead: str) -> list[Markup]:
    found = cells(numbers)
    printed = (numbers.get("printed") or {}).get(key, {})
    names = [name for name in SHOWN if key == "accuracy" or name not in ("exact", "majority")]
    sizes = {each["set"]: each["train"] for each in (numbers.get("shares") or {}).get("sets", [])}
    lines = [
        row(
            join(
                [
                    name,
                    element("small", f"L = {sizes[name]}", class_="num") if name in sizes else "",
                ]
            ),
            *(_cell(own[method], printed.get(name, {}).get(method), key) for method in names),
        )
        for name, own in found.items()
    ]
    if key == "accuracy" and len(found) > 1:
        means, theirs = numbers["average"], numbers["printed"]["average"]
        whole = len(found) == len(numbers["printed"]["accuracy"])
        lines.append(
            row(
                "average",
                *(_cell(means[m], theirs.get(m) if whole else None, key) for m in names),
            )
        )
    return [element("p", lead), table(("", *names), lines, lead.partition(",")[0], "cells")]


def _cell(own: Row, printed: float | None, key: str) -> Markup:
    value = num(own[key])
    if key == "accuracy" and not math.isnan(number(own["confidence"])):
        value += f" ± {num(own['confidence'])}"
    if printed is None:
        return element("span", value, class_="num")
    theirs = "< 0.05" if key == "spread" and printed == SMALL else num(printed)
    return join([element("span", value, class_="num"), element("small", f"paper {theirs}")])
