"""What the paper did: which preparation of the tables, and which reading of TrigRF, fits best."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from experiments.classification.accuracies import Outcome, at_sigma, of_split
from experiments.classification.presets import PREPARATION, WORDS
from experiments.classification.printed import ACCURACY, SMALL, SPREAD
from experiments.classification.protocol.methods import PAPER, READINGS
from experiments.classification.protocol.work import SIGMAS
from experiments.data.sheets import SHEETS
from verification.runs import Finished

OTHERS = tuple(name for name in PAPER if name != "trig")
"""All columns but the one in question."""
CONSISTENT = 0.01
"""A class whose share would differ as much with less than this probability is ruled out."""

WORDS_ONE_HOT = "one-hot words"
"""One-hot where a file has words for categories; elsewhere numbers, as they are."""
UNTUNED = "trig-untuned"
"""TrigRF as it is defined, at the smallest σ of the grid whatever the validation says."""

WAY = ("part", "draws", "scaling", "encoding")
CELL = (*WAY, "set")
"""What units have in common whose splits are taken together."""


class Cell(NamedTuple):
    """Means over the splits of a set and a method; `constant` is a share of them."""

    accuracy: float
    spread: float
    constant: float


Cells = dict[str, dict[str, Cell]]
"""By set and method."""
Units = dict[str, list[Finished]]
"""By set."""


def _cells(units: Sequence[Finished]) -> Cells:
    found: dict[str, dict[str, list[Outcome]]] = {}
    for unit in units:
        for method, each in of_split(unit).items():
            found.setdefault(unit.config["set"], {}).setdefault(method, []).append(each)
    return {
        name: {method: _mean(each) for method, each in own.items()} for name, own in found.items()
    }


def _mean(splits: Sequence[Outcome]) -> Cell:
    values = [(each.accuracy, each.spread, each.constant) for each in splits]
    return Cell(*np.mean(values, axis=0).tolist())


def _groups(units: Sequence[Finished], *keys: str) -> dict[tuple[Any, ...], list[Finished]]:
    """The units by what their configuration has under the keys, in the order of the units."""
    found: dict[tuple[Any, ...], list[Finished]] = {}
    for unit in units:
        found.setdefault(tuple(unit.config[key] for key in keys), []).append(unit)
    return found


def _encoded(ordinal: Units, one_hot: Units) -> Iterator[tuple[str, Units, bool]]:
    """The encodings that finished units allow for, and whether the study's tables use them.

    Sets without categories are ordinal in each.
    """
    words = {name: own for name, own in one_hot.items() if name in WORDS}
    for encoding, chosen in (("ordinal", {}), ("one-hot", one_hot), (WORDS_ONE_HOT, words)):
        if ordinal and (chosen or encoding == "ordinal"):
            yield encoding, ordinal | chosen, set(chosen) == set(ordinal) & set(WORDS)


def preparations(units: Sequence[Finished]) -> list[dict[str, Any]]:
    """How well every preparation agrees with the printed columns other than TrigRF.

    `accuracy` and `spread` are mean distances from the printed values. Of the former, `sets` are
    those by set, `splits` those of each split alone, and `without_gerf` is that of six columns: a
    slip in TrigRF may touch GERF's. `constant` is the share of constant splits in the cells that
    are printed as such, `varying` in all others. `used` marks the preparation of the study's own
    tables.
    """
    prepared = {
        key: {name: each for (name,), each in _groups(own, "set").items()}
        for key, own in _groups(units, "scaling", "encoding").items()
    }
    return [
        {
            "scaling": scaling,
            "encoding": encoding,
            "used": used and scaling == PREPARATION[0],
            **_agreement([unit for own in chosen.values() for unit in own]),
        }
        for scaling in dict.fromkeys(scaling for scaling, _ in prepared)
        for encoding, chosen, used in _encoded(
            *(prepared.get((scaling, each), {}) for each in ("ordinal", "one-hot"))
        )
    ]


def _agreement(units: Sequence[Finished]) -> dict[str, Any]:
    cells = _cells(units)
    accuracy, spread = _apart(cells)
    shares = {True: [], False: []}
    for name, own in cells.items():
        for method in OTHERS:
            shares[SPREAD[name][method] <= SMALL].append(own[method].constant)
    return {
        "accuracy": accuracy,
        "spread": spread,
        "without_gerf": _apart(cells, [name for name in OTHERS if name != "gerf"])[0],
        "sets": {name: _apart({name: own})[0] for name, own in cells.items()},
        "splits": [_apart(_cells(own))[0] for own in _groups(units, "split").values()],
        "draws": units[0].config["draws"],
        "constant": float(np.mean(shares[True])) if shares[True] else None,
        "varying": float(np.mean(shares[False])) if shares[False] else None,
    }


def _apart(cells: Cells, methods: Sequence[str] = OTHERS) -> tuple[float, float]:
    """Mean distance from the printed accuracies, and from the printed spreads."""
    pairs = [(name, method) for name in cells for method in methods]
    accuracy = [abs(cells[s][m].accuracy - ACCURACY[s][m]) for s, m in pairs]
    spread = [abs(cells[s][m].spread - SPREAD[s][m]) for s, m in pairs]
    return float(np.mean(accuracy)), float(np.mean(spread))


def constants(units: Sequence[Finished]) -> list[dict[str, Any]]:
    """The cells that are printed with a spread below 0.05, under every preparation.

    `constant` is the number of `splits` that are constant, `commonest` that of those with as many
    right answers as the commonest training class. TrigRF is told with and without its conjugate.
    """
    rows = []
    for key, own in _groups(units, *CELL).items():
        splits = [of_split(unit) for unit in own]
        printed = [method for method in PAPER if SPREAD[key[-1]][method] <= SMALL]
        for method in (*printed, "trig-unconjugated"):
            flat = [split for split in splits if split[method].constant]
            rows.append(
                dict(zip(CELL, key, strict=True))
                | {
                    "method": method,
                    "splits": len(splits),
                    "constant": len(flat),
                    "commonest": sum(_as_commonest(split, method) for split in flat),
                }
            )
    return rows


def _as_commonest(split: Mapping[str, Outcome], method: str) -> bool:
    return bool(np.isclose(split[method].accuracy, split["majority"].accuracy))


def first_class(units: Sequence[Finished]) -> list[dict[str, Any]]:
    """How often a preparation may owe a constant column to the order of the classes.

    Where all features of a row vanish all classes tie, and `crt.classify` answers with the first.
    Of the `outcomes` (splits and methods of the paper) so many are `constant`, and so many of those
    are so at a σ `above` the smallest. At the smallest every kernel is near 1, no feature vanishes,
    and the commonest class wins by its rows.
    """
    rows = []
    for key, own in _groups(units, *WAY).items():
        found = [of_split(unit)[method] for unit in own for method in PAPER]
        flat = [each for each in found if each.constant]
        rows.append(
            dict(zip(WAY, key, strict=True))
            | {
                "outcomes": len(found),
                "constant": len(flat),
                "above": sum(each.sigma > SIGMAS[0] for each in flat),
            }
        )
    return rows


def by_chance(rows: Sequence[Mapping[str, Any]], splits: int) -> dict[str, Any]:
    """How far one split lies from the mean of `splits` others, on average over cells.

    Distances of the size that `preparations` reports under the same names, if the paper had done
    as we do. Empty where there are not so many splits.
    """
    own = [row for row in rows if row["method"] in OTHERS and len(row["splits"]) > splits]
    if not own:
        return {}
    sets = dict.fromkeys(row["set"] for row in own)
    return {
        "accuracy": _scatter([row["splits"] for row in own], splits),
        "spread": _scatter([row["spreads"] for row in own], splits),
        "sets": {
            name: _scatter([row["splits"] for row in own if row["set"] == name], splits)
            for name in sets
        },
    }


def _scatter(values: Sequence[Sequence[float]], splits: int) -> float:
    """Mean distance of one of a cell's values from the mean of the `splits` that follow it."""
    return float(
        np.mean(
            [
                abs(value - np.mean(np.roll(own, -k - 1)[:splits]))
                for own in values
                for k, value in enumerate(own)
            ]
        )
    )


def readings(units: Sequence[Finished]) -> list[dict[str, Any]]:
    """TrigRF and GERF as they are defined and as they may be misread, by preparation and set.

    `constant` is the share of splits that are constant. `UNTUNED` is TrigRF at the smallest σ.
    """
    found = []
    for key, own in _groups(units, *CELL).items():
        splits = [of_split(unit) | {UNTUNED: _untuned(unit)} for unit in own]
        for method in ("trig", UNTUNED, "gerf", *READINGS):
            each = [split[method] for split in splits if method in split]
            if each:
                mean = _mean(each)
                found.append(
                    dict(zip(CELL, key, strict=True))
                    | {
                        "reading": method,
                        "accuracy": mean.accuracy,
                        "spread": mean.spread,
                        "constant": mean.constant,
                        "sigmas": [one.sigma for one in each],
                    }
                )
    return found


def _untuned(unit: Finished) -> Outcome:
    result = unit.result
    return at_sigma(0, result["methods"]["trig"], unit.config["draws"], result["sizes"]["test"])


def _chance(right: np.ndarray, count: int) -> float:
    """Two-sided p of a count among simulated ones; the count itself is one more of them."""
    below, above = 1 + right[: count + 1].sum(), 1 + right[count:].sum()
    return float(min(1.0, 2 * min(below, above) / (1 + right.sum())))


def shares(units: Sequence[Finished]) -> dict[str, Any]:
    """The printed TrigRF column against constant predictors, by exact counts of right answers.

    For every set: the printed count, the quantiles of the count of the commonest training class
    over random splits, its two-sided p, and the classes that alone would be consistent. `whole` and
    `whole_by_rows` say whether the printed value is a whole count of the test rows, with their
    number from the lines of the file or from its rows; `coarse` says that not every value is.
    """
    rows = []
    for unit in units:
        name, result = unit.config["set"], unit.result
        right, test = np.asarray(result["right"]), result["test"]
        printed, by_rows = ACCURACY[name]["trig"], result["rows"] // 20
        count = round(printed * test / 100)
        cumulated = np.cumsum(right) / right.sum()
        rows.append(
            {
                "set": name,
                "rows": result["rows"],
                "lines": result["lines"],
                "train": result["train"],
                "train_by_rows": 9 * result["rows"] // 10,
                "test": test,
                "test_by_rows": by_rows,
                "whole": _whole(printed, test),
                "whole_by_rows": _whole(printed, by_rows),
                "coarse": not all(_whole(tenth / 10, test) for tenth in range(1001)),
                "printed": count,
                "printed_by_rows": round(printed * by_rows / 100),
                "mean": float(right @ np.arange(len(right)) / right.sum()),
                "low": int(np.searchsorted(cumulated, 0.025)),
                "high": int(np.searchsorted(cumulated, 0.975)),
                "p": _chance(right, count),
                "consistent": _consistent(name, result, count),
            }
        )
    together = float(stats.combine_pvalues([row["p"] for row in rows]).pvalue) if rows else None
    return {"sets": rows, "p": together}


def _whole(printed: float, rows: int) -> bool:
    """Whether some count of the rows has the printed percentage, of one decimal."""
    tenths = round(10 * printed)
    # In whole numbers: |1000·count/rows - tenths| ≤ 1/2, and a half may go either way.
    return abs(2000 * round(tenths * rows / 1000) - 2 * tenths * rows) <= rows


def _consistent(name: str, result: Mapping[str, Any], count: int) -> list[str]:
    """Classes that may have `count` of the test rows; a constant predictor gives one of them."""
    sizes = np.asarray(result["classes"])
    law = (result["rows"], sizes, result["test"])
    tails = stats.hypergeom.cdf(count, *law), stats.hypergeom.sf(count - 1, *law)
    fits = 2 * np.minimum(*tails) >= CONSISTENT
    return [label for label, fit in zip(SHEETS[name].classes, fits, strict=True) if fit]
