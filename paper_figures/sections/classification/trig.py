"""The printed TrigRF column: a constant predictor, and what may have made it one."""

import math
from collections.abc import Mapping, Sequence

from paper_figures.markup import Markup, element, figure_of, join, prose, row, table
from paper_figures.results import Row, number
from paper_figures.sections.classification.wording import (
    cells,
    chance,
    listed,
    mean,
    num,
    percent,
)

READING = {
    "trig": "TrigRF as defined, cos(ω·(x-y))",
    "trig-unconjugated": "TrigRF, conjugate left out, cos(ω·(x+y))",
    "trig-untuned": "TrigRF as defined, at the smallest σ whatever validates best",
    "trig-real": "TrigRF, imaginary parts dropped too early, cos(ω·x)cos(ω·y)",
    "trig-imaginary": "TrigRF, real parts dropped, sin(ω·x)sin(ω·y)",
    "gerf": "GERF as defined",
    "gerf-unconjugated": "GERF, conjugate left out",
}
TELLING = 2.0
"""Points by which a slip must move GERF to be told from it."""
TABLES = "tables above"
Ways = Mapping[str, Mapping[str, Row]]
"""The rows of one reading by preparation and set."""


def render(numbers: Row) -> list[Markup]:
    found = {reading: _ways(numbers["readings"], reading) for reading in READING}
    parts = [
        element("h4", "The printed TrigRF column"),
        *_shares(numbers),
        *_readings(numbers, found),
    ]
    return [*parts, *_outcome(found), *_gerf(numbers)]


def inside(shares: Row) -> int:
    """Sets whose printed value lies where the commonest class does in 95 % of splits."""
    return sum(each["low"] <= each["printed"] <= each["high"] for each in shares["sets"])


def _shares(numbers: Row) -> list[Markup]:
    shares = numbers["shares"]
    lead = (
        "Every printed value is a whole number of right answers over the test rows, although it is "
        "a mean over 50 draws, and its spread is printed as < 0.05. A predictor that answers every "
        "row with one class does so. The last column lists the classes whose share of the test "
        "rows may be the printed one (two-sided p ≥ 0.01). If it is the class that is commonest in "
        "training, its right answers lie in the range given in 95 % of random splits; the printed "
        f"ones do in {inside(shares)} of {len(shares['sets'])} sets, and together have "
        f"{chance(shares['p'])} (Fisher). Where classes are equally common, as in wifi, "
        "the one that is commonest in training is rarer than others in the test. The sizes are "
        "⌊0.9·n⌋ and ⌊0.05·n⌋ with n the lines of the file less one, as the paper’s L are, and "
        "with n the rows."
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


def _ways(rows: Sequence[Row], reading: str) -> dict[str, dict[str, Row]]:
    """The study's own tables, then every preparation; one-hot has numbers where no set has it."""
    own = [each for each in rows if each["reading"] == reading]
    found: dict[str, dict[str, Row]] = {}
    for each in own:
        way = TABLES if each["part"] == "table" else f"{each['scaling']}, {each['encoding']}"
        found.setdefault(way, {})[each["set"]] = each
    for way, sets in found.items():
        scaling, _, encoding = way.partition(", ")
        if encoding == "one-hot":
            found[way] = {**found.get(f"{scaling}, ordinal", {}), **sets}
    return found


def _readings(numbers: Row, found: Mapping[str, Ways]) -> list[Markup]:
    """Readings by preparation: share of constant splits, and distance from the printed column."""
    printed = numbers["printed"]["accuracy"]
    ways = list(dict.fromkeys(way for own in found.values() for way in own))
    lines = [
        row(prose(READING[reading]), *(_cell(own.get(way), printed) for way in ways))
        for reading, own in found.items()
        if own
    ]
    lead = (
        "What could make TrigRF constant? At the smallest σ every kernel is near 1 and the "
        "commonest class wins. Validation prefers that σ if all others do worse, as with a wrong "
        "kernel: leave out a conjugate, and cos(ω·(x+y)) takes the place of cos(ω·(x−y)), so that "
        "a row is compared with the mirror images of the others. Readings of TrigRF, on what share "
        "of splits they are constant, and the mean distance from the printed column in points (for "
        "GERF, from its own):"
    )
    shown = table(("Reading", *ways), lines, "Readings of TrigRF and GERF", "variants")
    return [element("p", lead), shown]


def _cell(
    own: Mapping[str, Row] | None, printed: Mapping[str, Mapping[str, float]]
) -> Markup | str:
    if not own:
        return "–"
    distance = mean([_distance(each, printed) for each in own.values()])
    return join([percent(_flat(own)), element("small", f"{num(distance)} points")])


def _flat(own: Mapping[str, Row]) -> float:
    return mean([number(each["constant"]) for each in own.values()])


def _distance(each: Row, printed: Mapping[str, Mapping[str, float]]) -> float:
    return abs(number(each["accuracy"]) - printed[each["set"]][each["reading"].partition("-")[0]])


def _outcome(found: Mapping[str, Ways]) -> list[Markup]:
    """How likely each reading makes the whole column constant, in the tables above."""
    told = []
    for reading in ("trig", "trig-unconjugated", "trig-untuned"):
        own = found[reading].get(TABLES)
        if own:
            always = sum(number(each["constant"]) == 1 for each in own.values())
            whole = math.prod(number(each["constant"]) for each in own.values())
            at_once = f"with {chance(whole, 'probability')}" if whole else "never"
            told.append(
                f"{READING[reading]}: constant on every split in {always} of {len(own)} sets, and "
                f"in all sets at once, one split each, {at_once}"
            )
    others = {way: _flat(own) for way, own in found["trig"].items() if way != TABLES}
    if not told:
        return []
    said = ""
    if others:
        most = max(others, key=lambda way: others[way])
        said = (
            f"Of all preparations, “{most}” makes TrigRF as defined constant most often, on "
            f"{percent(others[most])} of splits."
        )
    return [
        element("p", "With the preparation of the tables above:"),
        element("ul", *(element("li", prose(f"{each}.")) for each in told)),
        element("p", said),
    ]


def _gerf(numbers: Row) -> list[Markup]:
    """Sets in which the slip would move GERF: there it can be told from the printed numbers."""
    rows, printed = cells(numbers), numbers["printed"]
    moved = [
        place
        for place, own in rows.items()
        if "gerf-unconjugated" in own
        and abs(number(own["gerf"]["accuracy"]) - number(own["gerf-unconjugated"]["accuracy"]))
        > TELLING
    ]
    if not moved:
        return []
    told = [
        f"{place} {_pair(rows[place]['gerf'])} as defined, "
        f"{_pair(rows[place]['gerf-unconjugated'])} without, "
        f"{_pair({key: printed[key][place]['gerf'] for key in ('accuracy', 'spread')})} printed"
        for place in moved
    ]
    nearer = [
        f"by {key} the printed GERF is nearer to the one without in "
        f"{listed(place for place in moved if _nearer(rows[place], printed[key][place], key))}"
        for key in ("accuracy", "spread")
    ]
    averages = [mean([number(own[each]["accuracy"]) for own in rows.values()])
                for each in ("gerf", "gerf-unconjugated")]  # fmt: skip
    lead = (
        "One more column can tell a missing conjugate from a σ that was never tuned, which would "
        "leave it as it is. GERF with s = "
        "+1 has real features, which no conjugate changes; with s = −1 the slip would show there "
        f"too. It moves GERF’s accuracy by more than {num(TELLING)} points in these sets (spreads "
        f"over draws in brackets): {'; '.join(told)}. Of these {len(moved)}, {'; '.join(nearer)}. "
        f"On average over {len(rows)} sets GERF has {num(averages[0])} as defined and "
        f"{num(averages[1])} without{_printed(numbers, len(rows))}. "
        "None of this is proof: only the paper’s code could show what was run."
    )
    return [element("p", lead)]


def _printed(numbers: Row, count: int) -> str:
    """GERF's printed average, if it is of the same sets."""
    whole = count == len(numbers["printed"]["accuracy"])
    return f"; {num(numbers['printed']['average']['gerf'])} is printed" if whole else ""


def _pair(each: Row) -> str:
    return f"{num(each['accuracy'])} ({num(each['spread'])})"


def _nearer(own: Mapping[str, Row], printed: Mapping[str, float], key: str) -> bool:
    """Whether the printed GERF lies nearer to GERF without the conjugate."""
    defined, without = (number(own[name][key]) for name in ("gerf", "gerf-unconjugated"))
    return abs(without - printed["gerf"]) < abs(defined - printed["gerf"])
