"""Which mechanism is better: ranks over sets, and each against the one of the paper's choice."""

import math

from paper_figures.markup import Markup, element, figure_of, join, row, table
from paper_figures.results import Row, number
from paper_figures.sections.classification.wording import chance, listed, num

LEVEL = 0.05
HEAD = (
    *("", "Rank", "Rank in the paper", "Accuracy less OPRF’s, points"),
    *("Sets better / worse than OPRF", "Wilcoxon p against OPRF"),
)


def render(numbers: Row) -> list[Markup]:
    ranks, others = numbers["ranks"], {each["method"]: each for each in numbers["against"]}
    order = sorted(ranks["ours"], key=lambda name: number(ranks["ours"][name]))
    told = [
        row(
            name,
            *(num(ranks[key][name], 2) for key in ("ours", "printed")),
            *(_against(others[name]) if name in others else ["–", "–", "–"]),
        )
        for name in order
    ]
    return [
        element("h4", "Ranking"),
        element("p", _ranks(ranks)),
        element("p", _paired(ranks, len(others))),
        table(HEAD, told, "Average ranks", "variants"),
    ]


def apart(ranks: Row) -> list[str]:
    """The mechanisms that Bonferroni and Dunn's difference tells apart from the paper's choice."""
    base, reach = number(ranks["ours"][ranks["base"]]), number(ranks["control_difference"])
    return [name for name, rank in ranks["ours"].items() if abs(number(rank) - base) >= reach]


def _ranks(ranks: Row) -> str:
    return (
        f"Rank among the eight mechanisms of the paper, mean over {ranks['sets']} sets; 1 is best. "
        f"That all are alike has {chance(ranks['friedman'])} (Friedman). Of any two, "
        f"ranks closer than {num(ranks['critical_difference'], 2)} are not told apart at 5 % "
        f"(Nemenyi). Against OPRF alone, {num(ranks['control_difference'], 2)} is enough "
        f"(Bonferroni and Dunn): from it, {_told(apart(ranks))} told apart. Sets are few: a "
        "difference that is not shown here may well exist."
    )


def _told(names: list[str]) -> str:
    return f"{listed(names, 'no other')} {'are' if len(names) > 1 else 'is'}"


def _paired(ranks: Row, others: int) -> str:
    floor = number(ranks["wilcoxon_floor"])
    said = (
        "Against OPRF, which the paper recommends, the other columns give: the difference of the "
        "average accuracies with half of its 95 % interval over splits, for these sets; the sets "
        "in which a mechanism is better or worse at 5 % (paired by split, corrected resampled "
        f"t-test) after Holm’s correction for all {others * ranks['sets']} comparisons, and below "
        "without any correction; and Wilcoxon’s p over sets, corrected by Holm for "
        f"{others} comparisons. With {ranks['sets']} sets that p is never below {floor:.2g}"
    )
    if floor >= LEVEL:
        said += ": at 5 % it can reject nothing, and is told for its size alone"
    return said + "."


def _against(each: Row) -> list[Markup | str]:
    difference = num(each["difference"])
    if not math.isnan(number(each["confidence"])):
        difference += f" ± {num(each['confidence'])}"
    alone = f"{each['better_alone']} / {each['worse_alone']} uncorrected"
    sets = join([f"{each['better']} / {each['worse']}", element("small", alone)])
    return [element("span", difference, class_="num"), sets, figure_of(each["holm"], 2)]
