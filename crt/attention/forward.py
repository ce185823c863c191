"""The forward passes of checked arguments: whole sequences, the rest of one, a single token."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from crt.attention import bidirectional, causal, packed
from crt.attention.features import Map, dtype_of
from crt.attention.segments import following
from crt.attention.state import State, empty

CHUNK = 128


def _block(heads: int, width: int) -> int:
    """Rows of a block: 2^18 features of all heads (1 MB), in steps of 64 between 64 and 1024."""
    return min(max(2**18 // (heads * width) // 64, 1), 16) * 64


def _pad(x: Array, length: int, mode: str = "constant") -> Array:
    """x with zeros, or with mode "edge" its last entries, appended along axis 1 to the length."""
    widths = [(0, length - n if axis == 1 else 0) for axis, n in enumerate(x.shape)]
    return jnp.pad(x, widths, mode=mode)


def _shown(k: Array, k_mask: Array | None) -> Array:
    """The mask (B, S) of the keys; true everywhere where none is given."""
    return jnp.ones(k.shape[:2], bool) if k_mask is None else k_mask


def _counted(x: Array, q_mask: Array | None) -> Array:
    """x (B, T, N, ·), 0 where the mask (B, T) is false, whatever stood there."""
    return x if q_mask is None else jnp.where(q_mask[:, :, None, None], x, 0)


def no_keys(made: Map, q: Array, v: Array) -> State:
    """The state before the first key."""
    return empty(q.shape[0], q.shape[2], made.scales, made.width, v.shape[-1] + 1, dtype_of(made))


@partial(jax.jit, static_argnames=("is_causal", "block", "axis_name"))
def attend(
    made: Map,
    q: Array,
    k: Array,
    v: Array,
    q_mask: Array | None,
    k_mask: Array | None,
    segments: Array | None,
    is_causal: bool,
    block: int | None,
    axis_name: str | None,
) -> Array:
    """Outputs (B, T, N, V); along a mapped axis, every device holds a part of the sequence."""
    block = block or _block(q.shape[0] * q.shape[2], made.width)
    q = _counted(q, q_mask)  # no NaN of a hidden query may reach a gradient either
    if segments is not None and not is_causal:
        out = _attend_packed(made, q, k, v, k_mask, segments)
    elif is_causal:
        start = no_keys(made, q, v)
        if axis_name is not None:
            start = bidirectional.summarise(made, k, v, k_mask, q.shape[2], block).before(axis_name)
        out, _ = go_on(made, start, q, k, v, k_mask, segments)
    else:
        state = bidirectional.summarise(made, k, v, k_mask, q.shape[2], block)
        state = state if axis_name is None else state.all_reduce(axis_name)
        out = bidirectional.read(made, q, state, block)
    return _counted(out, q_mask)


@jax.jit
def go_on(
    made: Map,
    state: State,
    q: Array,
    k: Array,
    v: Array,
    k_mask: Array | None,
    segments: Array | None = None,
) -> tuple[Array, State]:
    """Causal outputs after a state, and the state after them, without segments.

    The sequence is padded to whole groups of chunks, and the pads are masked.
    """
    length = q.shape[1]
    chunk = min(CHUNK, length)
    chunks = -(-length // chunk)
    groups = -(-chunks // -(-made.width // chunk))
    group = -(-chunks // groups)
    whole = groups * group * chunk
    if whole != length:
        q, k, v, k_mask = (_pad(each, whole) for each in (q, k, v, _shown(k, k_mask)))
    own = None if segments is None else following(_pad(segments, whole, "edge"))
    out, state = causal.attend(made, state, q, k, v, k_mask, own, chunk, group)
    return out[:, :length], state


def _attend_packed(
    made: Map, q: Array, k: Array, v: Array, k_mask: Array | None, segments: Array
) -> Array:
    """Whole chunks: the sequence is padded to them, and the pads are masked."""
    length = q.shape[1]
    chunk = min(CHUNK, length)
    whole = -(-length // chunk) * chunk
    q, k, v, shown = (_pad(each, whole) for each in (q, k, v, _shown(k, k_mask)))
    return packed.attend(made, q, k, v, shown, _pad(segments, whole, "edge"), chunk)[:, :length]


@jax.jit
def step(made: Map, state: State, q: Array, k: Array, v: Array) -> tuple[Array, State]:
    """Outputs (B, 1, N, V) of one more token (B, 1, N or K, ·), and the state with it."""
    own = bidirectional.summarise(made, k, v, None, q.shape[2], 1)
    state = state.merge(own)
    return bidirectional.read(made, q, state, 1), state
