"""Accuracies in percent from counts of right answers, with their uncertainty over splits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from experiments.classification.printed import SMALL
from experiments.classification.protocol.work import SIGMAS
from verification.runs import Finished

LEVEL = 0.95
TEST_SHARE = 5 / 90
"""Test rows over training rows, in every set but for rounding."""
Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""What `rows` gives, by set and method."""


class Outcome(NamedTuple):
    """One method on one split: its σ by validation, and over draws mean and spread of the test."""

    sigma: float
    accuracy: float
    spread: float

    @property
    def constant(self) -> bool:
        """Whether the paper would print the spread as "< 0.05".

        With fewer than 280 test rows, so in all sets but nursery and chess, fifty draws then have
        equally many right answers.
        """
        return self.spread < SMALL


def outcome(counts: Mapping[str, Sequence[int]], draws: int, rows: int) -> Outcome:
    """The test at the σ that validates best, the smallest of several."""
    return at_sigma(int(np.argmax(counts["validation"])), counts, draws, rows)


def at_sigma(place: int, counts: Mapping[str, Sequence[int]], draws: int, rows: int) -> Outcome:
    """The test at a σ of the grid. The spread has no n-1."""
    mean = counts["test"][place] / draws
    variance = max(counts["squares"][place] / draws - mean**2, 0)
    return Outcome(SIGMAS[place], 100 * mean / rows, 100 * math.sqrt(variance) / rows)


def of_split(unit: Finished) -> dict[str, Outcome]:
    """Every method of a unit, the exact kernel, and the majority class."""
    result, draws = unit.result, unit.config["draws"]
    rows = result["sizes"]["test"]
    found = {name: outcome(counts, draws, rows) for name, counts in result["methods"].items()}
    found["exact"] = outcome(result["exact"], 1, rows)
    found["majority"] = Outcome(0.0, 100 * result["majority"][1] / rows, 0.0)
    return found


def half_widths(values: Sequence[float], test_share: float) -> tuple[float, float]:
    """Half widths at 95 %: of the confidence interval of the mean, and for one more split.

    Test rows over training rows, `test_share`, widens the first (Nadeau and Bengio): splits share
    their training rows, so their accuracies are not independent. A further split is made as these
    were, so it is exchangeable with them and needs no such correction.
    """
    count = len(values)
    if count < 2:
        return math.nan, math.nan
    unit = float(stats.t.ppf(0.5 + LEVEL / 2, count - 1)) * float(np.std(values, ddof=1))
    return unit * math.sqrt(1 / count + test_share), unit * math.sqrt(1 + 1 / count)


def rows(units: Sequence[Finished]) -> list[dict[str, Any]]:
    """Over the splits of every set: one row a method."""
    found = []
    for name in dict.fromkeys(unit.config["set"] for unit in units):
        own = [unit for unit in units if unit.config["set"] == name]
        sizes, splits = own[0].result["sizes"], [of_split(unit) for unit in own]
        for method in splits[0]:
            each = [split[method] for split in splits]
            accuracies = [one.accuracy for one in each]
            sure, new = half_widths(accuracies, sizes["test"] / sizes["train"])
            found.append(
                {
                    "set": name,
                    "method": method,
                    "accuracy": float(np.mean(accuracies)),
                    "confidence": sure,
                    "prediction": new,
                    "spread": float(np.mean([one.spread for one in each])),
                    "constant": float(np.mean([one.constant for one in each])),
                    "splits": accuracies,
                    "spreads": [one.spread for one in each],
                    "sigmas": [one.sigma for one in each],
                }
            )
    return found


def lead(rows: Rows, one: str, other: str) -> tuple[float, float]:
    """By how much one method's average over sets is above another's on the same splits, ± 95 %."""
    gaps = [np.subtract(row[one]["splits"], row[other]["splits"]) for row in rows.values()]
    splits = np.mean(gaps, axis=0)
    return float(splits.mean()), half_widths(splits.tolist(), TEST_SHARE)[0]
