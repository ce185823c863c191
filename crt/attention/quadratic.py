"""The same attention by its definition: every pair's estimate on its own, O(T·S·M)."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from crt.attention.blocks import keep, repeat, take
from crt.attention.features import Map, dtype_of
from crt.attention.segments import same
from crt.attention.state import finite


def _log_pairs(features: Map, q: Array, k: Array) -> tuple[Array, Array]:
    """log|Σ_m f(q_t)·f(k_j)| up to a constant in each row t, and its sign, (B, N, T, S) each."""
    log_q, factor_q = features.query(q)
    log_k, factor_k = features.key(k)
    if factor_k is not None:
        sums = jnp.einsum("bntm,bnsm->bnts", factor_q, factor_k, precision=lax.Precision.HIGHEST)
        none = sums == 0
        logs = jnp.log(jnp.where(none, 1, jnp.abs(sums))) + jnp.swapaxes(log_k, -1, -2)
        return jnp.where(none, -jnp.inf, logs), jnp.sign(sums)

    @jax.checkpoint
    def row(each: Array) -> Array:
        return jax.nn.logsumexp(each[:, :, None, :] + log_k, axis=-1)

    logs = jnp.moveaxis(lax.map(row, jnp.moveaxis(log_q, 2, 0)), 0, 2)
    return logs, jnp.ones_like(logs)


@partial(jax.jit, static_argnames=("is_causal",))
def rows(
    features: Map,
    q: Array,
    k: Array,
    mask: Array | None,
    segments: Array | None,
    is_causal: bool,
) -> Array:
    """Attention rows (B, N, T, S) of queries (B, T, N, H) on keys (B, S, K, H)."""
    dtype, heads = dtype_of(features), q.shape[2]
    q_rows = take(q, 0, q.shape[1], dtype)
    k_rows = keep(repeat(take(k, 0, k.shape[1], dtype), heads), mask)
    logs, sign = _log_pairs(features, q_rows, k_rows)
    seen = jnp.ones(logs.shape[-2:], bool)
    seen = jnp.tril(seen) if is_causal else seen
    if mask is not None:
        seen = seen & mask[:, None, None, :]
    if segments is not None:
        seen = seen & same(segments)[:, None]
    logs = jnp.where(seen, logs, -jnp.inf)
    top = finite(lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True)))
    weights = sign * jnp.exp(logs - top)
    total = jnp.sum(weights, axis=-1, keepdims=True)
    return jnp.where(total == 0, 0, weights / jnp.where(total == 0, 1, total))
