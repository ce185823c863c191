"""Units that look into trained models: how far FAVOR+ and FAVOR++ are from softmax there."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import PRNGKeyArray

from crt.integrations.flax import convert
from experiments.training import Diverged, read
from experiments.vision.attention import ESTIMATES, attend
from experiments.vision.tasks import Classification
from experiments.vision.vit import Shape
from experiments.vision.weights import trained

KEYS = ("output_predicted", "output_observed", "kernel_predicted", "kernel_observed", "uniform")


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """Errors of every head on the queries and keys that the trained model itself makes.

    Projections are the model's own where it was trained with them; ρ is fitted to the images. A
    run that diverged has no model and no errors.
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
    key = projections_key(run.shape, run.seed)
    found = {}
    for name in ESTIMATES:
        done = convert(model, attend(name, run.shape.features), key, run=lambda each: each(images))
        found[name] = {
            which: [np.round(getattr(report, which), 6) for report in done.reports.values()]
            for which in KEYS
        }
        if done.rho:
            found[name]["rho"] = [np.round(each, 6) for each in done.rho.values()]
    return found


def projections_key(shape: Shape, seed: int) -> PRNGKeyArray:
    """The key of a model's projections, which its encoder draws right after its patches."""
    rngs = nnx.Rngs(seed)
    nnx.Linear(shape.pixels, shape.width, rngs=rngs)
    return rngs.projections()
