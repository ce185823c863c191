"""Quadrature over orthogonal pairs, against exact values and a simulation-free identity."""

import math

import numpy as np
import pytest

from verification.gains import points, same_block
from verification.moments import ExponentialProduct
from verification.pairs import PairRule, Product, pair_moments

PRODUCTS = [
    Product(-0.4, 1, 2, 3.0, 1.8),
    Product(0.02, 1, 3, 1.0, 0.9),
    Product(0.02 + 0.05j, -1, 8, 4.0, 2.2),
    Product(-0.02, 1, 64, 5.0, 3.0),
]


@pytest.mark.parametrize("product", PRODUCTS)
def test_moments_agree_with_the_series(product: Product) -> None:
    series = ExponentialProduct(product.A, product.s, product.d, product.z, product.n)
    for found, exact in zip(
        pair_moments(product), (series.joint(1), series.joint(2), series.joint(1, 1)), strict=True
    ):
        assert found.error < 1e-9 * max(1, abs(exact))
        assert abs(found.value - exact) <= found.error + 1e-13 * abs(exact)


def test_too_few_nodes_are_noticed_by_the_error() -> None:
    product = PRODUCTS[0]
    exact = pair_moments(product)[2].value
    rough = pair_moments(product, PairRule(2, 8, 12, 4))[2]
    assert rough.error > 1e-6
    assert abs(rough.value - exact) < 100 * rough.error


def test_the_pair_rule_integrates_polynomials_exactly() -> None:
    # E c₁²c₂² = 1/(d(d+2)), E r² = d.
    for d in (2, 3, 8):
        rule = PairRule()
        squares = rule.pair(lambda r, c: (c**2 + 0 * r)[None], d, (0.0, math.sqrt(d) + 12))
        assert squares[0] == pytest.approx(1 / (d * (d + 2)), rel=1e-12)
        length = rule.single(lambda r, c: (r**2 + 0 * c)[None], d, (0.0, math.sqrt(d) + 12))
        assert length[0] == pytest.approx(d, rel=1e-12)


def test_pairs_in_blocks_are_counted() -> None:
    assert [same_block(m, 3) for m in (1, 2, 3, 4, 7)] == [0, 2, 6, 6, 12]


@pytest.mark.parametrize("s", [1, -1])
def test_points_have_the_wanted_norms(s: int) -> None:
    x, y = points(5, 2.0, 1.7, s)
    assert np.sum((x + s * y) ** 2) == pytest.approx(2.0)
    assert np.sum(x**2) + np.sum(y**2) == pytest.approx(1.7)
