"""The Vision Transformer: patches, blocks before which everything is normalised, a mean, a head.

As MAE's, with two differences: there is no class token, whose place the mean over all patches takes
as in MAE's fine-tuning, and the layer norm stands before that mean in pre-training and fine-tuning
alike, so that every weight of the encoder is taken over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from experiments.training.augmentation import drop_path
from experiments.training.config import ConfigError
from experiments.vision.attention import MECHANISMS, chosen


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a ViT is made of. `features` is M of linear attention, `block` its rows at one time.

    `dtype` is that of the computation; parameters are float32. With `remat` the backward pass
    computes each block's insides again.
    """

    side: int
    patch: int
    width: int
    depth: int
    heads: int
    channels: int = 1
    attention: str = "softmax"
    features: int = 32
    block: int | None = None
    dtype: str = "float32"
    remat: bool = False

    def __post_init__(self) -> None:
        if self.attention not in MECHANISMS:
            known = ", ".join(MECHANISMS)
            raise ConfigError(f"there is no attention {self.attention!r}; known are {known}")
        for name in ("side", "patch", "width", "depth", "heads", "channels", "features"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for part, whole in (("patch", "side"), ("heads", "width")):
            if getattr(self, whole) % getattr(self, part):
                raise ConfigError(
                    f"{part} is {getattr(self, part)}, which does not divide the {whole}, "
                    f"{getattr(self, whole)}"
                )
        if self.width % 4:
            raise ConfigError(f"width is {self.width}; positions need a multiple of 4")

    @property
    def tokens(self) -> int:
        return (self.side // self.patch) ** 2

    @property
    def pixels(self) -> int:
        """Numbers in a patch."""
        return self.patch**2 * self.channels


SIZES: Mapping[str, Mapping[str, Any]] = {
    "tiny": {"width": 192, "depth": 12, "heads": 3},
    "small": {"width": 384, "depth": 12, "heads": 6},
    "base": {"width": 768, "depth": 12, "heads": 12},
    "large": {"width": 1024, "depth": 24, "heads": 16},
}
"""The usual sizes; tiny and large are those of the paper's tables."""


def patches(shape: Shape, images: Float[Array, "b s s c"]) -> Float[Array, "b l p"]:
    """Images as rows of patches, (B, tokens, patch²·channels)."""
    expected = (shape.side, shape.side, shape.channels)
    if images.shape[1:] != expected:
        raise ConfigError(
            f"images have shape {tuple(images.shape[1:])}; this model takes {expected}"
        )
    rows = shape.side // shape.patch
    cut = images.reshape(-1, rows, shape.patch, rows, shape.patch, shape.channels)
    return jnp.swapaxes(cut, 2, 3).reshape(-1, shape.tokens, shape.pixels)


def positions(tokens: int, width: int) -> Float[np.ndarray, "l e"]:
    """Sines and cosines of the row and the column of each patch, a quarter of the width each."""
    rows = round(tokens**0.5)
    frequencies = 10_000.0 ** -(np.arange(width // 4) / (width / 4))
    places = np.indices((rows, rows)).reshape(2, tokens, 1) * frequencies
    both = np.concatenate([np.sin(places), np.cos(places)], axis=-1)
    return np.concatenate(list(both), axis=-1).astype(np.float32)


class Block(nnx.Module):
    """x + attention(norm x), then x + mlp(norm x); either branch may be dropped in training."""

    def __init__(
        self, shape: Shape, layer: int, drop: float, projections: PRNGKeyArray, rngs: nnx.Rngs
    ):
        width, dtype = shape.width, jnp.dtype(shape.dtype)
        self.drop = drop
        self.attention_norm = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(
            shape.heads,
            width,
            decode=False,
            dtype=dtype,
            kernel_init=nnx.initializers.xavier_uniform(),
            attention_fn=chosen(
                shape.attention,
                shape.features,
                projections,
                layer,
                shape.heads,
                width // shape.heads,
                shape.block,
            ),
            rngs=rngs,
            keep_rngs=False,
        )
        self.norm = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        init = nnx.initializers.xavier_uniform()
        self.inner = nnx.Linear(width, 4 * width, kernel_init=init, dtype=dtype, rngs=rngs)
        self.outer = nnx.Linear(4 * width, width, kernel_init=init, dtype=dtype, rngs=rngs)

    def __call__(self, x: Float[Array, "b l e"], key: PRNGKeyArray | None) -> Array:
        x = x + self._kept(self.attention(self.attention_norm(x)), key, 0)
        inner = jax.nn.gelu(self.inner(self.norm(x)))
        return x + self._kept(self.outer(inner), key, 1)

    def _kept(self, branch: Array, key: PRNGKeyArray | None, number: int) -> Array:
        if key is None or not self.drop:
            return branch
        return drop_path(jax.random.fold_in(key, number), branch, self.drop)


def run_blocks(
    blocks: nnx.List, x: Float[Array, "b l e"], key: PRNGKeyArray | None, remat: bool
) -> Array:
    """All blocks in order; a key is there in training alone, and so is what `remat` saves.

    Without one the blocks run as they are, so that whoever looks into them sees numbers.
    """
    for number, block in enumerate(blocks):
        own = None if key is None else jax.random.fold_in(key, number)
        graph, values = nnx.split(block)

        def call(values, x, own, graph=graph):
            return nnx.merge(graph, values)(x, own)

        x = (jax.checkpoint(call) if remat and key is not None else call)(values, x, own)
    return x


class Encoder(nnx.Module):
    """Patches to hidden states, of all patches or of those that a mask leaves."""

    def __init__(self, shape: Shape, drop: float, rngs: nnx.Rngs):
        self.shape = shape
        dtype = jnp.dtype(shape.dtype)
        init = nnx.initializers.xavier_uniform()
        self.patches = nnx.Linear(
            shape.pixels, shape.width, kernel_init=init, dtype=dtype, rngs=rngs
        )
        self.positions = nnx.Param(jnp.asarray(positions(shape.tokens, shape.width)))
        # Branches are dropped more often the deeper they are.
        rates = np.linspace(0, drop, shape.depth).tolist()
        key = rngs.projections()
        self.blocks = nnx.List(
            [Block(shape, layer, rate, key, rngs) for layer, rate in enumerate(rates)]
        )
        self.norm = nnx.LayerNorm(shape.width, dtype=dtype, rngs=rngs)

    def __call__(
        self,
        images: Float[Array, "b s s c"],
        key: PRNGKeyArray | None = None,
        visible: Int[Array, "b v"] | None = None,
    ) -> Float[Array, "b l e"]:
        x = self.patches(patches(self.shape, images)) + self.positions[...]
        if visible is not None:
            x = jnp.take_along_axis(x, visible[..., None], axis=1)
        return self.norm(run_blocks(self.blocks, x, key, self.shape.remat))


class ViT(nnx.Module):
    """Encoder, mean over the patches, linear head: (B, side, side, C) ↦ logits (B, classes)."""

    def __init__(self, shape: Shape, classes: int, drop: float, rngs: nnx.Rngs):
        self.encoder = Encoder(shape, drop, rngs)
        self.head = nnx.Linear(
            shape.width, classes, kernel_init=nnx.initializers.normal(0.02), rngs=rngs
        )

    def __call__(self, images: Array, key: PRNGKeyArray | None = None) -> Float[Array, "b k"]:
        return self.head(jnp.mean(self.encoder(images, key), axis=1).astype(jnp.float32))
