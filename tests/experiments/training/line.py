"""The smallest thing to learn, for tests of the trainer: a line through noisy points."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from experiments.training import Config, Optimizer


class Points:
    """y = x·(1, 2, 3) and a little noise."""

    def __init__(self, count: int, seed: int):
        draw = np.random.default_rng(seed)
        self.x = draw.normal(size=(count, 3)).astype(np.float32)
        noise = 0.1 * draw.normal(size=count)
        self.y = (self.x @ np.arange(1, 4) + noise).astype(np.float32)

    def __len__(self) -> int:
        return len(self.y)

    def load(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": self.x[indices], "y": self.y[indices]}


@dataclass(frozen=True, kw_only=True)
class Line(Config):
    """Linear regression whose inputs are shaken by the key of the step."""

    steps: int = 12
    batch: int = 8
    seed: int = 0
    optimizer: Optimizer = field(default_factory=lambda: Optimizer(rate=12.8, warmup=2))
    ema: float | None = 0.5
    evaluate_every: int = 4
    checkpoint_every: int = 4
    curve_examples: int = 10
    explode: int = -1

    def source(self, split: str) -> Points:
        return Points(40, 1) if split == "train" else Points(13, 2)

    def model(self, rngs: nnx.Rngs) -> nnx.Linear:
        return nnx.Linear(3, 1, rngs=rngs)

    def loss(self, model: Any, batch: Any, key: Array) -> Array:
        x = batch["x"] + 0.01 * jax.random.normal(key, batch["x"].shape)
        far = jnp.mean((model(x)[:, 0] - batch["y"]) ** 2)
        return jnp.where(self.explode < 0, far, far + jnp.log(-far))

    def measures(self, model: Any, batch: Any) -> dict[str, Array]:
        return {"error": jnp.abs(model(batch["x"])[:, 0] - batch["y"])}

    def layer(self, path: tuple[Any, ...]) -> int:
        return 0

    @property
    def layers(self) -> int:
        return 0

    def start(self, model: Any) -> None:
        pass
