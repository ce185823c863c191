"""The exact kernels, for comparison and for small problems."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike
from jaxtyping import Float, Real

from crt import errors, formulas
from crt.arrays import common_dtype, promote

KERNELS = ("gaussian", "softmax")


@jax.jit
@partial(jnp.vectorize, signature="(n,d),(m,d)->(n,m)")
def _gaussian(x: Array, y: Array) -> Array:
    # Row by row: XLA may store the differences of all pairs, (n, m, d), when asked for all at once.
    return jnp.exp(lax.map(jax.checkpoint(lambda row: formulas.log_gaussian_kernel(row, y)), x))


@jax.jit
def _softmax(x: Array, y: Array) -> Array:
    return jnp.exp(jnp.einsum("...nd,...md->...nm", x, y, precision=lax.Precision.HIGHEST))


def _exact(kernel, x: ArrayLike, y: ArrayLike) -> Array:
    rows, columns = errors.points("x", x), errors.points("y", y)
    errors.same_dim("x", rows, "y", columns)
    errors.same_batch("x", rows, "y", columns)
    return kernel(*promote(rows, columns)).astype(common_dtype(rows, columns))


def gaussian(
    x: Real[ArrayLike, "*batch n d"], y: Real[ArrayLike, "*batch m d"]
) -> Float[Array, "*batch n m"]:
    """K(x, y) = exp(-‖x-y‖²/2) for all pairs, from differences: no digits cancel.

    O(nmd) time, O(nm + md) memory.
    """
    return _exact(_gaussian, x, y)


def softmax(
    x: Real[ArrayLike, "*batch n d"], y: Real[ArrayLike, "*batch m d"]
) -> Float[Array, "*batch n m"]:
    """K(x, y) = exp(x·y) for all pairs. O(nmd)."""
    return _exact(_softmax, x, y)
