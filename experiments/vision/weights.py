"""Trained models by their configuration: trained once, then taken from their folder."""

import dataclasses
import os
from pathlib import Path

from experiments.training import Config, Trained, train
from verification import runs

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ("augmentation", "evaluation", "inputs", "optimizer", "step")
VISION = ("attention", "examples", "mae", "tasks", "vit")
NUMERICS = (
    "crt/attention",
    "crt/integrations/flax.py",
    *(f"crt/{name}.py" for name in ("formulas", "projections", "statistics")),
    "experiments/data",
    *(f"experiments/training/{name}.py" for name in TRAINING),
    *(f"experiments/vision/{name}.py" for name in VISION),
)
"""The code that the numbers of a training depend on."""


def folder() -> Path:
    """Where runs keep checkpoints and metrics: CRT_RUNS, or build/runs in the checkout."""
    return Path(os.environ.get("CRT_RUNS") or ROOT / "build" / "runs")


def trained(config: Config) -> Trained:
    """The run of a configuration, of the present code alone."""
    code = runs.fingerprint(*(ROOT / each for each in NUMERICS))
    name = runs.digest(dataclasses.asdict(config) | {"code": code, "kind": type(config).__name__})
    return train(config, folder() / name, quiet=True)
