"""What a run of the room consists of: units for formulas, mutants and checks, and their budget."""

import functools
import hashlib
import math
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from derivations.library import load_formulas
from verification.accuracy import DTYPES, measure
from verification.checks import Check, Outcome, Setting
from verification.claims import load_claims
from verification.faults import FAULTS
from verification.mutants import judge_some
from verification.registry import MODULES, load_checks
from verification.runs import Unit, fingerprint

FALSE_ALARM = 1e-9
"""Probability that a whole run without any fault has a stochastic check fail."""
BATCHES = 24
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Budget:
    """How much a run looks at."""

    points: int
    """Random points per formula and dtype."""
    climb: int
    """Rounds of the hill climb from the worst of them."""
    mutants: int | None
    """Mutants of formulas that are judged; None means all."""
    effort: float
    """Multiple of a check's own number of samples."""
    thorough: bool
    """Whether checks that are not quick run unasked, and all of them again on planted faults."""


BUDGETS = {
    "quick": Budget(60, 1, 48, 1, False),
    "standard": Budget(1_000, 6, 1_000, 4, True),
    "full": Budget(20_000, 20, None, 40, True),
}


class UnknownIdError(LookupError):
    """A name that is no check, claim, formula or group."""


def groups() -> tuple[str, ...]:
    """Names that stand for many units."""
    return ("formulas", "mutants", *MODULES)


def known() -> list[str]:
    """Everything that can be asked for, groups first."""
    return [*groups(), *load_claims(), *load_checks(), *load_formulas()]


@functools.cache
def code() -> str:
    """Fingerprint of the sources on which a result depends."""
    return fingerprint(*(ROOT / room for room in ("crt", "derivations", "verification")))


def plan(wanted: Iterable[str] | None, budget: Budget, seed: int) -> list[Unit]:
    """The units of a run: everything, or what the wanted names stand for."""
    names = set(known() if wanted is None else wanted)
    for name in sorted(names.difference(known())):
        raise UnknownIdError(f"there is no check, claim or formula {name!r}; --list shows them")
    for name in () if wanted is None else sorted(names):
        _refuse_empty(name)
    common = {"seed": seed, "code": code()}
    chosen = [
        check
        for check in load_checks().values()
        if (check.quick or budget.thorough if wanted is None else names & _names(check))
    ]
    units = [*_checks(chosen, budget, common), *_accuracy(names, budget, common)]
    return units + (_mutants(budget, common) if "mutants" in names else [])


def _refuse_empty(name: str) -> None:
    """A claim that nothing looks at is no run that passed."""
    claim = load_claims().get(name)
    attached = any(name in _names(check) for check in load_checks().values())
    if claim is not None and not attached and not claim.formulas:
        raise UnknownIdError(f"no check is attached to {name!r} ({claim.status})")


def _names(check: Check) -> set[str]:
    """What a check can be asked for by."""
    return {check.id, check.module, *check.claims}


def _checks(checks: Iterable[Check], budget: Budget, common: Mapping[str, Any]) -> list[Unit]:
    # Shares are those of the whole room, whatever part of it is run.
    share = FALSE_ALARM / len(load_checks())
    # A fault of the catalogue makes compiled programs forgotten: checks without any come first.
    if budget.thorough:
        checks = sorted(checks, key=lambda check: any(n in FAULTS for n, _ in check.planted))
    return [
        Unit(
            check.id,
            {
                "kind": "check",
                "id": check.id,
                "effort": budget.effort,
                "planted": budget.thorough,
                "false_alarm": share,
                **common,
            },
            run_check,
            check.module,
        )
        for check in checks
    ]


def _accuracy(names: set[str], budget: Budget, common: Mapping[str, Any]) -> list[Unit]:
    claims = load_claims()
    asked = {formula for name in names if name in claims for formula in claims[name].formulas}
    return [
        Unit(
            f"{name} {dtype}",
            {
                "kind": "accuracy",
                "formula": name,
                "dtype": dtype,
                "points": budget.points,
                "climb": budget.climb,
                **common,
            },
            run_accuracy,
            name,
        )
        for name in load_formulas()
        if "formulas" in names or name in names or name in asked
        for dtype in DTYPES
    ]


def _mutants(budget: Budget, common: Mapping[str, Any]) -> list[Unit]:
    return [
        Unit(
            f"mutants {part + 1}/{BATCHES}",
            {"kind": "mutants", "number": budget.mutants, "part": part, **common},
            run_mutants,
            "mutants",
        )
        for part in range(BATCHES)
    ]


def seed_of(seed: int, name: str) -> int:
    """A seed of its own for every check, from the run's seed."""
    text = f"{seed} {name}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


def run_check(config: Mapping[str, Any]) -> dict[str, Any]:
    """Run a check, and if asked for each of its planted faults, which it must notice."""
    check: Check = load_checks()[config["id"]]
    setting = Setting(seed_of(config["seed"], check.id), config["false_alarm"], config["effort"])
    outcome = asdict(attempt(check.run, setting))
    faults = check.planted if config["planted"] else ()
    caught = {name: notices(check, name, setting) for name, _ in faults}
    return outcome | {"planted": caught, "ok": outcome["passed"] and all(caught.values())}


def attempt(run: Callable[[Setting], Outcome], setting: Setting) -> Outcome:
    """What a check saw; one that raises has failed, and says where."""
    try:
        return run(setting)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        note = f"raised {said} ({Path(last.filename).name}, line {last.lineno})"
        return Outcome(False, math.nan, math.nan, 0.0, 0, note=note)


def notices(check: Check, fault: str, setting: Setting) -> bool:
    """Whether a check fails on a planted fault: at the quick effort, else at its own.

    Most faults show in the smallest run. An error of a size that is stated for the check's own
    effort is looked at with that alone.
    """
    faulty = dict(check.planted)[fault]
    stated = check.kind == "montecarlo" and fault not in FAULTS
    efforts = {setting.effort} if stated else {min(setting.effort, 1.0), setting.effort}
    try:
        return any(not faulty(replace(setting, effort=effort)).passed for effort in sorted(efforts))
    except Exception:
        # A fault that makes the code raise is no wrong number that the check has seen.
        return False


def run_accuracy(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure one formula in one dtype."""
    seen = measure(
        config["formula"], config["dtype"], config["points"], config["climb"], config["seed"]
    )
    return seen.as_dict() | {"ok": seen.passed}


def run_mutants(config: Mapping[str, Any]) -> dict[str, Any]:
    """Judge one share of the mutants."""
    judged = judge_some(config["number"], config["seed"], config["part"], BATCHES)
    counts = dict.fromkeys(("killed", "equivalent", "survived"), 0)
    for judgement in judged:
        counts[judgement.verdict] += 1
    others = [judgement.as_dict() for judgement in judged if judgement.verdict != "killed"]
    return {**counts, "not killed": others, "ok": counts["survived"] == 0}
