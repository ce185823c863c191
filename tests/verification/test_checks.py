"""Every check passes on the shipped code, and notices every fault that is planted for it."""

import pytest

from tests.verification.sweeps import catches, fresh
from verification.checks import Check
from verification.registry import load_checks

CHECKS = load_checks()
QUICK = {
    "certificate-pos",
    "certificate-pois",
    "quadrature-infinite",
    "quadrature-plus",
    "kernels",
    "variance-of-one",
    "operator-linear",
    "stable-oprf",
    "optimal-gerf-minus",
    "optimal-utility",
    "mean-pos-orthogonal-d8",
    "mean-geom-iid-d3",
    "ortho-trig-signs",
    "ortho-weight",
    "tails-supremum",
    "tails-printed",
    "uniform-printed-radius",
    "uniform-printed-dimension",
    "attention-linear",
    "attention-mean-pos-iid",
    "attention-calibrate",
}
"""Checks whose planted faults are looked at in every run of the tests, some of every module."""
FAULTS = [
    pytest.param(
        check,
        fault,
        id=f"{check.id}: {fault}",
        marks=() if check.id in QUICK else pytest.mark.slow,
    )
    for check in CHECKS.values()
    for fault, _ in check.planted
]


@pytest.mark.slow  # `make verify` runs all of them at the same effort
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_the_shipped_code_passes(check: Check) -> None:
    setting = fresh()
    seen = check.run(setting)
    assert seen.passed, (setting, seen)
    assert check.claims and check.planted and seen.samples > 0


@pytest.mark.parametrize(("check", "fault"), FAULTS)
def test_a_planted_fault_is_caught(check: Check, fault: str) -> None:
    catches(check, fault)


def test_the_quick_ones_exist() -> None:
    assert CHECKS.keys() >= QUICK
