"""What the paper prints wrongly: the printed words, why they are wrong, and what is right."""

from collections.abc import Mapping

from paper_figures.markup import Markup, count, element, join, prose
from paper_figures.results import Results, Row
from paper_figures.sections.links import badge, heading, notebook

REFUTED = "refuted as printed"


def render(results: Results) -> Markup | None:
    found = results.verification
    if found is None or not found["errata"]:
        return None
    statuses = {claim["id"]: claim["status"] for claim in found["claims"]}
    ordered = sorted(found["errata"], key=lambda each: _status(each, statuses) != REFUTED)
    cards = [_card(results, each, _status(each, statuses)) for each in ordered]
    lead = (
        f"{count(len(cards), 'place')} where the paper’s words or formulas need a change. False "
        "statements come first, then the others in the order of the notebooks."
    )
    return join([heading("Errata", lead), element("div", *cards, class_="errata")])


def _status(erratum: Row, statuses: Mapping[str, str]) -> str | None:
    """Status of the claim that an erratum is about; theorems are claims named thm-…."""
    name = erratum["id"]
    return statuses.get(name) or statuses.get(f"thm-{name}")


def _card(results: Results, erratum: Row, status: str | None) -> Markup:
    evidence = join([prose(erratum["evidence"]), " (", notebook(results, erratum["notebook"]), ")"])
    parts = (
        ("Printed", prose(erratum["printed"]), "printed"),
        ("Why it is wrong", prose(erratum["why"]), None),
        ("Right", prose(erratum["right"]), "right"),
        ("Evidence", evidence, None),
    )
    body = [
        join([element("dt", name), element("dd", what, class_=kind)]) for name, what, kind in parts
    ]
    mark = join([badge(status), " "]) if status == REFUTED else ""
    title = element("h3", erratum["place"])
    place = element("p", mark, element("span", erratum["id"], class_="id"), class_="place")
    return element("article", title, place, element("dl", *body), id=f"erratum-{erratum['id']}")
