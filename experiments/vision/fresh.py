"""Units that look into trained models as `errors` do, with projections that these never saw."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from crt.integrations.flax import convert
from experiments.training import Diverged, read
from experiments.vision.attention import ESTIMATES, attend
from experiments.vision.tasks import Classification
from experiments.vision.weights import trained

FIRST = 1000
"""Seed of the first draw; models have smaller ones."""


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """Errors of every head that are observed with each draw, (draws, layers, heads).

    Predictions are of such draws: a model may have learned to live with its own projections. A run
    that diverged has no model and no errors.
    """
    run = read(Classification, config["run"])
    try:
        model = trained(run).model
    except Diverged:
        return {}
    source = run.source("test")
    # All over the set: a folder has its classes one after the other.
    chosen = np.unique(np.linspace(0, len(source) - 1, config["examples"], dtype=int))
    images = jnp.asarray(source.load(chosen)["image"])
    found = {}
    for name in ESTIMATES:
        settings = attend(name, run.shape.features)
        found[name] = {"output": [], "kernel": []}
        for draw in range(config["draws"]):
            key = jax.random.key(FIRST + draw)
            done = convert(model, settings, key, run=lambda each: each(images))
            for which, rows in found[name].items():
                seen = (getattr(each, f"{which}_observed") for each in done.reports.values())
                rows.append([np.round(heads, 6) for heads in seen])
    return found
