"""`regress` and `classify` of the shipped code against weights of all pairs, normalised in NumPy.

With N = Σ_j K̂_ij c_j and D = Σ_j K̂_ij known up to n and e, the quotient of two that are off by as
much differs from N/D by at most (n + |N/D|·e)/(|D| - e), and its own rounding is far below.
"""

import jax
import numpy as np

import crt
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.exactness import COLUMNS, DIM, EPS, FEATURES, evaluated, worst_entry
from verification.faults import planted

CLASSES = 4
FAULTS = (
    "regression-wrong-axis",
    "regression-lost-chunk",
    "regression-reversed-values",
    "regression-same-side",
    "regression-one-query",
)
"""Of both; classes see the first three, which saves compilations."""


def regress(setting: Setting) -> Outcome:
    """Every mechanism, chunk, batch and kernel; where no feature is left, the plain mean."""
    rng, rows = np.random.default_rng(setting.seed + 1), []
    with jax.enable_x64(True):
        c = rng.normal(size=(2, COLUMNS, 2))
        for case in evaluated(setting):
            total = np.sum(case.entries, axis=-1, keepdims=True)
            loose = np.sum(case.allowed, axis=-1, keepdims=True)
            exact = case.entries @ c / total
            allowed = case.allowed @ np.abs(c) + np.abs(exact) * loose
            got = crt.regress(*case.given, c, kernel=case.kernel, chunk=case.chunk)
            label = f"{case.label}, chunks of {case.chunk}"
            rows.append(worst_entry(label, got, exact, allowed / (np.abs(total) - loose)))
        got = crt.regress(crt.PoisRF(0.5), *_vanishing(), c)
        mean = np.broadcast_to(c.mean(axis=1, keepdims=True), (2, 1, 2))
        # Both routes round sums of as many values as there are rows.
        loose = 2 * COLUMNS * EPS * np.mean(np.abs(c), axis=1, keepdims=True)
        rows.append(worst_entry("no feature left", got, mean, loose))
    return outcome(rows, "weighted means against weights of all pairs")


def classify(setting: Setting) -> Outcome:
    """The class with the largest sum of weights, and class 0 where no feature is left.

    Sums within rounding of the largest decide nothing; that must not happen.
    """
    rng, rows = np.random.default_rng(setting.seed + 1), []
    with jax.enable_x64(True):
        labels = rng.integers(CLASSES, size=(2, COLUMNS))
        one_hot = np.eye(CLASSES)[labels]
        for case in evaluated(setting):
            sums, loose = case.entries @ one_hot, case.allowed @ one_hot
            best = np.argmax(sums, axis=-1)
            low, high = sums - loose, sums + loose
            np.put_along_axis(high, best[..., None], -np.inf, axis=-1)
            top = np.take_along_axis(low, best[..., None], axis=-1)[..., 0]
            tied = float(np.sum(np.max(high, axis=-1) >= top))
            got = crt.classify(*case.given, labels, CLASSES, kernel=case.kernel, chunk=case.chunk)
            label = f"{case.label}, chunks of {case.chunk}"
            wrong = float(np.sum(np.asarray(got) != best))
            rows.append(Row(f"{label}: wrong classes", wrong, 0.0, 0.0))
            rows.append(Row(f"{label}: classes within rounding", tied, 0.0, 0.0))
        got = crt.classify(crt.PoisRF(0.5), *_vanishing(), labels, CLASSES)
        rows.append(Row("no feature left", float(np.sum(np.asarray(got))), 0.0, 0.0))
    return outcome(rows, "classes against weights of all pairs")


def _vanishing() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ω without a count 0, one query 0 for each of two batches, and keys: every product is 0."""
    return np.ones((FEATURES, DIM)), np.zeros((2, 1, DIM)), np.ones((2, COLUMNS, DIM))


def checks() -> list[Check]:
    """Both ways to use a kernel's estimate without its matrix."""
    return [
        Check(
            "regression-weights",
            ("eq-rfappr",),
            "certificate",
            "regress is the mean of values weighted by all estimates, for every mechanism",
            regress,
            planted(regress, "regression-no-normaliser", *FAULTS),
        ),
        Check(
            "regression-classes",
            ("eq-rfappr",),
            "certificate",
            "classify takes the class with the largest sum of estimates, for every mechanism",
            classify,
            planted(classify, *FAULTS[:3]),
        ),
    ]
