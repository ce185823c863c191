"""FAVOR++ as the attention of Flax layers: masks, causality, decoding, and converted models."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax import Array

import crt
from crt.integrations.flax import attention_layers, convert, favor_attention_fn
from tests.crt.attention.setups import FLOAT32, error
from tests.crt.refusals import refuses

# Flax relies on the usual promotion of dtypes.
pytestmark = pytest.mark.usefixtures("usual_promotion")

BATCH, LENGTH, HEADS, WIDTH = 2, 10, 2, 8
ATTEND = crt.FavorAttention(16)
OMEGA = ATTEND.sample(jax.random.key(0), WIDTH // HEADS)
X = jnp.asarray(np.random.default_rng(0).normal(size=(BATCH, LENGTH, WIDTH)), jnp.float32)
SHOWN = jnp.arange(LENGTH) < jnp.array([[6], [10]])
RHO = jnp.array([0.4, 0.7])
OWN_OMEGA = ATTEND.sample(jax.random.key(4), WIDTH // HEADS, HEADS)
HEADS_APART = jnp.broadcast_to(
    jnp.eye(HEADS, LENGTH, dtype=bool)[:, None], (BATCH, HEADS, 1, LENGTH)
)


@pytest.fixture
def usual_promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def layer(attention_fn: Any, **given: Any) -> nnx.MultiHeadAttention:
    return nnx.MultiHeadAttention(
        HEADS, WIDTH, attention_fn=attention_fn, decode=False, rngs=nnx.Rngs(1), **given
    )


def projected(of: nnx.MultiHeadAttention) -> tuple[Array, Array, Array]:
    return of.query(X), of.key(X), of.value(X)


def test_a_layer_applies_the_call() -> None:
    made = layer(favor_attention_fn(ATTEND, OMEGA))
    mask = SHOWN[:, None, None, :]
    expected = made.out(ATTEND(*projected(made), OMEGA, SHOWN))
    assert error(made(X, mask=mask), expected) <= FLOAT32
    assert error(made(X), made.out(ATTEND(*projected(made), OMEGA))) <= FLOAT32
    each_head = jnp.broadcast_to(mask, (BATCH, HEADS, 1, LENGTH))
    assert error(made(X, mask=each_head), expected) <= FLOAT32


def test_heads_may_have_masks_of_their_own() -> None:
    """Head 0 sees the first half and head 1 the second, each with ρ and projections of its own."""
    made = layer(favor_attention_fn(ATTEND, OWN_OMEGA, RHO))
    halves = jnp.stack([jnp.arange(LENGTH) < 5, jnp.arange(LENGTH) >= 5])
    mask = jnp.broadcast_to(halves[:, None], (BATCH, HEADS, 1, LENGTH))
    q, k, v = projected(made)
    assert OWN_OMEGA is not None
    parts = [
        ATTEND(q[:, :, [n]], k[:, :, [n]], v[:, :, [n]], OWN_OMEGA[n], mask[:, n, 0], rho=RHO[n])
        for n in range(HEADS)
    ]
    expected = made.out(jnp.concatenate(parts, axis=2))
    assert error(made(X, mask=mask), expected) <= FLOAT32
    assert error(jax.jit(lambda x: made(x, mask=mask))(X), expected) <= FLOAT32
    promised = layer(favor_attention_fn(ATTEND, OWN_OMEGA, RHO, padding_mask=True))
    rows = jnp.broadcast_to(mask, (BATCH, HEADS, LENGTH, LENGTH))
    assert error(promised(X, mask=rows), expected) <= FLOAT32
    assert error(made(X), expected) > 0.01


@pytest.mark.parametrize("name", ["oprf", "elu"])
def test_masks_of_heads_go_with_grouped_keys_and_a_fit(name: str) -> None:
    attend = crt.FavorAttention(16, name)
    q, k, v = (jax.random.normal(jax.random.key(n), (2, 6, n, 4)) for n in (4, 2, 2))
    mask = jnp.asarray(np.random.default_rng(2).random((2, 4, 1, 6)) < 0.6).at[..., 0].set(True)
    omega = attend.sample(jax.random.key(0), 4)
    out = favor_attention_fn(attend, omega)(q, k, v, mask)
    for n in range(4):
        group = slice(n // 2, n // 2 + 1)
        rows = q[:, :, n : n + 1], k[:, :, group], v[:, :, group]
        assert error(out[:, :, n : n + 1], attend(*rows, omega, mask[:, n, 0])) <= FLOAT32


def test_a_single_query_may_pool_all_keys() -> None:
    """Without a mask, or with one of pads, it is no token of a sequence that goes on."""
    made = layer(favor_attention_fn(ATTEND, OMEGA, padding_mask=True))
    q, k, v = made.query(X[:, :1]), made.key(X), made.value(X)
    pooled = made(X[:, :1], X, X)
    assert error(pooled, made.out(ATTEND(q, k, v, OMEGA))) <= FLOAT32
    assert error(layer(PLAIN)(X[:, :1], X, X), pooled) <= FLOAT32
    masked = made(X[:, :1], X, X, mask=SHOWN[:, None, None])
    assert error(masked, made.out(ATTEND(q, k, v, OMEGA, SHOWN))) <= FLOAT32


def test_padding_masks_are_reduced_on_a_promise() -> None:
    mask = nnx.make_attention_mask(SHOWN, SHOWN)
    made = layer(favor_attention_fn(ATTEND, OMEGA, padding_mask=True))
    expected = made.out(ATTEND(*projected(made), OMEGA, SHOWN))
    assert error(made(X, mask=mask), expected) <= FLOAT32


def test_decoding_equals_the_causal_layer() -> None:
    made = layer(favor_attention_fn(ATTEND, OMEGA, RHO))
    whole = made(X, is_causal=True)
    assert error(whole, made.out(ATTEND(*projected(made), OMEGA, None, True, RHO))) <= FLOAT32
    made.init_cache(X.shape)
    tokens = [made(X[:, t : t + 1], decode=True) for t in range(3)]
    assert error(jnp.concatenate(tokens, axis=1), whole[:, :3]) <= FLOAT32


class Block(nnx.Module):
    """A residual layer of attention."""

    def __init__(self, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)

    def __call__(self, x: Array, mask: Array | None, is_causal: bool) -> Array:
        return x + self.attention(x, mask=mask, is_causal=is_causal)


class Model(nnx.Module):
    """Two of them."""

    def __init__(self, rngs: nnx.Rngs):
        self.blocks = nnx.List([Block(rngs), Block(rngs)])

    def __call__(self, x: Array, mask: Array | None, is_causal: bool = False) -> Array:
        for block in self.blocks:
            x = block(x, mask, is_causal)
        return x


def test_a_model_is_converted_with_its_weights_untouched() -> None:
    model, mask = Model(nnx.Rngs(2)), SHOWN[:, None, None, :]
    exact = model(X, mask)
    done = convert(model, ATTEND, jax.random.key(3), run=lambda each: each(X, mask))
    paths = list(attention_layers(model))
    assert paths == ["blocks/0/attention", "blocks/1/attention"]
    assert list(done.rho) == list(done.reports) == paths
    np.testing.assert_array_equal(model(X, mask), exact)
    for one, other in zip(
        jax.tree.leaves(nnx.state(model)), jax.tree.leaves(nnx.state(done.model)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    # ρ of the first layer is that of its queries and keys, over all batch elements.
    first = model.blocks[0].attention
    q, k, _ = projected(first)
    assert error(done.rho[paths[0]], ATTEND.calibrate(q, k, SHOWN)) <= FLOAT32
    assert done.reports[paths[0]].output_observed is not None
    out = done.model(X, mask)
    assert 0 < error(out, exact) < 1
    # More features come closer, without any training.
    many = convert(model, crt.FavorAttention(4096), jax.random.key(3), run=lambda m: m(X, mask))
    assert error(many.model(X, mask), exact) < error(out, exact)


def test_causal_layers_get_causal_reports() -> None:
    model = Model(nnx.Rngs(2))
    done = convert(model, ATTEND, jax.random.key(3), run=lambda each: each(X, None, True))
    path = "blocks/0/attention"
    q, k, v = projected(model.blocks[0].attention)
    omega = ATTEND.redraw(
        jax.random.key(3), WIDTH // HEADS, step=0, layer=0, head=jnp.arange(HEADS)
    )
    exact = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    out = ATTEND(q, k, v, omega, is_causal=True, rho=done.rho[path])
    observed = done.reports[path].output_observed
    assert observed is not None
    for n in range(HEADS):
        assert abs(observed[n] / error(out[:, :, n], exact[:, :, n]) - 1) <= 1e-4


def test_without_example_data_rho_is_fitted_in_each_call() -> None:
    model, mask = Model(nnx.Rngs(2)), SHOWN[:, None, None, :]
    done = convert(model, ATTEND, jax.random.key(3))
    assert not done.rho and not done.reports
    assert jnp.isfinite(done.model(X, mask)).all()


PLAIN = favor_attention_fn(ATTEND, OMEGA)
CAUSAL = nnx.make_causal_mask(jnp.ones((BATCH, LENGTH)))
REFUSED = {
    "is_causal=True.*padding_mask=True": lambda: layer(PLAIN)(X, mask=CAUSAL),
    "mask has shape": lambda: layer(PLAIN)(X, mask=jnp.ones((BATCH, 3, 1, LENGTH), bool)),
    "dropout_rate is 0.5": lambda: layer(PLAIN, dropout_rate=0.5, deterministic=False)(X),
    "rho is None with is_causal=True": lambda: layer(PLAIN)(X, is_causal=True),
    "as in decoding.*calibrate": lambda: _decode(layer(PLAIN)),
    "attend is a str; it must be a FavorAttention": lambda: favor_attention_fn("oprf", OMEGA),  # pyright: ignore
    "attend is a int": lambda: convert(Model(nnx.Rngs(2)), 64, jax.random.key(0)),  # pyright: ignore
    "'blocks/0/attention' with a mask that differs": lambda: convert(
        Model(nnx.Rngs(2)), ATTEND, jax.random.key(0), run=lambda m: m(X, HEADS_APART)
    ),
    "rho is 1.5": lambda: layer(favor_attention_fn(ATTEND, OMEGA, 1.5))(X, mask=HEADS_APART),
    "sow_weights is True": lambda: layer(PLAIN)(X, sow_weights=True),
    "without any flax.nnx.MultiHeadAttention": lambda: convert(
        nnx.Linear(2, 2, rngs=nnx.Rngs(0)), ATTEND, jax.random.key(0)
    ),
    "under jit": lambda: convert(
        Model(nnx.Rngs(2)), ATTEND, jax.random.key(0), run=nnx.jit(lambda m: m(X, None))
    ),
}


def _decode(made: nnx.MultiHeadAttention) -> Array:
    made.init_cache(X.shape)
    return made(X[:, :1], decode=True)


@pytest.mark.parametrize("sentence", REFUSED)
def test_refusals_are_one_sentence(sentence: str, unchecked) -> None:
    refuses(REFUSED[sentence], sentence)


def test_dropout_that_is_off_is_no_dropout() -> None:
    made = layer(PLAIN, dropout_rate=0.5, deterministic=True)
    assert jnp.isfinite(made(X)).all()
