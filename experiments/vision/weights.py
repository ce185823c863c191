"""Trained models by their configuration: trained once, then taken from their folder."""

import dataclasses
import os
from contextvars import ContextVar
from pathlib import Path

from experiments.experiment import FEATURE_ROOMS, ROOT
from experiments.training import Config, Trained, train
from verification import runs

VISION = ("attention", "examples", "folder", "mae", "tasks", "vit", "weights")
ROOMS = (
    *FEATURE_ROOMS,
    *("crt/attention", "crt/estimate.py", "crt/sweep.py", "crt/integrations/flax.py"),
    *("experiments/data/images.py", "experiments/training"),
    *(f"experiments/vision/{name}.py" for name in VISION),
)
"""The code that a training depends on."""
shown: ContextVar[bool] = ContextVar("shown", default=False)
"""Whether a run shows its own progress: where several run at a time, nobody could read it."""


def folder() -> Path:
    """Where runs keep checkpoints and metrics: CRT_RUNS, or build/runs in the checkout."""
    return Path(os.environ.get("CRT_RUNS") or ROOT / "build" / "runs")


def trained(config: Config) -> Trained:
    """The run of a configuration, of the present code alone."""
    code = runs.fingerprint(*(ROOT / each for each in ROOMS))
    name = runs.digest(dataclasses.asdict(config) | {"code": code, "kind": type(config).__name__})
    return train(config, folder() / name, quiet=not shown.get())
