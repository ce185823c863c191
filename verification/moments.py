"""Exact moments of feature products, by routes that share nothing with the generated formulas.

Exponential features: W = D²exp(2A‖ω‖² + B·ω·v + C·n), X = Re W. Mixed moments E W^a W̄^b are
Gaussian integrals. For orthogonal ω_1, ω_2, … with independent χ_d lengths r_i, the vector
Σβ_i ω_i has a uniform direction and squared length Σβ_i²r_i², so that

    E Π e^{α_i r_i²/2 + β_i ω_i·v} = Π q_i^{-h} Σ_k (z/4)^k/(h)_k [t^k] Π (1 - w_i t)^{-h},

h = d/2, q_i = 1 - α_i, w_i = 2β_i²/q_i, z = ‖v‖². Discrete features: sums over the law, per
coordinate.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

LARGEST = math.log(np.finfo(float).max)
TERMS = 120
"""Terms of the series; the terms kept last must not matter, which is asserted."""


@dataclass(frozen=True)
class Moments:
    """Mean, variance, and the variance of (X - mean)², of a product or of a mean of products."""

    mean: float
    variance: float
    square_variance: float


def central(raw: list[float]) -> Moments:
    """From E X, E X², E X³, E X⁴."""
    m1, m2, m3, m4 = raw
    variance = m2 - m1**2
    fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4
    return Moments(m1, variance, fourth - variance**2)


@dataclass(frozen=True)
class ExponentialProduct:
    """X of a GERF at z = ‖x+s·y‖², n = ‖x‖²+‖y‖². Fourth moments need Re A < 1/16."""

    A: complex
    s: int
    d: int
    z: float
    n: float
    softmax: bool = False

    @property
    def b(self) -> complex:
        return np.sqrt(complex(1 - 4 * self.A)) * (1 if self.s > 0 else 1j)

    @property
    def log_constant(self) -> complex:
        """log(D²e^{Cn})."""
        c = -(self.s + 1) / 2 + (0.5 if self.softmax else 0.0)
        return self.d / 2 * np.log(complex(1 - 4 * self.A)) + c * self.n

    def mixed(self, powers: tuple[tuple[int, int], ...]) -> complex:
        """E Π_i W_i^{a_i} W̄_i^{b_i} for orthogonal projections and powers (a_i, b_i)."""
        h, log_value, w = self.d / 2, 0j, []
        for a, b in powers:
            q = 1 - 4 * (a * self.A + b * np.conj(self.A))
            beta = a * self.b + b * np.conj(self.b)
            log_value += a * self.log_constant + b * np.conj(self.log_constant) - h * np.log(q)
            w.append(2 * beta**2 / q)
        return np.exp(log_value) * _series(np.array(w) * self.z / 4, h)

    def joint(self, *powers: int) -> float:
        """E Π_i X_i^{p_i} for orthogonal projections, by X = (W + W̄)/2."""
        total = 0j
        for split in itertools.product(*(range(p + 1) for p in powers)):
            weight = math.prod(math.comb(p, a) for p, a in zip(powers, split, strict=True))
            pairs = tuple((a, p - a) for p, a in zip(powers, split, strict=True))
            total += weight * self.mixed(pairs)
        return float(np.real(total)) / 2 ** sum(powers)

    def single(self) -> Moments:
        """Of one product."""
        return central([self.joint(k) for k in range(1, 5)])

    def block(self) -> Moments:
        """Of the mean over one orthogonal block of d projections."""
        d, f = self.d, self.joint
        pairs, triples = d * (d - 1), d * (d - 1) * (d - 2)
        second = d * f(2) + (pairs * f(1, 1) if pairs else 0)
        third = d * f(3) + (3 * pairs * f(2, 1) if pairs else 0)
        fourth = d * f(4) + (pairs * (4 * f(3, 1) + 3 * f(2, 2)) if pairs else 0)
        if triples:
            third += triples * f(1, 1, 1)
            fourth += triples * (6 * f(2, 1, 1) + (d - 3) * f(1, 1, 1, 1))
        return central([f(1), second / d**2, third / d**3, fourth / d**4])


def _series(u: np.ndarray, h: float) -> complex:
    """Σ_k [t^k] Π(1 - u_i t)^{-h} / (h)_k; for one factor the sum is e^u."""
    if len(u) == 1:
        return np.exp(u[0])
    k = np.arange(1, TERMS)
    coefficients = np.ones(1)
    for each in u:
        powers = np.cumprod(np.concatenate([[1], (h + k - 1) / k * each]))
        coefficients = np.convolve(coefficients, powers)[:TERMS]
    terms = coefficients / np.cumprod(np.concatenate([[1], h + k - 1]))
    assert abs(terms[-1]) <= 1e-17 * np.max(np.abs(terms)), "the series needs more terms"
    return complex(np.sum(terms))


@dataclass(frozen=True)
class DiscreteProduct:
    """X of discretely-induced features at c_l = x_l·y_l: per coordinate a law p on 0, 1, 2, …

    `poisson` holds rates, else `chance` is the geometric law's p; log_factor = log of what
    multiplies Π c_l^{ω_l}/(ω_l! p(ω_l)).
    """

    c: np.ndarray
    log_factor: float
    poisson: np.ndarray | None = None
    chance: float = 0.5

    def raw(self, k: int) -> float:
        """E X^k, infinite where float64 cannot hold it."""
        logs, signs = self._coordinates(k)
        log_size = k * self.log_factor + float(np.sum(logs))
        size = math.exp(log_size) if log_size < LARGEST else math.inf
        return float(np.prod(signs)) * size

    def _coordinates(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """log|factor| and sign of every coordinate's factor."""
        if self.poisson is not None:
            logs = (k - 1) * self.poisson + self.c**k * self.poisson ** (1 - k)
            return logs, np.ones_like(logs)
        counts = np.arange(TERMS)
        log_factorials = np.cumsum(np.log(np.maximum(counts, 1)))
        size = np.maximum(np.abs(self.c), np.finfo(float).tiny)[:, None]
        slope = k * np.log(size) + (1 - k) * math.log1p(-self.chance)
        signs = np.where(self.c < 0, -1.0, 1.0)[:, None] ** (k * counts)
        terms = signs * np.exp(counts * slope - k * log_factorials)
        assert np.all(np.abs(terms[:, -1]) <= 1e-17 * np.max(np.abs(terms), axis=1))
        sums = np.sum(terms, axis=1)
        return np.log(np.abs(sums)) + (1 - k) * math.log(self.chance), np.sign(sums)

    def single(self) -> Moments:
        """Of one product."""
        return central([self.raw(k) for k in range(1, 5)])
