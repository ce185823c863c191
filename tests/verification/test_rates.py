"""The constants between which M·E sup² lies, beside the shipped variance and draws."""

import jax
import numpy as np
import pytest

from tests.verification.sweeps import fresh
from verification import rates
from verification.balls import best_ball


@pytest.fixture(scope="module")
def ball():
    with jax.enable_x64(True):
        return best_ball(1, 1.0)


def test_the_lower_constant_is_the_variance_at_the_end(ball) -> None:
    end = np.array([ball.r0])
    with jax.enable_x64(True):
        exact = float(ball.mechanism.variance(end, end, kernel="softmax"))
    low, high = rates.constants(ball)
    assert low == pytest.approx(exact, rel=1e-12)
    assert low < high < 3 * low


def test_slopes_are_those_of_the_features(ball) -> None:
    # Central differences of one product, in place of the derivative written out.
    step, omega = 1e-5, np.array([[-0.7], [0.3], [1.9]])
    with jax.enable_x64(True):
        at = np.array([[0.4 - step], [0.4 + step]])
        x, y = (ball.mechanism.features(at, omega, side, kernel="softmax") for side in "xy")
        slopes = np.diff(np.asarray(x * y), axis=0)[0] / (2 * step)
    b = np.sqrt(1 + 4 * ball.alpha)
    m, w = 0.4, omega[:, 0]
    x = b * np.exp(-2 * ball.alpha * w**2 + 2 * b * w * m - m**2)
    np.testing.assert_allclose((2 * b * w - 2 * m) * x, slopes, rtol=1e-7)


def test_bounds_hold_for_means_of_draws(ball) -> None:
    setting, draws, repetitions = fresh(), 64, 4000
    rng = np.random.default_rng(setting.seed)
    omega = rng.normal(size=(repetitions, draws, 1))
    grid, b = np.linspace(-ball.r0, ball.r0, 21), np.sqrt(1 + 4 * ball.alpha)
    terms = b * np.exp(-2 * ball.alpha * omega**2 + 2 * b * omega * grid - grid**2)
    squares = draws * np.max((terms.mean(axis=1) - np.exp(grid**2)) ** 2, axis=-1)
    variance = rates.square_variance(ball, draws)
    low, high = rates.catoni_interval(squares, variance, setting.false_alarm)
    least, most = rates.constants(ball)
    assert np.var(squares) < variance
    # The grid misses a little of the supremum, so only the upper end is sharp.
    assert low < most and high > least, setting
    assert high - low < 0.7 * least


def test_repeated_draws_break_the_bounds(ball) -> None:
    # Four times the same draws: M·E sup² is four times as large, beyond the upper constant.
    _, most = rates.constants(ball)
    sup = np.sqrt(4 * most / 1024) * np.ones(2000)
    low, _ = rates.interval(ball, 1024, sup, fresh().false_alarm)
    assert low > most
