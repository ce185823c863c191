"""What the paper says of its second experiment, judged by our numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.classification.accuracies import TEST_SHARE, Rows, half_widths, lead
from experiments.classification.evidence import OTHERS
from experiments.classification.presets import SETS
from experiments.classification.printed import AVERAGE, SMALL, SPREAD
from experiments.classification.protocol.methods import PAPER

REPRODUCED, NOT_REPRODUCED, NOT_DECIDED = "reproduced", "not reproduced", "not decided"
PLACES = (("oprf", 1), ("trig", 8))
UNCONJUGATED = "trig-unconjugated"


def _row(
    claim: str, item: str, paper: str, ours: float, verdict: str | None, note: str = ""
) -> dict[str, Any]:
    return {"claim": claim, "item": item, "paper": paper, "ours": ours, "verdict": verdict,
            "note": note if verdict in (NOT_REPRODUCED, NOT_DECIDED) else ""}  # fmt: skip


def _verdict(good: bool | None, stand_ins: bool) -> str | None:
    """There is none on stand-ins; None where our numbers cannot tell."""
    if stand_ins:
        return None
    return NOT_DECIDED if good is None else REPRODUCED if good else NOT_REPRODUCED


def averages(rows: Rows, methods: Sequence[str]) -> dict[str, dict[str, float]]:
    """Over the sets: the average accuracy, and the half widths of its intervals over splits."""
    found = {}
    for method in methods:
        splits = np.mean([row[method]["splits"] for row in rows.values()], axis=0)
        sure, new = half_widths(splits.tolist(), TEST_SHARE)
        found[method] = {"accuracy": float(splits.mean()), "confidence": sure, "prediction": new}
    return found


def judge(rows: Rows, shares: Mapping[str, Any], stand_ins: bool) -> list[dict[str, Any]]:
    """The averages, places and spreads of the two tables; all eight sets and two splits are needed.

    An average is reproduced if the paper's lies in the interval in which one more split of ours
    would lie with 95 %. `shares` are those of `evidence.shares`.
    """
    if set(rows) != set(SETS):
        return []
    ours = averages(rows, PAPER)
    if math.isnan(ours["oprf"]["prediction"]):
        return []
    trig = _of_trig(rows, shares)
    found = []
    for method in PAPER:
        mine = ours[method]
        near = bool(abs(mine["accuracy"] - AVERAGE[method]) <= mine["prediction"])
        item = f"average accuracy of {method} over the eight sets, %"
        note = trig if method == "trig" else (
            f"One more split of ours would lie within {mine['prediction']:.1f} of our mean."
        )  # fmt: skip
        verdict = _verdict(near, stand_ins)
        found.append(_row("tab-uci", item, f"{AVERAGE[method]}", mine["accuracy"], verdict, note))
    return [*found, *_places(rows, ours, stand_ins), *_spreads(rows, trig, stand_ins)]


def _of_trig(rows: Rows, shares: Mapping[str, Any]) -> str:
    """What the printed TrigRF column looks like, as far as it was looked at."""
    said = []
    if shares.get("sets"):
        inside = sum(each["low"] <= each["printed"] <= each["high"] for each in shares["sets"])
        said.append(
            "The printed values lie where those of the commonest training class do in 95 % of "
            f"splits in {inside} of {len(shares['sets'])} sets (together p = {shares['p']:.2g})."
        )
    if all(UNCONJUGATED in row for row in rows.values()):
        mean = averages(rows, [UNCONJUGATED])[UNCONJUGATED]["accuracy"]
        flat = float(np.mean([row[UNCONJUGATED]["constant"] for row in rows.values()]))
        said.append(
            f"Without the conjugate we find {mean:.1f}, and a constant predictor on "
            f"{round(100 * flat, 6):.0f} % of splits."
        )
    return " ".join(said)


def _places(
    rows: Rows, ours: Mapping[str, Mapping[str, float]], stand_ins: bool
) -> list[dict[str, Any]]:
    """The paper's first and last by average accuracy.

    A method is not at a place if the one that is there differs from it by more than chance, and is
    there if its neighbour does; else our splits cannot tell.
    """
    order = sorted(ours, key=lambda name: -ours[name]["accuracy"])
    found = []
    for method, place in PLACES:
        mine = order.index(method) + 1
        there = mine == place
        instead = order[{1: 1, len(order): -2}[place] if there else place - 1]
        gap, reach = lead(rows, instead, method)
        note = (
            f"{instead} has {ours[instead]['accuracy']:.2f} and {method} "
            f"{ours[method]['accuracy']:.2f}: {gap:+.2f} ± {reach:.2f} (95 %, over splits)."
        )
        item = f"place of {method} among the eight by average accuracy"
        good = there if abs(gap) > reach else None
        found.append(_row("tab-uci", item, str(place), mine, _verdict(good, stand_ins), note))
    return found


def _spreads(rows: Rows, about_trig: str, stand_ins: bool) -> list[dict[str, Any]]:
    """Trig's spread over draws, and how far those of the other columns are from the printed.

    The distance is a mean over cells, in which errors do not cancel. It is that of the paper's
    split from ours; each of ours has one from the others, and the paper's is reproduced if it is
    not above the interval in which one more of these would lie with 95 %.
    """
    trig = float(np.mean([row["trig"]["spread"] for row in rows.values()]))
    ours = np.array([row[each]["spreads"] for row in rows.values() for each in OTHERS])
    printed = np.array([SPREAD[name][each] for name in rows for each in OTHERS])
    apart = float(np.mean(np.abs(ours.mean(-1) - printed)))
    count = ours.shape[-1]
    # A split from the mean of the others: count/(count - 1) times that from the mean of all.
    chance = np.mean(np.abs(ours - ours.mean(-1, keepdims=True)), axis=0) * count / (count - 1)
    usual, reach = float(chance.mean()), half_widths(chance.tolist(), TEST_SHARE)[1]
    small = _verdict(trig < SMALL, stand_ins)
    near = _verdict(apart <= usual + reach, stand_ins)
    note = f"One of our splits is {usual:.2f} ± {reach:.2f} from the others."
    return [
        _row("tab-ucistd", "spread of trig over draws, mean over sets, %", "< 0.05", trig, small,
             about_trig),
        _row("tab-ucistd", "distance of the other seven columns’ spreads from the printed, points",
             f"{usual:.1f} by chance", apart, near, note),
    ]  # fmt: skip
