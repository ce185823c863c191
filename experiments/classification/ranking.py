"""Which method is better: average ranks over sets, critical differences, paired tests."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments.classification.accuracies import Rows, lead

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


def control_difference(methods: int, sets: int) -> float:
    """Bonferroni and Dunn: a method whose rank differs by less from one given method's, is not told
    apart from that at 5 %. Only `methods` - 1 pairs are looked at, so it is below Nemenyi's."""
    quantile = float(stats.norm.isf(ALPHA / 2 / (methods - 1)))
    return quantile * math.sqrt(methods * (methods + 1) / (6 * sets))


def wilcoxon_floor(methods: int, sets: int) -> float:
    """The least p of Wilcoxon's test over sets after Holm, with one method against all others.

    All differences of one sign have probability 2/2^sets. Seven comparisons on eight sets have the
    floor 7/128 > 5 %: there the test cannot decide, however clear the matter is.
    """
    return min(1.0, (methods - 1) * 2.0 ** (1 - sets))


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


def against(
    rows: Rows,
    methods: Sequence[str],
    base: str,
    test_shares: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Every other method against `base`: mean difference, sets won and lost, Wilcoxon over sets.

    `confidence` is half of the difference's 95 % interval over splits, of these sets alone.

    `better` and `worse` count the sets in
    which the paired test over splits decides at 5 % after Holm's correction for all sets and
    methods; `better_alone` and `worse_alone` are the same counts without a correction. Wilcoxon's p
    is corrected by Holm for the number of methods, see `wilcoxon_floor`.
    """
    others = [name for name in methods if name != base]
    chances = [
        paired(row[name]["splits"], row[base]["splits"], test_shares[place])
        for name in others
        for place, row in rows.items()
    ]
    apart = {
        name: [row[name]["accuracy"] - row[base]["accuracy"] for row in rows.values()]
        for name in others
    }
    alone, corrected = (np.reshape(each, (len(others), -1)) for each in (chances, holm(chances)))
    signed = [float(stats.wilcoxon(each).pvalue) if any(each) else 1.0 for each in apart.values()]
    return [
        {
            "method": name,
            "difference": float(np.mean(apart[name])),
            "confidence": lead(rows, name, base)[1],
            **_decided(apart[name], corrected[k], ""),
            **_decided(apart[name], alone[k], "_alone"),
            "wilcoxon": signed[k],
            "holm": each,
        }
        for k, (name, each) in enumerate(zip(others, holm(signed), strict=True))
    ]


def _decided(apart: Sequence[float], chances: np.ndarray, ending: str) -> dict[str, int]:
    """Sets in which a test decides at 5 %, by the sign of the difference."""
    sure = chances < ALPHA
    return {
        f"better{ending}": int(np.sum(sure & (np.asarray(apart) > 0))),
        f"worse{ending}": int(np.sum(sure & (np.asarray(apart) < 0))),
    }
