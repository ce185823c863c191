"""The checks of decoding, packing and devices pass, and every planted fault is caught."""

import pytest

from tests.verification.sweeps import catches, each, holds, pairs
from verification import streaming
from verification.checks import Check

CHECKS = streaming.checks()


@pytest.mark.parametrize("check", each(CHECKS))
def test_the_shipped_code_passes(check: Check) -> None:
    holds(check)


@pytest.mark.parametrize(("check", "fault"), pairs(CHECKS))
def test_a_planted_fault_is_caught(check: Check, fault: str) -> None:
    catches(check, fault)
