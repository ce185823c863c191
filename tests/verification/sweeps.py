"""What the tests of every module of checks share: settings at fresh seeds, and faults by name."""

import secrets
from collections.abc import Iterable

import pytest

from verification.checks import Check, Setting
from verification.plan import FALSE_ALARM
from verification.registry import load_checks


def fresh(effort: float = 1.0) -> Setting:
    """A seed of its own for every test, and the share of false alarms of one check in a run."""
    return Setting(secrets.randbits(55), FALSE_ALARM / len(load_checks()), effort)


def holds(check: Check, effort: float = 1.0) -> None:
    """The check passes on the shipped code."""
    setting = fresh(effort)
    seen = check.run(setting)
    assert seen.passed, (setting, seen)
    assert check.claims and check.planted and seen.samples > 0


def catches(check: Check, fault: str, effort: float = 1.0) -> None:
    """The check fails on the shipped code with this fault."""
    setting = fresh(effort)
    seen = dict(check.planted)[fault](setting)
    assert not seen.passed, (setting, fault, seen)


def pairs(checks: Iterable[Check], *quick: str) -> list[object]:
    """(check, fault) for every planted fault; all but those of the quick checks are slow."""
    return [
        pytest.param(
            check,
            fault,
            id=f"{check.id}: {fault}",
            marks=() if check.id in quick else pytest.mark.slow,
        )
        for check in checks
        for fault, _ in check.planted
    ]


def each(checks: Iterable[Check]) -> list[object]:
    """Every check. All are slow: `make verify` runs them at the same effort."""
    return [pytest.param(check, id=check.id, marks=pytest.mark.slow) for check in checks]
