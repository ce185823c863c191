"""The laws of products and of their means, against error functions and direct integration."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

from verification.sums import Oprf, Pos, log_chernoff, mean_below

LAW = Oprf(1, 2.0, 1.0, 0.3)


def test_one_product_in_one_dimension_is_an_error_function() -> None:
    # X > a where ω lies within √τ of c.
    for level in (0.2, 0.9, 1.5):
        reach = math.sqrt((LAW.log_supremum - math.log(level)) / (2 * LAW.a))
        ends = [(LAW.centre + sign * reach) / math.sqrt(2) for sign in (1, -1)]
        exact = (erf(ends[0]) - erf(ends[1])) / 2
        assert LAW.tail(np.array([level]))[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("law", [LAW, Oprf(4, 3.0, 1.7, 0.4), Pos(1.0, 0.6)])
def test_the_mean_of_a_law_is_the_kernel(law: Oprf | Pos) -> None:
    top = math.exp(law.log_supremum) if isinstance(law, Oprf) else np.inf
    mean, error = quad(lambda a: float(law.tail(np.array([a]))[0]), 0, top, limit=200)
    assert mean == pytest.approx(law.kernel, abs=10 * error + 1e-9)


@pytest.mark.parametrize("level", [0.7, 1.0, 1.6])
def test_two_draws_agree_with_a_direct_integral(level: float) -> None:
    # P(X₁+X₂ < 2L) = ∫ P(X₂ < 2L-a) dF(a), by the midpoint rule: off by less than 1e-5.
    grid = np.linspace(0, 2 * level, 50_001)
    steps = -np.diff(LAW.tail(grid))
    direct = float(steps @ (1 - LAW.tail(2 * level - (grid[1:] + grid[:-1]) / 2)))
    low, high = mean_below(LAW.tail, 2, np.array([level]))
    assert low[0] <= high[0] <= low[0] + 1e-3
    assert low[0] - 1e-5 <= direct <= high[0] + 1e-5


def test_the_enclosure_narrows_with_bins_and_knows_level_zero() -> None:
    levels = np.array([0.0, 0.5, 1.5])
    widths = []
    for bins in (2**12, 2**16):
        low, high = mean_below(LAW.tail, 16, levels, bins)
        assert np.all(low <= high) and high[0] < 1e-9
        widths.append(float(np.max(high - low)))
    assert widths[1] < widths[0] / 10


def test_chernoff_bounds_the_tail_and_is_one_at_the_mean() -> None:
    top = math.exp(LAW.log_supremum)
    for level in (1.2, 1.8, 2.4):
        low, _ = mean_below(LAW.tail, 16, np.array([level]))
        assert 16 * log_chernoff(LAW.tail, top, level) >= math.log(1 - low[0])
    assert log_chernoff(LAW.tail, top, 0.99 * LAW.kernel) == pytest.approx(0, abs=1e-9)
