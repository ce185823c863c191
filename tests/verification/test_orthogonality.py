"""The checks of orthogonal projections pass, and every planted fault is caught."""

import jax
import pytest

from tests.verification.sweeps import catches, each, holds, pairs
from verification import orthogonality
from verification.checks import Check
from verification.gains import gain_rows, shipped_gains
from verification.pairs import Product, pair_moments

CHECKS = orthogonality.checks()
QUICK = ("ortho-trig-signs", "ortho-weight")
"""Checks whose planted faults are looked at in every run of the tests."""


@pytest.mark.parametrize("check", each(CHECKS))
def test_the_shipped_code_passes(check: Check) -> None:
    holds(check)


@pytest.mark.parametrize(("check", "fault"), pairs(CHECKS, *QUICK))
def test_a_planted_fault_is_caught(check: Check, fault: str) -> None:
    catches(check, fault)


def test_one_gain_by_quadrature_and_an_all_zero_one() -> None:
    product = Product(0.02, 1, 3, 2.0, 1.3)
    pair = pair_moments(product)[2]
    with jax.enable_x64(True):
        shipped = float(shipped_gains([product])[0])
        assert [row.strain <= 1 for row in gain_rows(product, pair, shipped)] == [True, True]
        assert next(gain_rows(product, pair, 0.0)).strain > 1
