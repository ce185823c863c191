"""What orthogonal projections are checked with: gains by quadrature."""

import jax

from verification.gains import gain_rows, shipped_gains
from verification.pairs import Product, pair_moments


def test_one_gain_by_quadrature_and_an_all_zero_one() -> None:
    product = Product(0.02, 1, 3, 2.0, 1.3)
    pair = pair_moments(product)[2]
    with jax.enable_x64(True):
        shipped = float(shipped_gains([product])[0])
        assert [row.strain <= 1 for row in gain_rows(product, pair, shipped)] == [True, True]
        assert next(gain_rows(product, pair, 0.0)).strain > 1
