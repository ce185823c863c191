"""Units that swap the softmax of a trained model for FAVOR+ or FAVOR++, and train nothing."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from flax import nnx

from crt.integrations.flax import convert
from experiments.training import read
from experiments.vision.attention import attend
from experiments.vision.tasks import Classification
from experiments.vision.weights import trained

BATCH = 250


def unit(config: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracy of the model as it is, and with M features, one draw of projections each."""
    run = read(Classification, config["run"])
    model = trained(run).model
    rows = run.source("test").load(np.arange(config["examples"]))
    found, changed = [], False
    for features in config["features"]:
        for draw in range(config["draws"]):
            key = jax.random.fold_in(jax.random.key(config["seed"]), draw)
            swapped = convert(model, attend(config["attention"], features), key).model
            changed |= not same_weights(model, swapped)
            found.append({"features": features, "draw": draw} | compare(model, swapped, rows))
    return {"softmax": accuracy(model, rows), "changed": changed, "rows": found}


def same_weights(one: nnx.Module, other: nnx.Module) -> bool:
    """Whether every parameter of two models is the same, bit for bit."""
    both = (jax.tree.leaves(nnx.state(each, nnx.Param)) for each in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


def logits(model: nnx.Module, images: np.ndarray) -> np.ndarray:
    """(n, classes), in batches."""
    call = nnx.jit(lambda model, images: model(images))
    parts = np.array_split(images, -(-len(images) // BATCH))
    return np.concatenate([np.asarray(call(model, part)) for part in parts])


def accuracy(model: nnx.Module, rows: Mapping[str, np.ndarray]) -> float:
    return float(np.mean(np.argmax(logits(model, rows["image"]), -1) == rows["label"]))


def compare(
    model: nnx.Module, swapped: nnx.Module, rows: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """Accuracy of the swapped model, and how often it agrees with the one that it comes from."""
    one, other = (np.argmax(logits(each, rows["image"]), -1) for each in (model, swapped))
    return {
        "accuracy": float(np.mean(other == rows["label"])),
        "agreement": float(np.mean(one == other)),
    }
