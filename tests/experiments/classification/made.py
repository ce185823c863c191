"""Finished units of a made-up study, in the form in which the ledger keeps them."""

from typing import Any

import numpy as np

from experiments.classification.presets import CATEGORICAL, SETS
from experiments.classification.protocol.methods import BEYOND, PAPER, READINGS
from experiments.data.sheets import SHEETS
from verification.runs import Finished

DRAWS, TEST = 4, 200


def counts(place: int, seed: int, draws: int = DRAWS) -> dict[str, list[int]]:
    """Right answers at ten σ, the best by validation at σ number `place` modulo 10."""
    test = [100 + 5 * (place % 7) + seed % 3 + k for k in range(10)]
    validation = [draws * (50 + (k == place % 10)) for k in range(10)]
    squares = [draws * right**2 + 2 * draws for right in test]
    return {"validation": validation, "test": [draws * t for t in test], "squares": squares}


def _unit(part: str, name: str, result: Any, **more: Any) -> Finished:
    origin = {"name": name, "stand_in": None, "sha256": "0" * 64}
    config = {"part": part, "set": name, "draws": DRAWS, "origin": origin, **more}
    return Finished(f"{part} {name}", config, result, 1.0)


def split_unit(
    part: str, name: str, seed: int, scaling: str = "standard", encoding: str = "ordinal"
) -> Finished:
    methods = (*PAPER, *BEYOND, *READINGS)
    result = {
        "sizes": {"train": 3600, "validation": 200, "test": TEST, "dim": 4},
        "majority": [90, 80 + seed],
        "exact": counts(6, seed, 1),
        "methods": {m: counts(k, seed + len(name)) for k, m in enumerate(methods)},
    }
    return _unit(part, name, result, split=seed, scaling=scaling, encoding=encoding)


def converge_unit(features: int) -> Finished:
    test = {name: [150 + features // 64, 152] for name in ("trig", "oprf")}
    result = {"sizes": {"test": TEST}, "sigma": 0.6, "exact": 180, "test": test}
    return _unit("convergence", "wifi", result, features=features)


def shares_unit(name: str) -> Finished:
    classes = [100] * len(SHEETS[name].classes)
    law = np.zeros(TEST, int)
    law[10:60] = 3
    result = {"rows": sum(classes), "lines": sum(classes), "train": 9 * sum(classes) // 10,
              "test": sum(classes) // 20, "classes": classes, "right": law.tolist()}  # fmt: skip
    return _unit("shares", name, result)


def study(sets: tuple[str, ...] = SETS) -> list[Finished]:
    """All units of a small study."""
    return [
        *(split_unit("table", name, seed) for seed in range(3) for name in sets),
        *(
            split_unit("preparation", name, 0, scaling, encoding)
            for name in sets
            for scaling in ("raw", "standard")
            for encoding in ("ordinal", "one-hot")[: 1 + (name in CATEGORICAL)]
        ),
        *(converge_unit(features) for features in (64, 256)),
        *(shares_unit(name) for name in sets),
    ]
