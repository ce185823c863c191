"""The optimum over complex A: certified at the shipped value, refused beside it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from crt import formulas, parameters
from tests.verification.sweeps import catches
from verification import complex_minima, optimality
from verification.complex_minima import DIMS, log_moment, on_disc, undecided

CHECK = {check.id: check for check in optimality.checks()}["optimal-gerf-complex"]


def shipped(z: float, d: int, s: int) -> float:
    with jax.enable_x64(True):
        return float(formulas.a_star(z, d) if s > 0 else parameters.gerf_minus(jnp.asarray(z), d))


@pytest.mark.parametrize("s", [1, -1])
@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("d", [d for d in DIMS if d < 8])
def test_no_cell_is_undecided_at_the_ends_of_the_range(d: int, share: float, s: int) -> None:
    rows = list(on_disc(d, share * d, s, shipped(share * d, d, s)))
    assert all(row.strain <= 1 for row in rows), rows


def test_the_second_moment_is_that_of_the_shipped_formula() -> None:
    d, z, n = 3, 1.7, 1.1
    for s, a in ((1, -0.2), (-1, 0.03)):
        with jax.enable_x64(True):
            stated = float(formulas.log_second_moment_gerf(complex(a), float(s), float(d), z, n))
        log_f = log_moment(-4 * a / (1 - 4 * a), arb(d), arb(z), arb(s))
        assert float(log_f) - np.log(2) - (s + 1) * n == pytest.approx(stated, abs=1e-13)


def test_a_minimum_off_the_axis_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def hollow(p: arb, q: arb, *_: arb) -> list[arb]:
        """p² + (q²-0.09)², least at q = 0.3."""
        apart = q**2 - arb(0.09)
        return [arb(0), 1 + p**2 + apart**2, 2 * p, 4 * q * apart, 12 * q**2 - arb(0.36)]

    monkeypatch.setattr(complex_minima, "_compiled", lambda: hollow)
    monkeypatch.setattr(complex_minima, "CELLS", 2000)
    nothing = arb(0)
    assert undecided(nothing, nothing, nothing, arb(1.0081).log()) > 0
    assert undecided(nothing, nothing, nothing, arb(0.999).log()) == 0


@pytest.mark.parametrize("fault", ["sign reversed", "A off by 1e minus 12"])
def test_a_planted_fault_is_caught(fault: str) -> None:
    catches(CHECK, fault)
