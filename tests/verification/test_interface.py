"""The checks of what users call beside the estimators pass, and every planted fault is caught."""

import pytest

from tests.verification.sweeps import catches, each, holds, pairs
from verification import interface
from verification.checks import Check

CHECKS = interface.checks()


@pytest.mark.parametrize("check", each(CHECKS))
def test_the_shipped_code_passes(check: Check) -> None:
    holds(check)


@pytest.mark.parametrize(("check", "fault"), pairs(CHECKS, "attention-calibrate"))
def test_a_planted_fault_is_caught(check: Check, fault: str) -> None:
    catches(check, fault)
