"""Error of linear attention against exact softmax, at equal M (FAVOR has two features for each).

Gaussian queries and keys of several sizes and dimensions, and those of MiniLM on WikiText-2. Beside
the mechanisms stands the uniform average of the values, which looks at no query at all.
"""

import functools
import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import crt
from experiments.pretrained import minilm, wikitext

METHODS = {"FAVOR": "trig", "FAVOR+": "pos", "FAVOR++": "oprf"}
UNIFORM = "uniform"


@functools.partial(jax.jit, static_argnames="features")
def _head_errors(q: Array, k: Array, v: Array, mask: Array, key: Array, features: int) -> Array:
    """‖out - exact‖/‖exact‖ of every head (methods and uniform, N), one draw of ω."""
    shown = mask[:, :, None, None]
    exact = jax.nn.dot_product_attention(q, k, v, mask=mask[:, None, None, :])
    found = []
    for name in METHODS.values():
        attend = crt.FavorAttention(features, name)
        omega = attend.sample(key, q.shape[-1], q.shape[2])
        found.append(attend(q, k, v, omega, mask))
    mean = jnp.sum(v, axis=1, keepdims=True, where=shown)
    count = jnp.sum(shown, axis=1, keepdims=True, dtype=v.dtype)
    found.append(jnp.broadcast_to(mean / count, v.shape))
    size = jnp.sum(exact**2, axis=(0, 1, 3), where=shown)
    apart = jnp.stack([jnp.sum((x - exact) ** 2, axis=(0, 1, 3), where=shown) for x in found])
    return jnp.sqrt(apart / size)


def head_errors(
    q: Array, k: Array, v: Array, mask: Array, features: int, seeds: int
) -> dict[str, list[float]]:
    """The median over draws of ω, for every method and head."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "trigonometric features", UserWarning)
        draws = [
            np.asarray(_head_errors(q, k, v, mask, jax.random.key(seed), features))
            for seed in range(seeds)
        ]
    middle = np.median(draws, axis=0)
    return {name: row.tolist() for name, row in zip((*METHODS, UNIFORM), middle, strict=True)}


def gaussian(config: Mapping[str, Any]) -> dict[str, float]:
    """Standard normal q, k times σ, and v: one head, median over draws of everything."""
    shape = (1, config["tokens"], config["seeds"], config["dim"])
    rng = np.random.default_rng([config["dim"], config["features"]])
    q, k, v = (jnp.asarray(rng.standard_normal(shape, dtype=np.float32)) for _ in range(3))
    mask = jnp.ones(shape[:2], bool)
    sigma = config["sigma"]
    # One head for each draw, with its own ω.
    found = head_errors(sigma * q, sigma * k, v, mask, config["features"], 1)
    return {name: float(np.median(errors)) for name, errors in found.items()}


@functools.cache
def _captured(paragraphs: int, tokens: int) -> tuple[list[tuple[Array, Array, Array]], Array]:
    """q, k, v of every layer of MiniLM on paragraphs that fill the length, and the mask."""
    texts = wikitext.paragraphs(paragraphs, tokens)
    ids, mask = minilm.tokenize(texts, tokens)
    seen: list[tuple[Array, Array, Array]] = []

    def attend(layer: int, q: Array, k: Array, v: Array, mask: Array) -> Array:
        seen.append((q, k, v))
        return minilm.softmax(layer, q, k, v, mask)

    minilm.encode(minilm.load(), jnp.asarray(ids), jnp.asarray(mask), attend)
    return seen, jnp.asarray(mask)


def pretrained(config: Mapping[str, Any]) -> dict[str, Any]:
    """Every head of one layer of MiniLM, and how large its queries and keys are."""
    layers, mask = _captured(config["paragraphs"], config["tokens"])
    q, k, v = layers[config["layer"]]
    found: dict[str, Any] = dict(head_errors(q, k, v, mask, config["features"], config["seeds"]))
    # Root mean square of scale·‖q‖·‖k‖, the size of the logits.
    sizes = [jnp.sqrt(jnp.mean(x**2, axis=(0, 1, 3))) for x in (q, k)]
    return found | {"logit_scale": (sizes[0] * sizes[1] * q.shape[-1] ** 0.5).tolist()}
