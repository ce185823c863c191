"""ρ of OPRF from queries and keys, for each head, in O((T+S)·d)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from crt import parameters
from crt.arrays import common_dtype, promote
from crt.attention.blocks import cut, slice_mask, sweep
from crt.statistics import Moments, Statistics, moments

SHORT = 1024
"""Rows up to which sums run over all of them at once: they stay in cache."""
LANES = 64
"""Sets of which a long sequence's rows are dealt to in turn."""


def _moments(x: Array, mask: Array | None, dtype) -> Moments:
    """Moments of x (B, L, N, H) over L, for each batch element and head."""
    length = x.shape[1]
    dealt = length // LANES * LANES if length > SHORT else 0

    def part(start: int, size: int) -> Moments:
        rows, shown = cut(x, start, size).astype(dtype), slice_mask(mask, start, size)
        shown = jnp.ones(rows.shape[:2], bool) if shown is None else shown
        return _each(moments, (1, None))(rows, shown)

    first = _dealt(x, mask, dtype, dealt) if dealt else part(0, 0)
    return _each(Moments.merge)(first, part(dealt, length - dealt))


def _each(call: Callable[..., Moments], axes: Any = 0) -> Callable[..., Moments]:
    """The call for every batch element and head."""
    return jax.vmap(jax.vmap(call, axes))


def _row(row: Array, shown: Array) -> Moments:
    """Moments of one row (H,), or of none."""
    kept = jnp.where(shown, row, 0)
    low = jnp.where(shown, row, jnp.inf)
    return Moments(shown.astype(row.dtype), kept, jnp.zeros_like(row), jnp.abs(kept), low)


def _dealt(x: Array, mask: Array | None, dtype, length: int) -> Moments:
    """The same of the first rows, in one pass without sums along L, which are slow on a CPU.

    Row i goes to lane i mod LANES. A lane takes in one row after the other, so that means are never
    far off and nothing cancels (Welford); in the end the lanes are merged.
    """

    def step(lanes: Moments, start: Array | int, size: int) -> Moments:
        rows, shown = cut(x, start, size).astype(dtype), slice_mask(mask, start, size)
        shown = jnp.ones(rows.shape[:2], bool) if shown is None else shown
        own = jax.vmap(_each(_row, (0, None)))(rows, shown)
        return jax.vmap(_each(Moments.merge))(lanes, own)

    zeros = jnp.zeros((x.shape[0], LANES, *x.shape[2:]), dtype)
    none = jax.vmap(_each(_row, (0, None)))(zeros, jnp.zeros(zeros.shape[:2], bool))
    lanes = sweep(step, none, length, LANES)
    merged = jax.vmap(lambda lane: lane.all_reduce("lane"), out_axes=None, axis_name="lane")
    return _each(merged, 1)(lanes)


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
