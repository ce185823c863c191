"""What a run found: as one JSON value, and as a table for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from derivations.library import load_handovers
from verification.claims import load_claims
from verification.faults import CATALOGUE
from verification.montecarlo import REGIME
from verification.plan import FALSE_ALARM
from verification.registry import load_checks
from verification.runs import Finished, Unit, plain


def gather(units: Sequence[Unit], finished: Sequence[Finished]) -> dict[str, Any]:
    """The numbers of a run: claims, checks with what they saw, formulas, mutants, errata."""
    kinds: dict[str, list[dict[str, Any]]] = {"check": [], "accuracy": [], "mutants": []}
    for unit, done in zip(units, finished, strict=True):
        known = _about(unit) if unit.config["kind"] == "check" else {}
        kinds[unit.config["kind"]].append(known | done.result)
    order = list(load_checks())
    kinds["check"].sort(key=lambda row: order.index(row["id"]))
    rows = [row for group in kinds.values() for row in group]
    return plain(
        {
            "passed": all(row["ok"] for row in rows),
            "false_alarm": FALSE_ALARM,
            "regime": REGIME,
            "claims": [claim.as_dict() for claim in load_claims().values()],
            "checks": kinds["check"],
            "formulas": kinds["accuracy"],
            "mutants": _mutants(kinds["mutants"]),
            "faults": dict(CATALOGUE),
            "errata": [
                erratum | {"notebook": stem}
                for stem, given in load_handovers().items()
                for erratum in given["errata"]
            ],
        }
    )


def _about(unit: Unit) -> dict[str, Any]:
    check = load_checks()[unit.config["id"]]
    return {
        "id": check.id,
        "claims": check.claims,
        "kind": check.kind,
        "summary": check.summary,
        "module": check.module,
        "false_alarm": unit.config["false_alarm"],
    }


def running(result: Mapping[str, Any]) -> str:
    """What a unit saw, in a few words, while others run."""
    if "observed" in result:
        numbers = (_number(result[key], 4) for key in ("observed", "predicted", "allowed"))
        return "{} for {} ± {}".format(*numbers)
    if "worst" in result:
        return f"{_number(result['worst'], 3)} of the bound"
    return f"{result['killed']} killed" if "killed" in result else ""


def _mutants(batches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = {
        verdict: sum(batch[verdict] for batch in batches)
        for verdict in ("killed", "equivalent", "survived")
    }
    return counts | {"not killed": [each for batch in batches for each in batch["not killed"]]}


def show(outcome: Mapping[str, Any], *, quiet: bool) -> None:
    """Print a table of the checks, the formulas and the mutants; failures alone when quiet."""
    _show_checks([row for row in outcome["checks"] if not (quiet and row["ok"])])
    _show_formulas([row for row in outcome["formulas"] if not (quiet and row["ok"])])
    _show_mutants(outcome["mutants"])
    rows = [*outcome["checks"], *outcome["formulas"]]
    survived = outcome["mutants"]["survived"]
    failed = sum(not row["ok"] for row in rows) + survived
    judged = sum(outcome["mutants"][v] for v in ("killed", "equivalent", "survived"))
    faults = [caught for row in outcome["checks"] for caught in row["planted"].values()]
    if faults:
        print(f"planted faults: {sum(faults)} of {len(faults)} noticed")
    shares = sorted({row["false_alarm"] for row in outcome["checks"]})
    each = f", {shares[0]:.3g} for each check" if shares else ""
    print(
        f"seed {outcome['seed']}; false alarms of a whole run: at most "
        f"{outcome['false_alarm']:g}{each}"
    )
    print(f"{len(rows) + judged - failed} passed, {failed} failed")


def _show_checks(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    width = max(len(row["id"]) for row in rows)
    print(
        f"{'check':{width}}  {'observed':>11}  {'predicted':>11}  {'allowed':>8}  detects  samples"
    )
    for row in rows:
        missed = [name for name, caught in row["planted"].items() if not caught]
        mark = "" if row["passed"] else "  FAILED" + (f": {row['note']}" if row["note"] else "")
        mark += f"  NOT NOTICED: {', '.join(missed)}" if missed else ""
        numbers = (f"{_number(row[key])}" for key in ("observed", "predicted"))
        print(
            f"{row['id']:{width}}  {'  '.join(f'{n:>11}' for n in numbers)}  "
            f"{_number(row['allowed'], 2):>8}  {_number(row['detects'], 2):>7}  "
            f"{row['samples']:>7}{mark}"
        )


def _show_formulas(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    width = max(len(row["name"]) for row in rows)
    print(f"{'formula':{width}}  dtype    points   worst  at (error in units of the bound)")
    for row in rows:
        mark = "" if row["ok"] else "  FAILED"
        print(
            f"{row['name']:{width}}  {row['dtype']}  {row['points']:6d}  {row['worst']:6.3f}  "
            f"{row['at']}{mark}"
        )


def _show_mutants(mutants: Mapping[str, Any]) -> None:
    counts = [mutants[verdict] for verdict in ("killed", "equivalent", "survived")]
    if not any(counts):
        return
    for each in mutants["not killed"]:
        print(f"{each['verdict']}: {each['formula']}: {each['change']}: {each['evidence']}")
    print("mutants: {} killed, {} equivalent, {} survived".format(*counts))


def _number(value: Any, digits: int = 5) -> str:
    return f"{value:.{digits}g}" if isinstance(value, int | float) else str(value or "")
