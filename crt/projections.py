"""Random projections ω of the exponential mechanisms: every row is N(0, I)."""

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike
from jaxtyping import Float, PRNGKeyArray, Shaped

from crt import errors


def iid(
    key: PRNGKeyArray | Shaped[Array, "..."], m: int, d: int, dtype: DTypeLike | None = None
) -> Float[Array, "{m} {d}"]:
    """m independent rows from N(0, I_d), float32 or float64 (`dtype`). O(md)."""
    errors.whole("m", m)
    errors.whole("d", d)
    errors.floating("dtype", dtype)
    return jax.random.normal(key, (m, d), dtype)


@jax.custom_batching.sequential_vmap
def _haar(z: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """The orthogonal factor of a Gaussian matrix, with the signs that make it Haar-distributed.

    One matrix at a time, also under `vmap`: on a CPU, batches of QR share one pool of threads and
    wait in it for their parts, so several of them in a program can wait for each other for ever.
    """
    q, r = jnp.linalg.qr(z)
    return q * jnp.sign(jnp.diagonal(r))


def orthogonal(
    key: PRNGKeyArray | Shaped[Array, "..."], m: int, d: int, dtype: DTypeLike | None = None
) -> Float[Array, "{m} {d}"]:
    """m rows, each N(0, I_d), exactly orthogonal within consecutive blocks of d rows.

    Directions are rows of Haar-distributed orthogonal matrices, one independent matrix per block
    (the last one may be cut); lengths are independent and χ_d-distributed. float32 or float64
    (`dtype`). O(md²).
    """
    errors.whole("m", m)
    errors.whole("d", d)
    errors.floating("dtype", dtype)
    directions_key, lengths_key = jax.random.split(key)
    blocks = -(-m // d)
    gaussian = jax.random.normal(directions_key, (blocks, d, d), dtype)
    directions = jax.vmap(_haar)(gaussian).reshape(-1, d)[:m]
    lengths = jnp.linalg.norm(jax.random.normal(lengths_key, (m, d), dtype), axis=-1)
    return lengths[:, None] * directions
