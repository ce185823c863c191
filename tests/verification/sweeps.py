"""What tests of checks share: settings at fresh seeds, and faults by name."""

import secrets

from verification.checks import Check, Setting
from verification.plan import FALSE_ALARM
from verification.registry import load_checks


def fresh(effort: float = 1.0) -> Setting:
    """A seed of its own for every test, and the share of false alarms of one check in a run."""
    return Setting(secrets.randbits(55), FALSE_ALARM / len(load_checks()), effort)


def catches(check: Check, fault: str) -> None:
    """The check fails on the shipped code with this fault."""
    setting = fresh()
    seen = dict(check.planted)[fault](setting)
    assert not seen.passed, (setting, fault, seen)
