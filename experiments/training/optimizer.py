"""AdamW as Vision Transformers use it: warm-up, cosine, slower learning near the input."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import optax
from jax import Array

from experiments.training.errors import ConfigError

BASE_BATCH = 256
"""The batch that a base learning rate is for: a run's is rate·batch/256."""


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """AdamW. The rate rises linearly over `warmup` steps, then falls to 0 along a cosine.

    `rate` is the base learning rate, for 256 examples. A parameter of layer l out of 0 … D learns
    at `layer_decay`^(D-l) of the rate. Weights decay, vectors (biases, scales) do not.
    """

    rate: float
    warmup: int
    weight_decay: float = 0.05
    beta1: float = 0.9
    beta2: float = 0.999
    layer_decay: float = 1.0

    def __post_init__(self) -> None:
        if self.warmup < 0:
            raise ConfigError(f"warmup is {self.warmup}; it must be at least 0")


def schedule(optimizer: Optimizer, batch: int, steps: int) -> optax.Schedule:
    """Step ↦ learning rate."""
    peak = optimizer.rate * batch / BASE_BATCH
    return optax.warmup_cosine_decay_schedule(
        0.0, peak, optimizer.warmup, max(steps, optimizer.warmup + 1)
    )


def transformation(
    optimizer: Optimizer,
    rate: optax.Schedule,
    layer: Callable[[tuple[Any, ...]], int],
    layers: int,
) -> optax.GradientTransformation:
    """Gradients ↦ updates; `layer(path)` tells where in 0 … `layers` a parameter is."""

    def slower(updates: Any, params: Any = None) -> Any:
        def scaled(path: tuple[Any, ...], update: Array) -> Array:
            return optimizer.layer_decay ** (layers - layer(keys(path))) * update

        return jax.tree_util.tree_map_with_path(scaled, updates)

    return optax.chain(
        optax.scale_by_adam(optimizer.beta1, optimizer.beta2),
        optax.add_decayed_weights(optimizer.weight_decay, mask=_matrices),
        optax.stateless(slower),
        optax.scale_by_learning_rate(rate),
    )


def _matrices(params: Any) -> Any:
    """Which parameters decay: those with more than one axis that count, so no bias of heads."""

    def is_matrix(path: tuple[Any, ...], param: Array) -> bool:
        return keys(path)[-1] in ("kernel", "embedding") and param.ndim > 1

    return jax.tree_util.tree_map_with_path(is_matrix, params)


def keys(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The names along a path of a tree, those of attributes of the leaf left out."""
    found = [getattr(key, "key", getattr(key, "idx", None)) for key in path]
    return tuple(key for key in found if key is not None)
