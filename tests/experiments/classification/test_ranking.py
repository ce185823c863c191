"""Ranks and paired tests against published values and SciPy."""

import numpy as np
import pytest
from scipy import stats

from experiments.classification.ranking import (
    average_ranks,
    critical_difference,
    friedman,
    holm,
    paired,
    pairs,
)


def test_ranks_are_shared_by_equals() -> None:
    table = {"s": {"a": 90.0, "b": 80.0, "c": 80.0}, "t": {"a": 10.0, "b": 20.0, "c": 30.0}}
    assert average_ranks(table, "abc") == {"a": 2.0, "b": 2.25, "c": 1.75}


def test_the_critical_difference_is_the_published_one() -> None:
    """Demšar (2006): four methods on fourteen sets, 1.25."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_friedman_notices_a_method_that_is_always_best() -> None:
    rng = np.random.default_rng(0)
    table = {str(k): {"a": 9.0, "b": rng.random(), "c": rng.random()} for k in range(8)}
    assert friedman(table, "abc") < 0.01


def test_holm() -> None:
    assert holm([0.03, 0.01, 0.04]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_the_corrected_test_is_the_paired_one_where_splits_are_independent() -> None:
    one, other = [81.0, 84.0, 80.0, 86.0], [80.0, 80.0, 81.0, 82.0]
    assert paired(one, other, 0.0) == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert paired(one, other, 0.05) > paired(one, other, 0.0)
    assert paired(one, one, 0.1) == 1.0 and paired([2.0, 3.0], [1.0, 2.0], 0.1) == 0.0


def test_pairs_count_the_sets_that_are_won() -> None:
    noise = np.linspace(-0.1, 0.1, 6)

    def row(mean: float) -> dict:
        return {"accuracy": mean, "splits": (mean + noise * (1 + mean / 50)).tolist()}

    rows = {
        "s": {"a": row(90.0), "b": row(80.0)},
        "t": {"a": row(20.0), "b": row(30.0)},
        "u": {"a": row(50.0), "b": row(40.0)},
    }
    (found,) = pairs(rows, "ab", dict.fromkeys(rows, 5 / 90))
    assert (found["better"], found["worse"]) == (2, 1)
    assert found["difference"] == pytest.approx(10 / 3) and found["holm"] == found["wilcoxon"]
