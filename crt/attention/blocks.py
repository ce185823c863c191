"""Blocks of a sequence: every pass over it holds the features of one block only.

XLA widens bfloat16 to float32 on a CPU, and an array that a loop reads or writes a block of is then
widened as a whole, in each round: O(L²). So such arrays go through loops as their bits.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

Carry = TypeVar("Carry")


def to_bits(x: Array) -> Array:
    """x, bfloat16 as integers with its bits."""
    return lax.bitcast_convert_type(x, jnp.uint16) if x.dtype == jnp.bfloat16 else x


def from_bits(x: Array) -> Array:
    """The inverse of `to_bits`."""
    return lax.bitcast_convert_type(x, jnp.bfloat16) if x.dtype == jnp.uint16 else x


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def cut(x: Array, start: Array | int, size: int) -> Array:
    """Rows start … start+size of x (B, L, N, H). Bits have no derivative, so it is given."""
    return from_bits(lax.dynamic_slice_in_dim(to_bits(x), start, size, axis=1))


@cut.defjvp
def _cut_jvp(size: int, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    x, start = primals
    return cut(x, start, size), lax.dynamic_slice_in_dim(tangents[0], start, size, axis=1)


@jax.custom_jvp
def once(x: Array) -> Array:
    """x, an input of a backward pass that writes bits: its own derivative would be lost."""
    return x


@once.defjvp
def _once_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    if primals[0].dtype == jnp.bfloat16:
        raise ValueError("second derivatives of attention are lost in bfloat16; use float32.")
    return primals[0], tangents[0]


def take(x: Array, start: Array | int, size: int, dtype) -> Array:
    """Rows start … start+size of x (B, L, N, H) as (B, N, size, H)."""
    return jnp.swapaxes(cut(x, start, size), 1, 2).astype(dtype)


def put(target: Array, start: Array | int, rows: Array) -> Array:
    """`target` (B, L, N, H), as bits, with the rows (B, N, size, H) written from `start` on."""
    dtype = jnp.bfloat16 if target.dtype == jnp.uint16 else target.dtype
    rows = to_bits(jnp.swapaxes(rows, 1, 2).astype(dtype))
    return lax.dynamic_update_slice_in_dim(target, rows, start, axis=1)


def sweep(
    step: Callable[[Carry, Array | int, int], Carry], carry: Carry, length: int, block: int
) -> Carry:
    """step(carry, start, size) for consecutive blocks: full ones in a loop, then a shorter one."""
    full = length // block
    if full > 1:
        starts = block * jnp.arange(full)
        carry, _ = lax.scan(lambda c, start: (step(c, start, block), None), carry, starts)
    elif full == 1:
        carry = step(carry, 0, block)
    rest = length - full * block
    return step(carry, full * block, rest) if rest else carry


def repeat(x: Array, heads: int) -> Array:
    """Key heads (B, K, C, H) repeated for their groups of query heads, (B, N, C, H)."""
    return x if x.shape[1] == heads else jnp.repeat(x, heads // x.shape[1], axis=1)


def gather(x: Array, heads: int) -> Array:
    """The transpose of `repeat`: sums over each group of query heads."""
    if x.shape[1] == heads:
        return x
    return x.reshape(x.shape[0], heads, -1, *x.shape[2:]).sum(axis=2)


def keep(x: Array, mask: Array | None) -> Array:
    """x (B, N, C, H), 0 in the rows where the mask (B, C) is false, whatever stood there."""
    return x if mask is None else jnp.where(mask[:, None, :, None], x, 0)


def hide(log: Array, mask: Array | None, transposed: bool = False) -> Array:
    """Logarithms (B, N, C, F), or (B, N, F, C), -∞ where the mask (B, C) is false."""
    if mask is None:
        return log
    seen = mask[:, None, None, :] if transposed else mask[:, None, :, None]
    return jnp.where(seen, log, -jnp.inf)


def slice_mask(mask: Array | None, start: Array | int, size: int) -> Array | None:
    """Columns start … start+size of the mask (B, S)."""
    return None if mask is None else lax.dynamic_slice_in_dim(mask, start, size, axis=1)
