"""Which method is better: average ranks over sets, critical difference, paired tests."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

ALPHA = 0.05

Table = Mapping[str, Mapping[str, float]]
"""Accuracy by set and method."""


def average_ranks(table: Table, methods: Sequence[str]) -> dict[str, float]:
    """Mean over sets of a method's rank, 1 for the best; equal accuracies share their ranks."""
    ranks = [stats.rankdata([-row[method] for method in methods]) for row in table.values()]
    return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True))


def critical_difference(methods: int, sets: int) -> float:
    """Nemenyi: average ranks that differ by less are not told apart at 5 %."""
    quantile = float(stats.studentized_range.ppf(1 - ALPHA, methods, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(methods * (methods + 1) / (6 * sets))


def friedman(table: Table, methods: Sequence[str]) -> float:
    """p of the hypothesis that all methods are alike (Friedman's test over sets)."""
    columns = [[row[method] for row in table.values()] for method in methods]
    return float(stats.friedmanchisquare(*columns).pvalue)


def holm(chances: Sequence[float]) -> list[float]:
    """p values corrected for their number (Holm), in the given order."""
    order = np.argsort(chances)
    factors = len(chances) - np.arange(len(chances))
    corrected = np.minimum(np.maximum.accumulate(np.asarray(chances)[order] * factors), 1)
    back = np.empty(len(chances))
    back[order] = corrected
    return back.tolist()


def paired(one: Sequence[float], other: Sequence[float], test_share: float) -> float:
    """p that two methods are alike on a set, from the same splits (corrected resampled t-test)."""
    differences = np.subtract(one, other)
    variance = np.var(differences, ddof=1) if len(differences) > 1 else 0.0
    if variance == 0:
        return 1.0 if len(differences) < 2 or differences[0] == 0 else 0.0
    t = np.mean(differences) / math.sqrt(variance * (1 / len(differences) + test_share))
    return float(2 * stats.t.sf(abs(t), len(differences) - 1))


def pairs(
    rows: Mapping[str, Mapping[str, Mapping[str, Any]]],
    methods: Sequence[str],
    test_shares: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Every two methods: mean difference, sets in which one is better at 5 %, Wilcoxon over sets.

    `rows` are those of `accuracies.rows` by set and method. Wilcoxon's p is corrected by Holm for
    the number of pairs; with eight sets no p below 1/128 can be had.
    """
    found = []
    for one, other in combinations(methods, 2):
        differences, better, worse = [], 0, 0
        for name, row in rows.items():
            apart = row[one]["accuracy"] - row[other]["accuracy"]
            chance = paired(row[one]["splits"], row[other]["splits"], test_shares[name])
            better += chance < ALPHA and apart > 0
            worse += chance < ALPHA and apart < 0
            differences.append(apart)
        chance = float(stats.wilcoxon(differences).pvalue) if any(differences) else 1.0
        found.append({"one": one, "other": other, "difference": float(np.mean(differences)),
                      "better": better, "worse": worse, "wilcoxon": chance})  # fmt: skip
    corrected = holm([row["wilcoxon"] for row in found])
    return [row | {"holm": each} for row, each in zip(found, corrected, strict=True)]
