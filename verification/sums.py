"""Laws of feature products and of their means.

An OPRF product is X = S·exp(-2|A|·‖ω-c‖²) with c = B·v/(4|A|), so that X > a says that ω lies in a
ball around c: a noncentral χ² probability. A PosRF product is lognormal. The mean of M independent
products follows from rounding X down to a grid of step h and convolving: the sum of M rounded
values is too small by at most M·h, which encloses the probability from both sides.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.signal import fftconvolve
from scipy.special import chndtr, logsumexp, ndtr

EPS = float(np.finfo(float).eps)
Tail = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Oprf:
    """One OPRF product at z = ‖x+y‖², n = ‖x‖²+‖y‖² and 0 < ρ < 1, from its definition."""

    d: int
    z: float
    n: float
    rho: float

    @property
    def a(self) -> float:
        """|A|."""
        return (1 / self.rho - 1) / 8

    @property
    def kernel(self) -> float:
        """The mean K."""
        return math.exp(self.z / 2 - self.n)

    @property
    def log_supremum(self) -> float:
        """log X at ω = c."""
        b2 = 1 + 4 * self.a
        return self.d / 2 * math.log(b2) - self.n + b2 * self.z / (8 * self.a)

    @property
    def centre(self) -> float:
        """‖c‖, the distance of the best ω from the origin."""
        return math.sqrt((1 + 4 * self.a) * self.z) / (4 * self.a)

    def tail(self, level: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """P(X > level), elementwise, for levels ≥ 0."""
        with np.errstate(divide="ignore"):
            squares = (self.log_supremum - np.log(level)) / (2 * self.a)
        inside = np.clip(squares, 0, 1e6)  # at level 0 the ball is everything
        return np.where(squares > 0, chndtr(inside, self.d, self.centre**2), 0.0)


@dataclass(frozen=True)
class Pos:
    """One PosRF product: exp(g√z - n) with g ~ N(0, 1)."""

    z: float
    n: float

    @property
    def kernel(self) -> float:
        """The mean K."""
        return math.exp(self.z / 2 - self.n)

    def tail(self, level: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """P(X > level), elementwise."""
        with np.errstate(divide="ignore"):
            return ndtr(-(np.log(level) + self.n) / math.sqrt(self.z))


def _power(law: np.ndarray, exponent: int) -> np.ndarray:
    """The law of a sum of `exponent` draws, cut to the length of `law`, by repeated squaring."""
    total = law
    for bit in bin(exponent)[3:]:
        total = fftconvolve(total, total)[: len(law)]
        if bit == "1":
            total = fftconvolve(total, law)[: len(law)]
    return total


def mean_below(
    tail: Tail, draws: int, levels: Float[np.ndarray, " n"], bins: int = 2**17
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Enclosure of P(mean of `draws` independent X ≥ 0 is < level). O(bins·log(bins·draws)).

    Rounding errors of an FFT of probabilities are below eps·log₂(bins); a power multiplies them
    by at most 2·draws.
    """
    if draws == 1:
        exact = 1 - tail(levels)
        return exact, exact
    step = draws * float(np.max(levels)) / bins
    law = -np.diff(tail(step * np.arange(bins + 1)))
    total = np.concatenate([[0.0], np.cumsum(_power(law, draws))])
    # Rounded sums below this many steps stand for sums below the level, and none but they do.
    least = np.maximum(np.ceil(draws * levels / step - draws), 0).astype(int)
    most = np.minimum(np.ceil(draws * levels / step).astype(int), bins)
    rounding = 2 * draws * EPS * math.log2(bins)
    return np.maximum(total[least] - rounding, 0), np.minimum(total[most] + rounding, 1)


LOG_STEP = 1e-3
"""Relative rounding of the products in `log_chernoff`."""


def log_chernoff(tail: Tail, supremum: float, level: float) -> float:
    """-L(level): L the Legendre transform of log E e^{θX}, bounded from below over θ ≥ 0.

    X is rounded up, by a factor of at most e^{LOG_STEP}, which makes E e^{θX} larger: the bound
    stands for every θ.
    """
    grid = supremum * np.exp(-LOG_STEP * np.arange(math.ceil(40 / LOG_STEP)))[::-1]
    with np.errstate(divide="ignore"):
        log_law = np.log(np.maximum(-np.diff(tail(grid), prepend=1.0), 0))

    def exponent(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return float(logsumexp(log_law + theta * grid)) - theta * level

    # θ·S from 1e-6, where nothing is gained, to where e^{θX} sees its largest values only.
    span = math.log(1e-6 / supremum), math.log(200 / max(supremum - level, 1e-3 * supremum))
    return min(float(minimize_scalar(exponent, bounds=span, method="bounded").fun), 0.0)
