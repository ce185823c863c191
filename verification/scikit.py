"""The scikit-learn estimators against estimates at points stretched by √(2γ), normalised in NumPy.

K(x, y) = exp(-γ‖x-y‖²) is the Gaussian kernel of √(2γ)·x and √(2γ)·y. The projections are those the
estimators have drawn, so that every number has one value.
"""

from typing import Any

import jax
import numpy as np

import crt
from crt.integrations.sklearn import KernelClassifier, KernelRegressor, RandomFeatures
from verification.attention import LIMIT, apart
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.faults import planted

ROWS, NEW, DIM, FEATURES, CLASSES = 11, 5, 3, 16, 3
GAMMA = 0.3


def _weights(made: Any, omega: np.ndarray, x: np.ndarray, y: np.ndarray, gamma: float):
    """K̂ of all pairs with a fitted mechanism."""
    root = np.sqrt(2 * gamma)
    with jax.enable_x64(True):
        return np.asarray(crt.estimate_kernel(made, omega, root * x, root * y))


def estimators(setting: Setting) -> Outcome:
    """Columns, predictions and scores, with γ as given and by scale; and ρ fitted to the points."""
    rng, rows = np.random.default_rng(setting.seed), []
    x, new = rng.uniform(-1, 1, size=(ROWS, DIM)), rng.uniform(-1, 1, size=(NEW, DIM))
    labels, targets = rng.integers(CLASSES, size=ROWS), rng.normal(size=ROWS)
    labels[:CLASSES] = np.arange(CLASSES)
    seed = int(rng.integers(2**31 - 1))
    for given, gamma in ((GAMMA, GAMMA), ("scale", 1 / (DIM * x.var()))):
        shared: dict[str, Any] = {"gamma": given, "random_state": seed}
        mapped = RandomFeatures("oprf", n_components=FEATURES, **shared).fit(x)
        exact = _weights(mapped.mechanism_, mapped.map_.omega, new, x, gamma)
        gram = mapped.transform(new) @ mapped.transform(x).T
        rows.append(apart(f"γ = {given}: columns", gram, exact, LIMIT))
        with jax.enable_x64(True):
            points = np.sqrt(2 * gamma) * x
            fitted = jax.tree.leaves(crt.OPRF.fit(points, points))
        own = jax.tree.leaves(mapped.mechanism_)
        rows.append(apart(f"γ = {given}: ρ", own, fitted, LIMIT))
        regressor = KernelRegressor(num_features=FEATURES, **shared).fit(x, targets)
        weights = _weights(regressor.mechanism_, regressor.omega_, new, x, gamma)
        exact = weights @ targets / weights.sum(axis=1)
        rows.append(apart(f"γ = {given}: predictions", regressor.predict(new), exact, LIMIT))
        classifier = KernelClassifier(num_features=FEATURES, **shared).fit(x, labels)
        weights = _weights(classifier.mechanism_, classifier.omega_, new, x, gamma)
        scores = weights @ np.eye(CLASSES)[labels]
        exact = scores / scores.sum(axis=1, keepdims=True)
        rows.append(apart(f"γ = {given}: shares", classifier.predict_proba(new), exact, LIMIT))
        best = float(np.sum(classifier.predict(new) != np.argmax(scores, axis=1)))
        rows.append(Row(f"γ = {given}: wrong classes", best, 0.0, 0.0))
    return outcome(rows, "estimators of scikit-learn against weights of all pairs")


def checks() -> list[Check]:
    """The one check of this module."""
    return [
        Check(
            "interface-sklearn",
            ("interface",),
            "certificate",
            "columns, predictions and scores of scikit-learn estimators are those of the kernel",
            estimators,
            planted(estimators, "sklearn-gamma", "sklearn-lost-row", "sklearn-stretch"),
        )
    ]
