"""What the paper says of its second experiment, judged by our numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.classification.accuracies import half_widths
from experiments.classification.presets import SETS
from experiments.classification.printed import AVERAGE, SMALL, SPREAD
from experiments.classification.protocol.methods import PAPER

REPRODUCED, NOT_REPRODUCED, NOT_DECIDED = "reproduced", "not reproduced", "not decided"
PLACES = (("oprf", 1), ("trig", 8))
UNCONJUGATED = "trig-unconjugated"

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]


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
        # Sets are split independently; each has 5 % of its rows in the test and 90 % in training.
        sure, new = half_widths(splits.tolist(), 5 / 90)
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


def lead(rows: Rows, one: str, other: str) -> tuple[float, float]:
    """By how much one method's average is above another's on the same splits, and ± 95 %."""
    gaps = [np.subtract(row[one]["splits"], row[other]["splits"]) for row in rows.values()]
    splits = np.mean(gaps, axis=0)
    return float(splits.mean()), half_widths(splits.tolist(), 5 / 90)[0]


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
    """Trig's spread over draws, and the mean one of the other columns."""
    trig = float(np.mean([row["trig"]["spread"] for row in rows.values()]))
    others = [name for name in PAPER if name != "trig"]
    ours = float(np.mean([[row[name]["spread"] for name in others] for row in rows.values()]))
    printed = float(np.mean([[SPREAD[name][each] for each in others] for name in rows]))
    near = _verdict(bool(abs(ours - printed) < 1), stand_ins)
    small = _verdict(trig < SMALL, stand_ins)
    return [
        _row("tab-ucistd", "spread of trig over draws, mean over sets, %", "< 0.05", trig, small,
             about_trig),
        _row("tab-ucistd", "mean spread of the other seven over draws, %, to within 1",
             f"{printed:.1f}", ours, near),
    ]  # fmt: skip
