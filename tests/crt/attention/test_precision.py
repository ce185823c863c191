"""Each dtype against the same estimator in float64, on the same rounded inputs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import crt
from tests.crt.attention.setups import (
    FLOAT32,
    Setup,
    definition,
    double,
    error,
)

# What the statement of accuracy allows at unit scale.
LIMITS = {"float32": FLOAT32, "bfloat16": 5e-3, "float16": 1e-3}
SETUP = Setup(queries=300, keys=300, dim=32, features=128)


def pulled(call, change: Array, *arrays: Array) -> tuple[Array, ...]:
    """The output, and the gradients of its product with `change`."""
    out, pull = jax.vjp(call, *arrays)
    return out, *pull(change)


def compare(attend: crt.FavorAttention, dtype: str, is_causal: bool, rho) -> float:
    """The largest error of output and gradients; `rho(q, k)` is (B, N), or None of itself.

    Sums are in float32, so all that a narrower dtype adds is the rounding of what is returned.
    """
    # Small inputs keep the denominators of signed features away from 0.
    size = 0.3 if attend.mechanism == "trig" else 1.0
    arrays = [each.astype(dtype) for each in SETUP.arrays(11, size)]
    omega, given = SETUP.omega(attend), None if attend.rho_gradient else rho(*arrays[:2])
    change = jnp.asarray(np.cos(np.arange(arrays[2].size)).reshape(arrays[2].shape), dtype)
    found = pulled(
        lambda q, k, v: attend(q, k, v, omega, is_causal=is_causal, rho=given), change, *arrays
    )
    assert all(each.dtype == dtype for each in found)
    with jax.enable_x64(True):
        omega = double(omega)
        exact = pulled(
            lambda q, k, v: definition(
                attend.mechanism, q, k, v, omega, None, is_causal, rho(q, k)
            ),
            *double((change, *arrays)),
        )
    return max(error(*each) for each in zip(found, exact, strict=True))


@pytest.mark.filterwarnings("ignore:trigonometric features")
@pytest.mark.parametrize(
    ("dtype", "name", "is_causal"),
    [
        *itertools.product(LIMITS, ("oprf", "relu"), (False, True)),
        # The other maps differ in their features alone, which both directions share.
        *itertools.product(("bfloat16", "float16"), ("pos", "elu", "trig"), (False,)),
    ],
)
def test_unit_scale(dtype: str, name: str, is_causal: bool) -> None:
    attend = crt.FavorAttention(SETUP.features, name)

    def rho(q: Array, k: Array) -> Array | None:
        return jnp.full((1, 2), 0.6) if name == "oprf" else None

    assert compare(attend, dtype, is_causal, rho) <= LIMITS[dtype]


def best_rho(q: Array, k: Array) -> Array:
    """ρ* (B, N) of thm-minvar, from the mean of ‖x+y‖² over all pairs, written out."""
    d, root = q.shape[-1], q.shape[-1] ** -0.25
    pairs = root * (q[:, :, None] + k[:, None, :])
    z = jnp.mean(jnp.sum(pairs**2, axis=-1), axis=(1, 2))
    return (jnp.sqrt((2 * z + d) ** 2 + 8 * d * z) - 2 * z - d) / (4 * z)


@pytest.mark.parametrize("dtype", LIMITS)
def test_gradients_through_rho(dtype: str) -> None:
    attend = crt.FavorAttention(SETUP.features, rho_gradient=True)
    assert compare(attend, dtype, False, best_rho) <= LIMITS[dtype]


@pytest.mark.parametrize("dtype", LIMITS)
def test_a_held_rho_is_no_gradient_through_it(dtype: str) -> None:
    """The comparison above sees the part that flows through ρ."""
    attend = crt.FavorAttention(SETUP.features, rho_gradient=True)
    held = compare(attend, dtype, False, lambda q, k: jax.lax.stop_gradient(best_rho(q, k)))
    assert held > LIMITS[dtype]


def test_second_derivatives_in_bfloat16_are_refused() -> None:
    """Their loops carry bits, through which nothing flows: an error and no silent zero."""
    setup = Setup(queries=8, keys=8, dim=4, features=8)
    attend = crt.FavorAttention(setup.features)
    omega = setup.omega(attend)

    def twice(dtype: str) -> Array:
        q, k, v = (each.astype(dtype) for each in setup.arrays(1))

        def slope(q: Array) -> Array:
            return jnp.sum(jax.grad(lambda q: jnp.sum(attend(q, k, v, omega) ** 2))(q) ** 2)

        return jax.grad(slope)(q)

    assert jnp.any(twice("float32")) and jnp.any(twice("float16"))
    with pytest.raises(ValueError, match="lost in bfloat16"):
        twice("bfloat16")


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
