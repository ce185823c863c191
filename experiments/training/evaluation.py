"""Averages over test examples, of the parameters that are shown."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.sharding import Mesh

from experiments.training.config import Batch, Config
from experiments.training.inputs import own_rows, spread
from experiments.training.step import State, shown

Sums = Callable[[State, Batch, Array], dict[str, Array]]


def weighted_sums(config: Config, graph: nnx.GraphDef) -> Sums:
    """(state, batch, weights (B,)) ↦ weighted sums of the measures, under jit."""

    @jax.jit
    def sums(state: State, batch: Batch, weights: Array) -> dict[str, Array]:
        model = nnx.merge(graph, shown(state), state["fixed"])
        found = config.measures(model, batch)
        return {name: jnp.sum(weights * each) for name, each in found.items()}

    return sums


def averages(config: Config, over: Mesh, sums: Sums, state: State, most: int) -> dict[str, float]:
    """Means of the measures over the first examples of the test split, at most so many.

    The last batch is filled up with examples that weigh nothing.
    """
    source = config.source("test")
    count, totals = min(len(source), most), dict[str, float]()
    for first in range(0, count, config.batch):
        rows = np.arange(first, first + config.batch)
        own = rows[own_rows(config.batch)]
        weights = (own < count).astype(np.float32)
        batch = spread(over, source.load(np.minimum(own, count - 1)) | {"weights": weights})
        for name, value in sums(state, batch, batch.pop("weights")).items():
            totals[name] = totals.get(name, 0.0) + float(value)
    return {name: total / count for name, total in totals.items()}
