"""Integrals over orthogonal pairs of projections: two lengths and two cosines, by quadrature.

For ω_i = r_i·u_i with u_1 ⟂ u_2 Haar, a function of (‖ω_i‖, ω_i·v) sees the lengths r_i ~ χ_d,
independent of everything, and the cosines (c_1, c_2) of u_i with v. These are two coordinates of
one uniform unit vector: c_1 = √u·cos φ, c_2 = √u·sin φ with φ uniform and u ~ Beta(1, d/2-1), u = 1
at d = 2. Given the cosines the lengths separate, so with G(c) = E g(r, c)

    E g(r_1, c_1) g(r_2, c_2) = E_u E_φ G(√u·cos φ) G(√u·sin φ),

one integral over r for each point of a plane. Nothing here knows a closed form.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, roots_jacobi

EPS = float(np.finfo(float).eps)
Integrand = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""g(r, c): several functions at once, along a new first axis."""

_legendre = functools.cache(np.polynomial.legendre.leggauss)
_jacobi = functools.cache(roots_jacobi)


@dataclass(frozen=True)
class Product:
    """W = D²·exp(2A·r² + B·r·√z·c + C·n) of a GERF, with B = √(s(1-4A)), C = -(s+1)/2."""

    A: complex
    s: int
    d: int
    z: float
    n: float

    def log_value(self, r: np.ndarray, c: np.ndarray) -> np.ndarray:
        """log W."""
        b = np.sqrt(complex(self.s * (1 - 4 * self.A)))
        constant = self.d / 2 * np.log(complex(1 - 4 * self.A)) - (self.s + 1) / 2 * self.n
        return constant + 2 * self.A * r**2 + b * math.sqrt(self.z) * r * c

    def reach(self, power: int) -> tuple[float, float]:
        """Lengths outside carry less than e^{-72} of E|W|^power: 12 standard deviations."""
        tilt = 1 - 4 * power * float(np.real(self.A))
        b = power * abs(np.sqrt(complex(self.s * (1 - 4 * self.A))).real) * math.sqrt(self.z)
        root = math.sqrt(b**2 + 4 * tilt * (self.d - 1))
        spread = 12 / math.sqrt(tilt)
        return max((root - b) / (2 * tilt) - spread, 0.0), (root + b) / (2 * tilt) + spread

    def rounding(self) -> float:
        """Relative error of a value: eps times the sizes of the summands of its logarithm."""
        r = self.reach(2)[1]
        b = abs(1 - 4 * self.A)
        own = self.d * (abs(np.log(b)) + math.log(1 + r)) + 2 * self.n + gammaln(self.d / 2)
        return 2 * EPS * float(own + (2 * abs(self.A) + 0.5) * r**2 + math.sqrt(b * self.z) * r)


@dataclass(frozen=True)
class PairRule:
    """Nodes: `rings` for u, `spokes` (a multiple of 4) for φ, `lengths` for r, `alone` for c_1."""

    rings: int = 20
    spokes: int = 64
    lengths: int = 160
    alone: int = 96

    def finer(self) -> "PairRule":
        """A quarter as many nodes more in each direction."""
        return PairRule(*(5 * k // 4 for k in (self.rings, self.spokes, self.lengths, self.alone)))

    def over_lengths(
        self, g: Integrand, d: int, c: np.ndarray, ends: tuple[float, float]
    ) -> Float[np.ndarray, "k *c"]:
        """G(c) = E g(r, c) for r ~ χ_d, by Gauss–Legendre between the ends."""
        nodes, weights = _legendre(self.lengths)
        low, high = ends
        r = low + (high - low) * (nodes + 1) / 2
        log_density = (d - 1) * np.log(r) - r**2 / 2 - (d / 2 - 1) * math.log(2) - gammaln(d / 2)
        return g(r, c[..., None]) @ (np.exp(log_density) * weights * (high - low) / 2)

    def single(self, g: Integrand, d: int, ends: tuple[float, float]) -> Float[np.ndarray, " k"]:
        """E g(r, c) for one projection; c has density ∝ (1-c²)^{(d-3)/2}."""
        nodes, weights = _jacobi(self.alone, (d - 3) / 2, (d - 3) / 2)
        return self.over_lengths(g, d, nodes, ends) @ weights / np.sum(weights)

    def pair(self, g: Integrand, d: int, ends: tuple[float, float]) -> Float[np.ndarray, " k"]:
        """E g(r_1, c_1) g(r_2, c_2) for an orthogonal pair; d ≥ 2."""
        radii, weights = np.ones(1), np.ones(1)
        if d > 2:
            nodes, weights = _jacobi(self.rings, d / 2 - 2, 0.0)
            radii, weights = np.sqrt((1 + nodes) / 2), weights / np.sum(weights)
        # cos φ takes every value twice on these angles: half of them are computed.
        angles = 2 * np.pi * (np.arange(self.spokes // 2) + 0.5) / self.spokes
        half = self.over_lengths(g, d, radii[:, None] * np.cos(angles), ends)
        values = np.concatenate([half, half[..., ::-1]], axis=-1)
        turned = np.roll(values, self.spokes // 4, axis=-1)
        return np.mean(values * turned, axis=-1) @ weights


@dataclass(frozen=True)
class Number:
    """A value and a bound on its error."""

    value: float
    error: float


def _moments(product: Product, rule: PairRule) -> Float[np.ndarray, "3 2"]:
    """E X, E X² and E X_1X_2, each beside the same with |W| in place of X = Re W."""

    def values(r: np.ndarray, c: np.ndarray) -> np.ndarray:
        log_value = product.log_value(r, c)
        modulus = np.exp(np.real(log_value))
        return np.stack([modulus * np.cos(np.imag(log_value)), modulus])

    d, one, two = product.d, product.reach(1), product.reach(2)
    second = rule.single(lambda r, c: values(r, c) ** 2, d, two)
    return np.stack([rule.single(values, d, one), second, rule.pair(values, d, one)])


def pair_moments(product: Product, rule: PairRule | None = None) -> tuple[Number, Number, Number]:
    """E X, E X² and E X_1X_2 of an orthogonal pair, X = Re W, by two rules.

    Their difference bounds what the coarse one misses; rounding is relative to the moduli.
    """
    rule = rule or PairRule()
    coarse, fine = _moments(product, rule), _moments(product, rule.finer())
    errors = np.abs(fine - coarse)[:, 0] + product.rounding() * fine[:, 1]
    mean, second, pair = (
        Number(float(v), float(e)) for v, e in zip(fine[:, 0], errors, strict=True)
    )
    return mean, second, pair
