"""Attention of every query to the keys of its own segment, in linear time for any segments.

A chunk's queries read the keys of their own chunk through a masked C×C matrix, and the states of
the two segments that its ends cut: what came of them before the chunk, and what comes after it.
The backward pass keeps those states and recomputes all else: O(L·M·d/C) memory.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

from crt.attention.bidirectional import matmul, weigh
from crt.attention.blocks import hide, keep, repeat
from crt.attention.features import Map, dtype_of, with_ones
from crt.attention.segments import Segments, extend, following, same
from crt.attention.state import State, divide, empty, finite


def _split(x: Array, chunk: int) -> Array:
    """x (B, L, …) as (L/C, B, C, …)."""
    return jnp.moveaxis(x.reshape(x.shape[0], -1, chunk, *x.shape[2:]), 1, 0)


def _largest(log: Array, own: Array) -> Array:
    """The largest logarithm (B, N, F, C) in each position's segment, within a chunk (B, C)."""
    size, reach = own.shape[1], 1
    while reach < size:
        # After this, a position knows the largest of 2·reach positions up to it.
        near = jnp.pad(own[:, reach:] == own[:, :-reach], [(0, 0), (reach, 0)])
        earlier = jnp.where(near[:, None, None, :], jnp.roll(log, reach, axis=-1), -jnp.inf)
        log, reach = jnp.maximum(log, earlier), 2 * reach
    last = size - 1 - jnp.argmax(same(own)[:, :, ::-1], axis=-1)
    return jnp.take_along_axis(log, last[:, None, None, :], axis=-1)


def _attend_chunk(features: Map, q: Array, k: Array, v: Array, mask: Array, sides: tuple) -> Array:
    """Outputs (B, N, C, V); `sides` are the states before and after, with their segments."""
    log_q, factor_q = features.query(q)
    log_k, factor_k = features.key(keep(k, mask), transposed=True)
    log_k = hide(log_k, mask, transposed=True)
    own = sides[0][1].own
    scales = [
        jnp.where(segments.goes_on()[:, None, None, :], state.log_scale[..., None], -jnp.inf)
        for state, segments in sides
    ]
    # Nothing that a row sees exceeds its scale, so no feature overflows.
    top = _largest(lax.stop_gradient(log_k), own)
    top = finite(jnp.maximum(top, lax.stop_gradient(jnp.maximum(*scales))))
    log_q = log_q + jnp.swapaxes(top, -1, -2)
    columns = weigh(log_q - lax.stop_gradient(jnp.max(log_q, axis=-1, keepdims=True)), factor_q)
    matrix = matmul("bncm,bnms->bncs", columns, weigh(log_k - top, factor_k))
    matrix = jnp.where(same(own)[:, None], matrix, 0)
    total = matmul("bncs,bnsk->bnck", matrix, with_ones(keep(v, mask)))
    for (state, _), scale in zip(sides, scales, strict=True):
        part = columns * jnp.exp(jnp.swapaxes(scale - top, -1, -2))
        total = total + matmul("bncm,bnmk->bnck", part, state.sums)
    return divide(total)


def attend(
    features: Map, q: Array, k: Array, v: Array, mask: Array, own: Array, chunk: int
) -> Array:
    """Outputs (B, L, N, V) of queries (B, L, N, H), in their dtype; L a multiple of the chunk.

    `own` (B, L) numbers the segments in order. O(L·M·(C+H+V)).
    """
    batch, length, heads, _ = q.shape
    dtype = dtype_of(features)
    before = following(own).outside
    after = jnp.pad(own[:, 1:], [(0, 0), (0, 1)], constant_values=-1)
    chunks = [_split(x, chunk) for x in (q, k, v, mask, own, before, after)]

    def load(*arrays: Array) -> list[Array]:
        return [repeat(jnp.swapaxes(x, 1, 2).astype(dtype), heads) for x in arrays]

    @jax.checkpoint
    def to_right(state: State, each: list[Array]) -> tuple[State, State]:
        _, k, v, mask, own, before, _ = each
        k, v = load(k, v)
        return extend(features, state, k, v, mask, Segments(own, before[:, :1])), state

    @jax.checkpoint
    def to_left(state: State, each: list[Array]) -> tuple[State, State]:
        _, k, v, mask, own, _, after = each
        k, v = load(k, v)
        return extend(features, state, k, v, mask, Segments(own, after[:, -1:]), edge=0), state

    @jax.checkpoint
    def rows(each: tuple[list[Array], State, State]) -> Array:
        (q, k, v, mask, own, before, after), left, right = each
        q, k, v = load(q, k, v)
        sides = (left, Segments(own, before[:, :1])), (right, Segments(own, after[:, -1:]))
        return jnp.swapaxes(_attend_chunk(features, q, k, v, mask, sides), 1, 2)

    none = empty(batch, heads, features.scales, features.width, v.shape[-1] + 1, dtype)
    _, left = lax.scan(to_right, none, chunks)
    _, right = lax.scan(to_left, none, chunks, reverse=True)
    out = lax.map(rows, (chunks, left, right))
    return jnp.moveaxis(out, 0, 1).reshape(batch, length, heads, -1).astype(q.dtype)
