"""MiniLM as a Flax model: `flax.nnx.MultiHeadAttention` in its layers, so that it can be converted.

It computes what `minilm.embed` computes from the same weights.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from experiments.pretrained.minilm import HEADS, LAYER_NORM_EPSILON, Weights, layers

KINDS = ("word", "position", "token_type")


class Layer(nnx.Module):
    """Attention and a feed-forward part, each added to its input and normalised."""

    def __init__(self, width: int, inner: int, heads: int, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.attention_norm = nnx.LayerNorm(width, epsilon=LAYER_NORM_EPSILON, rngs=rngs)
        self.inner = nnx.Linear(width, inner, rngs=rngs)
        self.outer = nnx.Linear(inner, width, rngs=rngs)
        self.norm = nnx.LayerNorm(width, epsilon=LAYER_NORM_EPSILON, rngs=rngs)

    def __call__(self, x: Float[Array, "b l e"], mask: Bool[Array, "b l"]) -> Array:
        x = self.attention_norm(x + self.attention(x, mask=mask[:, None, None, :]))
        return self.norm(x + self.outer(jax.nn.gelu(self.inner(x), approximate=False)))


class Bert(nnx.Module):
    """Token embeddings, layers, and a sentence embedding: the mean of its tokens, of length 1."""

    def __init__(
        self,
        words: int,
        positions: int,
        width: int,
        inner: int,
        heads: int,
        depth: int,
        rngs: nnx.Rngs,
    ):
        self.words = nnx.Embed(words, width, rngs=rngs)
        self.positions = nnx.Embed(positions, width, rngs=rngs)
        self.norm = nnx.LayerNorm(width, epsilon=LAYER_NORM_EPSILON, rngs=rngs)
        self.layers = nnx.List([Layer(width, inner, heads, rngs) for _ in range(depth)])

    def __call__(self, ids: Int[Array, "b l"], mask: Bool[Array, "b l"]) -> Float[Array, "b e"]:
        x = self.norm(self.words(ids) + self.positions(jnp.arange(ids.shape[1])))
        for layer in self.layers:
            x = layer(x, mask)
        total = jnp.sum(x, axis=1, where=mask[..., None])
        return total / jnp.linalg.norm(total, axis=-1, keepdims=True)


def load(weights: Weights, heads: int = HEADS) -> Bert:
    """The model with the published weights."""
    word, position, kind = (weights[f"embeddings.{name}_embeddings.weight"] for name in KINDS)
    width, inner = word.shape[1], weights["encoder.layer.0.intermediate.dense.bias"].shape[0]
    model = nnx.eval_shape(
        lambda: Bert(len(word), len(position), width, inner, heads, layers(weights), nnx.Rngs(0))
    )
    state = nnx.state(model)
    # Sentences stand alone here: every token is of the first type.
    values = {"words/embedding": word + kind[0], "positions/embedding": position}
    values |= _norm(weights, "embeddings", "norm")
    for number in range(layers(weights)):
        values |= _layer(weights, f"encoder.layer.{number}", f"layers/{number}", heads)
    for path, variable in nnx.to_flat_state(state):
        variable.set_value(values["/".join(map(str, path))])
    nnx.update(model, state)
    return model


def _norm(weights: Weights, name: str, path: str) -> dict[str, Array]:
    return {
        f"{path}/scale": weights[f"{name}.LayerNorm.weight"],
        f"{path}/bias": weights[f"{name}.LayerNorm.bias"],
    }


def _linear(weights: Weights, name: str, path: str) -> dict[str, Array]:
    """A linear map; PyTorch keeps its matrix transposed."""
    return {
        f"{path}/kernel": weights[f"{name}.weight"].T,
        f"{path}/bias": weights[f"{name}.bias"],
    }


def _layer(weights: Weights, name: str, path: str, heads: int) -> dict[str, Array]:
    found = _norm(weights, f"{name}.attention.output", f"{path}/attention_norm")
    found |= _norm(weights, f"{name}.output", f"{path}/norm")
    found |= _linear(weights, f"{name}.intermediate.dense", f"{path}/inner")
    found |= _linear(weights, f"{name}.output.dense", f"{path}/outer")
    for part in ("query", "key", "value"):
        both = _linear(weights, f"{name}.attention.self.{part}", part)
        width = both[f"{part}/kernel"].shape[0]
        found[f"{path}/attention/{part}/kernel"] = both[f"{part}/kernel"].reshape(width, heads, -1)
        found[f"{path}/attention/{part}/bias"] = both[f"{part}/bias"].reshape(heads, -1)
    out = _linear(weights, f"{name}.attention.output.dense", "out")
    width = out["out/bias"].shape[0]
    found[f"{path}/attention/out/kernel"] = out["out/kernel"].reshape(heads, -1, width)
    found[f"{path}/attention/out/bias"] = out["out/bias"]
    return found
