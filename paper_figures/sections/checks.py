"""Every check with its numbers: observed, predicted, allowed, samples and power."""

from collections.abc import Sequence

from paper_figures.bars import bar
from paper_figures.markup import Markup, count, element, figure_of, join, numeral, prose, row, table
from paper_figures.results import Results, Row
from paper_figures.sections.links import heading, verdict

HEAD = (
    *("Check", "Verdict", "Observed", "Predicted", "Allowed"),
    *("", "Detects", "Samples", "Faults noticed"),
)
KINDS = {
    "certificate": "Certificates: identities at single points, without any sampling error",
    "quadrature": "Deterministic integration and exact sums",
    "montecarlo": "Monte Carlo, from the shipped samplers",
    "inequality": "Inequalities: by interval arithmetic, or where a check says so by a search",
}


def render(results: Results) -> Markup | None:
    found = results.verification
    if found is None or not found["checks"]:
        return None
    kinds: list[str] = [*KINDS, *sorted({c["kind"] for c in found["checks"]} - set(KINDS))]
    chosen = {kind: [c for c in found["checks"] if c["kind"] == kind] for kind in kinds}
    groups = [_group(KINDS.get(kind, kind), rows) for kind, rows in chosen.items() if rows]
    lead = join(
        [
            f"{count(len(found['checks']), 'check')} share a false-alarm probability of ",
            figure_of(found.get("false_alarm")),
            " for the whole run",
            *_share(found["checks"]),
            ". “Detects” is the least error that a check finds with probability "
            "0.999, in the units of what is predicted, computed before anything is drawn.",
        ]
    )
    regime = [prose(found["regime"])] if found.get("regime") else []
    return join([heading("Checks", lead, *regime), *groups])


def _share(checks: Sequence[Row]) -> list[str | Markup]:
    """How much of it each check has, where the run says so."""
    shares = sorted({check["false_alarm"] for check in checks if "false_alarm" in check})
    return [", ", figure_of(shares[-1]), " for each check"] if shares else []


def _group(title: str, checks: Sequence[Row]) -> Markup:
    """The checks of one kind, folded away unless one of them failed; failures first."""
    ordered = sorted(checks, key=lambda check: bool(check["ok"]))
    failed = sum(not check["ok"] for check in checks)
    said = f"{title} ({len(checks)})" + (f": {failed} failed" if failed else "")
    inside = table(HEAD, map(_check, ordered), title, "checks")
    return element("details", element("summary", said), inside, open="" if failed else None)


def _check(check: Row) -> Markup:
    claims = join((_to_claim(name) for name in check["claims"]), ", ")
    note = element("small", prose(check["note"])) if check.get("note") else ""
    name = element("span", check["id"], class_="id")
    what = join([name, element("small", prose(check["summary"])), element("small", claims), note])
    planted = check.get("planted") or {}
    noticed = f"{sum(map(bool, planted.values()))} of {len(planted)}" if planted else "–"
    numbers = [numeral(check.get(key)) for key in ("observed", "predicted", "allowed")]
    power = [numeral(check.get(key), 2) for key in ("detects", "samples")]
    return row(
        *(what, verdict(bool(check["ok"])), *numbers, bar(check) or "", *power, noticed),
        name=f"check-{check['id']}",
        classes=None if check["ok"] else "failed",
    )


def _to_claim(name: str) -> Markup:
    return element("a", name, href=f"#claim-{name}")
