"""That a formula's M suffices is shown by draws: P(error ≥ ε) ≤ δ, at the level of the check.

Right code errs by ε so rarely, with probability at most RARE, that hardly a repetition may count
against it. By Bernstein's inequality the error g(m) of a ball's centre m = (x+y)/2 has, with v and
S the variance and the supremum of one product at ‖m‖ = r,

    P(|g(m)| ≥ u) ≤ 2·exp(-Mu²/(2(v + Su/3))),

and v and S grow with r. What an enclosure adds to the nodes' maximum is at most κ(C + mean of
Z_i), Z = w((s+2r)² + 2)e^{sr}, s = 2B‖ω‖, C = (2+4r²)e^{r²}: `balls` has it in parts, its gradient
bounded by its curvature since t² + 2 ≥ t. Z is bounded too, and Bernstein's inequality holds again.
"""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi

from verification.balls import Ball
from verification.binomials import Above, repetitions_for
from verification.checks import Outcome, Setting

DELTA, QUICK_DELTA = 0.05, 0.25
"""The δ of the formulas, shown from effort STANDARD on, and what the quick budget shows instead."""
STANDARD = 4.0
RARE = 1e-6
"""More often right code errs at no point that is looked at: `rare` is below, with the right M."""
SHARES = np.linspace(0.05, 0.95, 91)
"""Of ε that the nodes may reach; the rest is left to what lies between them."""
LENGTHS = np.linspace(0, 40, 100_001)
"""Of ω, for moments of Z by sums whose error is far below rounding."""


def log_bernstein(draws: int, variance: float, supremum: float, excess: float) -> float:
    """Of P(mean of draws in [0, supremum] - its mean ≥ excess); log 1 where there is no excess."""
    if excess <= 0:
        return 0.0
    return -draws * excess**2 / (2 * (variance + supremum * excess / 3))


def log_at_point(ball: Ball, radius: float, draws: int, excess: float) -> float:
    """Bound of log P(|g(m)| ≥ excess) at ‖m‖ = radius."""
    b2, square = 1 + 4 * ball.alpha, radius**2
    wide = 1 + 8 * ball.alpha
    log_second = ball.d * (math.log(b2) - math.log(wide) / 2) + (8 * b2 / wide - 2) * square
    variance = math.exp(log_second) - math.exp(2 * square)
    log_supremum = ball.d / 2 * math.log(b2) + (b2 / (2 * ball.alpha) - 1) * square
    return math.log(2) + log_bernstein(draws, variance, math.exp(log_supremum), excess)


@functools.cache
def _between(ball: Ball, radius: float) -> tuple[float, float, float]:
    """Mean of C + Z, E Z² and the largest Z."""
    s = 2 * math.sqrt(1 + 4 * ball.alpha) * LENGTHS
    log_weight = ball.d / 2 * math.log1p(4 * ball.alpha) - 2 * ball.alpha * LENGTHS**2
    z = np.exp(log_weight + s * radius) * ((s + 2 * radius) ** 2 + 2)
    law = chi(ball.d).pdf(LENGTHS) * LENGTHS[1]
    own = (2 + 4 * radius**2) * math.exp(radius**2)
    return own + float(law @ z), float(law @ z**2), float(np.max(z))


def log_between(ball: Ball, radius: float, draws: int, excess: float) -> float:
    """Bound of log P(C + mean of Z ≥ excess)."""
    mean, second, top = _between(ball, radius)
    return log_bernstein(draws, second, top, excess - mean)


def rare(ball: Ball, draws: int, nodes: int, eps: float) -> float:
    """Bound of the probability that an enclosure of the supremum reaches ε, for right code."""
    if ball.d == 1:
        number, reach, kappa = nodes, ball.r0, (ball.r0 / (nodes - 1)) ** 2 / 2
    else:
        step, rim = 2 * ball.r0 / (nodes - 1), math.ceil(math.pi * nodes)
        along = (ball.r0**2 + ball.r0) * (math.pi / rim) ** 2 / 2
        number, reach = nodes**2 + rim, ball.r0 + step / math.sqrt(2)
        kappa = max(step**2 / 4, along)
    return min(
        number * math.exp(log_at_point(ball, reach, draws, share * eps))
        + math.exp(log_between(ball, reach, draws, (1 - share) * eps / kappa))
        for share in SHARES
    )


@dataclass(frozen=True)
class Sufficient:
    """P(error ≥ ε) ≤ δ, to be shown at a level; for right code it is at most RARE."""

    level: float
    effort: float

    @classmethod
    def of(cls, setting: Setting, parts: int = 1) -> "Sufficient":
        """One of several tests that share the false alarms of a check."""
        return cls(setting.false_alarm / parts, setting.effort)

    @property
    def delta(self) -> float:
        """The δ that is shown."""
        return DELTA if self.effort >= STANDARD else QUICK_DELTA

    @functools.cached_property
    def test(self) -> Above:
        """With as many repetitions as show δ, and more at larger efforts than the standard one."""
        size = repetitions_for(1 - RARE, 1 - self.delta, self.level)
        size *= math.ceil(max(self.effort / STANDARD, 1))
        return Above(size, 1 - self.delta, 1 - RARE, self.level)

    def judge(self, erring: int, bound: float, note: str) -> Outcome:
        """One-sided in P(error ≥ ε): its upper confidence limit must not exceed δ.

        `bound` is what P is proved to be at most, for the M that was taken.
        """
        judged = self.test.judge(self.test.samples - erring, "")
        top = 1 - judged.predicted
        note += f": P ≤ {top:.3g} shown, {'≤' if top <= self.delta else 'not ≤'} {self.delta:g}, "
        note += f"from {erring} of {self.test.samples}; P ≤ {bound:.1g} by Bernstein's inequality"
        return replace(judged, observed=top, predicted=self.delta, note=note)
