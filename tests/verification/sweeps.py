"""What tests of checks share: settings at fresh seeds, and faults by name."""

import secrets

from verification.checks import Check, Setting
from verification.faults import FAULTS
from verification.plan import BUDGETS, FALSE_ALARM, notices
from verification.registry import load_checks


def fresh(effort: float = 1.0) -> Setting:
    """A seed of its own for every test, and the share of false alarms of one check in a run."""
    return Setting(secrets.randbits(55), FALSE_ALARM / len(load_checks()), effort)


def catches(check: Check, fault: str) -> None:
    """The check notices this fault, those of the catalogue at the standard budget at the latest."""
    setting = fresh(BUDGETS["standard"].effort if fault in FAULTS else 1.0)
    assert notices(check, fault, setting), (setting, fault)
