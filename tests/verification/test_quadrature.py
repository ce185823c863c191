"""Integrals of the shipped features pass, and every planted fault is caught."""

import pytest

from tests.verification.sweeps import catches, each, holds, pairs
from verification import quadrature
from verification.checks import Check

CHECKS = quadrature.checks()
QUICK = ("quadrature-infinite", "quadrature-plus")
"""Checks whose planted faults are looked at in every run of the tests."""


@pytest.mark.parametrize("check", each(CHECKS))
def test_the_shipped_code_passes(check: Check) -> None:
    holds(check)


@pytest.mark.parametrize(("check", "fault"), pairs(CHECKS, *QUICK))
def test_a_planted_fault_is_caught(check: Check, fault: str) -> None:
    catches(check, fault)
