"""Moments of one product and variances of estimators against sums and quadrature, in float64.

Discrete laws are summed term by term; Gaussian ones are integrated by Gauss–Hermite nodes. The
products come from the definitions in `tests.crt.cases`. `unit` bounds their rounding.
"""

import itertools
import math

import jax
import numpy as np
import pytest

import crt
from tests.crt import cases

EPS = np.finfo(float).eps
PAIRS = (
    (np.array([0.4, -0.7]), np.array([0.3, 0.5])),
    (np.array([-0.6, 0.2]), np.array([0.8, 0.9])),
)


def nodes(name: str, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Projections and their probabilities: 0 … 39 per coordinate, or 64 Gauss–Hermite nodes."""
    mechanism = cases.cut(name, dim)
    if not mechanism.discrete:
        grid, weight = np.polynomial.hermite_e.hermegauss(64)
        one = [list(zip(grid, weight / math.sqrt(2 * math.pi), strict=True))] * dim
    else:
        rates = getattr(mechanism, "rates", [getattr(mechanism, "rate", None)] * dim)
        p = getattr(mechanism, "p", 0.0)
        laws = [
            (lambda k: p * (1 - p) ** k)
            if name.startswith("geom")
            else (lambda k, rate=rate: math.exp(-rate) * rate**k / math.factorial(k))
            for rate in rates
        ]
        one = [[(float(k), law(k)) for k in range(40)] for law in laws]
    points = list(itertools.product(*one))
    omega = np.array([[value for value, _ in point] for point in points])
    return omega, np.array([math.prod(weight for _, weight in point) for point in points])


def direct(name: str, x: np.ndarray, y: np.ndarray, kernel: str) -> tuple[float, float, float]:
    """E X, E X², and a bound on the rounding of E X²."""
    omega, weight = nodes(name, len(x))
    fx, x_unit = cases.features(name, x[None], omega, "x", kernel)
    fy, y_unit = cases.features(name, y[None], omega, "y", kernel)
    product = np.real(fx * fy)[0]
    unit = 2 * (x_unit + y_unit)[0] * abs(fx * fy)[0] ** 2
    return weight @ product, weight @ product**2, EPS * (weight @ unit)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_moments_of_one_product(name: str, dim: int) -> None:
    mechanism = cases.cut(name, dim)
    for (x, y), kernel in itertools.product(PAIRS, crt.kernels.KERNELS):
        x, y = x[:dim], y[:dim]
        mean, second, bound = direct(name, x, y, kernel)
        with jax.enable_x64(True):
            exact = np.asarray(getattr(crt.kernels, kernel)(x[None], y[None]))[0, 0]
            log_second = float(mechanism.log_second_moment(x, y, kernel=kernel))
            variance = float(mechanism.variance(x, y, kernel=kernel))
            of_mean = float(mechanism.estimator_variance(x, y, 7, kernel=kernel))
        # The formulas themselves are a few eps off their value, relative to the second moment.
        slack = bound + 64 * EPS * second
        assert abs(mean - exact) <= slack / exact
        assert abs(math.exp(log_second) - second) <= slack
        assert abs(variance - (second - exact**2)) <= slack
        assert abs(of_mean - variance / 7) <= 4 * EPS * variance
        assert variance > 1e3 * slack or name == "optpois"


def block_mean(name: str, x: np.ndarray, y: np.ndarray, kernel: str) -> float:
    """E X_i X_j for two orthogonal projections of the plane.

    Directions at a right angle, with independent signs and lengths: a product of two averages over
    ± and over the length r, u = r²/2 exponential (Gauss–Laguerre; the average is even in r).
    """
    turns, steps = 32, np.arange(128) * math.pi / 64
    u, weight = np.polynomial.laguerre.laggauss(40)
    circle = np.stack([np.cos(steps), np.sin(steps)], -1)
    omega = (np.sqrt(2 * u)[:, None, None] * circle).reshape(-1, 2)
    fx, _ = cases.features(name, x[None], omega, "x", kernel)
    fy, _ = cases.features(name, y[None], omega, "y", kernel)
    along = weight @ np.real(fx * fy)[0].reshape(len(u), len(steps))
    even = (along + np.roll(along, 2 * turns)) / 2
    return float(np.mean(even * np.roll(even, turns)))


@pytest.mark.parametrize(
    "name", [name for name in cases.MECHANISMS if not cases.MECHANISMS[name].discrete]
)
def test_orthogonal_variance(name: str) -> None:
    mechanism = cases.MECHANISMS[name]
    for (x, y), kernel in itertools.product(PAIRS, crt.kernels.KERNELS):
        mean, second, bound = direct(name, x, y, kernel)
        together = block_mean(name, x, y, kernel)
        # Laguerre's 2 × 40 nodes add up to 80·128 roundings of terms of at most the second moment.
        slack = bound + 1e4 * EPS * second
        for count, pairs in ((2, 2), (5, 4), (1, 0)):
            expected = (second - mean**2) / count + pairs / count**2 * (together - mean**2)
            with jax.enable_x64(True):
                value = float(mechanism.estimator_variance(x, y, count, True, kernel=kernel))
                without = float(mechanism.estimator_variance(x, y, count, kernel=kernel))
            assert abs(value - expected) <= slack
            assert (abs(without - expected) <= slack) == (pairs == 0)


@pytest.mark.parametrize("name", ["oprf", "gerf, complex", "geom", "pois+"])
def test_leading_axes_broadcast(name: str) -> None:
    mechanism = cases.MECHANISMS[name]
    x, y = cases.X[:, None, :], cases.Y
    with jax.enable_x64(True):
        table = np.asarray(mechanism.log_second_moment(x, y))
        assert table.shape == (5, 4)
        one = float(mechanism.log_second_moment(cases.X[3], cases.Y[1]))
        assert abs(table[3, 1] - one) <= 16 * EPS * (1 + abs(one))


def test_positive_and_opposite_points_have_no_variance() -> None:
    point = np.array([0.3, 0.5])
    rates = crt.OptPoisRF(point * point)
    assert float(rates.variance(point, point)) <= np.finfo("f4").eps
    assert float(crt.OPRF(1.0).variance(point, -point)) == 0
    assert float(crt.OPRF(1.0).estimator_variance(point, -point, 4, True)) == 0
