"""The tests are tested: false alarms and misses computed exactly, or counted with a bound."""

import math
import secrets

import numpy as np
import pytest
from scipy import stats

from verification.checks import Outcome
from verification.statistics import (
    MISS,
    MeanTest,
    bernstein,
    catoni_interval,
    clopper_pearson,
    hoeffding,
    influence,
    judge_law,
    worst,
)

SAMPLES = 400
RARE = 0.01
"""P(X = 1) of a skewed law on {0, 1}: mean 0.01, kurtosis 96."""


def coin_test(false_alarm: float) -> MeanTest:
    return MeanTest(RARE, RARE * (1 - RARE), SAMPLES, false_alarm)


def chance_of_failing(test: MeanTest, values: tuple[float, float], chance: float) -> float:
    """Exact: the sample is a binomial number of the second value, else the first."""
    low, high = (float(influence(test.scale * (value - test.mean))) for value in values)
    counts = np.arange(test.samples + 1)
    failed = [not test.judge(k * high + (test.samples - k) * low).passed for k in counts]
    return float(np.sum(stats.binom.pmf(counts, test.samples, chance)[failed]))


@pytest.mark.parametrize("false_alarm", [0.3, 1e-3, 1e-9])
def test_false_alarms_of_the_mean_test_are_as_rare_as_stated(false_alarm: float) -> None:
    assert chance_of_failing(coin_test(false_alarm), (0.0, 1.0), RARE) <= false_alarm


def test_a_threshold_below_the_stated_one_would_be_noticed() -> None:
    test = coin_test(1e-3)
    loose = MeanTest(test.mean, test.variance / 40, test.samples, test.false_alarm)
    assert chance_of_failing(loose, (0.0, 1.0), RARE) > 1e-3


@pytest.mark.parametrize("sign", [1, -1])
def test_the_detectable_error_is_detected(sign: int) -> None:
    test = coin_test(1e-9)
    shift = sign * test.detects
    assert math.isfinite(shift)
    assert chance_of_failing(test, (shift, 1 + shift), RARE) >= 1 - MISS


def test_half_the_detectable_error_is_not_promised() -> None:
    test = coin_test(1e-9)
    shift = test.detects / 2
    assert chance_of_failing(test, (shift, 1 + shift), RARE) < 1 - MISS


def test_heavy_tails_raise_no_more_alarms_than_stated() -> None:
    seed = secrets.randbits(62)
    rng = np.random.default_rng(seed)
    sigma, runs, level = 1.2, 4000, 0.05
    mean = math.exp(sigma**2 / 2)
    test = MeanTest(mean, mean**2 * math.expm1(sigma**2), 100, level)
    draws = rng.lognormal(0, sigma, (runs, test.samples))
    sums = np.sum(np.asarray(influence(test.scale * (draws - mean)), np.float64), axis=1)
    alarms = sum(not test.judge(float(total)).passed for total in sums)
    assert stats.binom.sf(alarms - 1, runs, level) > 1e-10, f"seed {seed}, {alarms} alarms"


def test_zeros_and_nan_fail() -> None:
    test = MeanTest(1.0, 0.2, 100_000, 1e-12)
    assert test.detects < 0.05
    assert not test.judge(test.samples * float(influence(-test.scale * test.mean))).passed
    assert not test.judge(math.nan).passed
    assert test.judge(0.0).passed


def test_too_few_samples_promise_nothing() -> None:
    assert MeanTest(1.0, 1.0, 10, 1e-12).detects == math.inf


@pytest.mark.parametrize("chance", [0.5, 0.03])
@pytest.mark.parametrize("false_alarm", [0.1, 1e-6])
def test_bounds_of_means_hold_for_coins(chance: float, false_alarm: float) -> None:
    n, counts = 200, np.arange(201)
    weights, apart = stats.binom.pmf(counts, n, chance), np.abs(counts / n - chance)
    variance = chance * (1 - chance)
    for radius in (hoeffding(n, 1.0, false_alarm), bernstein(n, variance, 1.0, false_alarm)):
        assert np.sum(weights[apart >= radius]) <= false_alarm
    assert bernstein(n, 0.03 * 0.97, 1.0, 0.1) < hoeffding(n, 1.0, 0.1)


@pytest.mark.parametrize("false_alarm", [0.1, 1e-6])
def test_intervals_of_probabilities_cover(false_alarm: float) -> None:
    n, counts = 60, np.arange(61)
    ends = [clopper_pearson(int(k), n, false_alarm) for k in counts]
    for chance in np.linspace(0, 1, 101):
        missed = [not low <= chance <= high for low, high in ends]
        assert np.sum(stats.binom.pmf(counts, n, chance)[missed]) <= false_alarm


def test_the_distance_of_laws() -> None:
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    right = judge_law(quantiles, stats.norm.cdf, 1e-12)
    assert right.passed and right.observed == pytest.approx(0.5 / 20_000)
    assert right.detects is not None
    shift = 2 * stats.norm.ppf(0.5 + right.detects / 2)  # this shift makes the distance `detects`
    assert not judge_law(quantiles + shift, stats.norm.cdf, 1e-12).passed


def test_the_distance_of_laws_on_the_integers() -> None:
    law = stats.nbinom(1, 0.6)
    counts = law.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert judge_law(counts, law.cdf, 1e-12, discrete=True).observed < 1e-4
    assert not judge_law(counts + 1, law.cdf, 1e-12, discrete=True).passed
    assert not judge_law(0 * counts, law.cdf, 1e-12, discrete=True).passed


def test_the_worst_outcome_is_a_failed_one() -> None:
    near, failed = Outcome(True, 0.9, 0, 1, 5, 0.1), Outcome(False, 0.1, 0, 1, 5, 0.3)
    assert worst([near, failed]) == failed
    assert worst([near, Outcome(True, 0.1, 0, 1, 5, 0.3)]).observed == 0.9
    assert worst([near, Outcome(True, 0.1, 0, 1, 5, 0.3)]).detects == 0.3


def test_catoni_interval_covers_a_heavy_tailed_mean_and_excludes_others() -> None:
    seed = secrets.randbits(62)
    values = np.random.default_rng(seed).pareto(4.5, 4000)
    mean, variance = 1 / 3.5, 4.5 / (3.5**2 * 2.5)
    low, high = catoni_interval(values, variance, 1e-9)
    assert low < mean < high, seed
    assert high - low < 0.15
    moved = catoni_interval(values + 0.15, variance, 1e-9)
    assert moved[0] > mean and moved[0] - low == pytest.approx(0.15)
