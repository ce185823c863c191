"""How fast the largest error over a ball falls: M·E sup² lies between two constants for every M.

Let g(m) be the error of the softmax estimate at x = y = m, |m| ≤ r, in one dimension, the mean of M
centred copies of X(m) - E X(m), X(m) = √(1+4α)·exp(-2αω² + 2Bωm - m²), B = √(1+4α). Its moments and
those of its slope g' are exact multiples of those of one copy: E g² = σ²/M, E g'² = σ₁²/M. From

    g(t)² = ½(g(r)² + g(-r)²) + ∫_{-r}^t gg' - ∫_t^r gg'

and Cauchy's inequality follows, for every M and with nothing left to a limit,

    σ²(r) ≤ M·E sup g² ≤ σ²(r) + ∫_{-r}^r σσ₁ dm,

so that between M and M' the slope of the root mean square in logarithms is -½ up to
½·log(upper/lower)/log(M'/M). In the same way g⁴ ≤ ½(g(r)⁴ + g(-r)⁴) + 2∫|g³g'| bounds the variance
of M·sup², which Catoni's intervals need. All this holds for the maximum over any nodes of [-r, r]
that include its ends, in place of the supremum.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from verification.balls import Ball
from verification.statistics import MeanTest, catoni_interval

NODES = 96
"""Of Gauss and Legendre on [-r, r]; the integrands are smooth."""
STEP, WIDTH = 1 / 64, 14.0
"""Of the trapezoidal sums over ω, whose error is far below rounding for these integrands."""


@dataclass(frozen=True)
class Moments:
    """Central moments of X(m) and of X'(m), (2, m): of second and of fourth order."""

    second: Float[np.ndarray, "2 m"]
    fourth: Float[np.ndarray, "2 m"]

    def mean_fourth(self, draws: int) -> Float[np.ndarray, "2 m"]:
        """M² times the fourth moment of the mean of M centred copies."""
        return self.fourth / draws + 3 * (1 - 1 / draws) * self.second**2


def moments(alpha: float, m: Float[np.ndarray, " m"]) -> Moments:
    """By trapezoidal sums over ω ~ N(0, 1)."""
    omega = np.arange(-WIDTH, WIDTH + STEP, STEP)[:, None]
    weights = STEP * np.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi)
    b = math.sqrt(1 + 4 * alpha)
    x = b * np.exp(-2 * alpha * omega**2 + 2 * b * omega * m - m**2)
    both = np.stack([x, (2 * b * omega - 2 * m) * x])
    centred = both - np.sum(weights * both, axis=1, keepdims=True)
    return Moments(*(np.sum(weights * centred**k, axis=1) for k in (2, 4)))


@functools.cache
def _on_ball(ball: Ball) -> tuple[Moments, Moments, np.ndarray]:
    """Moments at the end r and at the nodes, and the weights of the nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    at_nodes = moments(ball.alpha, ball.r0 * nodes)
    return moments(ball.alpha, np.array([ball.r0])), at_nodes, ball.r0 * weights


def constants(ball: Ball) -> tuple[float, float]:
    """Lower and upper bound of M·E sup g², d = 1, for every M."""
    end, inside, weights = _on_ball(ball)
    low = float(end.second[0, 0])
    return low, low + float(weights @ np.sqrt(inside.second[0] * inside.second[1]))


def square_variance(ball: Ball, draws: int) -> float:
    """Upper bound of the variance of M·sup g²."""
    end, inside, weights = _on_ball(ball)
    g, slope = inside.mean_fourth(draws)
    fourth = float(end.mean_fourth(draws)[0, 0]) + 2 * float(weights @ (g**0.75 * slope**0.25))
    return fourth - constants(ball)[0] ** 2


def test(ball: Ball, draws: int, sets: int, false_alarm: float) -> MeanTest:
    """Of M·E max² from the maxima of `sets` independent sets of draws; its mean is left open."""
    return MeanTest(0.0, square_variance(ball, draws), sets, false_alarm)


def interval(
    ball: Ball, draws: int, maxima: Float[np.ndarray, " n"], false_alarm: float
) -> tuple[float, float]:
    """Interval of M·E max² from maxima over nodes; misses it with ≤ false_alarm."""
    return catoni_interval(draws * maxima**2, square_variance(ball, draws), false_alarm)
