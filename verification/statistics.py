"""Tests whose false-alarm rate is proved for every sample size, and the errors that they detect.

Random features have heavy tails, so nothing here leans on normality. Means are tested by Catoni's
influence function: for X with mean θ and variance v, and ψ(u) = sign(u)·log(1 + |u| + u²/2),

    -log(1 - u + u²/2) ≤ ψ(u) ≤ log(1 + u + u²/2),   hence   E e^{±ψ(a(X-θ))} ≤ 1 + a²v/2,

and by Markov P(Σψ ≥ n·log(1 + a²v/2) + log(1/δ)) ≤ δ, whatever the law. Probabilities are tested by
exact binomial tails, distribution functions by Massart's form of the DKW inequality.
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.stats import beta

from verification.checks import Outcome

MISS = 1e-3
"""An error called detectable is missed with at most this probability."""
_WIDE = 4
"""Multiple of the largest value within which the ends of an interval are sought."""
SPREAD = 1.1
"""The power of a mean's test is computed for laws whose variance is up to this multiple of v."""


def influence(u: ArrayLike):
    """Catoni's ψ(u) = sign(u)·log(1 + |u| + u²/2), of JAX and NumPy arrays alike."""
    size = jnp.abs(u)
    return jnp.sign(u) * jnp.log1p(size + size**2 / 2)


@dataclass(frozen=True)
class MeanTest:
    """Two-sided test of E X = `mean` for X of known variance, from `samples` independent draws.

    Streams: only Σ influence(scale·(X - mean)) is needed. `variance` may be an upper bound.
    """

    mean: float
    variance: float
    samples: int
    false_alarm: float

    @property
    def scale(self) -> float:
        """The a for which the detectable error, about a·v + L/(n·a), is least."""
        logs = math.log(2 / self.false_alarm) + math.log(1 / MISS)
        return math.sqrt(logs / (self.samples * self.variance))

    @property
    def allowed(self) -> float:
        """Largest |Σψ|/(n·a) of a sample that passes; exceeded with probability ≤ false_alarm."""
        a, n = self.scale, self.samples
        bound = n * math.log1p(a**2 * self.variance / 2) + math.log(2 / self.false_alarm)
        return bound / (n * a)

    @property
    def detects(self) -> float:
        """The error that is detected but for MISS."""
        return self.detected(MISS)

    def detected(self, miss: float) -> float:
        """Least b such that any law with |E X - mean| = b fails with probability 1 - miss.

        From E e^{-ψ(a(X-θ))} ≤ 1 - ab + a²(v' + b²)/2 with v' ≤ SPREAD·v: a quadratic in b. It is
        infinite if the sample is too small for any guarantee.
        """
        a, n = self.scale, self.samples
        logs = math.log(2 / self.false_alarm) + math.log(1 / miss)
        target = math.exp(-logs / n) / (1 + a**2 * self.variance / 2)
        rest = 1 - 2 * (1 + a**2 * SPREAD * self.variance / 2 - target)
        return (1 - math.sqrt(rest)) / a if rest >= 0 else math.inf

    def judge(self, total: float, note: str = "") -> Outcome:
        """The outcome for a sample with Σψ = total; NaN fails."""
        shift, allowed = total / (self.samples * self.scale), self.allowed
        passed = abs(shift) <= allowed
        observed = self.mean + shift
        return Outcome(passed, observed, self.mean, allowed, self.samples, self.detects, note)


def catoni_interval(
    values: Float[np.ndarray, " n"], variance: float, false_alarm: float
) -> tuple[float, float]:
    """Interval that misses E X with probability ≤ false_alarm if Var X is at most `variance`.

    It holds all θ with |Σψ(a(X-θ))| ≤ n·log(1 + a²v/2) + log(2/δ); the sum falls as θ grows.
    """
    test = MeanTest(0.0, variance, len(values), false_alarm)
    most = test.allowed * len(values) * test.scale
    reach = float(np.max(np.abs(values))) + test.allowed + 1 / test.scale

    def excess(theta: float, bound: float) -> float:
        u = test.scale * (values - theta)
        return float(np.sum(np.sign(u) * np.log1p(np.abs(u) + u**2 / 2))) - bound

    ends = [brentq(excess, -_WIDE * reach, _WIDE * reach, args=(sign * most,)) for sign in (1, -1)]
    return float(ends[0]), float(ends[1])


def hoeffding(samples: int, width: float, false_alarm: float) -> float:
    """t with P(|mean - E X| ≥ t) ≤ false_alarm for values in an interval of this width."""
    return width * math.sqrt(math.log(2 / false_alarm) / (2 * samples))


def bernstein(samples: int, variance: float, reach: float, false_alarm: float) -> float:
    """The same for values of known variance with |X - E X| ≤ reach: nt²/(2v + 2·reach·t/3) = L."""
    logs = math.log(2 / false_alarm) / samples
    third = logs * reach / 3
    return third + math.sqrt(third**2 + 2 * logs * variance)


def clopper_pearson(successes: int, samples: int, false_alarm: float) -> tuple[float, float]:
    """Interval that misses the success probability with probability ≤ false_alarm, exactly."""
    low, high = 0.0, 1.0
    if successes > 0:
        low = float(beta.ppf(false_alarm / 2, successes, samples - successes + 1))
    if successes < samples:
        high = float(beta.isf(false_alarm / 2, successes + 1, samples - successes))
    return low, high


def judge_law(
    values: np.ndarray,
    cdf: Callable[[np.ndarray], np.ndarray],
    false_alarm: float,
    discrete: bool = False,
    note: str = "",
    stuck: float = 0.0,
) -> Outcome:
    """Kolmogorov's distance between independent draws and a law, discrete on the integers or not.

    P(sup|F_n - F| > t) ≤ 2e^{-2nt²} for every law; the same inequality at one point gives the
    distance that is detected. For a planted error the sampler is stuck at the largest of the draws
    `stuck` times that often, whereby F falls by as much.
    """
    n = len(values)
    allowed = hoeffding(n, 1.0, false_alarm)
    detects = allowed + hoeffding(n, 1.0, MISS)
    # The draws are independent: any part of them will do.
    values = np.where(np.arange(n) < stuck * detects * n, np.max(values), values)
    ordered = np.sort(values)
    upper = np.searchsorted(ordered, ordered, side="right") / n
    lower = np.searchsorted(ordered, ordered, side="left") / n
    at = cdf(ordered)
    before = cdf(ordered - 1) if discrete else at
    distance = float(np.max(np.maximum(np.abs(upper - at), np.abs(before - lower))))
    return Outcome(distance <= allowed, distance, 0.0, allowed, n, detects, note)


def worst(outcomes: list[Outcome]) -> Outcome:
    """Of several outcomes on the same draws the first that failed, or the nearest to failing.

    `detects` is the largest of all, so that an error of that size is found wherever it is.
    """
    failed = [outcome for outcome in outcomes if not outcome.passed]
    ratios = [abs(o.observed - o.predicted) / o.allowed for o in outcomes]
    chosen = failed[0] if failed else outcomes[int(np.argmax(ratios))]
    found = [outcome.detects for outcome in outcomes if outcome.detects is not None]
    return dataclasses.replace(chosen, detects=max(found) if found else None)


def relative(outcome: Outcome, unit: float) -> Outcome:
    """The outcome in other units."""
    return dataclasses.replace(
        outcome,
        observed=outcome.observed / unit,
        predicted=outcome.predicted / unit,
        allowed=outcome.allowed / unit,
        detects=None if outcome.detects is None else outcome.detects / unit,
    )
