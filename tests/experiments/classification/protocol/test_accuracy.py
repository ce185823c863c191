"""Right answers: those of `crt.classify`, of the exact kernel, and how the former near these."""

import jax
import numpy as np
import pytest

import crt
from experiments.classification.protocol.accuracy import by_features, by_kernel, majority
from experiments.classification.protocol.methods import METHODS, Method, UnconjugatedTrigRF
from experiments.classification.protocol.splits import Split, split
from experiments.data import load_table

KEYS = jax.random.split(jax.random.key(4), 2)
SIGMAS = (0.3, 1.0)


@pytest.fixture
def wine(offline: None) -> Split:
    """A real table that needs no download: scikit-learn's wine stands in for wifi."""
    return split(load_table("wifi"), 0, "standard", "ordinal")


@pytest.mark.parametrize("name", ["oprf", "geom+"])
def test_answers_are_those_of_classify(wine: Split, name: str) -> None:
    method = METHODS[name]
    counts = by_features(method, wine, SIGMAS, KEYS)
    for i, sigma in enumerate(np.asarray(SIGMAS, np.float32)):
        y = sigma * wine.train.x
        fitted = method.mechanism.fit(y, y)
        for j, key in enumerate(KEYS):
            omega = fitted.sample(key, method.num_features, y.shape[1], method.orthogonal)
            for part, rows in enumerate((wine.validation, wine.test)):
                x, labels = sigma * rows.x, wine.train.labels
                answers = crt.classify(fitted, omega, x, y, labels, wine.num_classes)
                assert counts[part, i, j] == np.sum(np.asarray(answers) == rows.labels)


def scores(wine: Split, sigma: float) -> np.ndarray:
    """Σ_j K(x, y_j) by class for the test rows, in float64 from the definition."""
    apart = wine.test.x[:, None].astype(float) - wine.train.x[None].astype(float)
    kernel = np.exp(-0.5 * sigma**2 * np.sum(apart**2, axis=-1))
    return kernel @ np.eye(wine.num_classes)[wine.train.labels]


def test_the_exact_kernel_is_the_definition_and_survives_underflow(wine: Split) -> None:
    right = by_kernel(wine, (0.3, 1.0, 100.0))[1, :, 0]
    for count, sigma in zip(right[:2], (0.3, 1.0), strict=True):
        assert count == np.sum(scores(wine, sigma).argmax(-1) == wine.test.labels)
    # At σ = 100 every kernel is 0 in float64; what is left is the nearest neighbour.
    assert not scores(wine, 100.0).any()
    apart = np.sum((wine.test.x[:, None] - wine.train.x[None]) ** 2, axis=-1)
    nearest = wine.train.labels[apart.argmin(-1)]
    assert right[2] == np.sum(nearest == wine.test.labels)
    assert right[2] > np.sum(wine.test.labels == 0)


def undecided(wine: Split, sigma: float, features: int, chance: float = 1e-9) -> int:
    """Test rows at which M independent features may miss the exact class.

    A difference of two classes' scores is a mean of M terms of size at most B, the rows of both
    classes. By Hoeffding it is wrong by the margin with probability exp(-M·margin²/(2B²)) or less.
    All other rows together fail with probability `chance` at most.
    """
    sizes = np.bincount(wine.train.labels, minlength=wine.num_classes)
    exact = scores(wine, sigma)
    best = exact.argmax(-1)
    margins = (exact.max(-1)[:, None] - exact) / (sizes[best][:, None] + sizes)
    margins[np.arange(len(best)), best] = np.inf
    limit = np.sqrt(2 * np.log(exact.size / chance) / features)
    return int(np.sum(margins.min(-1) < limit))


def test_features_approach_the_exact_kernel(wine: Split) -> None:
    sigma, count = 0.3, 2**16
    open_rows = undecided(wine, sigma, count)
    assert open_rows < len(wine.test.labels) / 2 < undecided(wine, sigma, 64)
    exact = by_kernel(wine, (sigma,))[1, 0, 0]

    def missed(mechanism: type[crt.TrigRF]) -> int:
        method = Method(mechanism, count, orthogonal=False)
        return abs(by_features(method, wine, (sigma,), KEYS[:1])[1, 0, 0] - exact)

    assert missed(crt.TrigRF) <= open_rows
    # The planted error: the mirrored kernel.
    assert missed(UnconjugatedTrigRF) > open_rows


def test_the_majority_is_of_the_training_rows(offline: None) -> None:
    rows = [split(load_table("car"), seed, "raw", "ordinal") for seed in range(3)]
    for parts in rows:
        commonest = np.bincount(parts.train.labels).argmax()
        shares = [np.sum(p.labels == commonest) for p in (parts.validation, parts.test)]
        assert majority(parts) == shares
