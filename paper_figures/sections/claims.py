"""Every claim: what it says, its status, what it is proved by, and what its checks saw."""

from collections.abc import Mapping, Sequence

from paper_figures.bars import bar
from paper_figures.markup import Markup, count, element, join, prose, row, table
from paper_figures.results import Results, Row
from paper_figures.sections.links import badge, heading, notebook

SHOWN = 4
"""Checks of a claim that are drawn at once; the others unfold."""
HEAD = ("Claim", "Status", "Proof and formulas", "Checks: observed against predicted")


def render(results: Results) -> Markup | None:
    found = results.verification
    if found is None or not found["claims"]:
        return None
    checks = {check["id"]: check for check in found["checks"]}
    rows: list[Markup] = []
    group = None
    for claim in found["claims"]:
        if claim["notebook"] != group or not rows:
            group = claim["notebook"]
            rows.append(_group(group))
        rows.append(_claim(results, claim, checks))
    lead = (
        f"{count(len(found['claims']), 'statement')} of the paper and of what the notebooks prove "
        "beyond it, in the order of the notebooks."
    )
    return join([heading("Claims", lead), table(HEAD, rows, "Claims", "claims")])


def _group(stem: str | None) -> Markup:
    name = stem.partition("_")[2].replace("_", " ").capitalize() if stem else "Experiments"
    return element("tr", element("th", name, colspan=len(HEAD), scope="rowgroup"), class_="group")


def _claim(results: Results, claim: Row, checks: Mapping[str, Row]) -> Markup:
    what = join(
        [
            prose(claim["text"]),
            element(
                "small", element("span", claim["id"], class_="id"), " · ", prose(claim["paper"])
            ),
        ]
    )
    names = [element("code", name) for name in claim["formulas"]]
    formulas = element("div", *names, class_="tags") if names else ""
    proof = join([element("p", notebook(results, claim["notebook"])), formulas])
    seen = _seen(claim["checks"], checks)
    return row(what, badge(results.status(claim)), proof, seen, name=f"claim-{claim['id']}")


def _seen(names: Sequence[str], checks: Mapping[str, Row]) -> Markup:
    run = [checks[name] for name in names if name in checks]
    # What failed must not hide behind what passed.
    run.sort(key=lambda check: bool(check["ok"]))
    parts = [_list(run[:SHOWN])] if run else []
    if len(run) > SHOWN:
        more = element("summary", f"{len(run) - SHOWN} more")
        parts.append(element("details", more, _list(run[SHOWN:])))
    absent = len(names) - len(run)
    if absent:
        parts.append(element("small", f"{count(absent, 'check')} not run"))
    return join(parts) if parts else element("span", "–", class_="dash")


def _list(checks: Sequence[Row]) -> Markup:
    cells = []
    for check in checks:
        link = element("a", check["id"], href=f"#check-{check['id']}", class_="id")
        cells += [bar(check) or "", join([link, "" if check["ok"] else " ✗ failed"])]
    return element("div", *cells, class_="seen-list")
