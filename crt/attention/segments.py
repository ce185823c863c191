"""Packed sequences: several of them in one row, each a run of positions that sees itself alone."""

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Int

from crt.attention.bidirectional import absorb
from crt.attention.features import Map
from crt.attention.state import State
from crt.pytrees import pytree


@pytree
class Segments:
    """The segment of every position, and that of the position outside, where a state comes from.

    Segments are numbered in order, so equal numbers at two positions mean one segment between them.
    """

    own: Int[Array, "b l"]
    outside: Int[Array, "b #l"]

    def chunk(self, start: Array | int, size: int) -> "Segments":
        """Positions start … start+size; outside is what stands before them."""
        own = lax.dynamic_slice_in_dim(self.own, start, size, axis=1)
        return Segments(own, lax.dynamic_slice_in_dim(self.outside, start, 1, axis=1))

    def goes_on(self) -> Bool[Array, "b l"]:
        """Whether a position belongs to the segment outside; to be asked of a chunk."""
        return self.own == self.outside


def runs(ids: Array) -> Array:
    """Ids (B, L) of any kind as numbers 0, 1, … of runs of equal ones."""
    new = ids[:, 1:] != ids[:, :-1]
    return jnp.pad(jnp.cumsum(new, axis=1, dtype=jnp.int32), [(0, 0), (1, 0)])


def following(own: Array) -> Segments:
    """Segments in the order of time: outside is the position before, -1 for the first."""
    return Segments(own, jnp.pad(own[:, :-1], [(0, 0), (1, 0)], constant_values=-1))


def same(own: Array) -> Array:
    """True where two positions of a chunk (B, C) are of one segment, (B, C, C)."""
    return own[:, :, None] == own[:, None, :]


def first_of_each(log: Array, mask: Array | None, own: Array) -> Array:
    """Logarithms (B, N, F, C) of the first key shown of each position's segment, in a chunk."""
    shown = same(own) if mask is None else same(own) & mask[:, None, :]
    at = jnp.argmax(shown, axis=-1)[:, None, None, :]
    return jnp.take_along_axis(log, at, axis=-1)


def extend(
    features: Map,
    state: State,
    k: Array,
    v: Array,
    mask: Array | None,
    segments: Segments | None,
    edge: int = -1,
) -> State:
    """The state with a chunk of keys and values (B, N, C, ·) added.

    With segments it is that of the segment at the `edge`, which the next chunk may go on with: what
    the state held of another one is dropped.
    """
    if segments is None:
        return absorb(features, state, k, v, mask)
    here = segments.own == segments.own[:, edge, None]
    held = state.where(segments.goes_on()[:, edge])
    return absorb(features, held, k, v, here if mask is None else here & mask)
