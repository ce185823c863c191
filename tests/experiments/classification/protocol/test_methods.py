"""The methods: the paper's numbers of features, and what the readings of TrigRF estimate."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from experiments.classification.protocol.methods import (
    METHODS,
    PAPER,
    READINGS,
    UnconjugatedGERF,
    UnconjugatedTrigRF,
)

X = np.array([[0.3, -0.2, 0.5]], np.float32)
Y = np.array([[-0.4, 0.1, 0.6]], np.float32)


def test_complex_features_count_twice_and_the_exponential_family_is_orthogonal() -> None:
    assert {name: METHODS[name].num_features for name in PAPER} == {
        name: 64 if name in ("trig", "gerf") else 128 for name in PAPER
    }
    orthogonal = {name for name in PAPER if METHODS[name].orthogonal}
    assert orthogonal == {"trig", "pos", "gerf", "oprf"}


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("trig-unconjugated", lambda a, b: np.cos(a + b)),
        ("trig-real", lambda a, b: np.cos(a) * np.cos(b)),
        ("trig-imaginary", lambda a, b: np.sin(a) * np.sin(b)),
    ],
)
def test_readings_estimate_what_they_say(name: str, product) -> None:
    mechanism = READINGS[name].fit(X, Y)
    omega = mechanism.sample(jax.random.key(0), 64, 3, orthogonal=True)
    seen = crt.estimate_kernel(mechanism, omega, X, Y)[0, 0]
    w = np.asarray(omega, float)
    assert seen == pytest.approx(product(w @ X[0], w @ Y[0]).mean(), abs=1e-6)
    through = crt.apply_kernel(mechanism, omega, X, Y, jnp.ones((1, 1)))[0, 0]
    assert through == pytest.approx(float(seen), abs=1e-6)


def test_the_slip_is_one_and_leaves_positive_features_alone() -> None:
    omega = crt.projections.orthogonal(jax.random.key(1), 64, 3)
    pairs = (
        (UnconjugatedGERF(0.0, -1.0), UnconjugatedTrigRF()),
        (UnconjugatedGERF(-0.1, 1.0), crt.GERF(-0.1, 1.0)),
    )
    for one, other in pairs:
        seen = [crt.estimate_kernel(each, omega, X, Y)[0, 0] for each in (one, other)]
        assert seen[0] == pytest.approx(float(seen[1]), abs=1e-6)
