"""Mechanisms and data for the tests of `crt`, and features straight from the paper's definitions.

Nothing here uses what it is compared with: the features are Python loops over float64 numbers.
"""

import cmath
import math

import jax
import numpy as np

import crt

DIM = 3
# Zeros and negative coordinates: 0⁰ = 1 and signs of odd powers.
X = np.array([[0.4, -0.7, 0.2], [0.0, 0.5, -0.3], [-0.6, 0.0, 0.0], [0.9, 0.1, -0.2], [0, 0, 0]])
Y = np.array([[0.3, 0.0, -0.5], [-0.2, 0.6, 0.7], [0.0, 0.0, 0.8], [0.5, -0.4, 0.1]])
C = np.array([[1.0, -2.0], [0.5, 0.0], [-1.5, 1.0], [2.0, 3.0]])

MECHANISMS = {
    "trig": crt.TrigRF(),
    "pos": crt.PosRF(),
    "gerf, real": crt.GERF(-0.1, 1.0),
    "gerf, complex": crt.GERF(-0.05 + 0.1j, 1.0),
    "gerf, complex, s = -1": crt.GERF(0.03 - 0.06j, -1.0),
    "oprf": crt.OPRF(0.6),
    "pois": crt.PoisRF(0.7),
    "geom": crt.GeomRF(0.4),
    "pois+": crt.PoisRFPlus(0.8, np.array([-0.6, -0.7, -0.5])),
    "geom+": crt.GeomRFPlus(0.45, np.array([-0.6, -0.7, -0.5])),
    "optpois": crt.OptPoisRF(np.array([0.3, 0.9, 0.5])),
}


def cut(name: str, dim: int) -> crt.Mechanism:
    """A mechanism of the table for fewer coordinates."""
    return jax.tree.map(lambda leaf: leaf[:dim] if np.ndim(leaf) else leaf, MECHANISMS[name])


def projections(name: str, count: int, seed: int = 0, dim: int = DIM) -> np.ndarray:
    """Float64 projections ω (count, dim) of the right kind; the law does not matter here."""
    draw = np.random.default_rng(seed)
    if crt.MECHANISMS[name.split(",")[0]].discrete:
        return draw.poisson(0.8, (count, dim)).astype(float)
    return draw.normal(size=(count, dim))


def _gerf(
    a: complex, s: float, x: np.ndarray, omega: np.ndarray, side: str
) -> tuple[complex, float]:
    root = cmath.sqrt(1 - 4 * a)
    b = (root if s > 0 else 1j * root) * (s if side == "y" else 1)
    terms = [
        a * (omega @ omega),
        b * (omega @ x),
        -(s + 1) / 2 * (x @ x),
        len(x) / 4 * cmath.log(1 - 4 * a),
    ]
    return cmath.exp(sum(terms)), sum(abs(term) for term in terms)


def _discrete(laws: list, x: np.ndarray, omega: np.ndarray) -> tuple[complex, float]:
    half = float(x @ x) / 2
    value, size = math.exp(-half), half
    for law, coordinate, count in zip(laws, x, omega, strict=True):
        k = int(count)
        value *= coordinate**k / math.sqrt(math.factorial(k) * law(k))
        size += k * abs(math.log(abs(coordinate) or 1)) + abs(math.log(law(k)))
        size += math.lgamma(k + 1)
    return value, size


def _poisson(rate: float):
    return lambda k: math.exp(-rate) * rate**k / math.factorial(k)


def _geometric(p: float):
    return lambda k: p * (1 - p) ** k


def feature(name: str, x: np.ndarray, omega: np.ndarray, side: str) -> tuple[complex, float]:
    """f(ω, x) for one point and one projection, and the summed sizes of its logarithm's terms."""
    mechanism, dim = MECHANISMS[name], len(x)
    if name.endswith("+"):
        x = np.maximum(x - mechanism.shift[:dim], 0) + 1e-8
    if name == "trig":
        return _gerf(0, -1, x, omega, side)
    if name == "pos":
        return _gerf(0, 1, x, omega, side)
    if name == "oprf":
        return _gerf((1 - 1 / mechanism.rho) / 8, 1, x, omega, side)
    if name.startswith("gerf"):
        return _gerf(mechanism.A, mechanism.s, x, omega, side)
    if name.startswith("geom"):
        return _discrete([_geometric(mechanism.p)] * dim, x, omega)
    rates = mechanism.rates[:dim] if name == "optpois" else [mechanism.rate] * dim
    return _discrete([_poisson(rate) for rate in rates], x, omega)


def features(
    name: str, points: np.ndarray, omega: np.ndarray, side: str, kernel: str = "gaussian"
) -> tuple[np.ndarray, np.ndarray]:
    """Features (L, M), and a bound on the rounding of their logarithms in units of eps.

    A logarithm is a sum over d coordinates of products: each of its terms is rounded once when it
    is made, up to d + 4 times when it is added, and its factors carry up to 4 roundings.
    """
    pairs = [[feature(name, x, w, side) for w in omega] for x in points]
    values, sizes = (np.array([[pair[i] for pair in row] for row in pairs]) for i in (0, 1))
    squares = np.sum(points**2, axis=1, keepdims=True) / 2
    factor = np.exp(squares) if kernel == "softmax" else 1.0
    return values * factor, (points.shape[1] + 9) * (1 + sizes + squares)


def products(
    name: str, x: np.ndarray, y: np.ndarray, omega: np.ndarray, kernel: str = "gaussian"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of Re f1·f2 and of |f1·f2| over projections, (n, l), and the rounding unit of both."""
    fx, x_unit = features(name, x, omega, "x", kernel)
    fy, y_unit = features(name, y, omega, "y", kernel)
    both = fx[:, None, :] * fy[None, :, :]
    return np.real(both).mean(-1), abs(both).mean(-1), x_unit.max() + y_unit.max() + len(omega)
