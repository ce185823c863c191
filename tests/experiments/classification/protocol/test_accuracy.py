"""Right answers: those of `crt.classify`, of the exact kernel, and how the former near these."""

import jax
import numpy as np
import pytest
from jax import Array

import crt
from crt.mechanisms.base import Mechanism
from experiments.classification.protocol.accuracy import by_features, by_kernel, majority
from experiments.classification.protocol.methods import METHODS, UnconjugatedTrigRF
from experiments.classification.protocol.splits import Part, Split, split
from experiments.data import load_table, ordinal

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


@pytest.fixture
def halves(offline: None) -> Split:
    """Wine again, half of it for training and half for the test: 89 rows to answer."""
    table = load_table("wifi")
    order = np.random.default_rng(0).permutation(len(table))
    x = ordinal(table)
    x = (x - x.mean(0)) / x.std(0)
    parts = [
        Part(x[rows].astype(np.float32), table.labels[rows].astype(np.int32))
        for rows in np.array_split(order, 2)
    ]
    return Split(parts[0], parts[1], parts[1], num_classes=len(table.classes))


def decided(parts: Split, sigma: float, variance: np.ndarray, features: int) -> np.ndarray:
    """Test rows at which M independent features may not miss the exact class.

    The difference of two classes' scores has a standard deviation of Σ_j sd(K̂(x, y_j)) over the
    rows of both at most. It is a mean of thousands of terms, and a row is decided if the exact
    difference is six times that: a normal one would be missed with probability 1e-9.
    """
    of_class = np.eye(parts.num_classes)[parts.train.labels]
    sums = np.sqrt(np.maximum(variance, 0) / features) @ of_class
    exact = scores(parts, sigma)
    best, rows = exact.argmax(-1), np.arange(len(exact))
    margins = exact.max(-1)[:, None] - exact
    margins[rows, best] = np.inf
    return (margins > 6 * (sums + sums[rows, best][:, None])).all(-1)


@pytest.mark.parametrize("name", ["trig", "pos", "oprf", "geom"])
def test_features_approach_the_exact_kernel_s_answers(halves: Split, name: str) -> None:
    """Answer by answer; rows that are decided by M features grow with M to nearly all.

    Few features agree with the exact kernel less often, over ten draws: the gaps between 8, 256 and
    2^17 of them are 0.03 to 0.3, and four standard errors or more.
    """
    sigma, few, many = 0.3, 2**8, 2**17
    x, y = sigma * halves.test.x, sigma * halves.train.x
    exact = scores(halves, sigma).argmax(-1)
    assert set(exact) == {0, 1, 2}

    def answers(mechanism: Mechanism, count: int, key: Array = KEYS[0]) -> np.ndarray:
        omega = mechanism.sample(key, count, y.shape[1])
        found = crt.classify(mechanism, omega, x, y, halves.train.labels, halves.num_classes)
        return np.asarray(found)

    fitted = crt.MECHANISMS[name].fit(y, y)
    variance = np.asarray(fitted.variance(x[:, None], y[None]), float)
    sure = [decided(halves, sigma, variance, count) for count in (few, many)]
    assert sure[0].mean() < 0.5 and sure[1].mean() > 0.8
    near = answers(fitted, many)
    assert (near == exact)[sure[1]].all()
    least, less = (
        np.mean([answers(fitted, count, key) == exact for key in jax.random.split(KEYS[1], 10)])
        for count in (8, few)
    )
    assert least < less < np.mean(near == exact)
    if name == "trig":
        # The planted error: the mirrored kernel.
        assert (answers(UnconjugatedTrigRF(), many) != exact)[sure[1]].any()


def test_the_majority_is_of_the_training_rows(offline: None) -> None:
    rows = [split(load_table("car"), seed, "raw", "ordinal") for seed in range(3)]
    for parts in rows:
        commonest = np.bincount(parts.train.labels).argmax()
        shares = [np.sum(p.labels == commonest) for p in (parts.validation, parts.test)]
        assert majority(parts) == shares
