"""Arrays in: Python numbers, NumPy and JAX arrays brought to one floating dtype."""

import jax.numpy as jnp
from jax import Array, numpy_dtype_promotion
from jax.typing import ArrayLike


def common_dtype(*values: ArrayLike) -> jnp.dtype:
    """The dtype that JAX gives to a sum of the values, also under strict promotion."""
    with numpy_dtype_promotion("standard"):
        return jnp.result_type(*values)


def promote(*values: ArrayLike) -> tuple[Array, ...]:
    """Returns the values as arrays of their common real floating dtype, float32 at least.

    Python numbers adapt to the arrays beside them; integers and half precisions become float32.
    """
    dtype = common_dtype(*values, 1.0)
    if jnp.finfo(dtype).bits < 32:
        dtype = jnp.dtype("float32")
    return tuple(jnp.asarray(value, dtype) for value in values)
