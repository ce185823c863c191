"""Units that swap the softmax of a trained model for FAVOR+ or FAVOR++, and train nothing."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from flax import nnx
from jaxtyping import Int

from crt.integrations.flax import convert
from experiments.training import Diverged, read
from experiments.vision.attention import attend
from experiments.vision.tasks import Classification
from experiments.vision.weights import trained

BATCH = 250


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracy of the model as it is, and with M features, one draw of projections each.

    A run that diverged has no model to swap in.
    """
    run = read(Classification, config["run"])
    try:
        model = trained(run).model
    except Diverged:
        return {}
    source = run.source("test")
    # All over the set: a folder has its classes one after the other.
    chosen = np.unique(np.linspace(0, len(source) - 1, config["examples"], dtype=int))
    rows = source.load(chosen)
    exact, found, changed = classes(model, rows["image"]), [], False
    for features in config["features"]:
        for draw in range(config["draws"]):
            key = jax.random.fold_in(jax.random.key(config["seed"]), draw)
            swapped = convert(model, attend(config["attention"], features), key).model
            changed |= not same_weights(model, swapped)
            other = classes(swapped, rows["image"])
            found.append(
                {"features": features, "draw": draw, "agreement": float(np.mean(other == exact))}
                | {"accuracy": float(np.mean(other == rows["label"]))}
            )
    accuracy = float(np.mean(exact == rows["label"]))
    return {"softmax": accuracy, "examples": len(chosen), "changed": changed, "rows": found}


def same_weights(one: nnx.Module, other: nnx.Module) -> bool:
    """Whether every parameter of two models is the same, bit for bit."""
    both = (jax.tree.leaves(nnx.state(each, nnx.Param)) for each in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


@nnx.jit
def logits(model: Any, images: Any) -> jax.Array:
    return model(images)


def classes(model: nnx.Module, images: np.ndarray) -> Int[np.ndarray, " n"]:
    """The class that a model gives to each image, in batches."""
    parts = np.array_split(images, -(-len(images) // BATCH))
    return np.concatenate([np.argmax(logits(model, part), -1) for part in parts])
