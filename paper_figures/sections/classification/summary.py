"""What came out, in a few sentences."""

from collections.abc import Sequence

from paper_figures.markup import Markup, element
from paper_figures.results import Row, number
from paper_figures.sections.classification.preparation import name, used
from paper_figures.sections.classification.ranking import apart
from paper_figures.sections.classification.trig import as_commonest, at_once, often
from paper_figures.sections.classification.wording import (
    cells,
    chance,
    inside,
    listed,
    mean,
    num,
    ordered,
    percent,
    predicted,
)

REPRODUCED = "reproduced"
SLIP, UNTUNED = "trig-unconjugated", "trig-untuned"
LEVEL = 0.05


def render(numbers: Row, verdicts: Sequence[Row]) -> list[Markup]:
    told = {
        "The ranking.": _ranking(numbers),
        "What reproduces.": _reproduced(verdicts),
        "The preparation.": _preparation(numbers),
        "TrigRF.": _trig(numbers),
    }
    return [element("p", element("strong", head), " ", said) for head, said in told.items() if said]


def _ranking(numbers: Row) -> str:
    """The order by average accuracy, ours and the paper's, and what of it is certain."""
    ranks = numbers.get("ranks")
    if not ranks:
        return ""
    ours = {each: number(numbers["average"][each]["accuracy"]) for each in ranks["ours"]}
    theirs = numbers["printed"]["average"]
    whole = ranks["sets"] == len(numbers["printed"]["accuracy"])
    order = ordered(ours)
    said = (
        f"By average accuracy over {ranks['sets']} sets: "
        f"{', '.join(f'{each} {num(ours[each])}' for each in order)}. "
    )
    if whole:
        said += f"In the paper: {', '.join(f'{each} {theirs[each]}' for each in ordered(theirs))}. "
    return said + _first(numbers, order) + _ends(numbers, order)


def _first(numbers: Row, order: Sequence[str]) -> str:
    base = numbers["ranks"]["base"]
    others = {each["method"]: each for each in numbers["against"]}
    rival = order[order[0] == base]
    size, reach = abs(number(others[rival]["difference"])), number(others[rival]["confidence"])
    gap = f"{num(size, 2)} points (± {num(reach, 2)} over splits)"
    if order[0] == base:
        said = f"OPRF, which the paper recommends, is first, {gap} before {rival}"
    else:
        said = (
            f"OPRF, which the paper recommends, is number {order.index(base) + 1}, {gap} "
            f"behind {rival}"
        )
    said += ". " if size > reach else ", which these splits do not decide. "
    told = apart(numbers["ranks"])
    return said + f"By ranks over sets it is told apart from {listed(told, 'no other')}. "


def _ends(numbers: Row, order: Sequence[str]) -> str:
    means = {each: number(own["accuracy"]) for each, own in numbers["average"].items()}
    return (
        f"The exact kernel has {num(means['exact'])}, so {num(means['exact'] - means[order[0]])} "
        f"points are lost even by the best; always answering with the commonest class has "
        f"{num(means['majority'])}. TrigRF with twice the features has {num(means['trig-128'])}."
    )


def _reproduced(verdicts: Sequence[Row]) -> str:
    judged = {
        each["item"].split()[3]: each["verdict"]
        for each in verdicts
        if each["item"].startswith("average accuracy of") and each["verdict"]
    }
    if not judged:
        return ""
    good = [each for each, verdict in judged.items() if verdict == REPRODUCED]
    bad = [each for each in judged if each not in good]
    return (
        f"The paper’s average lies where one more split of ours would for "
        f"{listed(good)}; not for {listed(bad)}."
    )


def _preparation(numbers: Row) -> str:
    rows = numbers.get("preparations") or []
    mine = used(rows)
    if not mine:
        return ""
    said = (
        f"The paper names none; “{name(mine)}” is on average "
        f"{num(mine['accuracy'])} points from its columns other than TrigRF, by which it was chosen"
    )
    shares = [number(mine[key]) for key in ("constant", "varying") if mine.get(key) is not None]
    if len(shares) == 2:
        said += (
            f", and constant on {percent(shares[0])} of splits where those columns are, "
            f"{percent(shares[1])} where they are not"
        )
    return said + "."


def _trig(numbers: Row) -> str:
    shares, rows = numbers.get("shares") or {}, cells(numbers)
    if not shares.get("sets") or not all(SLIP in own for own in rows.values()):
        return ""
    flat, defined = (
        mean([number(own[each]["constant"]) for own in rows.values()]) for each in (SLIP, "trig")
    )
    averages = [mean([number(own[m]["accuracy"]) for own in rows.values()]) for m in (SLIP, "trig")]
    return (
        "Its printed column lies where a constant predictor’s does in "
        f"{as_commonest(shares)} of {len(shares['sets'])} sets (together "
        f"{chance(shares['p'])}). "
        f"As it is defined TrigRF has {num(averages[1])} on average here and is constant on "
        f"{percent(defined)} of splits; with its conjugate left out, {num(averages[0])} and "
        f"{percent(flat)}. {_untuned(numbers)}{_gerf(numbers)}{_cause(numbers)}"
        "The evidence is below; it is no proof."
    )


def _of_tables(numbers: Row, reading: str) -> list[Row]:
    """The rows of a reading in the study's own tables, one a set."""
    return [
        each
        for each in numbers.get("readings") or []
        if (each["part"], each["reading"]) == ("table", reading)
    ]


def _untuned(numbers: Row) -> str:
    """The other way to a constant column, in the study's own tables."""
    rows = _of_tables(numbers, UNTUNED)
    if not rows:
        return ""
    accuracy, flat = (
        mean([number(each[key]) for each in rows]) for key in ("accuracy", "constant")
    )
    return (
        "As it is defined but with the smallest σ in every set, whatever validates best, it has "
        f"{num(accuracy)} and {percent(flat)}. "
    )


def _gerf(numbers: Row) -> str:
    """The average of the other column that the slip would move."""
    rows, theirs = cells(numbers), numbers["printed"]
    if len(rows) < len(theirs["accuracy"]) or not all(
        "gerf-unconjugated" in r for r in rows.values()
    ):
        return ""
    defined, without = (
        mean([number(own[each]["accuracy"]) for own in rows.values()])
        for each in ("gerf", "gerf-unconjugated")
    )
    return (
        f"The missing conjugate alone would also move GERF, from {num(defined)} to "
        f"{num(without)}; the paper prints {theirs['average']['gerf']}. "
    )


def _cause(numbers: Row) -> str:
    """What the TrigRF column alone favours, what GERF's says against it, and whether one is left.

    The smallest σ for TrigRF alone leaves GERF as it is defined.
    """
    rows, printed = cells(numbers), numbers["printed"]["accuracy"]
    if not _of_tables(numbers, UNTUNED) or not all("gerf-unconjugated" in r for r in rows.values()):
        return ""
    causes = {
        "the smallest σ": (UNTUNED, "gerf"),
        "the missing conjugate": (SLIP, "gerf-unconjugated"),
    }
    likely = {cause: at_once(_of_tables(numbers, trig)) for cause, (trig, _) in causes.items()}
    best, other = ordered(likely)
    said = "The column alone favours neither cause. "
    if likely[best] > likely[other]:
        said = (
            f"The column alone favours {best}, which makes all sets constant at once "
            f"{often(likely[best])}; {other} does so {often(likely[other])}. "
        )
    left = []
    for cause, (_, gerf) in causes.items():
        against = [
            f"{place} ({printed[place]['gerf']} printed, {predicted(own[gerf])} for a further "
            "split of ours)"
            for place, own in rows.items()
            if inside(own[gerf], printed[place]["gerf"]) is False
        ]
        said += f"GERF’s column speaks against {cause} in {listed(against, 'no set')}. "
        if likely[cause] >= LEVEL and not against:
            left.append(cause)
    return said + (
        f"Both columns fit {listed(left)}. " if left else "Neither explains both columns. "
    )
