"""What attention is checked with: its definition, and the moments of its sums."""

from dataclasses import replace

import numpy as np
import pytest

from verification import attention, attention_means
from verification import attention_definition as definition
from verification.attention_means import Plan
from verification.faults import AREAS


def test_there_are_twenty_faults_of_attention() -> None:
    assert len(AREAS["attention"]) >= 20


def test_the_definition_of_one_pair_and_of_two() -> None:
    """One key gives its value; two keys at logits 0 and log 3 are weighed 1 to 3 by elu + 1."""
    given = attention.BIDIRECTIONAL.draw("elu", np.random.default_rng(0))
    one = replace(
        given,
        q=np.zeros((1, 1, 1, 1)),
        k=np.array([0.0, 2.0]).reshape(1, 2, 1, 1),
        v=np.array([8.0, 4.0]).reshape(1, 2, 1, 1),
        mask=np.array([[True, True]]),
        scale=1.0,
    )
    assert definition.attend(one).item() == pytest.approx((8 + 3 * 4) / 4, rel=1e-15)
    hidden = replace(one, mask=np.array([[True, False]]))
    assert definition.attend(hidden).item() == 8


@pytest.mark.parametrize("name", attention.MECHANISMS)
def test_slopes_are_those_of_differences(name: str) -> None:
    rng = np.random.default_rng(1)
    given = attention.BIDIRECTIONAL.draw(name, rng)
    direction = rng.normal(size=given.k.shape)
    change = rng.normal(size=given.q.shape[:3] + given.v.shape[3:])
    step = 1e-6
    ends = [
        definition.attend(replace(given, k=given.k + sign * step * direction)) for sign in (1, -1)
    ]
    difference = np.sum(change * (ends[0] - ends[1])) / (2 * step)
    # Central differences lose ε/step by rounding and step² by curvature.
    assert definition.slope(given, "k", direction, change) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("name", ["oprf", "pos", "trig"])
def test_moments_of_a_draw(name: str) -> None:
    """Means and variances of numerator and denominator against a million draws by NumPy."""
    rng = np.random.default_rng(2)
    plan = Plan(name, False)
    q, k, v = plan.points(rng)
    mean, variance = plan.moments(q, k, v)
    x, y = (attention_means.SCALE**0.5 * each[0, :, 0] for each in (q, k))
    omega = rng.normal(size=(10**6, attention_means.DIM))
    if name == "trig":
        pair = (
            np.cos((x[0] - y) @ omega.T) * np.exp((x[0] @ x[0] + np.sum(y**2, axis=1)) / 2)[:, None]
        )
    else:
        a = plan.a
        dots = (1 - 4 * a) ** 0.5 * ((x[0] + y) @ omega.T) + 2 * a * np.sum(omega**2, axis=1)
        half = (x[0] @ x[0] + np.sum(y**2, axis=1))[:, None] / 2
        pair = (1 - 4 * a) ** (attention_means.DIM / 2) * np.exp(dots - half)
    draws = v[0, :, 0, 0] @ pair
    # Six standard errors of the mean; the variance's own is a few times 1e-3 of it.
    assert abs(draws.mean() - mean[0, 0]) < 6 * np.sqrt(variance[0, 0] / 10**6)
    assert draws.var() == pytest.approx(variance[0, 0], rel=0.05)
