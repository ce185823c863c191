"""Masked autoencoder: three of four patches are hidden, and a small decoder paints them."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from experiments.vision.vit import Block, Encoder, Shape, patches, positions, run_blocks


@dataclass(frozen=True, kw_only=True)
class Painting:
    """The decoder, and the share of patches that are hidden."""

    width: int
    depth: int
    heads: int
    hidden: float = 0.75


class MAE(nnx.Module):
    """Encoder of what is seen, decoder of everything: images ↦ the loss of each image."""

    def __init__(self, shape: Shape, painting: Painting, rngs: nnx.Rngs):
        self.encoder = Encoder(shape, 0.0, rngs)
        self.seen = shape.tokens - int(painting.hidden * shape.tokens)
        small = replace(shape, width=painting.width, heads=painting.heads, depth=painting.depth)
        dtype = jnp.dtype(shape.dtype)
        self.narrow = nnx.Linear(shape.width, small.width, dtype=dtype, rngs=rngs)
        self.blank = nnx.Param(0.02 * jax.random.normal(rngs.params(), (small.width,)))
        key = rngs.projections()
        self.blocks = nnx.List([Block(small, n, 0.0, key, rngs) for n in range(small.depth)])
        self.norm = nnx.LayerNorm(small.width, dtype=dtype, rngs=rngs)
        self.paint = nnx.Linear(small.width, shape.pixels, dtype=dtype, rngs=rngs)

    def __call__(self, images: Float[Array, "b s s c"], key: PRNGKeyArray) -> Float[Array, " b"]:
        """Mean squared error over the hidden patches, each scaled to mean 0 and variance 1."""
        shape = self.encoder.shape
        scores = jax.random.uniform(key, (len(images), shape.tokens))
        order = jnp.argsort(scores, axis=1)
        painted = self.decode(self.encoder(images, key, order[:, : self.seen]), order, key)
        wanted = jax.nn.standardize(patches(shape, images), axis=-1, epsilon=1e-6)
        error = jnp.mean((painted.astype(jnp.float32) - wanted) ** 2, axis=-1)
        hidden = jnp.argsort(order, axis=1) >= self.seen
        return jnp.sum(error, axis=1, where=hidden) / (shape.tokens - self.seen)

    def decode(
        self, seen: Float[Array, "b v e"], order: Float[Array, "b l"], key: PRNGKeyArray
    ) -> Float[Array, "b l p"]:
        """Pixels of every patch; `order` says where the patches that were seen stand."""
        x = self.narrow(seen)
        count, tokens = order.shape
        blank = self.blank[...].astype(x.dtype)
        blanks = jnp.broadcast_to(blank, (count, tokens - self.seen, len(blank)))
        x = jnp.concatenate([x, blanks], axis=1)
        x = jnp.take_along_axis(x, jnp.argsort(order, axis=1)[..., None], axis=1)
        x = x + jnp.asarray(positions(tokens, len(blank)), x.dtype)
        return self.paint(self.norm(run_blocks(self.blocks, x, key, self.encoder.shape.remat)))
