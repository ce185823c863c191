"""What the paper did: which preparation of the tables, and which reading of TrigRF, fits best."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments.classification.accuracies import of_split
from experiments.classification.printed import ACCURACY, SMALL, SPREAD
from experiments.classification.protocol.methods import PAPER, READINGS
from experiments.data.sheets import SHEETS
from verification.runs import Finished

OTHERS = tuple(name for name in PAPER if name != "trig")
"""The columns that no one doubts."""
CONSISTENT = 0.01
"""A class whose share would differ as much with less than this probability is ruled out."""

Cells = dict[tuple[str, str], tuple[float, float]]
"""Mean accuracy and mean spread over splits, by set and method."""


def _cells(units: Sequence[Finished]) -> Cells:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for unit in units:
        for method, each in of_split(unit).items():
            key = unit.config["set"], method
            found.setdefault(key, []).append((each.accuracy, each.spread))
    return {key: tuple(np.mean(values, axis=0).tolist()) for key, values in found.items()}


def _prepared(units: Sequence[Finished]) -> dict[tuple[str, str], list[Finished]]:
    found: dict[tuple[str, str], list[Finished]] = {}
    for unit in units:
        found.setdefault((unit.config["scaling"], unit.config["encoding"]), []).append(unit)
    return found


def preparations(units: Sequence[Finished]) -> list[dict[str, Any]]:
    """For every preparation: how far accuracies and spreads lie from the printed ones, on average.

    TrigRF is left out. Where a table has no categories, one-hot is ordinal.
    """
    prepared = {key: _cells(own) for key, own in _prepared(units).items()}
    rows = []
    for (scaling, encoding), own in prepared.items():
        cells = {**prepared.get((scaling, "ordinal"), {}), **own}
        sets = sorted({name for name, _ in cells}, key=list(ACCURACY).index)
        apart = {name: _apart(cells, name) for name in sets}
        means = np.mean(list(apart.values()), axis=0).tolist()
        rows.append(
            {
                "scaling": scaling,
                "encoding": encoding,
                "accuracy": means[0],
                "spread": means[1],
                "sets": {name: each[0] for name, each in apart.items()},
            }
        )
    return rows


def _apart(cells: Cells, name: str) -> tuple[float, float]:
    accuracy = [abs(cells[name, method][0] - ACCURACY[name][method]) for method in OTHERS]
    spread = [abs(cells[name, method][1] - SPREAD[name][method]) for method in OTHERS]
    return float(np.mean(accuracy)), float(np.mean(spread))


def by_chance(rows: Sequence[Mapping[str, Any]], splits: int) -> float:
    """How far one split lies from the mean of `splits` others, on average over cells.

    Distances of the size that `preparations` reports, if the paper had done as we do.
    """
    distances = [
        abs(value - np.mean(np.roll(row["splits"], -k - 1)[:splits]))
        for row in rows
        if row["method"] in OTHERS and len(row["splits"]) > splits
        for k, value in enumerate(row["splits"])
    ]
    return float(np.mean(distances)) if distances else float("nan")


def readings(units: Sequence[Finished]) -> list[dict[str, Any]]:
    """TrigRF and GERF as they are defined and as they may be misread, by preparation and set.

    `constant` is the share of splits in which all draws give equally many right answers.
    """
    rows = []
    for unit in units:
        for method, each in of_split(unit).items():
            if method in ("trig", "gerf") or method in READINGS:
                rows.append((unit.config, method, each))
    keys = dict.fromkeys(
        (method, config["scaling"], config["encoding"], config["set"], config["draws"])
        for config, method, _ in rows
    )
    found = []
    for key in keys:
        method, scaling, encoding, name, draws = key
        own = [
            each
            for config, reading, each in rows
            if key
            == (reading, config["scaling"], config["encoding"], config["set"], config["draws"])
        ]
        found.append(
            {
                "reading": method,
                "scaling": scaling,
                "encoding": encoding,
                "set": name,
                "draws": draws,
                "accuracy": float(np.mean([each.accuracy for each in own])),
                "constant": float(np.mean([each.spread < SMALL for each in own])),
                "sigmas": [each.sigma for each in own],
            }
        )
    return found


def _chance(right: np.ndarray, count: int) -> float:
    """Two-sided p of a count among simulated ones; the count itself is one more of them."""
    below, above = 1 + right[: count + 1].sum(), 1 + right[count:].sum()
    return float(min(1.0, 2 * min(below, above) / (1 + right.sum())))


def shares(units: Sequence[Finished]) -> dict[str, Any]:
    """The printed TrigRF column against constant predictors, by exact counts of right answers.

    For every set: the printed count, the quantiles of the count of the commonest training class
    over random splits, its two-sided p, and the classes that alone would be consistent.
    """
    rows = []
    for unit in units:
        name, result = unit.config["set"], unit.result
        right, test = np.asarray(result["right"]), result["test"]
        count = round(ACCURACY[name]["trig"] * test / 100)
        cumulated = np.cumsum(right) / right.sum()
        rows.append(
            {
                "set": name,
                "rows": result["rows"],
                "lines": result["lines"],
                "train": result["train"],
                "train_by_rows": 9 * result["rows"] // 10,
                "test": test,
                "test_by_rows": result["rows"] // 20,
                "printed": count,
                "mean": float(right @ np.arange(len(right)) / right.sum()),
                "low": int(np.searchsorted(cumulated, 0.025)),
                "high": int(np.searchsorted(cumulated, 0.975)),
                "p": _chance(right, count),
                "consistent": _consistent(name, result, count),
            }
        )
    together = float(stats.combine_pvalues([row["p"] for row in rows]).pvalue) if rows else None
    return {"sets": rows, "p": together}


def _consistent(name: str, result: Mapping[str, Any], count: int) -> list[str]:
    """Classes that may have `count` of the test rows; a constant predictor gives one of them."""
    sizes = np.asarray(result["classes"])
    law = (result["rows"], sizes, result["test"])
    tails = stats.hypergeom.cdf(count, *law), stats.hypergeom.sf(count - 1, *law)
    fits = 2 * np.minimum(*tails) >= CONSISTENT
    return [label for label, fit in zip(SHEETS[name].classes, fits, strict=True) if fit]
