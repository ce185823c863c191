"""What the paper says of its second experiment, judged by our numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.classification.accuracies import half_widths
from experiments.classification.presets import SETS
from experiments.classification.printed import AVERAGE, SMALL, SPREAD
from experiments.classification.protocol.methods import PAPER

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
CONSTANT = (
    "The printed column is that of a constant predictor: each value is one share of the test rows, "
    "and all agree with the commonest training class. A missing conjugate gives just that."
)
PLACES = (("oprf", 1, "See the ranks and their critical difference."), ("trig", 8, CONSTANT))

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]


def _row(claim: str, item: str, paper: str, ours: float, good: bool | None, note: str = "") -> dict:
    verdict = None if good is None else REPRODUCED if good else NOT_REPRODUCED
    return {"claim": claim, "item": item, "paper": paper, "ours": ours, "verdict": verdict,
            "note": note if verdict == NOT_REPRODUCED else ""}  # fmt: skip


def averages(rows: Rows, methods: Sequence[str]) -> dict[str, dict[str, float]]:
    """Over the sets: the average accuracy, and the half widths of its intervals over splits."""
    found = {}
    for method in methods:
        splits = np.mean([row[method]["splits"] for row in rows.values()], axis=0)
        # Sets are split independently; each has 5 % of its rows in the test and 90 % in training.
        sure, new = half_widths(splits.tolist(), 5 / 90)
        found[method] = {"accuracy": float(splits.mean()), "confidence": sure, "prediction": new}
    return found


def judge(rows: Rows, stand_ins: bool) -> list[dict[str, Any]]:
    """The averages, places and spreads of the two tables; all eight sets and two splits are needed.

    An average is reproduced if the paper's lies in the interval in which one more split of ours
    would lie with 95 %.
    """
    if set(rows) != set(SETS):
        return []
    ours = averages(rows, PAPER)
    if math.isnan(ours["oprf"]["prediction"]):
        return []
    found = []
    for method in PAPER:
        apart = abs(ours[method]["accuracy"] - AVERAGE[method])
        good = None if stand_ins else bool(apart <= ours[method]["prediction"])
        item = f"average accuracy of {method} over the eight sets, %"
        note = CONSTANT if method == "trig" else "More than one split would explain."
        found.append(
            _row("tab-uci", item, f"{AVERAGE[method]}", ours[method]["accuracy"], good, note)
        )
    order = sorted(ours, key=lambda name: -ours[name]["accuracy"])
    for method, place, note in PLACES:
        mine = order.index(method) + 1
        item = f"place of {method} among the eight by average accuracy"
        good = None if stand_ins else mine == place
        found.append(_row("tab-uci", item, str(place), mine, good, note))
    return found + _spreads(rows, stand_ins)


def _spreads(rows: Rows, stand_ins: bool) -> list[dict[str, Any]]:
    """Trig's spread over draws, and the mean one of the other columns."""
    trig = float(np.mean([row["trig"]["spread"] for row in rows.values()]))
    others = [name for name in PAPER if name != "trig"]
    ours = float(np.mean([[row[name]["spread"] for name in others] for row in rows.values()]))
    printed = float(np.mean([[SPREAD[name][each] for each in others] for name in rows]))
    near = None if stand_ins else bool(abs(ours - printed) < 1)
    small = None if stand_ins else trig < SMALL
    return [
        _row("tab-ucistd", "spread of trig over draws, mean over sets, %", "< 0.05", trig, small,
             CONSTANT),
        _row("tab-ucistd", "mean spread of the other seven over draws, %, to within 1",
             f"{printed:.1f}", ours, near),
    ]  # fmt: skip
