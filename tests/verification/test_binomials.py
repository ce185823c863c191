"""Exact binomial tests: critical counts, and a limit that is shown to be exceeded."""

import pytest
from scipy.stats import binom

from verification.binomials import Above, critical_count, detectable, repetitions_for

LEVEL = 1e-9


@pytest.mark.parametrize("samples", [1, 40, 3000])
@pytest.mark.parametrize("probability", [0.0, 1e-9, 0.05, 0.5, 1.0])
def test_the_critical_count_is_the_least_one(samples: int, probability: float) -> None:
    level = 1e-12
    k = critical_count(samples, probability, level)
    assert k == samples + 1 or binom.sf(k - 1, samples, probability) <= level
    assert binom.sf(k - 2, samples, probability) > level
    if k <= samples:
        assert binom.sf(k - 1, samples, detectable(samples, k)) == pytest.approx(0.999, abs=1e-6)
    else:
        assert detectable(samples, k) == 1.0


@pytest.mark.parametrize(("limit", "truth"), [(0.95, 1 - 1e-8), (0.05, 0.56), (1e-5, 2e-3)])
def test_a_limit_is_shown_to_be_exceeded_with_the_stated_error_rates(limit, truth) -> None:
    size = repetitions_for(truth, limit, LEVEL) if limit > 0.01 else 20_000
    test = Above(size, limit, truth, LEVEL)
    assert binom.sf(test.needed - 1, size, limit) <= LEVEL
    assert binom.cdf(test.needed - 1, size, truth) <= LEVEL
    lower = truth - test.detects
    assert limit < lower < truth
    assert binom.cdf(test.needed - 1, size, lower) == pytest.approx(0.999, abs=1e-6)
    assert test.judge(test.needed, "").passed and not test.judge(test.needed - 1, "").passed
    assert binom.cdf(test.needed - 1, size, 1 - test.share(2.0)) > 0.999 and test.share(0.0) == 0


def test_too_few_repetitions_show_nothing() -> None:
    test = Above(100, 0.95, 1 - 1e-8, LEVEL)
    assert test.needed == 101 and not test.judge(100, "").passed
