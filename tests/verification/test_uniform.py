"""What Theorem 4.3 is checked with: enclosed suprema, and numbers of draws."""

import secrets

import jax
import numpy as np
import pytest

from crt import formulas
from tests.verification.sweeps import fresh
from verification import uniform, uniform_printed
from verification.balls import Ball, best_ball, largest_errors, products


def test_the_printed_numbers_of_draws() -> None:
    assert uniform_printed.printed_draws(uniform_printed.DIMENSION, 1.0) == 211687
    with jax.enable_x64(True):
        ball = Ball(1, 10**0.5, -float(formulas.a_star(40.0, 1)))
        assert uniform_printed.printed_draws(ball, 1.0) == 95
        needed = float(formulas.features_for_uniform(1.0, 1.0, 2, 0.05, best_ball(2, 1.0).alpha))
    assert 1269 < needed <= 1270


def test_repetitions_tell_the_printed_claim_from_the_truth() -> None:
    level = fresh().false_alarm
    size = uniform_printed.repetitions_for(uniform_printed.FAILS, uniform_printed.DELTA, level)
    assert 100 <= size <= 128


@pytest.mark.slow
def test_the_slope_is_told_from_none_at_the_standard_budget() -> None:
    seen = uniform.slope(fresh(4.0))
    assert seen.passed and seen.detects is not None and seen.detects <= 0.35, seen


@pytest.mark.slow
def test_the_number_of_draws_is_shown_to_suffice_at_the_standard_budget() -> None:
    assert uniform.sufficient(fresh(4.0)).note.count("≤ δ shown") == len(uniform.POINTS)


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
