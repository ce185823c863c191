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

BATCH = 10
"""Images at a time: their features at large M fill the memory."""


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracy of the model as it is, and with M features, for every draw of the projections.

    `changed` counts the weights that any swap changed, of `weights`. A run that diverged has no
    model to swap in.
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
    exact, found, changed = classes(model, rows["image"]), [], 0
    for draw in range(config["draws"]):
        key = jax.random.fold_in(jax.random.key(config["seed"]), draw)
        swapped = convert(model, attend(config["attention"], config["features"]), key).model
        changed += changed_weights(model, swapped)
        other = classes(swapped, rows["image"])
        found.append(
            {"draw": draw, "agreement": float(np.mean(other == exact))}
            | {"accuracy": float(np.mean(other == rows["label"]))}
        )
    accuracy = float(np.mean(exact == rows["label"]))
    return {
        "softmax": accuracy,
        "examples": len(chosen),
        "weights": sum(leaf.size for leaf in jax.tree.leaves(nnx.state(model, nnx.Param))),
        "changed": changed,
        "rows": found,
    }


def changed_weights(one: nnx.Module, other: nnx.Module) -> int:
    """How many weights of two models of one structure differ, in any bit."""
    both = (jax.tree.leaves(nnx.state(each, nnx.Param)) for each in (one, other))
    pairs = (map(np.asarray, pair) for pair in zip(*both, strict=True))
    return sum(int(np.sum(a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}"))) for a, b in pairs)


@nnx.jit
def logits(model: Any, images: Any) -> jax.Array:
    return model(images)


def classes(model: nnx.Module, images: np.ndarray) -> Int[np.ndarray, " n"]:
    """The class that a model gives to each image, in batches."""
    parts = np.array_split(images, -(-len(images) // BATCH))
    return np.concatenate([np.argmax(logits(model, part), -1) for part in parts])
