"""What Section 5.3.3 says, judged by our numbers, at our scale.

Every verdict comes from an interval of 95 %: one that lies where the paper says bears it out, one
that lies outside does not, and one with both kinds of values decides nothing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments.vision.attention import ESTIMATES
from experiments.vision.gather import COMPARED, Row

CLAIM = "fig-img"
REPRODUCED, NOT_REPRODUCED, NOT_DECIDED = "reproduced", "not reproduced", "not decided"
CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
SIMILAR = 1.25
"""Times whose ratio is below this, either way, are very similar."""
LINEAR = 1.2
"""An exponent of the length below this is that of linear attention; that of a square is 2."""
LONG = 256
"""Tokens from which on the exponents are fitted: in shorter steps other work hides attention."""
HARD = 1000
"""Tokens above which the paper's softmax becomes difficult to train for want of memory."""
NEAR = 2.0
"""Points of accuracy that count as none: two models that are right on 86 % of 2000 images each,
independently, differ by less in 19 of 20 cases."""
SHARED = " All uptrained runs start from one pre-training, whose own chance is no part of this."

Ends = tuple[float, float]


def outcome(ends: Ends, low: float, high: float = math.inf) -> str:
    """The verdict of an interval on a claim that a value lies between low and high."""
    if low < ends[0] and ends[1] <= high:
        return REPRODUCED
    return NOT_REPRODUCED if ends[1] < low or high < ends[0] else NOT_DECIDED


def together(outcomes: Iterable[str]) -> str:
    """The verdict on a claim about every one of several values."""
    found = set(outcomes)
    if NOT_REPRODUCED in found:
        return NOT_REPRODUCED
    return REPRODUCED if found == {REPRODUCED} else NOT_DECIDED


def median_ends(values: Sequence[float]) -> Ends:
    """An interval for the median of whatever distribution: two order statistics.

    Their numbers are binomial; fewer than 6 values, which cannot tell, leave it unbounded.
    """
    # Of n values, fewer than k lie below the median with at most half of the risk.
    k = int(stats.binom.ppf(TAIL, len(values), 0.5))
    ordered = sorted(values)
    return (ordered[k - 1], ordered[-k]) if k else (-math.inf, math.inf)


def welch(*groups: Sequence[float]) -> float:
    """Half the width of Welch's interval for a sum of group means with signs."""
    parts = [np.var(each, ddof=1) / len(each) for each in groups]
    total = sum(parts)
    if total == 0:
        return 0.0
    freedom = total**2 / sum(
        part**2 / (len(each) - 1) for part, each in zip(parts, groups, strict=True)
    )
    return float(stats.t.ppf(1 - TAIL, freedom) * np.sqrt(total))


def judge(found: Mapping[str, Any]) -> list[Row]:
    """The claims that do not need a clock, as far as the finished runs can answer them.

    What was learned from a stand-in has no verdict.
    """
    rows = [*_accuracy(found), *_steadiness(found["stability"]), *_swap(found["swap"])]
    if (found["setting"] or {}).get("stand_in"):
        rows = [row | {"verdict": None} for row in rows]
    return rows + _memory(found["memory"])


FAVOR = {start: ((start, "favor++"), (start, "favor+")) for start in COMPARED}
COMPARISONS = {
    "FAVOR++ above FAVOR+, from scratch": FAVOR["scratch"],
    "FAVOR++ above FAVOR+, uptrained": FAVOR["uptrain"],
    "gain of FAVOR++ over FAVOR+, uptrained above from scratch": (
        *FAVOR["uptrain"],
        *reversed(FAVOR["scratch"]),
    ),
    "backward-compatible: FAVOR++ from weights of softmax above from scratch": (
        ("uptrain", "favor++"),
        ("scratch", "favor++"),
    ),
}
"""Statement → (start, attention) of the means that are added and subtracted in turn."""


def _accuracy(found: Mapping[str, Any]) -> list[Row]:
    """Differences of mean accuracies in points; every mean needs two seeds."""
    rows = {(row["start"], row["attention"]): row for row in found["accuracy"]}
    enough = {key for key, row in rows.items() if len(row["values"]) > 1}
    return [
        _difference(found, f"{item}, points of accuracy", {key: rows[key] for key in keys})
        for item, keys in COMPARISONS.items()
        if enough.issuperset(keys)
    ]


def _difference(found: Mapping[str, Any], item: str, rows: Mapping[tuple[str, str], Row]) -> Row:
    """Added minus subtracted means. Runs that diverged would have lowered their side."""
    size, keys = found["setting"], list(rows)
    gap = sum((-1) ** k * row["mean"] for k, row in enumerate(rows.values()))
    reach = welch(*(row["values"] for row in rows.values()))
    lost = [_lost(found["stability"], *key) for key in keys]
    high, low = sum(lost[::2]), sum(lost[1::2])
    ends = (-math.inf if high else gap - reach, math.inf if low else gap + reach)
    seeds = ", ".join(str(len(row["values"])) for row in rows.values())
    note = (
        f"{gap:+.2f} ± {reach:.2f} points (95 %, over {seeds} seeds; {high + low} runs diverged); "
        f"a ViT of {size['width']}×{size['depth']} on {size['data']}, {rows[keys[0]]['tokens']} "
        f"tokens, {size['steps']} steps; the paper's is 1024×24 on ImageNet."
    )
    uptrained = any(start == "uptrain" for start, _ in keys)
    return _row(item, "> 0", gap, outcome(ends, 0), note + SHARED * uptrained)


def _lost(stability: Sequence[Row], start: str, attention: str) -> int:
    """Runs whose loss stopped being a number."""
    return sum(
        row["diverged"] is not None
        for row in stability
        if (row["start"], row["attention"]) == (start, attention)
    )


def spike_ratios(stability: Sequence[Row]) -> list[float]:
    """FAVOR+'s largest gradient over its usual one, divided by FAVOR++'s, for equal runs.

    A run that diverged has an infinite one; two of them are equal.
    """
    largest = {
        (row["start"], row["seed"], row["attention"]): math.inf
        if row["diverged"] is not None
        else row["spikes"]["gradient_norm"]["largest"]
        for row in stability
        if row["start"] in COMPARED
    }
    pairs = sorted({key[:2] for key in largest})
    both = ([largest.get((*pair, name)) for name in ESTIMATES] for pair in pairs)
    return [1.0 if one == other else one / other for one, other in both if one and other]


def _steadiness(stability: Sequence[Row]) -> list[Row]:
    """More stable: in the median of pairs of runs, FAVOR+'s largest gradient spike is larger."""
    ratios = spike_ratios(stability)
    if len(ratios) < 2:
        return []
    ends = median_ends(ratios)
    lost = {name: sum(_lost(stability, start, name) for start in COMPARED) for name in ESTIMATES}
    note = (
        f"Median over {len(ratios)} pairs of runs, {_between(ends)}; {lost['favor+']} runs with "
        f"FAVOR+ and {lost['favor++']} with FAVOR++ diverged, which counts as an infinite spike."
    )
    item = "largest gradient spike, FAVOR+ over FAVOR++"
    return [_row(item, "> 1", float(np.median(ratios)), outcome(ends, 1), note + SHARED)]


def _between(ends: Ends) -> str:
    if ends[0] == -math.inf:
        return "too few for an interval"
    return f"between {ends[0]:.2f} and {ends[1]:.2f} with 95 %"


def _swap(found: Row | None) -> list[Row]:
    """Softmax swapped for FAVOR++ and FAVOR+ without training, with the most features."""
    rows = found["rows"] if found else []
    most = max((row["features"] for row in rows), default=0)
    named = {row["attention"]: row for row in rows if row["features"] == most}
    if found is None or len(named) < 2 or min(len(row["values"]) for row in named.values()) < 2:
        return []
    one, other = named["favor++"], named["favor+"]
    gap, reach = one["mean"] - other["mean"], _swap_reach(found, one, other)
    lost = {name: found["softmax"] - row["mean"] for name, row in named.items()}
    left, width = lost["favor++"], _swap_reach(found, one)
    over = f"95 %, over {len(one['values'])} draws and {found['examples']} images"
    return [
        _row(
            "backward-compatible: weights that a swap of softmax changes",
            "0",
            found["changed"],
            outcome((found["changed"], found["changed"]), -math.inf, 0),
            f"All {found['weights']} weights were compared bit for bit, in {len(rows)} swaps of "
            f"{len(one['values'])} draws each.",
        ),
        _row(
            f"backward-compatible: softmax swapped at M = {most}, FAVOR++ above FAVOR+, points",
            "> 0",
            gap,
            outcome((gap - reach, gap + reach), 0),
            f"{gap:+.1f} ± {reach:.1f} points ({over}); softmax has {found['softmax']:.1f} %, "
            f"FAVOR++ {one['mean']:.1f} %, FAVOR+ {other['mean']:.1f} %. The paper trains after "
            "its swap.",
        ),
        _row(
            f"backward-compatible: softmax swapped for FAVOR++ at M = {most}, points lost",
            "0 for large M",
            left,
            outcome((left - width, left + width), -NEAR, NEAR),
            f"{left:.1f} ± {width:.1f} points ({over}), up to {NEAR:g} count as none; FAVOR++ "
            f"answers as softmax does on {one['agreement']:.1f} % of the images. FAVOR+ loses "
            f"{lost['favor+']:.1f} ± {_swap_reach(found, other):.1f} points and does so on "
            f"{other['agreement']:.1f} %.",
        ),
    ]


def _swap_reach(found: Row, *swapped: Row) -> float:
    """Half the width of the interval for an accuracy or a difference of two, by draws and images.

    An image counts only where a swapped model does not do as softmax does.
    """
    share = sum(1 - row["agreement"] / 100 for row in swapped)
    images = 100 * stats.norm.ppf(1 - TAIL) * math.sqrt(share / found["examples"])
    return math.hypot(welch(*(row["values"] for row in swapped)), images)


def exponent(tokens: Sequence[int], sizes: Sequence[float]) -> float:
    """The slope of log size against log length."""
    return float(np.polyfit(np.log(tokens), np.log(sizes), 1)[0])


def _memory(rows: Sequence[Row]) -> list[Row]:
    """The claims on memory, as compiled: nothing is left to chance."""
    fitted = [row for row in rows if row["tokens"] >= LONG]
    if len(fitted) < 3:
        return []
    tokens = [row["tokens"] for row in fitted]
    found = {
        name: exponent(tokens, [row["temporary"][name] for row in fitted])
        for name in ("softmax", *ESTIMATES)
    }
    worst = max(found[name] for name in ESTIMATES)
    longest = max(rows, key=lambda row: row["tokens"])
    exact, linear = (longest["bytes"][name] / 1e6 for name in ("softmax", "favor++"))
    more = exact / linear
    return [
        _row(
            "exponent of the length in a step's temporary memory, FAVOR+ and FAVOR++, the larger",
            "1",
            worst,
            outcome((worst, worst), -math.inf, LINEAR),
            f"As compiled for a CPU, over {len(fitted)} lengths; that of softmax is "
            f"{found['softmax']:.2f}, and up to {LINEAR} counts as linear. Weights and the state "
            "of the optimizer hardly depend on the length.",
        ),
        _row(
            f"peak memory of a step at {longest['tokens']} tokens, softmax over FAVOR++",
            "> 1",
            more,
            outcome((more, more), 1),
            f"{exact:,.0f} and {linear:,.0f} MB for one image, as compiled for a CPU, weights and "
            "the optimizer's state included. The paper's softmax becomes increasingly difficult to "
            f"train above {HARD} tokens, for want of memory.",
        ),
    ]


def judge_speed(speeds: Sequence[Row]) -> list[Row]:
    """The claims on time; measured by the clock of one machine, over rounds."""
    if min((len(row["seconds"]["softmax"]) for row in speeds), default=0) < 2:
        return []
    longest = max(speeds, key=lambda row: row["tokens"])
    fitted = [row for row in speeds if row["tokens"] >= LONG]
    return [
        _similar(speeds),
        *([_linear(fitted)] if len(fitted) > 2 else []),
        *([_faster(longest)] if longest["tokens"] > HARD else []),
    ]


def _ratios(row: Row, above: str, below: str) -> list[float]:
    return (np.array(row["seconds"][above]) / row["seconds"][below]).tolist()


def _similar(speeds: Sequence[Row]) -> Row:
    """At every length; that where the ratio of times is farthest from 1 is told."""
    found = [_ratios(row, "favor++", "favor+") for row in speeds]
    worst = max(found, key=lambda ratios: abs(math.log(np.median(ratios))))
    return _row(
        "time of a step, FAVOR++ over FAVOR+, farthest from 1",
        "very similar",
        float(np.median(worst)),
        together(outcome(median_ends(each), 1 / SIMILAR, SIMILAR) for each in found),
        f"Median over {len(worst)} rounds, {_between(median_ends(worst))}, the farthest of "
        f"{len(speeds)} lengths, on a CPU; similar is a ratio below {SIMILAR}.",
    )


def _linear(speeds: Sequence[Row]) -> Row:
    """Each round gives an exponent of its own."""
    tokens = [row["tokens"] for row in speeds]

    def exponents(name: str) -> list[float]:
        rounds = zip(*(row["seconds"][name] for row in speeds), strict=True)
        return [exponent(tokens, times) for times in rounds]

    found = [exponents(name) for name in ESTIMATES]
    steepest = max(found, key=np.median)
    return _row(
        "exponent of the length in the time of a step, FAVOR+ and FAVOR++, the larger",
        "1",
        float(np.median(steepest)),
        together(outcome(median_ends(each), -math.inf, LINEAR) for each in found),
        f"Median over {len(steepest)} rounds, {_between(median_ends(steepest))}, over "
        f"{len(speeds)} lengths on a CPU; that of softmax is "
        f"{np.median(exponents('softmax')):.2f}, and up to {LINEAR} counts as linear.",
    )


def _faster(longest: Row) -> Row:
    gain = _ratios(longest, "softmax", "favor++")
    ends = median_ends(gain)
    return _row(
        f"steps per second at {longest['tokens']} tokens, FAVOR++ over softmax",
        "> 1",
        float(np.median(gain)),
        outcome(ends, 1),
        f"Median over {len(gain)} rounds, {_between(ends)}, forward and backward, "
        f"M = {longest['features']}, on a CPU; the paper shows it in a figure without numbers.",
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
