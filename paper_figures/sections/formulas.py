"""The generated formulas: how accurate they are, and which of their mutants were found out."""

from typing import Any

from paper_figures.markup import Markup, count, element, figure_of, join, numeral, row, table
from paper_figures.results import Results, Row, number
from paper_figures.sections.links import heading, verdict

HEAD = ("Formula", "Type", "Verdict", "Worst error over bound", "Points", "At")
MUTANTS = ("Formula", "Change", "Verdict", "Evidence")


def render(results: Results) -> Markup | None:
    found = results.verification
    mutants = (found or {}).get("mutants") or {}
    if found is None or not (found["formulas"] or any(mutants.values())):
        return None
    parts: list[Any] = [heading("Formulas", *_lead(found))]
    if found["formulas"]:
        parts.append(_accuracy(found["formulas"]))
    if any(mutants.values()):
        parts.append(_mutants(mutants))
    return join(parts)


def _lead(found: Row) -> list[str]:
    if not found["formulas"]:
        return []
    worst = max(number(each["worst"]) for each in found["formulas"])
    return [
        "Every generated formula is compared with Arb’s certified value at random points and where "
        "a hill climb leads. An error of 1 is the bound, 8·eps·(|f| + Σ|xᵢ ∂f/∂xᵢ|). The worst "
        f"seen is {worst:.3g}."
    ]


def _accuracy(formulas: list[Row]) -> Markup:
    ranked = sorted(formulas, key=lambda each: (each["ok"], -number(each["worst"])))
    rows = [
        row(
            element("code", each["name"]),
            each["dtype"],
            verdict(bool(each["ok"])),
            numeral(each["worst"], 3),
            figure_of(each["points"]),
            element("small", each["at"]),
            classes=None if each["ok"] else "failed",
        )
        for each in ranked
    ]
    inside = table(HEAD, rows, "Accuracy of the formulas", "accuracy")
    unfold = element("summary", f"Accuracy of {count(len(rows), 'formula and type', 'formulas')}")
    failed = not all(each["ok"] for each in formulas)
    return element("details", unfold, inside, open="" if failed else None)


def _mutants(mutants: Row) -> Markup:
    killed, equal, survived = (
        mutants.get(name, 0) for name in ("killed", "equivalent", "survived")
    )
    said = element(
        "p",
        f"Of {killed + equal + survived} mutants (one sign, operator, constant or argument changed)"
        f", {killed} were told apart from the definition, {equal} were proved equivalent, and "
        f"{survived} survived.",
    )
    others = mutants.get("not killed") or []
    if not others:
        return said
    rows = [
        row(
            element("code", each["formula"]),
            element("code", each["change"]),
            verdict(each["verdict"] != "survived", each["verdict"], each["verdict"]),
            each["evidence"],
        )
        for each in others
    ]
    inside = table(MUTANTS, rows, "Mutants that were not killed", "accuracy")
    unfold = element("summary", f"{count(len(rows), 'mutant')} not told apart")
    return join([said, element("details", unfold, inside, open="" if survived else None)])
