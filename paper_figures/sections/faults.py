"""Planted faults: every error put in on purpose, and the check that noticed it."""

from paper_figures.markup import Markup, count, element, join, prose, row, table
from paper_figures.results import Results
from paper_figures.sections.links import heading, verdict

HEAD = ("Fault", "What was changed", "Noticed", "By the check")


def render(results: Results) -> Markup | None:
    """Faults by name; those that some check should have noticed and did not come first."""
    faults: dict[str, list[tuple[str, bool]]] = {}
    for check in results.checks():
        for fault, caught in (check.get("planted") or {}).items():
            faults.setdefault(fault, []).append((check["id"], bool(caught)))
    if not faults:
        return None
    ordered = sorted(faults.items(), key=lambda each: all(caught for _, caught in each[1]))
    known = (results.verification or {}).get("faults", {})
    rows = [_fault(fault, known.get(fault, ""), judged) for fault, judged in ordered]
    lead = (
        f"A check that cannot fail proves nothing. {count(len(faults), 'fault was', 'faults were')}"
        " put into formulas, samplers and features on purpose; every check ran again on each fault "
        "planted for it, and had to fail."
    )
    return join([heading("Planted faults", lead), table(HEAD, rows, "Planted faults", "faults")])


def _fault(fault: str, change: str, judged: list[tuple[str, bool]]) -> Markup:
    ok = all(caught for _, caught in judged)
    links = [
        join([element("a", name, href=f"#check-{name}", class_="id"), "" if caught else " ✗"])
        for name, caught in judged
    ]
    # A fault is called by an identifier or by a phrase.
    name = prose(fault) if " " in fault else element("span", fault, class_="id")
    cells = (name, prose(change), verdict(ok, "noticed", "missed"), join(links, ", "))
    return row(*cells, classes=None if ok else "failed")
