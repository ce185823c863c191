"""Mechanisms with parameters, and points at which their exact moments give a test power.

Points are (x_i, y_i), four to a case. Exponential mechanisms see v = x + s·y along ±(1, …, 1) and
±e_1, where projections of a wrong law show; discrete ones see coordinates of all signs and exact
zeros. One scale is searched over a fixed list: the largest one at which the wanted error is
detected. Dimensions 2 and 8 use the softmax kernel, the others the Gaussian one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import crt
from crt.mechanisms import Mechanism
from verification.moments import DiscreteProduct, ExponentialProduct, Moments

DIMS = (1, 2, 3, 8, 64)
SCALES = tuple(1.3 * 0.85**k for k in range(40))
OFFSET = 0.7
"""Length of the part of x and y that cancels in v: it enters the kernel, not the noise."""
EPSILON = 1e-8
"""Added to shifted coordinates, as the paper has it."""
LEAST_VARIANCE = 1e-12
"""Relative to K²: a test takes no smaller variance, far above rounding and without effect else."""

EXPONENTIAL: Mapping[str, tuple[Callable[[int], complex], int]] = {
    "trig": (lambda d: 0.0, -1),
    "pos": (lambda d: 0.0, 1),
    "oprf": (lambda d: -0.125 / d, 1),
    "gerf+": (lambda d: (-0.1 + 0.1j) / d, 1),
    "gerf-": (lambda d: (0.03 + 0.05j) / d, -1),
}
"""A by dimension and s; |A| falls as 1/d, else the variance would grow with d."""
DISCRETE: Mapping[str, Callable[..., Mechanism]] = {
    "pois": crt.PoisRF,
    "geom": crt.GeomRF,
    "pois+": crt.PoisRFPlus,
    "geom+": crt.GeomRFPlus,
    "optpois": crt.OptPoisRF,
}


@dataclass(frozen=True)
class Case:
    """A mechanism, points x and y (P, d), and the exact moments of X, or of a block's mean."""

    mechanism: Mechanism
    x: np.ndarray
    y: np.ndarray
    kernel: str
    moments: tuple[Moments, ...]

    def keep(self, chosen: list[int]) -> "Case":
        """The case with some of its points."""
        moments = tuple(self.moments[i] for i in chosen)
        return Case(self.mechanism, self.x[chosen], self.y[chosen], self.kernel, moments)


def kernel_of(dim: int) -> str:
    """The kernel that cases of this dimension use."""
    return "softmax" if dim in (2, 8) else "gaussian"


def case_of(name: str, dim: int, orthogonal: bool, scale: float) -> Case:
    """The case of one mechanism in one dimension at one scale."""
    if name in EXPONENTIAL:
        return _exponential(name, dim, orthogonal, scale)
    return _discrete(name, dim, scale)


def mechanism_of(name: str, dim: int) -> Mechanism:
    """The exponential mechanism of this name."""
    amplitude, s = EXPONENTIAL[name]
    if name == "oprf":
        return crt.OPRF(1 / (1 - 8 * amplitude(dim).real))
    plain = {"trig": crt.TrigRF, "pos": crt.PosRF}
    return plain[name]() if name in plain else crt.GERF(amplitude(dim), float(s))


def offset_points(dim: int, s: int, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x and y with x + s·y = v and ‖x‖² + ‖y‖² = 2·OFFSET² + ‖v‖²/2."""
    u = np.cos(1.0 + np.arange(dim))
    u *= OFFSET / np.linalg.norm(u)
    return u + v / 2, s * (v / 2 - u)


def _exponential(name: str, dim: int, orthogonal: bool, scale: float) -> Case:
    amplitude, s = EXPONENTIAL[name]
    ones, first = np.full(dim, dim**-0.5), np.eye(dim)[0]
    x, y = offset_points(dim, s, scale * np.stack([ones, -ones, first, -first]))
    kernel = kernel_of(dim)
    norms = 2 * OFFSET**2 + scale**2 / 2
    product = ExponentialProduct(amplitude(dim), s, dim, scale**2, norms, kernel == "softmax")
    moments = product.block() if orthogonal else product.single()
    return Case(mechanism_of(name, dim), x, y, kernel, (moments,) * 4)


def discrete_points(dim: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Four pairs: all positive, with negative products, on one axis, negative on both sides.

    Coordinates fall as d^{-1/4}, so that Σ x_l²y_l², and with it the variance, does not grow.
    """
    index = np.arange(dim)
    g, h = 1 + 0.3 * np.cos(index), 1 + 0.3 * np.sin(index + 1)
    flips, axis = np.where(index % 3 == 0, -1.0, 1.0), np.eye(dim)[0]
    size = scale * dim**-0.25
    x = size * np.stack([g, g * flips, axis, g * flips])
    return x, size * np.stack([h, h, axis, h * flips])


def _discrete(name: str, dim: int, scale: float) -> Case:
    x, y = discrete_points(dim, scale)
    kernel = kernel_of(dim)
    low = np.minimum(x.min(axis=0), y.min(axis=0))
    a, b = (x - low + EPSILON, y - low + EPSILON) if name.endswith("+") else (x, y)
    log_factor = -0.5 * np.sum(a**2 + b**2, axis=1)
    if kernel == "softmax":
        log_factor += 0.5 * np.sum(x**2 + y**2, axis=1)
    c, shift = a * b, (low,) if name.endswith("+") else ()
    if name.startswith("geom"):
        chance = _chance(c)
        moments = _moments(c, log_factor, None, chance)
        return Case(DISCRETE[name](chance, *shift), x, y, kernel, moments)
    rates = np.full(dim, np.sqrt(np.mean(c**2)))
    if name == "optpois":
        rates = np.sqrt(np.mean(a**2, axis=0) * np.mean(b**2, axis=0))
    given = rates if name == "optpois" else float(rates[0])
    moments = _moments(c, log_factor, rates, 0.5)
    return Case(DISCRETE[name](given, *shift), x, y, kernel, moments)


def _chance(c: np.ndarray) -> float:
    """A p with small variance: with w = 1-p, d·w² = r(1-w) makes -d·log p + r/w least."""
    dim, r = c.shape[-1], float(np.mean(np.sum(c**2, axis=-1)))
    return 1 - (np.sqrt(r**2 + 4 * dim * r) - r) / (2 * dim)


def _moments(
    c: np.ndarray, log_factor: np.ndarray, rates: np.ndarray | None, chance: float
) -> tuple[Moments, ...]:
    pairs = zip(c, log_factor, strict=True)
    return tuple(DiscreteProduct(row, float(log), rates, chance).single() for row, log in pairs)
