"""The exact kernels, for comparison and for small problems."""

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Real

from crt import errors, formulas
from crt.arrays import promote

KERNELS = ("gaussian", "softmax")


@jax.jit
def _gaussian(x: Array, y: Array) -> Array:
    return jnp.exp(formulas.log_gaussian_kernel(x[..., :, None, :], y[..., None, :, :]))


@jax.jit
def _softmax(x: Array, y: Array) -> Array:
    return jnp.exp(formulas.log_softmax_kernel(x[..., :, None, :], y[..., None, :, :]))


def _exact(kernel, x: ArrayLike, y: ArrayLike) -> Array:
    rows, columns = errors.points("x", x), errors.points("y", y)
    errors.same_dim("x", rows, "y", columns)
    return kernel(*promote(rows, columns)).astype(jnp.result_type(rows, columns))


def gaussian(
    x: Real[ArrayLike, "*batch n d"], y: Real[ArrayLike, "*batch m d"]
) -> Float[Array, "*batch n m"]:
    """K(x, y) = exp(-‖x-y‖²/2) for all pairs, from differences: no digits cancel. O(nmd)."""
    return _exact(_gaussian, x, y)


def softmax(
    x: Real[ArrayLike, "*batch n d"], y: Real[ArrayLike, "*batch m d"]
) -> Float[Array, "*batch n m"]:
    """K(x, y) = exp(x·y) for all pairs. O(nmd)."""
    return _exact(_softmax, x, y)
