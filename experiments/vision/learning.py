"""Units that train: accuracy against steps, and how steadily the loss falls."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.training import Diverged, read
from experiments.training.history import Row
from experiments.vision.tasks import Classification, Pretraining
from experiments.vision.weights import trained

WINDOWS = 40
"""Parts of a run over which losses and norms are summed up."""
BEFORE = 50
"""Steps before one that tell what is usual there."""
SPIKES = (1.5, 2.0, 3.0, 5.0)
"""A spike: so many times the median of the steps before."""


def pretrain(config: Mapping[str, Any]) -> dict[str, Any]:
    """The masked autoencoder."""
    return summary(trained(read(Pretraining, config["run"])).history)


def classify(config: Mapping[str, Any]) -> dict[str, Any]:
    """A classification; one whose loss is no number any more tells at which step."""
    try:
        return summary(trained(read(Classification, config["run"])).history)
    except Diverged as error:
        return {"diverged": error.step}


def summary(history: Sequence[Row]) -> dict[str, Any]:
    """What is kept of a run: its tests, windows of its losses and gradients, and their spikes."""
    tests = [row for row in history if "test" in row]
    updates = [row for row in history if "loss" in row]
    loss, norm = (np.array([row[key] for row in updates]) for key in ("loss", "gradient_norm"))
    return {
        "diverged": None,
        "test": tests[-1]["test"],
        "curve": [{"step": row["step"]} | row["test"] for row in tests[:-1]],
        "windows": windows(loss, norm),
        "spikes": {"loss": spikes(loss), "gradient_norm": spikes(norm)},
    }


def windows(loss: np.ndarray, norm: np.ndarray) -> list[dict[str, float]]:
    """Means and maxima over consecutive parts of a run; `step` is the last of each."""
    found, end = [], 0
    for part in np.array_split(np.arange(len(loss)), min(WINDOWS, len(loss))):
        end += len(part)
        each = {"step": end, "loss": loss[part].mean(), "loss_most": loss[part].max()}
        each |= {"norm": float(np.median(norm[part])), "norm_most": norm[part].max()}
        found.append({key: round(float(value), 5) for key, value in each.items()})
    return found


def spikes(values: np.ndarray) -> dict[str, Any]:
    """The largest ratio of a value to the median of the `BEFORE` before it, and counts of spikes.

    Steps with fewer before them do not count.
    """
    usual = [np.median(values[t - BEFORE : t]) for t in range(BEFORE, len(values))]
    ratios = values[BEFORE:] / np.array(usual) if usual else np.ones(1)
    counts = {str(bound): int(np.sum(ratios > bound)) for bound in SPIKES}
    return {"largest": float(ratios.max()), "counts": counts}
