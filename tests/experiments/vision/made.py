"""Made-up results of all units of the laptop preset, for tests of what is gathered and drawn."""

from typing import Any

import numpy as np

from experiments.data import Origin
from experiments.vision import errors, study
from experiments.vision.learning import SPIKES
from experiments.vision.presets import PRESETS
from verification.runs import Finished, Unit

HERE = {study.DATA: Origin(study.DATA, None, "0" * 64)}
LEVELS = {"softmax": 0.88, "favor+": 0.84, "favor++": 0.86, "relu": 0.85, "elu": 0.83}
ERRORS = {"favor+": 0.8, "favor++": 0.3}
BOUNDS = [str(bound) for bound in SPIKES]
COSTS = {"softmax": 1e-6, "favor+": 1e-3, "favor++": 1.1e-3}


def _training(config: Any) -> dict[str, Any]:
    level = LEVELS.get(config.get("attention", ""), 0.5) + 0.001 * config["seed"]
    level += 0.02 * (config["part"] == "uptrain")
    steps = [100, 200, 300]
    wild = 4.0 if config.get("attention") == "favor+" else 2.0
    return {
        "diverged": None,
        "test": {"accuracy": level, "loss": 0.4},
        "curve": [{"step": s, "accuracy": level - 20 / s, "loss": 1.0} for s in steps],
        "windows": [
            {"step": s, "loss": 50 / s, "loss_most": 60 / s, "norm": 1.0, "norm_most": wild}
            for s in steps
        ],
        "spikes": {
            key: {"largest": wild + 0.01 * config["seed"], "counts": dict.fromkeys(BOUNDS, 2)}
            for key in ("loss", "gradient_norm")
        },
    }


def _swap(config: Any) -> dict[str, Any]:
    far = ERRORS[config["attention"]] * 4 / config["features"]
    rows = [
        {"draw": d, "accuracy": 0.88 - far - 0.01 * d, "agreement": 0.9}
        for d in range(config["draws"])
    ]
    known = {"softmax": 0.88, "examples": config["examples"], "weights": 1000, "changed": 0}
    return known | {"rows": rows}


def _errors(config: Any) -> dict[str, Any]:
    return {
        name: {key: [[far, far], [far, far + 0.02 * config["seed"]]] for key in errors.KEYS}
        for name, far in ERRORS.items()
    }


def _fresh(config: Any) -> dict[str, Any]:
    return {
        name: dict.fromkeys(("output", "kernel"), [[[far, far], [far, far]]] * config["draws"])
        for name, far in ERRORS.items()
    }


def _speed(config: Any) -> dict[str, Any]:
    tokens = config["rows"] ** 2
    each = {"softmax": COSTS["softmax"] * tokens**2, "favor+": COSTS["favor+"] * tokens / 2}
    each["favor++"] = COSTS["favor++"] * tokens / 2
    rounds = 1 + 0.01 * np.arange(config["rounds"])
    return {
        "tokens": tokens,
        "seconds": {name: (time * rounds).tolist() for name, time in each.items()},
        "bytes": {
            name: {"all": round(1e9 * time) + 10**8, "temporary": round(1e9 * time)}
            for name, time in each.items()
        },
    }


MAKERS = {"train": _training, "swap": _swap, "speed": _speed}
MAKERS |= {"errors": _errors, "fresh": _fresh}


def finished(unit: Unit) -> Finished:
    return Finished(unit.label, unit.config, MAKERS[unit.config["kind"]](unit.config), 1.0)


def units(preset: str = "laptop") -> list[Unit]:
    return study.units(PRESETS[preset], HERE)


def everything() -> list[Finished]:
    """All units of the laptop preset."""
    return [finished(unit) for unit in units()]
