"""Below the verdicts of the classification: both tables, the ranks, and what the paper did."""

import math
from collections.abc import Mapping, Sequence

from paper_figures.markup import Markup, element, figure_of, join, prose, row, table
from paper_figures.results import Row, Run, number

SHOWN = (
    *("trig", "pos", "gerf", "pois", "geom", "oprf", "pois+", "geom+"),
    *("optpois", "trig-128", "exact", "majority"),
)
READING = {
    "trig": "TrigRF as defined, cos(ω·(x-y))",
    "gerf": "GERF as defined",
    "gerf-unconjugated": "GERF, conjugate left out",
    "trig-unconjugated": "TrigRF, conjugate left out, cos(ω·(x+y))",
    "trig-real": "TrigRF, imaginary parts dropped too early, cos(ω·x)cos(ω·y)",
    "trig-imaginary": "TrigRF, real parts dropped, sin(ω·x)sin(ω·y)",
}

TELLING = 2.0
SMALL = 0.05
"""A spread that is printed as "< 0.05" is stored as this."""


def render(run: Run) -> Markup:
    numbers = run.numbers
    parts: list[Markup] = []
    if numbers.get("accuracy"):
        parts += [*_table(numbers, "accuracy", ACCURACY), *_table(numbers, "spread", SPREAD)]
    if numbers.get("ranks"):
        parts += _ranks(numbers)
    if numbers.get("preparations"):
        parts += _preparations(numbers)
    if (numbers.get("shares") or {}).get("sets"):
        parts += [*_shares(numbers), *_readings(numbers)]
    return join(parts)


ACCURACY = (
    "Test accuracy in percent, mean over splits ± half of its 95 % confidence interval (corrected "
    "for splits that share training rows); the paper’s value, of one split, below. L is the number "
    "of training rows, from the lines of the file as in the paper."
)
SPREAD = (
    "Standard deviation of the test accuracy over the draws of ω in percent, mean over splits; the "
    "paper’s value below. It tells nothing of other splits, which move the accuracy as much."
)


def _num(value: object, digits: int = 1) -> str:
    size = number(value)
    return "–" if math.isnan(size) else f"{size:.{digits}f}".replace("-", "−")


def _table(numbers: Row, key: str, lead: str) -> list[Markup]:
    cells: dict[str, dict[str, Row]] = {}
    for each in numbers["accuracy"]:
        cells.setdefault(each["set"], {})[each["method"]] = each
    printed = (numbers.get("printed") or {}).get(key, {})
    names = [name for name in SHOWN if key == "accuracy" or name not in ("exact", "majority")]
    sizes = {each["set"]: each["train"] for each in (numbers.get("shares") or {}).get("sets", [])}
    lines = [
        row(
            join([name, element("small", f"L = {sizes[name]}") if name in sizes else ""]),
            *(_cell(own[method], printed.get(name, {}).get(method), key) for method in names),
        )
        for name, own in cells.items()
    ]
    if key == "accuracy" and len(cells) > 1:
        means, theirs = numbers["average"], numbers["printed"]["average"]
        whole = len(cells) == len(numbers["printed"]["accuracy"])
        lines.append(
            row(
                "average",
                *(_cell(means[m], theirs.get(m) if whole else None, key) for m in names),
            )
        )
    return [element("p", lead), table(("", *names), lines, lead.partition(",")[0], "cells")]


def _cell(own: Row, printed: float | None, key: str) -> Markup:
    value = _num(own[key])
    if key == "accuracy" and not math.isnan(number(own["confidence"])):
        value += f" ± {_num(own['confidence'])}"
    if printed is None:
        return element("span", value, class_="num")
    theirs = "< 0.05" if key == "spread" and printed == SMALL else _num(printed)
    return join([element("span", value, class_="num"), element("small", f"paper {theirs}")])


def _ranks(numbers: Row) -> list[Markup]:
    ranks = numbers["ranks"]
    order = sorted(ranks["ours"], key=lambda name: number(ranks["ours"][name]))
    told = [
        row(
            name,
            *(_num(ranks[key][name], 2) for key in ("ours", "printed")),
            *_against(numbers["pairs"], name),
        )
        for name in order
    ]
    lead = (
        f"Average rank over {ranks['sets']} sets (1 is best). Ranks closer than "
        f"{_num(ranks['critical_difference'], 2)} are not told apart (Nemenyi, 5 %). Then the mean "
        "difference to OPRF, which the paper recommends, the sets in which a mechanism is better "
        "or worse than OPRF at 5 % (paired by split, corrected resampled t-test), and Wilcoxon’s p "
        "over sets, corrected by Holm for all pairs."
    )
    head = ("", "Rank", "Rank in the paper", "To OPRF, points", "Better / worse", "Wilcoxon p")
    return [element("p", lead), table(head, told, "Average ranks", "variants")]


def _against(pairs: Sequence[Row], name: str, base: str = "oprf") -> list[Markup | str]:
    for each in pairs:
        if {each["one"], each["other"]} == {name, base}:
            sign = 1 if each["one"] == name else -1
            wins = (each["better"], each["worse"])[::sign]
            difference = sign * number(each["difference"])
            return [_num(difference), f"{wins[0]} / {wins[1]}", figure_of(each["holm"], 2)]
    return ["–", "–", "–"]


def _preparations(numbers: Row) -> list[Markup]:
    rows = sorted(numbers["preparations"], key=lambda each: number(each["accuracy"]))
    sets = list(dict.fromkeys(name for each in rows for name in each["sets"]))
    chance = number(numbers.get("by_chance"))
    lead = (
        "The paper does not say how the tables were prepared. Mean distance of our accuracies from "
        "the printed ones in points, over the seven columns other than TrigRF: on average, of the "
        "spreads over draws, and by set. "
    )
    if not math.isnan(chance):
        lead += (
            f"If the paper had done as we do, on a split of its own, about {_num(chance)} would be "
            "expected. The tables above use the preparation "
            f"“{', '.join(numbers['preparation'])}”, where one-hot is for words alone: cmc’s "
            "numbers stay numbers."
        )
    lines = [
        row(
            f"{each['scaling']}, {each['encoding']}",
            *(_num(each[key]) for key in ("accuracy", "spread")),
            *(_num(each["sets"].get(name)) for name in sets),
        )
        for each in rows
    ]
    head = ("Preparation", "Accuracy", "Spread", *sets)
    return [element("p", lead), table(head, lines, "Preparations", "variants")]


def _shares(numbers: Row) -> list[Markup]:
    shares = numbers["shares"]
    inside = sum(each["low"] <= each["printed"] <= each["high"] for each in shares["sets"])
    lead = (
        "The TrigRF column. Every printed value is a whole number of right answers over the test "
        "rows, although it is a mean over 50 draws, and its spread is printed as < 0.05: all draws "
        "gave the same answers. A predictor that answers with one class does so. The last column "
        "lists the classes whose share of the test rows may be the printed one (two-sided p ≥ "
        "0.01). If it is the class that is commonest in training, its right answers lie in the "
        f"range given in 95 % of random splits; the printed ones do in {inside} of "
        f"{len(shares['sets'])} sets, and together have p = {_num(shares['p'], 2)} (Fisher). Where "
        "classes are equally common, as in wifi, the one that is commonest in training is rarer "
        "than others in the test. The sizes are ⌊0.9·n⌋ and ⌊0.05·n⌋ with n the lines of the file "
        "less one, as the paper’s L are, and with n the rows."
    )
    lines = [
        row(
            each["set"],
            f"{each['train']} / {each['train_by_rows']}",
            f"{each['test']} / {each['test_by_rows']}",
            f"{each['printed']}",
            f"{each['low']} to {each['high']}",
            figure_of(each["p"], 2),
            ", ".join(each["consistent"]),
        )
        for each in shares["sets"]
    ]
    head = ("", "L by lines / rows", "Test by lines / rows", "Right, printed", "Commonest class",
            "p", "Classes that fit")  # fmt: skip
    return [element("p", lead), table(head, lines, "The printed TrigRF column", "variants")]


def _readings(numbers: Row) -> list[Markup]:
    """Readings of TrigRF: sets in which a reading is constant, and its distance from the column."""
    printed = numbers["printed"]["accuracy"]
    groups: dict[tuple[str, str, str, int], list[Row]] = {}
    for each in numbers["readings"]:
        key = (each["reading"], each["scaling"], each["encoding"], each["draws"])
        groups.setdefault(key, []).append(each)
    lines = [
        row(
            join([prose(READING[key[0]]), element("small", f"{key[1]}, {key[2]}, {key[3]} draws")]),
            f"{sum(number(each['constant']) == 1 for each in own)} of {len(own)}",
            _num(100 * _mean([number(each["constant"]) for each in own]), 0) + " %",
            _num(_mean([_distance(each, printed) for each in own])),
        )
        for key, own in sorted(groups.items())
    ]
    lead = (
        "What makes TrigRF constant? At the smallest σ every kernel is 1 and the commonest class "
        "wins. Validation prefers that σ if all others do worse, as with a wrong kernel. For "
        "several readings of TrigRF: in how many sets all draws have equally many right answers on "
        "every split, on what share of all splits they do, and the mean distance from the printed "
        "column (for GERF, from its own). This is how the column may have come about; only the "
        "paper’s code could prove it."
    )
    head = ("Reading", "Sets constant", "Splits constant", "Distance, points")
    shown = table(head, lines, "Readings of TrigRF and GERF", "variants")
    return [element("p", lead), shown, *_gerf(numbers)]


def _gerf(numbers: Row) -> list[Markup]:
    """Sets in which the slip would move GERF: there it can be told from the printed numbers."""
    rows = numbers.get("accuracy") or []
    cells = {(each["set"], each["method"]): number(each["accuracy"]) for each in rows}
    told = [
        f"{name} {_num(cells[name, 'gerf'])} as defined, {_num(cells[name, 'gerf-unconjugated'])} "
        f"without, {_num(printed['gerf'])} printed"
        for name, printed in numbers["printed"]["accuracy"].items()
        if (name, "gerf-unconjugated") in cells
        and abs(cells[name, "gerf"] - cells[name, "gerf-unconjugated"]) > TELLING
    ]
    if not told:
        return []
    lead = (
        "GERF with s = +1 has real features, which no conjugate changes; with s = −1 the slip of "
        "TrigRF would show there too. It moves GERF’s accuracy by more than "
        f"{_num(TELLING)} points in: {'; '.join(told)}."
    )
    return [element("p", lead)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _distance(each: Row, printed: Mapping[str, Mapping[str, float]]) -> float:
    return abs(number(each["accuracy"]) - printed[each["set"]][each["reading"].partition("-")[0]])
