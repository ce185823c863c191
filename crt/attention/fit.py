"""ρ of OPRF from queries and keys, for each head, in O((T+S)·d)."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from crt import parameters
from crt.arrays import common_dtype, promote
from crt.attention.blocks import cut, slice_mask, sweep
from crt.statistics import Moments, Statistics, moments

# Rows that are centred and squared at one time; they stay in cache between the two.
BLOCK = 1024


def _moments(x: Array, mask: Array | None, dtype) -> Moments:
    """Moments of x (B, L, N, H) over L, for each batch element and head, merged over blocks."""

    def part(start: Array | int, size: int) -> Moments:
        rows = cut(x, start, size).astype(dtype)
        shown = slice_mask(mask, start, size)
        shown = jnp.ones(rows.shape[:2], bool) if shown is None else shown
        return jax.vmap(jax.vmap(moments, (1, None)))(rows, shown)

    def step(total: Moments, start: Array | int, size: int) -> Moments:
        return jax.vmap(jax.vmap(Moments.merge))(total, part(start, size))

    return sweep(step, part(0, 0), x.shape[1], BLOCK)


@partial(jax.jit, static_argnames="axis_name")
def rho(
    q: Array,
    k: Array,
    q_mask: Array | None,
    k_mask: Array | None,
    scale: Array,
    axis_name: str | None = None,
) -> Array:
    """ρ* (B, N) at the mean of scale·‖q_i + k_j‖² over all pairs that count (thm-minvar).

    With grouped heads, each query head meets its own key head. Along a mapped axis the pairs are
    those of all devices.
    """
    (factor,) = promote(scale)
    dtype = common_dtype(factor, q, k)
    groups = q.shape[2] // k.shape[2]
    repeated = jax.tree.map(lambda x: jnp.repeat(x, groups, axis=1), _moments(k, k_mask, dtype))
    both = Statistics(_moments(q, q_mask, dtype), repeated)
    if axis_name is not None:
        both = jax.vmap(jax.vmap(lambda each: each.all_reduce(axis_name)))(both)
    factor = factor.astype(dtype)
    return jax.vmap(jax.vmap(lambda each: parameters.rho(each, factor)))(both)


def pooled(x: Array, mask: Array | None) -> tuple[Array, Array | None]:
    """x (B, L, N, H) and mask (B, L) with the batch laid end to end, as one sequence."""
    flat = x.reshape(1, -1, *x.shape[2:])
    return flat, None if mask is None else mask.reshape(1, -1)
