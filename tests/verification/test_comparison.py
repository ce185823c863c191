"""Rows of deterministic checks, and the counts of a traced program."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verification.comparison import Row, outcome
from verification.operations import largest_array, operations
from verification.rules import Widths, gaussian, geometric, poisson


@pytest.mark.parametrize(
    ("row", "passes"),
    [
        (Row("inside", 1.0, 1.1, 0.2), True),
        (Row("outside", 1.0, 1.3, 0.2), False),
        (Row("below a bound", 1.0, 9.0, 0.0, one_sided=True), True),
        (Row("above a bound", 9.0, 1.0, 0.0, one_sided=True), False),
        (Row("not a number", math.nan, 0.0, 1.0), False),
        (Row("no tolerance", 0.0, 0.0, math.nan), False),
    ],
    ids=lambda value: getattr(value, "label", ""),
)
def test_one_row_decides(row, passes):
    assert outcome([Row("right", 0.0, 0.0, 0.0), row], "rows").passed is passes


def test_nothing_compared_is_no_success():
    assert not outcome([], "rows").passed


def test_operations_count_products_and_loops():
    def program(x):
        return jax.lax.scan(
            lambda total, row: (total + x @ row, None), jnp.zeros(3), jnp.ones((5, 4))
        )

    traced = jax.make_jaxpr(program)(jnp.ones((3, 4)))
    # Of 5 rounds each: 12 multiplications and 3 additions. Beside them 3 + 20 constants.
    assert operations(traced) == 5 * (12 + 3) + 3 + 20
    assert largest_array(traced) == 20


def test_rules_integrate_known_functions():
    frame = np.linalg.qr(np.arange(1.0, 13.0).reshape(4, 3) ** 2)[0].T
    rule = gaussian(frame, Widths((1 + 0j,), 0.0, 0.0))
    weights = np.exp(rule.log_weights)
    for value, exact in ((1.0, 1.0), (np.sum(rule.omega**2, axis=-1), 4.0)):
        np.testing.assert_allclose(np.sum(weights * value), exact, rtol=1e-13)
    for counts, mean in ((poisson(np.array([0.5, 1.5]), 40), 2.0), (geometric(0.5, 2, 60), 2.0)):
        total = np.sum(np.exp(counts.log_weights) * np.sum(counts.omega, axis=-1))
        np.testing.assert_allclose(total, mean, rtol=1e-13)
