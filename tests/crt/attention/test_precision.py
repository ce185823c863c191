"""Each dtype against the same estimator in float64, on the same rounded inputs."""

import jax
import jax.numpy as jnp
import pytest

import crt
from tests.crt.attention.setups import FLOAT32, Setup, definition, double, error

# What the statement of accuracy allows at unit scale.
LIMITS = {"float32": FLOAT32, "bfloat16": 5e-3, "float16": 1e-3}
SETUP = Setup(queries=300, keys=300, dim=32, features=128)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", ["oprf", "relu"])
@pytest.mark.parametrize("dtype", LIMITS)
def test_unit_scale(dtype: str, name: str, is_causal: bool) -> None:
    attend = crt.FavorAttention(SETUP.features, name)
    q, k, v = (each.astype(dtype) for each in SETUP.arrays(11))
    omega = SETUP.omega(attend)
    rho = jnp.full((1, 2), 0.6) if name == "oprf" else None
    out = attend(q, k, v, omega, is_causal=is_causal, rho=rho)
    assert out.dtype == dtype
    with jax.enable_x64(True):
        q, k, v, omega, rho = double((q, k, v, omega, rho))
        exact = definition(name, q, k, v, omega, None, is_causal, rho)
    assert error(out, exact) <= LIMITS[dtype]


def test_float64_is_kept() -> None:
    with jax.enable_x64(True):
        attend = crt.FavorAttention(16)
        q, k, v = double(Setup(queries=40, keys=40).arrays(12))
        omega = attend.sample(jax.random.key(0), 8, dtype=jnp.float64)
        rho = jnp.full((1, 2), 0.5)
        out = attend(q, k, v, omega, rho=rho)
        exact = definition("oprf", q, k, v, omega, rho=rho)
        assert out.dtype == jnp.float64
        # Sums of 40·16 terms, each a few roundings: far below 1e4 ε.
        assert error(out, exact) <= 1e4 * jnp.finfo(jnp.float64).eps
