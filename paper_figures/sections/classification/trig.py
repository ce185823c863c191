"""The printed TrigRF column: a constant predictor, and what may have made it one."""

import math
from collections.abc import Iterable, Mapping, Sequence

from paper_figures.markup import Markup, element, figure_of, join, prose, row, table
from paper_figures.results import Row, number
from paper_figures.sections.classification.wording import (
    cells,
    chance,
    inside,
    listed,
    mean,
    num,
    percent,
    predicted,
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
GERF = {"gerf": "as defined", "gerf-unconjugated": "without the conjugate"}
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


def as_commonest(shares: Row) -> int:
    """Sets whose printed value lies where the commonest class does in 95 % of splits."""
    return sum(each["low"] <= each["printed"] <= each["high"] for each in shares["sets"])


def _shares(numbers: Row) -> list[Markup]:
    shares = numbers["shares"]
    lead = (
        f"{_whole(shares['sets'])} The last column lists the classes whose share of the test "
        "rows may be the printed one (two-sided p ≥ 0.01). If it is the class that is commonest in "
        "training, its right answers lie in the range given in 95 % of random splits; the printed "
        f"ones do in {as_commonest(shares)} of {len(shares['sets'])} sets, and together have "
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
            f"{each['printed'] if each['whole'] else '–'} / "
            f"{each['printed_by_rows'] if each['whole_by_rows'] else '–'}",
            f"{each['low']} to {each['high']}",
            figure_of(each["p"], 2),
            ", ".join(each["consistent"]),
        )
        for each in shares["sets"]
    ]
    head = ("", "L by lines / rows", "Test by lines / rows", "Right, printed, by lines / rows",
            "Commonest class", "p", "Classes that fit")  # fmt: skip
    return [element("p", lead), table(head, lines, "The printed TrigRF column", "variants")]


def _whole(rows: Sequence[Row]) -> str:
    """Whether printed values are whole counts, and in which sets that says something."""
    telling = [each for each in rows if each["coarse"]]
    counts = [sum(each[key] for each in telling) for key in ("whole", "whole_by_rows")]
    said = (
        f"Means over 50 draws need be no whole number of right answers over the test rows; of the "
        f"printed values, {counts[0]} of {len(telling)} are with the size of the test from the "
        f"lines of the file, and {counts[1]} with that from the rows"
    )
    missed = [each["set"] for each in telling if each["whole"] and not each["whole_by_rows"]]
    if missed:
        said += f" ({listed(missed)} would not be)"
    idle = [each["set"] for each in rows if not each["coarse"]]
    if idle:
        said += f"; in {listed(idle)} every value is one, which tells nothing"
    return said + (
        ". All spreads are printed as < 0.05. A predictor that answers every row with one class "
        "gives both."
    )


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


def at_once(rows: Iterable[Row]) -> float:
    """How likely a reading is constant in all sets, one split each."""
    return math.prod(number(each["constant"]) for each in rows)


def often(share: float) -> str:
    return f"with {chance(share, 'probability')}" if share else "never"


def _outcome(found: Mapping[str, Ways]) -> list[Markup]:
    """How likely each reading makes the whole column constant, in the tables above."""
    told = []
    for reading in ("trig", "trig-unconjugated", "trig-untuned"):
        own = found[reading].get(TABLES)
        if own:
            always = sum(number(each["constant"]) == 1 for each in own.values())
            told.append(
                f"{READING[reading]}: constant on every split in {always} of {len(own)} sets, and "
                f"in all sets at once, one split each, {often(at_once(own.values()))}"
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
    theirs = {place: printed["accuracy"][place]["gerf"] for place in moved}
    lines = [
        row(
            place,
            _told(num(theirs[place]), f"spread {num(printed['spread'][place]['gerf'])}"),
            *(_ours(rows[place][each], theirs[place]) for each in GERF),
        )
        for place in moved
    ]
    fits = [
        f"{listed(place for place in moved if inside(rows[place][each], theirs[place]))} "
        f"for GERF {said}"
        for each, said in GERF.items()
    ]
    nearer = [
        f"by {key} in "
        f"{listed(place for place in moved if _nearer(rows[place], printed[key][place], key))}"
        for key in ("accuracy", "spread")
    ]
    lead = (
        "One more column can tell a missing conjugate from a σ that was never tuned, which would "
        "leave it as it is. GERF with s = +1 has real features, which no conjugate changes; with "
        f"s = −1 the slip would show there too. It moves GERF by more than {num(TELLING)} points "
        f"in {listed(moved)}. With the interval in which one more split of ours would lie with "
        f"95 %, the printed accuracy is inside in {' and in '.join(fits)}; it is nearer to the one "
        f"without the conjugate {' and '.join(nearer)}. {_averages(numbers)} None of this is "
        "proof: only the paper’s code could show what was run."
    )
    head = ("", "GERF, printed", *(f"GERF {said}" for said in GERF.values()))
    return [element("p", lead), table(head, lines, "GERF and the conjugate", "variants")]


def _averages(numbers: Row) -> str:
    """GERF's averages; the printed one, if it is of the same sets."""
    rows, printed = cells(numbers), numbers["printed"]
    ours = [
        f"{num(mean([number(own[each]['accuracy']) for own in rows.values()]))} {said}"
        for each, said in GERF.items()
    ]
    whole = len(rows) == len(printed["accuracy"])
    theirs = f"; {num(printed['average']['gerf'])} is printed" if whole else ""
    return f"On average over {len(rows)} sets GERF has {' and '.join(ours)}{theirs}."


def _ours(own: Row, printed: float) -> Markup:
    """An accuracy with its interval, and on which side of it the printed one lies."""
    side = {True: ", printed inside", False: ", printed outside", None: ""}[inside(own, printed)]
    return _told(predicted(own), f"spread {num(own['spread'])}{side}")


def _told(value: str, note: str) -> Markup:
    return join([element("span", value, class_="num"), element("small", note)])


def _nearer(own: Mapping[str, Row], printed: Mapping[str, float], key: str) -> bool:
    """Whether the printed GERF lies nearer to GERF without the conjugate."""
    defined, without = (number(own[name][key]) for name in GERF)
    return abs(without - printed["gerf"]) < abs(defined - printed["gerf"])
