"""Ranks and paired tests against published values and SciPy."""

import numpy as np
import pytest
from scipy import stats

from experiments.classification.accuracies import half_widths
from experiments.classification.ranking import (
    against,
    average_ranks,
    control_difference,
    critical_difference,
    friedman,
    holm,
    paired,
    wilcoxon_floor,
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


def test_the_difference_to_one_method_is_the_published_one() -> None:
    """Demšar (2006): four methods on fourteen sets, 1.16 at 5 % by Bonferroni and Dunn."""
    assert control_difference(4, 14) == pytest.approx(1.16, abs=0.01)
    assert control_difference(8, 8) < critical_difference(8, 8)


def row(mean: float, spread: float = 1.0) -> dict:
    noise = np.array([-0.1, 0.06, -0.02, 0.1, 0.02, -0.06])
    return {"accuracy": mean, "splits": (mean + spread * (1 + mean / 50) * noise).tolist()}


def test_the_floor_is_what_a_clear_matter_gives() -> None:
    """A method that is worse on every set by a different amount, seven times."""
    rows = {str(k): {name: row(90.0 - 2 * i - k * (i > 0)) for i, name in enumerate("abcdefgh")}
            for k in range(8)}  # fmt: skip
    found = against(rows, "abcdefgh", "a", dict.fromkeys(rows, 5 / 90))
    assert {each["holm"] for each in found} == {7 / 128}
    assert wilcoxon_floor(8, 8) == 7 / 128 and wilcoxon_floor(8, 3) == 1.0
    assert {each["worse"] for each in found} == {8} and {each["better"] for each in found} == {0}


def test_sets_won_and_lost_are_counted_from_the_side_of_the_other() -> None:
    rows = {
        "s": {"a": row(90.0), "b": row(80.0)},
        "t": {"a": row(20.0), "b": row(30.0)},
        "u": {"a": row(50.0), "b": row(40.0)},
    }
    (found,) = against(rows, "ab", "a", dict.fromkeys(rows, 5 / 90))
    assert (found["method"], found["better"], found["worse"]) == ("b", 1, 2)
    splits = np.mean([np.subtract(r["b"]["splits"], r["a"]["splits"]) for r in rows.values()], 0)
    assert found["confidence"] == half_widths(splits.tolist(), 5 / 90)[0] > 0
    assert found["difference"] == pytest.approx(-10 / 3) and found["holm"] == found["wilcoxon"]


def test_many_comparisons_of_equals_decide_nothing_once_corrected() -> None:
    """Forty comparisons of equals: about two pass at 5 %, none after Holm (in 95 % of seeds)."""
    rng = np.random.default_rng(3)
    names = "abcdef"
    rows = {}
    for k in range(8):
        splits = {name: 50 + rng.normal(size=10) for name in names}
        rows[str(k)] = {n: {"accuracy": v.mean(), "splits": v.tolist()} for n, v in splits.items()}
    found = against(rows, names, "a", dict.fromkeys(rows, 0.0))
    assert sum(each["better_alone"] + each["worse_alone"] for each in found) > 0
    assert sum(each["better"] + each["worse"] for each in found) == 0
