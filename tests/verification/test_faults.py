"""The catalogue of faults: planted and taken out again, and each one caught by a named check."""

import jax
import pytest

from crt import projections
from verification.faults import AREAS, CATALOGUE, FAULTS
from verification.registry import load_checks

ATTACHED = {fault for check in load_checks().values() for fault, _ in check.planted}


def test_there_are_forty_faults_over_all_areas() -> None:
    assert len(FAULTS) >= 40
    assert sum(len(area) for area in AREAS.values()) == len(FAULTS)
    assert all(len(area) >= 4 for area in AREAS.values())


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_its_place_and_a_check(name: str) -> None:
    fault = FAULTS[name]
    assert callable(getattr(fault.target, fault.attribute)) or fault.attribute == "square"
    assert name in ATTACHED and len(CATALOGUE[name]) > 8


def test_a_fault_is_taken_out_again() -> None:
    original = projections.iid
    with FAULTS["repeated-rows"].active():
        assert projections.iid is not original
        rows = projections.iid(jax.random.key(0), 128, 2)
        assert (rows[:64] == rows[64:]).all()
    assert projections.iid is original


def test_a_fault_is_taken_out_after_an_error() -> None:
    original = projections.orthogonal
    with pytest.raises(ZeroDivisionError), FAULTS["raw-qr"].active():
        raise ZeroDivisionError
    assert projections.orthogonal is original
