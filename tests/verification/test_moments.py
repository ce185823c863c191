"""Exact moments against integrals and sums that are written out here."""

import math

import numpy as np
import pytest
from scipy.special import hyp1f1
from scipy.stats import nbinom, poisson

from verification.moments import DiscreteProduct, ExponentialProduct, central

CASES = [(0.0, 1), (0.0, -1), (-0.1, 1), (-0.05 + 0.08j, 1), (0.02 + 0.03j, -1)]


def feature(product: ExponentialProduct, squares: np.ndarray, along: np.ndarray) -> np.ndarray:
    """X from ‖ω‖² and ω·v."""
    return np.real(np.exp(product.log_constant + 2 * product.A * squares + product.b * along))


@pytest.mark.parametrize(("a", "s"), CASES)
@pytest.mark.parametrize("softmax", [False, True])
def test_moments_of_one_product_are_integrals(a: complex, s: int, softmax: bool) -> None:
    product = ExponentialProduct(a, s, 1, 0.6, 1.1, softmax)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    values = feature(product, nodes**2, nodes * math.sqrt(product.z))
    raw = [float(np.sum(weights * values**k)) / math.sqrt(2 * math.pi) for k in range(1, 5)]
    found, exact = product.single(), central(raw)
    assert found.mean == pytest.approx(exact.mean, rel=1e-12)
    assert found.variance == pytest.approx(exact.variance, rel=1e-11)
    assert found.square_variance == pytest.approx(exact.square_variance, rel=1e-8)


@pytest.mark.parametrize(("a", "s"), CASES)
def test_moments_of_an_orthogonal_block_are_integrals(a: complex, s: int) -> None:
    product = ExponentialProduct(a, s, 2, 0.5, 0.9)
    nodes, weights = np.polynomial.laguerre.laggauss(40)
    squares, angle = 2 * nodes, 2 * np.pi * np.arange(64) / 64
    lengths = np.sqrt(squares * product.z)[:, None]
    one = feature(product, squares[:, None], lengths * np.cos(angle))[:, None, :]
    other = feature(product, squares[:, None], lengths * np.sin(angle))[None, :, :]
    mean = (one + other) / 2
    grid = weights[:, None, None] * weights[None, :, None] / len(angle)
    exact = central([float(np.sum(grid * mean**k)) for k in range(1, 5)])
    found = product.block()
    assert found.mean == pytest.approx(exact.mean, rel=1e-9)
    assert found.variance == pytest.approx(exact.variance, rel=1e-8)
    assert found.square_variance == pytest.approx(exact.square_variance, rel=1e-6)


@pytest.mark.parametrize("d", [2, 3, 8, 64])
def test_pairs_of_a_block_have_kummers_function_as_their_mean(d: int) -> None:
    product = ExponentialProduct(-0.1 / d, 1, d, 1.2, 0.8)
    exact = math.exp(-2 * product.n) * hyp1f1(d, d / 2, product.z / 2)
    assert product.joint(1, 1) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("d", [1, 64])
def test_one_dimension_has_no_gain_and_others_have(d: int) -> None:
    product = ExponentialProduct(0.0, 1, d, 0.7, 0.9)
    share = product.block().variance / (product.single().variance / d)
    assert share == pytest.approx(1.0, abs=1e-9) if d == 1 else share < 0.8


def test_moments_of_discrete_products_are_sums() -> None:
    c, counts = np.array([0.4, -0.3, 0.0]), np.arange(80)
    rates = np.array([0.5, 0.3, 0.2])
    laws = {"poisson": [poisson(rate) for rate in rates], "chance": [nbinom(1, 0.6)] * 3}
    factorials = np.cumprod(np.maximum(counts, 1).astype(float))
    for name, law in laws.items():
        product = DiscreteProduct(c, -0.2, rates if name == "poisson" else None, 0.6)
        for k in range(1, 5):
            exact = math.exp(-0.2 * k)
            for each, single in zip(c, law, strict=True):
                chances = single.pmf(counts)
                alive = chances > 0
                values = each ** counts[alive] / (factorials[alive] * chances[alive])
                exact *= float(np.sum(chances[alive] * values**k))
            assert product.raw(k) == pytest.approx(exact, rel=1e-12)


def test_a_series_cut_too_early_is_refused() -> None:
    with pytest.raises(AssertionError, match="more terms"):
        ExponentialProduct(0.0, 1, 2, 400.0, 1.0).joint(1, 1)
