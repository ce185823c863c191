"""Attention by its name, as the `attention_fn` of `flax.nnx.MultiHeadAttention`."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import PRNGKeyArray

import crt
from crt.integrations.flax import favor_attention_fn

MECHANISMS = {"softmax": None, "favor+": "pos", "favor++": "oprf", "relu": "relu", "elu": "elu"}
"""Name → mechanism of `crt.FavorAttention`; exact softmax has none."""
ESTIMATES = ("favor+", "favor++")
"""Those that estimate softmax."""
TITLES = {"softmax": "softmax", "favor+": "FAVOR+", "favor++": "FAVOR++", "relu": "ReLU",
          "elu": "ELU"}  # fmt: skip


def attend(name: str, features: int, block: int | None = None) -> crt.FavorAttention:
    """The linear attention of a name."""
    mechanism = MECHANISMS[name]
    if mechanism is None:
        raise ValueError("softmax is exact, so it has no features.")
    return crt.FavorAttention(features, mechanism, block_size=block)


class Projections(nnx.Variable):
    """Random projections: kept with a model, never learned."""


class Favor(nnx.Module):
    """Linear attention of one layer, with projections of its own for each head.

    They are those that `crt.integrations.flax.convert` draws for this layer from the same key. ρ
    of FAVOR++ is fitted to each image and head in every call.
    """

    def __init__(
        self, settings: crt.FavorAttention, key: PRNGKeyArray, layer: int, heads: int, dim: int
    ):
        self.settings = settings
        drawn = settings.redraw(key, dim, step=0, layer=layer, head=jnp.arange(heads))
        self.omega = None if drawn is None else Projections(drawn)

    def __call__(self, query: Array, key: Array, value: Array, **rest: Any) -> Array:
        omega = None if self.omega is None else self.omega[...]
        return favor_attention_fn(self.settings, omega)(query, key, value, **rest)


def chosen(
    name: str,
    features: int,
    key: PRNGKeyArray,
    layer: int,
    heads: int,
    dim: int,
    block: int | None = None,
) -> Callable[..., Array]:
    """The attention function of one layer."""
    if MECHANISMS[name] is None:
        return nnx.dot_product_attention
    return Favor(attend(name, features, block), key, layer, heads, dim)
