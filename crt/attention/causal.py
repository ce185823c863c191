"""Attention of every query to the keys up to its own position, chunk by chunk, in linear time.

A chunk's queries read the state of earlier chunks and, through a masked C×C matrix, the keys of
their own chunk. Every scale that touches a row is made of its own past, so no later token can
change an earlier output by a bit, as long as all values are finite. The backward pass recomputes:
it keeps one state for each group of chunks that together hold about M tokens, O(L·d + M·d), and the
M/C states of one group at a time, O(M²·d/C); it never subtracts from a prefix.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from crt.attention.bidirectional import matmul
from crt.attention.blocks import (
    from_bits,
    gather,
    hide,
    keep,
    once,
    put,
    repeat,
    slice_mask,
    take,
    to_bits,
)
from crt.attention.features import Map, dtype_of, with_ones
from crt.attention.segments import Segments, extend, first_of_each, same
from crt.attention.state import State, divide, finite

# A key may exceed the scale of its feature by e^60 before a chunk takes the slow route: products of
# such terms stay below float32's e^88, and what underflows beside them is below e^-27 of a row.
HEADROOM = 60.0


def _first(log: Array, mask: Array | None) -> Array:
    """Logarithms (B, N, F) of the first key that the mask (B, C) shows, from (B, N, F, C)."""
    if mask is None:
        return log[..., 0]
    at = jnp.argmax(mask, axis=-1)[:, None, None, None]
    return jnp.take_along_axis(log, at, axis=-1)[..., 0]


def _seen(size: int) -> Array:
    """True where a query t may look at a key j ≤ t, (C, C)."""
    return jnp.tril(jnp.ones((size, size), bool))


def _visible(size: int, segments: Segments | None) -> Array:
    """True where a query may look: (C, C), or (B, 1, C, C) where a segment is all it may see."""
    seen = _seen(size)
    return seen if segments is None else (seen & same(segments.own))[:, None]


def _past(log_scale: Array, segments: Segments | None) -> Array:
    """Log scales of the state, (B, N, F, 1), or (B, N, F, C) with -∞ for rows of new segments."""
    scale = log_scale[..., None]
    if segments is None:
        return scale
    return jnp.where(segments.goes_on()[:, None, None, :], scale, -jnp.inf)


@jax.custom_vjp
def _products(log_q: Array, log_k: Array) -> Array:
    """Σ_m exp(log_q + log_k), (B, N, C, C), of queries up to 1 and keys up to the headroom."""
    return matmul("bncm,bnms->bncs", jnp.exp(log_q), jnp.exp(log_k))


def _products_forward(log_q, log_k):
    rows, columns = jnp.exp(log_q), jnp.exp(log_k)
    return matmul("bncm,bnms->bncs", rows, columns), (rows, columns)


def _products_backward(saved, change):
    """A row's changes are brought to 1 first: values of 1e20 times e^60 would leave float32."""
    rows, columns = saved
    size = lax.stop_gradient(jnp.max(jnp.abs(change), axis=-1, keepdims=True))
    size = jnp.where(size > 0, size, 1)
    own = rows * matmul("bncs,bnms->bncm", change / size, columns)
    return size * own, columns * matmul("bncm,bncs->bnms", rows, change)


_products.defvjp(_products_forward, _products_backward)


def _exact_matrix(log_q: Array, log_k: Array, top: Array, seen: Array) -> tuple[Array, Array]:
    """Σ_m exp(log_q + log_k - row maximum) for keys seen, and row maximum - top; any range.

    The maximum of row t runs over `top` and all its pairs (t, j, m) that are seen. O(C²M).
    """
    size = log_q.shape[-2]

    @jax.checkpoint
    def row(t: Array) -> tuple[Array, Array]:
        logs = lax.dynamic_index_in_dim(log_q, t, axis=-2, keepdims=False)[..., None] + log_k
        shown = lax.dynamic_index_in_dim(seen, t, axis=-2)
        logs = jnp.where(shown, logs, -jnp.inf)
        own = lax.dynamic_index_in_dim(top, t, axis=-2, keepdims=False)
        most = jnp.maximum(own[..., 0], lax.stop_gradient(jnp.max(logs, axis=(-1, -2))))
        return jnp.sum(jnp.exp(logs - most[..., None, None]), axis=-2), most[..., None] - own

    matrix, rise = lax.map(row, jnp.arange(size))
    return jnp.moveaxis(matrix, 0, -2), jnp.moveaxis(rise, 0, -2)


def _lowered(matrix: Array) -> Array:
    """The log factor (B, N, C, 1) that brings rows with entries above 1 down to a maximum of 1.

    The past, or the first key, gives a denominator of 1 at least, and later keys may give e^60;
    gradients divide by its square, which must fit as well.
    """
    most = lax.stop_gradient(jnp.max(matrix, axis=-1, keepdims=True))
    return -jnp.log(jnp.maximum(most, 1))


def _positive_rows(
    log_scale: Array, log_q: Array, log_k: Array, mask: Array | None, segments: Segments | None
) -> tuple[Array, Array, Array]:
    """Matrix (B, N, C, C), query features (B, N, C, M) and log factor (B, N, C, 1) of the latter.

    Keys are taken relative to the scale of the past, or to the first key where there is no past.
    Rows whose keys all stay within the headroom use one matrix product; others are summed pair by
    pair. Which rows those are depends on their past alone, and so does every bit of them. Entries
    are at most 1, in rows that are summed pair by pair at most M.
    """
    if segments is None:
        first = _first(log_k, mask)[..., None]
    else:
        first = first_of_each(log_k, mask, segments.own)
    scale = _past(log_scale, segments)
    past = lax.stop_gradient(finite(jnp.where(scale == -jnp.inf, first, scale)))
    log_q = log_q + jnp.swapaxes(past, -1, -2)
    log_k = log_k - past
    top = lax.stop_gradient(jnp.max(log_q, axis=-1, keepdims=True))
    seen = _visible(log_k.shape[-1], segments)
    fast = jnp.where(seen, _products(log_q - top, jnp.minimum(log_k, HEADROOM)), 0)
    down = _lowered(fast)
    fast = fast * jnp.exp(down)
    high = jnp.max(log_k, axis=-2) > HEADROOM

    def slow() -> tuple[Array, Array]:
        beyond = jnp.any(seen & high[..., None, :], axis=-1, keepdims=True)
        matrix, rise = _exact_matrix(log_q, log_k, top, seen)
        return jnp.where(beyond, matrix, fast), jnp.where(beyond, -rise, down)

    matrix, shift = lax.cond(jnp.any(high), slow, lambda: (fast, down))
    return matrix, jnp.exp(log_q - top), shift


def _signed_rows(
    log_scale: Array, factor_q: Array, log_k: Array, factor_k: Array, segments: Segments | None
) -> tuple[Array, Array, Array]:
    """As `_positive_rows`, for maps with one logarithm (B, N, 1, C) for each key: always exact."""
    log_k = jnp.where(_visible(log_k.shape[-1], segments), log_k, -jnp.inf)
    scale = jnp.swapaxes(_past(log_scale, segments), -1, -2)
    running = jnp.max(log_k, axis=-1, keepdims=True)
    top = finite(lax.stop_gradient(jnp.maximum(scale, running)))
    matrix = matmul("bncm,bnms->bncs", factor_q, factor_k) * jnp.exp(log_k - top)
    return matrix, factor_q, scale - top


def attend_chunk(
    features: Map,
    state: State,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    segments: Segments | None = None,
) -> Array:
    """Outputs (B, N, C, V) of a chunk of queries, from the state before it and its own keys."""
    log_q, factor_q = features.query(q)
    log_k, factor_k = features.key(keep(k, mask), transposed=True)
    log_k = hide(log_k, mask, transposed=True)
    if factor_q is None or factor_k is None:
        matrix, columns, shift = _positive_rows(state.log_scale, log_q, log_k, mask, segments)
    else:
        matrix, columns, shift = _signed_rows(state.log_scale, factor_q, log_k, factor_k, segments)
    if segments is not None:
        shift = jnp.where(segments.goes_on()[:, None, :, None], shift, -jnp.inf)
    before = jnp.exp(shift) * matmul("bncm,bnmk->bnck", columns, state.sums)
    return divide(before + matmul("bncs,bnsk->bnck", matrix, with_ones(keep(v, mask))))


def _attend(
    features: Map,
    state: State,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    segments: Segments | None,
    chunk: int,
    group: int,
) -> tuple[Array, State]:
    """Outputs (B, T, N, V) after `state`, and the state after them; T a multiple of chunk·group.

    With segments, a query sees its own segment alone, and the state is that of the last one.
    """
    (out, state), _ = _sweep(features, state, q, k, v, mask, segments, chunk, group)
    return out, state


def _load(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    segments: Segments | None,
    start: Array,
    chunk: int,
    dtype,
):
    """The chunk from `start` on: q, k, v as (B, N, C, ·), the mask (B, C) and the segments."""
    rows = (repeat(take(x, start, chunk, dtype), q.shape[2]) for x in (q, k, v))
    part = None if segments is None else segments.chunk(start, chunk)
    return *rows, slice_mask(mask, start, chunk), part


def _starts(first: Array | int, chunk: int, count: int) -> Array:
    return first + chunk * jnp.arange(count)


def _sweep(features, state, q, k, v, mask, segments, chunk, group):
    """The forward pass: outputs and last state, and the states before each group of chunks."""
    dtype = dtype_of(features)

    def one(carry: tuple[Array, State], start: Array) -> tuple[tuple[Array, State], None]:
        out, state = carry
        q_rows, k_rows, v_rows, shown, part = _load(q, k, v, mask, segments, start, chunk, dtype)
        rows = attend_chunk(features, state, q_rows, k_rows, v_rows, shown, part)
        return (put(out, start, rows), extend(features, state, k_rows, v_rows, shown, part)), None

    def several(carry: tuple[Array, State], first: Array) -> tuple[tuple[Array, State], State]:
        after, _ = lax.scan(one, carry, _starts(first, chunk, group))
        return after, carry[1]

    out = to_bits(jnp.zeros((*q.shape[:-1], v.shape[-1]), q.dtype))
    firsts = _starts(0, chunk * group, q.shape[1] // (chunk * group))
    (out, state), saved = lax.scan(several, (out, state), firsts)
    return (from_bits(out), state), saved


def _forward(features, state, q, k, v, mask, segments, chunk, group):
    result, saved = _sweep(features, state, q, k, v, mask, segments, chunk, group)
    return result, (features, q, k, v, mask, segments, saved)


def _backward(chunk, group, residuals, change):
    features, q, k, v, mask, segments, saved = residuals
    q, k, v = map(once, (q, k, v))
    dtype = dtype_of(features)
    load = partial(_load, q, k, v, mask, segments, chunk=chunk, dtype=dtype)

    def again(state: State, start: Array) -> tuple[State, State]:
        _, k_rows, v_rows, shown, part = load(start)
        return extend(features, state, k_rows, v_rows, shown, part), state

    def one(carry: tuple, each: tuple[Array, State]) -> tuple[tuple, None]:
        total, sums_out, q_out, k_out, v_out = carry
        start, state = each
        *rows, shown, part = load(start)

        def run(features: Map, sums: Array, q: Array, k: Array, v: Array) -> tuple[Array, Array]:
            before = State(state.log_scale, sums)
            out = attend_chunk(features, before, q, k, v, shown, part)
            return out, extend(features, before, k, v, shown, part).sums

        _, pull = jax.vjp(run, features, state.sums, *rows)
        own, sums_out, *parts = pull((take(change[0], start, chunk, dtype), sums_out))
        total = jax.tree.map(jnp.add, total, own)
        outs = [
            put(target, start, gather(part, target.shape[2]))
            for target, part in zip((q_out, k_out, v_out), parts, strict=True)
        ]
        return (total, sums_out, *outs), None

    def several(carry: tuple, each: tuple[Array, State]) -> tuple[tuple, None]:
        first, state = each
        starts = _starts(first, chunk, group)
        _, states = lax.scan(again, state, starts)
        return lax.scan(one, carry, (starts, states), reverse=True)

    outs = (to_bits(jnp.zeros_like(x)) for x in (q, k, v))
    carry = (jax.tree.map(jnp.zeros_like, features), change[1].sums, *outs)
    firsts = _starts(0, chunk * group, q.shape[1] // (chunk * group))
    (total, sums, *outs), _ = lax.scan(several, carry, (firsts, saved), reverse=True)
    return total, State(jnp.zeros_like(saved.log_scale[0]), sums), *map(from_bits, outs), None, None


attend = jax.custom_vjp(_attend, nondiff_argnums=(7, 8))
attend.defvjp(_forward, _backward)
