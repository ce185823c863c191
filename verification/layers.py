"""Attention in Flax layers against the definition: masks of every kind, and converted models.

The arrays that reach the attention function are known, or are projected by the layers themselves,
so that every number has one value.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import crt
from crt.integrations.flax import Conversion, attention_layers, convert, favor_attention_fn
from verification import attention_definition as definition
from verification.attention import (
    BATCH,
    DIM,
    FEATURES,
    HEADS,
    LIMIT,
    QUERIES,
    Shape,
    apart,
    printed_rho,
    roundings,
)
from verification.attention_definition import Given
from verification.checks import Check, Outcome, Setting
from verification.comparison import Row, outcome
from verification.faults import planted

WIDTH, LAYERS = HEADS * DIM, 2
SCALE = DIM**-0.5
"""What a layer applies."""


def _given(rng: np.random.Generator, is_causal: bool = False) -> Given:
    return replace(Shape(QUERIES, QUERIES, is_causal).draw("oprf", rng), scale=SCALE)


def _called(given: Given, mask: np.ndarray, **promise: bool) -> jax.Array:
    attend = crt.FavorAttention(FEATURES)
    made = favor_attention_fn(attend, given.omega, given.rho, **promise)
    return made(*given.arrays.values(), mask, is_causal=given.is_causal)


def by_heads(rng: np.random.Generator) -> Row:
    """Keys that count for each head on its own: heads of the definition, one after the other."""
    given = _given(rng)
    mask = rng.random((BATCH, HEADS, QUERIES)) < 0.67
    k, v = given.per_query_head(given.k), given.per_query_head(given.v)
    parts = [
        definition.attend(
            replace(
                given,
                q=given.q[:, :, [n]],
                k=k[:, :, [n]],
                v=v[:, :, [n]],
                omega=given.omega[[n]],
                rho=given.rho[:, [n]],
                mask=mask[:, n],
            )
        )
        for n in range(HEADS)
    ]
    found = _called(given, mask[:, :, None])
    return apart("masks of heads", found, np.concatenate(parts, axis=2), roundings(given))


def masks(rng: np.random.Generator) -> list[Row]:
    """A mask of keys, the same with a row for each query, under causality, and with more axes."""
    given, causal = _given(rng), _given(rng, is_causal=True)
    keys = given.mask[:, None, None]
    rows = np.broadcast_to(keys, (BATCH, 1, QUERIES, QUERIES)).copy()
    # A key counts that any query sees.
    rows[:, :, 1:] &= rng.random(rows[:, :, 1:].shape) < 0.5
    apart_axes = replace(given, **{name: each[:, None] for name, each in given.arrays.items()})
    exact, limit = definition.attend(given), roundings(given)
    return [
        apart("a mask of keys", _called(given, keys), exact, limit),
        apart("a row for each query", _called(given, rows, padding_mask=True), exact, limit),
        apart("more axes", _called(apart_axes, keys[:, None])[:, 0], exact, limit),
        apart(
            "causal",
            _called(causal, causal.mask[:, None, None]),
            definition.attend(causal),
            roundings(causal),
        ),
        by_heads(rng),
    ]


class Model(nnx.Module):
    """Layers of attention, one after the other."""

    def __init__(self, seed: int):
        rngs = nnx.Rngs(seed)
        wide: dict[str, Any] = {"dtype": jnp.float64, "param_dtype": jnp.float64, "rngs": rngs}
        self.layers = nnx.List(
            [nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, **wide) for _ in range(LAYERS)]
        )

    def __call__(self, x: Any, mask: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x, mask=mask)
        return x


def _fitted(layer: nnx.MultiHeadAttention, x: Any, mask: np.ndarray) -> np.ndarray:
    """ρ* at the mean of scale·‖q_i + k_j‖² over all pairs that count, (N,)."""
    q, k = (np.asarray(each(x))[mask] for each in (layer.query, layer.key))
    return printed_rho(SCALE * np.mean(np.sum((q[:, None] + k[None]) ** 2, axis=-1), axis=(0, 1)))


def _projections(attend: crt.FavorAttention, key: jax.Array, layer: int) -> np.ndarray:
    """Those of each head (N, M, H), from a key for step 0, the layer and the head."""
    place = jax.random.fold_in(jax.random.fold_in(key, 0), layer)
    keys = [jax.random.fold_in(place, head) for head in range(HEADS)]
    return np.stack([np.asarray(attend.sample(each, DIM)) for each in keys])


def converted(rng: np.random.Generator) -> list[Row]:
    """ρ of each layer from one example, and outputs on another, with projections of its own."""
    seed = int(rng.integers(2**31))
    model, attend, key = Model(seed), crt.FavorAttention(FEATURES), jax.random.key(seed)
    example, x = rng.normal(size=(2, BATCH, QUERIES, WIDTH))
    mask = rng.random((BATCH, QUERIES)) < 0.67
    mask[:, 0] = True
    keys = jnp.asarray(mask[:, None, None])
    done: Conversion = convert(model, attend, key, run=lambda model: model(example, keys))
    rows, seen, given = [], jnp.asarray(example), jnp.asarray(x)
    for number, (path, layer) in enumerate(attention_layers(model).items()):
        omega = _projections(attend, key, number)
        rho = np.asarray(done.rho[path])
        rows.append(apart(f"ρ of layer {number}", rho, _fitted(layer, seen, mask), LIMIT))
        q, k, v = (np.asarray(each(given)) for each in (layer.query, layer.key, layer.value))
        exact = definition.attend(Given("oprf", q, k, v, omega, rho[None], mask, False, SCALE))
        new = attention_layers(done.model)[path](given, mask=keys)
        rows.append(apart(f"output of layer {number}", new, layer.out(jnp.asarray(exact)), LIMIT))
        seen, given = seen + layer(seen, mask=keys), given + new
    rows.append(apart("the model", done.model(x, keys), given, LIMIT))
    return rows


def flax(setting: Setting) -> Outcome:
    """All of it."""
    rng = np.random.default_rng(setting.seed)
    with jax.enable_x64(True):
        rows = [*masks(rng), *converted(rng)]
    return outcome(rows, "attention of Flax layers against the definition")


def checks() -> list[Check]:
    """The one check of this module."""
    return [
        Check(
            "interface-flax",
            ("interface",),
            "certificate",
            "attention of Flax layers, masked and converted, is that of the definition",
            flax,
            planted(flax, "flax-one-mask", "flax-one-draw", "flax-lost-rho", "flax-lost-mask"),
            quick=False,
        )
    ]
