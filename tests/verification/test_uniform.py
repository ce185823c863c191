"""What Theorem 4.3 is checked with: enclosed suprema, and numbers of draws."""

import secrets

import jax
import numpy as np
import pytest

from crt import formulas
from tests.verification.sweeps import fresh
from verification import uniform, uniform_printed
from verification.balls import Ball, best_ball, largest_errors, products
from verification.binomials import repetitions_for
from verification.sufficiency import DELTA, QUICK_DELTA, RARE, Sufficient, log_at_point, rare


def test_the_printed_numbers_of_draws() -> None:
    assert uniform_printed.printed_draws(uniform_printed.DIMENSION, 1.0) == 211687
    with jax.enable_x64(True):
        ball = Ball(1, 10**0.5, -float(formulas.a_star(40.0, 1)))
        assert uniform_printed.printed_draws(ball, 1.0) == 95
        needed = float(formulas.features_for_uniform(1.0, 1.0, 2, 0.05, best_ball(2, 1.0).alpha))
    assert 1269 < needed <= 1270


def test_repetitions_tell_the_printed_claim_from_the_truth() -> None:
    level = fresh().false_alarm
    size = repetitions_for(uniform_printed.FAILS, DELTA, level)
    assert 100 <= size <= 128


@pytest.mark.parametrize(("d", "eps", "draws"), [(2, 1.0, 1270), (1, 1.0, 962), (1, 0.5, 3890)])
def test_right_code_errs_as_rarely_as_the_tests_count_on(d: int, eps: float, draws: int) -> None:
    with jax.enable_x64(True):
        ball = best_ball(d, 1.0)
    assert 0 < rare(ball, draws, uniform.FINE, eps) < RARE
    # Of fixed pairs: 36 of them, with the M of their own formula.
    assert d == 1 or 36 * np.exp(log_at_point(ball, ball.r0, 553, eps)) < RARE


@pytest.mark.parametrize(("effort", "delta"), [(1.0, QUICK_DELTA), (4.0, DELTA), (40.0, DELTA)])
def test_what_is_shown_of_m_is_delta_from_the_standard_budget_on(effort, delta) -> None:
    shown = Sufficient.of(fresh(effort))
    assert shown.delta == delta and shown.judge(0, 0.0, "").passed
    assert (1 - delta) ** shown.test.samples <= shown.level
    assert not shown.judge(int(delta * shown.test.samples), 0.0, "").passed


@pytest.mark.slow
def test_rare_errors_are_as_rare_as_stated() -> None:
    # With few draws and ε so large that the bound says something, fewer enclosures reach ε.
    with jax.enable_x64(True):
        for d, eps in ((1, 2.0), (2, 3.0)):
            ball = best_ball(d, 1.0)
            bound = rare(ball, 100, 60, eps)
            assert 1e-4 < bound < 0.9
            _, high = largest_errors(ball, 100, 2000, secrets.randbits(55), 60)
            assert np.mean(high >= eps) <= bound


@pytest.mark.slow
def test_the_slope_is_told_from_a_slower_one_at_the_standard_budget() -> None:
    seen = uniform.slope(fresh(4.0))
    assert seen.passed and seen.detects is not None and seen.detects <= 0.2, seen
    assert seen.allowed <= 0.12, seen


@pytest.mark.parametrize("d", [1, 2])
def test_the_supremum_is_enclosed(d: int) -> None:
    # The same draws at random points of the ball stay below the upper end, and a finer grid
    # gives an enclosure that meets the coarse one.
    seed = secrets.randbits(55)
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        ball = best_ball(d, 1.0)
        low, high = largest_errors(ball, 50, 3, seed, 40)
        finer = largest_errors(ball, 50, 3, seed, 120)
        assert np.all(finer[0] >= 0) and np.all(low <= high) and np.all(finer[0] <= high)
        assert np.all(finer[1] - finer[0] < 0.25 * (high - low))
        key = jax.random.split(jax.random.key(seed), 3)[0]
        omega = ball.mechanism.sample(key, 50, d, dtype=np.float64)
        m = rng.normal(size=(500, d))
        m *= ball.r0 * rng.uniform(0, 1, size=(500, 1)) / np.linalg.norm(m, axis=1, keepdims=True)
        terms = np.asarray(products(ball.mechanism, omega, m)).mean(axis=1)
        errors = np.abs(terms - np.exp(np.sum(m**2, axis=1)))
        assert np.max(errors) <= high[0], seed
