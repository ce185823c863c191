"""From finished units to the numbers of the study, and to a table for people."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.classification import accuracies, evidence, ranking
from experiments.classification.presets import PREPARATION, SETS, Size
from experiments.classification.printed import ACCURACY, AVERAGE, SPREAD
from experiments.classification.protocol.methods import BEYOND, PAPER
from experiments.classification.verdicts import averages, judge
from verification.runs import Finished

BASE = "oprf"
"""The method that the paper recommends; the others are compared with it."""
SHOWN = (*PAPER, *BEYOND, "exact", "majority")


def gather(size: Size, finished: Sequence[Finished]) -> dict[str, Any]:
    """All numbers; parts without finished units are empty."""
    parts: dict[str, list[Finished]] = {}
    for unit in sorted(finished, key=lambda unit: SETS.index(unit.config["set"])):
        parts.setdefault(unit.config["part"], []).append(unit)
    table, prepared = parts.get("table", []), parts.get("preparation", [])
    rows = accuracies.rows(table)
    by_set: dict[str, dict[str, Any]] = {}
    for row in rows:
        by_set.setdefault(row["set"], {})[row["method"]] = row
    stand_ins = any(unit.config["origin"]["stand_in"] for unit in finished)
    real = [] if stand_ins else prepared
    shares = evidence.shares([] if stand_ins else parts.get("shares", []))
    return {
        "preparation": [PREPARATION[0], evidence.WORDS_ONE_HOT],
        "accuracy": rows,
        "average": averages(by_set, SHOWN) if by_set else {},
        "ranks": _ranks(by_set),
        "against": _against(by_set, _test_shares(table)),
        "preparations": evidence.preparations(real),
        "by_chance": evidence.by_chance(rows, size.few_splits),
        "constants": evidence.constants([] if stand_ins else [*table, *prepared]),
        "first_class": evidence.first_class([*table, *prepared]),
        "readings": evidence.readings([*table, *prepared]),
        "shares": shares,
        "convergence": [row for unit in parts.get("convergence", []) for row in _converged(unit)],
        "printed": {"accuracy": ACCURACY, "spread": SPREAD, "average": AVERAGE},
        "verdicts": judge(by_set, shares, stand_ins),
    }


def _test_shares(units: Sequence[Finished]) -> dict[str, float]:
    sizes = {unit.config["set"]: unit.result["sizes"] for unit in units}
    return {name: each["test"] / each["train"] for name, each in sizes.items()}


def _ranks(by_set: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Average ranks of the paper's eight, ours and the printed, on the sets at hand."""
    if len(by_set) < 2:
        return {}
    ours = {name: {m: row[m]["accuracy"] for m in PAPER} for name, row in by_set.items()}
    printed = {name: ACCURACY[name] for name in by_set}
    return {
        "ours": ranking.average_ranks(ours, PAPER),
        "printed": ranking.average_ranks(printed, PAPER),
        "base": BASE,
        "critical_difference": ranking.critical_difference(len(PAPER), len(by_set)),
        "control_difference": ranking.control_difference(len(PAPER), len(by_set)),
        "wilcoxon_floor": ranking.wilcoxon_floor(len(PAPER), len(by_set)),
        "friedman": ranking.friedman(ours, PAPER),
        "sets": len(by_set),
    }


def _against(by_set: Mapping[str, Mapping[str, Any]], shares: Mapping[str, float]) -> list[dict]:
    return ranking.against(by_set, PAPER, BASE, shares) if len(by_set) > 1 else []


def _converged(unit: Finished) -> list[dict[str, Any]]:
    rows, result = unit.result["sizes"]["test"], unit.result
    return [
        {
            "set": unit.config["set"],
            "method": method,
            "features": unit.config["features"],
            "sigma": result["sigma"],
            "accuracy": 100 * float(np.mean(right)) / rows,
            "spread": 100 * float(np.std(right)) / rows,
            "exact": 100 * result["exact"] / rows,
        }
        for method, right in result["test"].items()
    ]


def show(numbers: Mapping[str, Any]) -> str:
    """Accuracies by set and method, the paper's in brackets."""
    cells = {(row["set"], row["method"]): row["accuracy"] for row in numbers["accuracy"]}
    sets = list(dict.fromkeys(name for name, _ in cells))
    lines = ["accuracy, %".ljust(10) + "".join(f"{name:>14}" for name in sets)]
    for method in SHOWN:
        line = f"{method:10}"
        for name in sets:
            printed = ACCURACY[name].get(method)
            line += f"{cells[name, method]:7.1f}" + (f" ({printed:4.1f})" if printed else " " * 7)
        lines.append(line)
    return "\n".join(lines)
