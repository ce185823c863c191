"""Attention of every query to every key in O((T+S)·M·(H+V)), a block of features at a time.

`summarise` turns keys and values into a state, `read` answers queries from it. Each has its own
backward pass, which recomputes the features of a block: nothing of size L×M is ever kept, and a
reduction over devices can stand between them. Maxima are constants of the result and have no
gradient.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from crt.attention.blocks import (
    from_bits,
    gather,
    hide,
    keep,
    once,
    put,
    repeat,
    slice_mask,
    sweep,
    take,
    to_bits,
)
from crt.attention.features import Map, dtype_of, with_ones
from crt.attention.state import State, divide, empty, finite

matmul = partial(jnp.einsum, precision=lax.Precision.HIGHEST)


def weigh(log: Array, factor: Array | None) -> Array:
    """exp(log), times the factor of signed features."""
    return jnp.exp(log) if factor is None else jnp.exp(log) * factor


def absorb(features: Map, state: State, k: Array, v: Array, mask: Array | None) -> State:
    """The state with a block of keys and values (B, N, C, ·) added: running maxima."""
    # Features first: the maximum runs along rows, and the product with v needs no transpose.
    log, factor = features.key(keep(k, mask), transposed=True)
    log = hide(log, mask, transposed=True)
    top = jnp.maximum(state.log_scale, lax.stop_gradient(jnp.max(log, axis=-1)))
    columns = weigh(log - finite(top)[..., None], factor)
    part = matmul("bnmc,bnck->bnmk", columns, with_ones(keep(v, mask)))
    return State(top, state.rescaled(top) + part)


def contribute(features: Map, k: Array, v: Array, mask: Array | None, log_scale: Array) -> Array:
    """The share of a block of keys and values in the sums of a state with these log scales."""
    log, factor = features.key(keep(k, mask))
    columns = weigh(hide(log, mask) - finite(log_scale)[..., None, :], factor)
    return matmul("bncm,bnck->bnmk", columns, with_ones(keep(v, mask)))


def answer(features: Map, q: Array, state: State) -> Array:
    """Outputs (B, N, C, V) of a block of queries (B, N, C, H)."""
    log, factor = features.query(q, finite(state.log_scale))
    top = lax.stop_gradient(jnp.max(log, axis=-1, keepdims=True))
    return divide(matmul("bncm,bnmk->bnck", weigh(log - top, factor), state.sums))


def _summarise(
    features: Map, k: Array, v: Array, mask: Array | None, heads: int, block: int
) -> State:
    """The state of all keys (B, S, K, H) and values (B, S, K, V), K a divisor of `heads`."""
    dtype = dtype_of(features)

    def step(state: State, start: Array | int, size: int) -> State:
        k_rows, v_rows = (repeat(take(x, start, size, dtype), heads) for x in (k, v))
        return absorb(features, state, k_rows, v_rows, slice_mask(mask, start, size))

    batch, columns = k.shape[0], v.shape[-1] + 1
    none = empty(batch, heads, features.scales, features.width, columns, dtype)
    return sweep(step, none, k.shape[1], block)


def _summarise_forward(features, k, v, mask, heads, block):
    state = _summarise(features, k, v, mask, heads, block)
    return state, (features, k, v, mask, state.log_scale)


def _summarise_backward(heads, block, saved, change):
    features, k, v, mask, log_scale = saved
    k, v = map(once, (k, v))
    dtype = dtype_of(features)

    def step(carry: tuple, start: Array | int, size: int) -> tuple:
        total, k_out, v_out = carry
        rows = [repeat(take(x, start, size, dtype), heads) for x in (k, v)]
        part = slice_mask(mask, start, size)
        _, pull = jax.vjp(lambda f, a, b: contribute(f, a, b, part, log_scale), features, *rows)
        own, k_rows, v_rows = pull(change.sums)
        total = jax.tree.map(jnp.add, total, own)
        k_out = put(k_out, start, gather(k_rows, k.shape[2]))
        return total, k_out, put(v_out, start, gather(v_rows, v.shape[2]))

    zeros = jax.tree.map(jnp.zeros_like, features), *(to_bits(jnp.zeros_like(x)) for x in (k, v))
    total, *outs = sweep(step, zeros, k.shape[1], block)
    return total, *map(from_bits, outs), None


summarise = jax.custom_vjp(_summarise, nondiff_argnums=(4, 5))
summarise.defvjp(_summarise_forward, _summarise_backward)


def _read(features: Map, q: Array, state: State, block: int) -> Array:
    """Outputs (B, T, N, V) of all queries (B, T, N, H), in their dtype."""
    dtype = dtype_of(features)

    def step(out: Array, start: Array | int, size: int) -> Array:
        return put(out, start, answer(features, take(q, start, size, dtype), state))

    shape = (*q.shape[:-1], state.sums.shape[-1] - 1)
    return from_bits(sweep(step, to_bits(jnp.zeros(shape, q.dtype)), q.shape[1], block))


def _read_forward(features, q, state, block):
    return _read(features, q, state, block), (features, q, state)


def _read_backward(block, saved, change):
    features, q, state = saved
    q = once(q)
    dtype = dtype_of(features)

    def step(carry: tuple, start: Array | int, size: int) -> tuple:
        total, q_out = carry
        _, pull = jax.vjp(
            lambda f, a, sums: answer(f, a, State(state.log_scale, sums)),
            features,
            take(q, start, size, dtype),
            state.sums,
        )
        own, q_rows, sums = pull(take(change, start, size, dtype))
        return jax.tree.map(jnp.add, total, (own, sums)), put(q_out, start, q_rows)

    zeros = jax.tree.map(jnp.zeros_like, (features, state.sums)), to_bits(jnp.zeros_like(q))
    (features_out, sums), q_out = sweep(step, zeros, q.shape[1], block)
    return features_out, from_bits(q_out), State(jnp.zeros_like(state.log_scale), sums)


read = jax.custom_vjp(_read, nondiff_argnums=(3,))
read.defvjp(_read_forward, _read_backward)
