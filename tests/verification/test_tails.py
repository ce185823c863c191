"""What Theorem 4.2 is checked with: the exact probabilities of its counterexamples."""

import jax
import numpy as np
import pytest

from verification.tail_bounds import FAR, NEAR, exact, log_printed


def test_the_counterexamples_have_the_known_probabilities() -> None:
    with jax.enable_x64(True):
        for case, i, probability, bound in ((NEAR, 3, 2.56e-3, 1.34e-5), (FAR, 1, 0.857, 5.9e-8)):
            tails_of = exact(case, case.law)
            low, high = (sum(float(tails_of[s][j][i]) for s in tails_of) for j in (0, 1))
            assert low <= high < 1.01 * low
            assert low == pytest.approx(probability, rel=0.01)
            assert np.exp(log_printed(case)[i]) == pytest.approx(bound, rel=0.01)
