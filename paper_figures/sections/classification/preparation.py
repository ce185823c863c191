"""How the tables were prepared: agreement with the paper, and the cells that it prints constant."""

import math
from collections.abc import Mapping, Sequence

from paper_figures.markup import Markup, element, join, row, table
from paper_figures.results import Row, number
from paper_figures.sections.classification.tables import SHOWN
from paper_figures.sections.classification.wording import (
    SMALL,
    cells,
    inside,
    listed,
    num,
    percent,
    sets,
)

Way = tuple[str, str, str]
"""Part of the study, scaling and encoding."""
TABLES = "tables above"
CHANCE = "By chance, had the paper done as we do"


def render(numbers: Row) -> list[Markup]:
    rows = sorted(numbers["preparations"], key=lambda each: number(each["accuracy"]))
    parts = [
        element("h4", "Preparation of the tables"),
        element("p", _lead(rows[0])),
        _distances(numbers, rows),
        *(
            element("p", said)
            for said in (_choice(rows), _chance(numbers), _outside(numbers))
            if said
        ),
    ]
    if numbers.get("constants"):
        parts += _constants(numbers)
    if numbers.get("first_class"):
        parts.append(element("p", _first_class(numbers["first_class"])))
    return parts


def used(rows: Sequence[Row]) -> Row | None:
    """The preparation of the tables above."""
    return next((each for each in rows if each["used"]), None)


def name(each: Row) -> str:
    return f"{each['scaling']}, {each['encoding']}"


def _lead(any_of: Row) -> str:
    return (
        "The paper does not say how the tables were prepared. We compare raw, standardised and "
        "min-max columns, with categories as numbers in their order (ordinal), as columns of zeros "
        "and ones (one-hot), or one-hot where the file has words and numbers where it has numbers, "
        "as for cmc (one-hot words). One-hot columns are scaled as all others are: standardised "
        "ones are no longer 0 and 1. This comparison has "
        f"{len(any_of['splits'])} splits and {any_of['draws']} draws. The table gives the mean "
        "distance of our accuracies from the printed ones in points, over the seven columns other "
        "than TrigRF: of the mean over splits, of each split alone, and without GERF, which a slip "
        "in TrigRF may touch; then that of the spreads, the share of splits that are constant (a "
        "spread below 0.05) where the paper’s cell is and where it is not, and the distance by set."
    )


def _choice(rows: Sequence[Row]) -> str:
    mine = used(rows)
    if not mine:
        return ""
    return (
        f"The tables above use “{name(mine)}”, {_place(rows, mine)}.{_rival(rows, mine)} It was "
        "chosen by its agreement with these columns, and is judged here by the same: that they "
        "agree is no further evidence for it."
    )


def _rival(rows: Sequence[Row], mine: Row) -> str:
    """How sure the choice is: where the nearest other differs, by split, and without GERF."""
    other = next((each for each in rows if each is not mine), None)
    if not other:
        return ""
    alone = zip(*(each["splits"] for each in rows), strict=True)
    first = sum(values[rows.index(mine)] == min(values) for values in alone)
    order = sorted(rows, key=lambda each: number(each["without_gerf"]))
    six = [f"“{name(each)}” ({num(each['without_gerf'], 2)})" for each in order[:2]]
    differ = [place for place, value in mine["sets"].items() if value != other["sets"][place]]
    return (
        f" From “{name(other)}” ({num(mine['accuracy'], 2)} against {num(other['accuracy'], 2)} "
        f"points) it differs in {listed(differ)}, and it is the nearest on {first} of "
        f"{len(mine['splits'])} splits. Without GERF, the nearest are {listed(six)}."
    )


def _chance(numbers: Row) -> str:
    """Sets that are further from the paper than one split of ours is from the others."""
    chance, mine = numbers.get("by_chance"), used(numbers["preparations"])
    if not chance or not mine:
        return ""
    told = [
        f"{place} ({num(mine['sets'][place])} against {num(chance['sets'][place])})"
        for place in sets(numbers)
        if number(mine["sets"].get(place)) > number(chance["sets"].get(place))
    ]
    return (
        "Had the paper done as we do, on a split of its own, the last row would be expected: on "
        f"average {num(chance['accuracy'])} points, where we find {num(mine['accuracy'])}. By "
        f"set, ours is above that in {listed(told)}."
    )


def _outside(numbers: Row) -> str:
    """Cells other than TrigRF's that lie where one more split of ours would not."""
    printed = numbers["printed"]["accuracy"]
    judged = {
        f"{place} {method}": inside(own[method], value)
        for place, own in cells(numbers).items()
        for method, value in printed[place].items()
        if method != "trig" and inside(own[method], value) is not None
    }
    if not judged:
        return ""
    bad = [cell for cell, good in judged.items() if not good]
    return (
        f"Of the {len(judged)} printed cells other than TrigRF’s, {len(bad)} lie outside the "
        f"interval in which one more split of ours would lie with 95 % ({listed(bad)}); about "
        f"{num(0.05 * len(judged), 0)} would by chance."
    )


def _place(rows: Sequence[Row], mine: Row) -> str:
    """Where a preparation stands among all, which are sorted by distance."""
    said = f"{num(mine['accuracy'])} points"
    if mine is rows[0]:
        return f"the nearest of {len(rows)} ({said})"
    return (
        f"number {rows.index(mine) + 1} of {len(rows)} by distance ({said}; the least is "
        f"{num(rows[0]['accuracy'])} with “{name(rows[0])}”)"
    )


def _distances(numbers: Row, rows: Sequence[Row]) -> Markup:
    places = [place for place in sets(numbers) if any(place in own["sets"] for own in rows)]
    lines = [
        row(
            join([name(own), element("small", "in use") if own["used"] else ""]),
            num(own["accuracy"]),
            ", ".join(num(each) for each in own["splits"]),
            *(num(own[key]) for key in ("without_gerf", "spread")),
            *(_share(own[key]) for key in ("constant", "varying")),
            *(num(own["sets"].get(each)) for each in places),
        )
        for own in rows
    ]
    chance = numbers.get("by_chance")
    if chance:
        last = (num(chance["sets"].get(each)) for each in places)
        lines.append(
            row(CHANCE, num(chance["accuracy"]), "–", "–", num(chance["spread"]), "–", "–", *last)
        )
    head = ("Preparation", "Accuracy", "By split", "Without GERF", "Spread",
            "Constant, printed so", "Constant, other", *places)  # fmt: skip
    return table(head, lines, "Preparations", "variants")


def _share(value: object) -> str:
    share = number(value)
    return "–" if math.isnan(share) else percent(share)


def _constants(numbers: Row) -> list[Markup]:
    spread, accuracy = (numbers["printed"][key] for key in ("spread", "accuracy"))
    places = sets(numbers)
    flat = [
        (place, method)
        for place in places
        for method in SHOWN
        if method != "trig" and spread[place].get(method, math.inf) <= SMALL
    ]
    same = sum(accuracy[place][method] == accuracy[place]["trig"] for place, method in flat)
    lead = (
        "Cells that the paper prints with a spread below 0.05, as if one class were the answer to "
        f"every row: TrigRF’s in every set, and {listed(f'{m} in {p}' for p, m in flat)}; "
        f"{same} of these {len(flat)} repeat TrigRF’s accuracy. In how many splits such a cell is "
        "constant under each preparation; for TrigRF as it is defined, and then without its "
        "conjugate. Where a set has no categories, one-hot is no other preparation."
    )
    found = {(_way(each), each["set"], each["method"]): each for each in numbers["constants"]}
    ways = list(dict.fromkeys(way for way, _, _ in found))
    shown = [*flat, *((place, "trig") for place in places)]
    lines = [
        row(f"{place}, {method}", *(_cell(found, way, place, method) for way in ways))
        for place, method in shown
        if any((way, place, method) in found for way in ways)
    ]
    head = ("Cell", *(_title(way) for way in ways))
    return [
        element("p", lead),
        table(head, lines, "Cells that are printed constant", "variants"),
        *_pattern(numbers["preparations"], len(flat)),
    ]


def _way(each: Row) -> Way:
    """The study's own tables are one way, whatever the encoding of a set."""
    return (TABLES, "", "") if each["part"] == "table" else ("", each["scaling"], each["encoding"])


def _title(way: Way) -> str:
    return way[0] or f"{way[1]}, {way[2]}"


def _cell(
    found: Mapping[tuple[Way, str, str], Row], way: Way, place: str, method: str
) -> Markup | str:
    each = found.get((way, place, method))
    if each is None:
        return "–"
    said = f"{each['constant']} of {each['splits']}"
    slip = found.get((way, place, "trig-unconjugated")) if method == "trig" else None
    notes = []
    if each["commonest"] < each["constant"]:
        notes.append(f"{each['commonest']} as the commonest class")
    if slip:
        notes.append(f"{slip['constant']} of {slip['splits']} without")
    return join([element("span", said, class_="num"), *(element("small", n) for n in notes)])


def _pattern(rows: Sequence[Row], cells: int) -> list[Markup]:
    """What the constant cells other than TrigRF's say of the preparations, if any were run."""
    told = [each for each in rows if each.get("constant") is not None]
    if not told:
        return []
    told = sorted(told, key=lambda each: number(each["varying"]) - number(each["constant"]))
    said = (
        f"The {cells} cells other than TrigRF’s can tell preparations apart: one that makes them "
        "constant, and no others, is a candidate for the paper’s. By the difference of the two "
        f"shares in the table before, {_fits(told[0])} fits best"
    )
    if len(told) > 1:
        said += f", then {_fits(told[1])}; {_fits(told[-1])} fits least"
    mine = used(told)
    if mine and not told[0]["used"]:
        said += f". In use is {_fits(mine)}"
    said += (
        ". These cells enter the distances above as well, so this is a second look at the same "
        "numbers rather than a second witness."
    )
    return [element("p", said)]


def _fits(each: Row) -> str:
    shares = (percent(number(each[key])) for key in ("constant", "varying"))
    return f"“{name(each)}” ({' and '.join(shares)})"


def _first_class(rows: Sequence[Row]) -> str:
    """Where constant columns may be due to the order of the classes."""
    flat, above = (sum(each[key] for each in rows) for key in ("constant", "above"))
    own = [each for each in rows if each["part"] == "table"]
    said = (
        "A caution on constant columns. At the smallest σ every kernel is near 1, and the "
        "commonest class wins by its number of rows. At a large σ the features of Poisson and "
        "geometric mechanisms may vanish on a whole row; then all classes tie at 0, and the answer "
        "is the first class of the file’s description, which often is the commonest one. Of "
        f"{flat} constant results (a mechanism, a split, a preparation), {above} come from a σ "
        "above the smallest and may be of that kind"
    )
    if own:
        mine = sum(each["above"] for each in own)
        said += f"; in the tables above, {mine} of {sum(each['constant'] for each in own)}"
    return said + ". Ties of single rows are not recorded."
