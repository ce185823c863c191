"""What Section 5.3.3 says, judged by our numbers, at our scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments.vision.gather import Row

CLAIM = "fig-img"
REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
CONFIDENCE = 0.95
SIMILAR = 1.25
"""Times whose ratio is below this, either way, are very similar."""
SCALE = (
    "a ViT of {width}×{depth} on Fashion-MNIST, {tokens} tokens, {steps} steps; the paper's is "
    "1024×24 on ImageNet"
)


def judge(preset: Any, accuracy: Sequence[Row], stability: Sequence[Row]) -> list[Row]:
    """The claims on accuracy and stability that the finished runs can answer."""
    rows = {(row["start"], row["attention"]): row for row in accuracy}
    found = []
    for item, one, other in (
        ("FAVOR++ above FAVOR+, from scratch", ("scratch", "favor++"), ("scratch", "favor+")),
        ("FAVOR++ above FAVOR+, uptrained", ("uptrain", "favor++"), ("uptrain", "favor+")),
        ("FAVOR++ uptrained above from scratch", ("uptrain", "favor++"), ("scratch", "favor++")),
    ):
        if one in rows and other in rows:
            found.append(_difference(preset, item, rows[one], rows[other]))
    ratios = spike_ratios(stability)
    if ratios:
        found.append(_steadiness(ratios, stability))
    return found


def _difference(preset: Any, item: str, one: Row, other: Row) -> Row:
    """A difference of mean accuracies in points: it must exceed its own uncertainty."""
    gap = one["mean"] - other["mean"]
    enough = min(len(one["values"]), len(other["values"])) > 1
    reach = welch(one["values"], other["values"]) if enough else np.inf
    verdict = REPRODUCED if gap - reach > 0 else NOT_REPRODUCED
    size = SCALE.format(
        width=preset.width, depth=preset.depth, tokens=one["tokens"], steps=preset.steps
    )
    seeds = len(one["values"])
    spread = f"{gap:+.2f} ± {reach:.2f} points (95 %, {seeds} seeds)" if enough else "one seed"
    return _row(f"{item}, points of accuracy", "> 0", gap, verdict, f"{spread}; {size}.")


def welch(one: Sequence[float], other: Sequence[float]) -> float:
    """Half the width of Welch's interval for the difference of two means."""
    parts = [np.var(each, ddof=1) / len(each) for each in (one, other)]
    total = sum(parts)
    if total == 0:
        return 0.0
    freedom = total**2 / sum(
        part**2 / (len(each) - 1) for part, each in zip(parts, (one, other), strict=True)
    )
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * np.sqrt(total))


def spike_ratios(stability: Sequence[Row]) -> list[float]:
    """FAVOR+'s largest gradient over its usual one, divided by FAVOR++'s, for equal runs."""
    largest = {
        (row["start"], row["seed"], row["attention"]): row["spikes"]["gradient_norm"]["largest"]
        for row in stability
        if row["spikes"]
    }
    pairs = sorted({key[:2] for key in largest})
    return [
        largest[*pair, "favor+"] / largest[*pair, "favor++"]
        for pair in pairs
        if (*pair, "favor+") in largest and (*pair, "favor++") in largest
    ]


def _steadiness(ratios: Sequence[float], stability: Sequence[Row]) -> Row:
    """More stable: FAVOR+'s largest gradient spikes are larger, by more than chance."""
    logs = np.log(ratios)
    least = logs.mean()
    if len(logs) > 1:
        freedom = len(logs) - 1
        least -= stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * stats.sem(logs)
    lost = {
        name: sum(r["diverged"] is not None for r in stability if r["attention"] == name)
        for name in ("favor+", "favor++")
    }
    verdict = REPRODUCED if len(logs) > 1 and least > 0 else NOT_REPRODUCED
    note = (
        f"Geometric mean over {len(logs)} pairs of runs, at least {np.exp(least):.2f} with 95 %; "
        f"{lost['favor+']} runs with FAVOR+ and {lost['favor++']} with FAVOR++ diverged."
    )
    return _row(
        "largest gradient spike, FAVOR+ over FAVOR++", "> 1", np.exp(logs.mean()), verdict, note
    )


def judge_speed(speeds: Sequence[Row]) -> list[Row]:
    """The claims on time; measured by the clock of one machine."""
    if not speeds:
        return []
    medians = [row["favor"]["median"] for row in speeds]
    worst = max(medians, key=lambda ratio: abs(np.log(ratio)))
    close = 1 / SIMILAR < worst < SIMILAR
    found = [
        _row(
            "time of a step, FAVOR++ over FAVOR+, farthest from 1",
            "very similar",
            worst,
            REPRODUCED if close else NOT_REPRODUCED,
            f"Over {len(speeds)} lengths, on a CPU; similar is a ratio below {SIMILAR}.",
        )
    ]
    longest = max(speeds, key=lambda row: row["tokens"])
    if longest["tokens"] > 1000:
        found.append(_faster(longest))
    return found


def _faster(longest: Mapping[str, Any]) -> Row:
    gain = longest["faster"]["favor++"]
    return _row(
        f"steps per second at {longest['tokens']} tokens, FAVOR++ over softmax",
        "> 1",
        gain["median"],
        REPRODUCED if gain["least"] > 1 else NOT_REPRODUCED,
        f"Between {gain['least']:.2f} and {gain['most']:.2f} over rounds, forward and backward, "
        f"M = {longest['features']}, on a CPU; the paper's softmax runs out of memory there.",
    )


def _row(item: str, paper: str, ours: float, verdict: str, note: str) -> Row:
    return {
        "claim": CLAIM,
        "item": item,
        "paper": paper,
        "ours": float(ours),
        "verdict": verdict,
        "note": note,
    }
