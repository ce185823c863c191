"""The head of the page: what the run found, and how to read the rest."""

from collections.abc import Sequence
from typing import Any

from paper_figures.bars import bar, shares
from paper_figures.markup import Markup, count, element, figure_of, join, text
from paper_figures.results import Results, Row
from paper_figures.sections.links import STATUSES, badge

EXAMPLE: Row = {"observed": 0.35, "predicted": 0, "allowed": 1, "detects": 1.8, "passed": True}
ONE_SIDED: Row = {"observed": -2.0, "predicted": 0, "allowed": 0.4, "passed": True}
FAILED: Row = {"observed": 3.1, "predicted": 0, "allowed": 1, "passed": False}


def render(results: Results) -> Markup | None:
    found = results.verification
    if found is None:
        return None
    top = element(
        "header",
        element("p", "Chefs’ Random Tables · the numerical record", class_="kicker"),
        element("h1", headline(found)),
        element("p", _lead(found), class_="lead"),
        class_="top",
    )
    return join(
        [
            top,
            _tiles(found),
            _statuses([results.status(c) for c in found["claims"]]),
            _reading(found),
        ]
    )


def headline(found: Row) -> str:
    """The verdict in one sentence."""
    rows = [*found["checks"], *found["formulas"]]
    failed = sum(not row["ok"] for row in rows)
    survived = (found.get("mutants") or {}).get("survived", 0)
    if failed or survived:
        parts = [count(failed, "check")] if failed else []
        parts += [count(survived, "planted error")] if survived else []
        return f"{' and '.join(parts)} went wrong."
    return "Every check passed." if rows else "No check was run."


def _lead(found: Row) -> Markup:
    return join(
        [
            "The statements of the paper, compared with the code that is shipped: by proofs, by "
            "certificates at single points, by deterministic integration, and by simulation. All "
            "simulations of a run together raise a false alarm with probability at most ",
            figure_of(found.get("false_alarm")),
            ".",
        ]
    )


def _tiles(found: Row) -> Markup:
    checks, faults = found["checks"], caught_of(found["checks"])
    mutants = found.get("mutants") or {}
    judged = sum(mutants.get(name, 0) for name in ("killed", "equivalent", "survived"))
    tiles = [
        ("checks passed", sum(row["ok"] for row in checks), len(checks)),
        ("planted faults noticed", sum(faults), len(faults)),
        ("formulas accurate", sum(row["ok"] for row in found["formulas"]), len(found["formulas"])),
        ("formula mutants settled", judged - mutants.get("survived", 0), judged),
        ("errata of the paper", len(found["errata"]), None),
    ]
    return element("dl", *(_tile(*tile) for tile in tiles if tile[1] or tile[2]), class_="tiles")


def _tile(name: str, good: int, whole: int | None) -> Markup:
    total = element("small", " of ", figure_of(whole)) if whole is not None else ""
    value = element("dd", figure_of(good), total)
    failed = whole is not None and good < whole
    return element("div", element("dt", name), value, class_="failed" if failed else None)


def caught_of(checks: Sequence[Row]) -> list[bool]:
    """For every planted fault that was run, whether its check noticed it."""
    return [bool(caught) for row in checks for caught in (row.get("planted") or {}).values()]


def _statuses(found: Sequence[str]) -> Markup:
    sizes = {status: found.count(status) for status in STATUSES}
    strip = shares([(name, STATUSES[name][0], size) for name, size in sizes.items()])
    items = [element("li", badge(name), f" {size}") for name, size in sizes.items() if size]
    return join([strip, element("ul", *items, class_="legend")])


def _reading(found: Row) -> Markup:
    key: list[Any] = []
    for example, meaning in (
        (EXAMPLE, "The line in the middle is the prediction, the dot what was observed. The shaded "
         "band is what passes. An error as large as the dashed ticks is found with "
         "probability 0.999."),
        (ONE_SIDED, "A bound: what was observed may lie anywhere below it."),
        (FAILED, "A failure: the dot has left the band; an arrow means it is off the drawing."),
    ):  # fmt: skip
        key += [element("dt", bar(example) or ""), element("dd", meaning)]
    words = [element("li", badge(name), " ", meaning) for name, (_, _, meaning) in STATUSES.items()]
    return element(
        "section",
        element("h2", "How to read this page"),
        element("p", _paragraph(found)),
        element("dl", *key, class_="key"),
        element("details", element("summary", "The kinds of status"), element("ul", *words)),
        aria_label="How to read this page",
    )


def _paragraph(found: Row) -> Markup:
    budget = found.get("budget")
    extent = f"This run had the {budget} budget. " if budget else ""
    known = {name for claim in found["claims"] for name in claim["checks"]}
    missing = len(known - {check["id"] for check in found["checks"]})
    if missing:
        extent += f"{count(missing, 'check was', 'checks were')} not part of it. "
    return text(
        f"{extent}Each claim of the paper has a status, which comes from its proof, and checks, "
        "which look at the code. A check draws one small picture:"
    )
