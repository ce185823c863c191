"""Exact binomial tests of probabilities: of a value, of a bound, and that a limit is exceeded."""

import functools
from dataclasses import dataclass

from scipy.stats import beta, binom

from verification.checks import Outcome
from verification.statistics import MISS, clopper_pearson


def critical_count(samples: int, probability: float, false_alarm: float) -> int:
    """Least k with P(Bin(samples, probability) ≥ k) ≤ false_alarm; samples + 1 if there is none."""
    low, high = 0, samples + 1
    while low < high:
        middle = (low + high) // 2
        if binom.sf(middle - 1, samples, min(probability, 1.0)) <= false_alarm:
            high = middle
        else:
            low = middle + 1
    return low


def detectable(samples: int, successes: int) -> float:
    """Least probability under which at least that many samples succeed but for MISS."""
    if successes > samples:
        return 1.0
    return float(beta.ppf(1 - MISS, successes, samples - successes + 1))


def two_sided(
    seen: int, samples: int, ends: tuple[float, float], level: float, note: str
) -> Outcome:
    """Exact binomial test that a probability lies between the ends."""
    low, high = ends
    detects = detectable(samples, critical_count(samples, high, level / 2)) - high
    most = critical_count(samples, high, level / 2)
    fewest = samples - critical_count(samples, 1 - low, level / 2)
    share, middle = seen / samples, (low + high) / 2
    reach = most / samples - middle if share >= middle else middle - fewest / samples
    passed = fewest < seen < most
    return Outcome(passed, share, middle, reach, samples, detects, note)


def one_sided(seen: int, samples: int, bound: float, level: float, note: str) -> Outcome:
    """Exact binomial test that a probability does not exceed a bound."""
    most = critical_count(samples, bound, level)
    reach, detects = most / samples - bound, detectable(samples, most) - bound
    return Outcome(seen < most, seen / samples, bound, reach, samples, detects, note)


def faulty_share(samples: int, bound: float, level: float, shift: float) -> float:
    """How often a planted fault must strike to exceed a bound by `shift` times what is detected."""
    if not shift:
        return 0.0
    detects = detectable(samples, critical_count(samples, bound, level)) - bound
    return min(bound + shift * detects, 1.0)


def repetitions_for(truth: float, limit: float, level: float) -> int:
    """How many repetitions tell P ≤ limit from P ≥ truth, both errors at most `level`; eights."""
    size = 8
    while binom.cdf(critical_count(size, limit, level) - 1, size, truth) > level:
        size += 8
    return size


@dataclass(frozen=True)
class Above:
    """Exact binomial test that shows a probability to exceed `limit`.

    Code for which it does not passes with probability ≤ level. Right code has a probability of at
    least `truth`, known beforehand, and fails with probability ≤ level.
    """

    samples: int
    limit: float
    truth: float
    level: float

    @functools.cached_property
    def needed(self) -> int:
        """Successes from which on the limit is certainly exceeded."""
        return critical_count(self.samples, self.limit, self.level)

    @property
    def detects(self) -> float:
        """How far below `truth` a probability fails but for MISS."""
        if self.needed > self.samples:
            return self.truth
        return self.truth - float(beta.ppf(MISS, self.needed, self.samples - self.needed + 1))

    def share(self, shift: float) -> float:
        """How often a planted fault must prevent a success.

        Then the probability lies below `truth` by `shift` times what is detected, or is 0.
        """
        return 1 - max(self.truth - shift * self.detects, 0.0) if shift else 0.0

    def judge(self, seen: int, note: str) -> Outcome:
        """One-sided: the limit must not exceed the lower confidence limit of the probability."""
        low, _ = clopper_pearson(seen, self.samples, 2 * self.level)
        missed = float(binom.cdf(self.needed - 1, self.samples, self.truth))
        passed = seen >= self.needed and missed <= self.level
        return Outcome(passed, self.limit, low, 0.0, self.samples, self.detects, note)
