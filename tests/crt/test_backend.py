"""The compiler itself: what it makes of the features is what they are, operation by operation.

jaxlib 0.10.2 on CPU does not pass: it miscompiles a matrix product followed by a row-wise sum at
some sizes (jax-ml/jax#39103), and pyproject.toml excludes it.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt


@pytest.mark.parametrize(("rows", "x64"), [(40_000, False), (32_768, True), (16_385, True)])
def test_compiled_features_equal_eager_ones(rows: int, x64: bool) -> None:
    with jax.enable_x64(x64):
        x = jax.random.normal(jax.random.key(0), (2, 3))
        omega = jax.random.normal(jax.random.key(1), (rows, 3))
        mechanism = crt.OPRF(0.72)

        def logs(x: jax.Array, omega: jax.Array) -> jax.Array:
            return mechanism.log_features(x, omega)[0]

        eager, compiled = logs(x, omega), jax.jit(logs)(x, omega)
        # Both sum a product of d = 3 terms, two squared norms and a constant: at most 16 roundings,
        # none larger than eps/2 of the sum of all sizes.
        size = 1 + jnp.sum(x**2, axis=-1)[:, None] + jnp.sum(omega**2, axis=-1)
        bound = 16 * jnp.finfo(eager.dtype).eps * size
        np.testing.assert_array_less(jnp.abs(eager - compiled), bound)
