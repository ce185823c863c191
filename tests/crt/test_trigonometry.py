"""Cosine and sine of half turns: within the bound that the operations imply, for every size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crt import trigonometry
from crt.trigonometry import COEFFICIENTS, cos_sin_pi

LIMIT = 2e-7
HALF_ULP = 2.0**-24


def worst_case() -> float:
    """Largest possible error in float32 if every operation rounds by half a unit, none is fused.

    The error of each intermediate result is carried along with it; the polynomial's own distance
    from the sine is added, and for the cosine the rounding of ½ - |f|, which is exact above ¼.
    """
    f = np.linspace(0, 0.5, 100_001)
    square, rest, error = f * f, np.full_like(f, np.float32(COEFFICIENTS[-1])), np.zeros_like(f)
    square_error = HALF_ULP * square
    for coefficient in COEFFICIENTS[-2::-1]:
        product = rest * square
        following = product + float(np.float32(coefficient))
        error = error * (square + square_error) + np.abs(rest) * square_error
        error += HALF_ULP * (np.abs(product) + np.abs(following))
        rest = following
    value = 2 * f + f * rest
    error = f * error + HALF_ULP * (np.abs(f * rest) + np.abs(value))
    sine = error + np.abs(value - np.sin(np.pi * f))
    rounded = np.where(f > 0.25, HALF_ULP * f * np.pi * np.cos(np.pi * f), 0)
    return float((sine + rounded).max())


def largest_error(t: np.ndarray) -> float:
    """Against float64, where t is reduced modulo 2 exactly before it is multiplied by π."""
    turned = np.pi * np.remainder(t.astype(np.float64), 2)
    # A new function each time, so that no compiled one is taken from the cache.
    compiled = jax.jit(lambda at: cos_sin_pi(at))
    cosine, sine = (np.asarray(each, np.float64) for each in compiled(t))
    return max(np.abs(cosine - np.cos(turned)).max(), np.abs(sine - np.sin(turned)).max())


def float32_values(low: int, high: int, stride: int) -> np.ndarray:
    """Every stride-th float32 with magnitude in [2^low, 2^high), both signs."""
    mantissas = np.arange(2**23, 2**24, stride)
    values = [np.ldexp(mantissas, exponent - 23) for exponent in range(low, high)]
    both = np.concatenate(values)
    return np.concatenate([both, -both]).astype(np.float32)


def test_rounding_analysis_stays_below_the_limit() -> None:
    assert 4e-9 < worst_case() < LIMIT


@pytest.mark.parametrize(("low", "high"), [(-30, -12), (-12, 0), (0, 12), (12, 40)])
def test_every_size_is_within_the_analysis(low: int, high: int) -> None:
    assert largest_error(float32_values(low, high, stride=97)) <= worst_case()


def test_a_wrong_coefficient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (*COEFFICIENTS[:-1], COEFFICIENTS[-1] * 1.001)
    monkeypatch.setattr(trigonometry, "COEFFICIENTS", wrong)
    assert largest_error(float32_values(-2, 0, stride=97)) > LIMIT


def test_quarter_turns_are_exact_where_the_value_is_zero() -> None:
    cosine, _ = cos_sin_pi(jnp.array([0.5, 1.5, -0.5, 4.5]))
    _, sine = cos_sin_pi(jnp.array([0.0, 1.0, -1.0, 2.0**23 + 1, 2.0**24, 2.0**100]))
    assert np.array_equal(cosine, np.zeros(4)) and np.array_equal(sine, np.zeros(6))


def test_what_is_not_finite_gives_nan() -> None:
    assert all(np.isnan(each).all() for each in cos_sin_pi(jnp.array([np.inf, -np.inf, np.nan])))


def test_float64_keeps_its_digits() -> None:
    t = np.random.default_rng(0).uniform(-100, 100, 10_000)
    turned = np.pi * np.remainder(t + 1, 2) - np.pi
    with jax.enable_x64(True):
        cosine, sine = cos_sin_pi(jnp.asarray(t))
    # Each side rounds π and the product, at most π in size, and its own value.
    tolerance = 2 * (np.pi + 1) * np.finfo(float).eps
    np.testing.assert_allclose(cosine, np.cos(turned), rtol=0, atol=tolerance)
    np.testing.assert_allclose(sine, np.sin(turned), rtol=0, atol=tolerance)


def test_derivatives_are_those_of_the_functions() -> None:
    t = jnp.linspace(-3, 3, 41)
    cosine, sine = cos_sin_pi(t)
    slopes = [
        jax.vmap(transform(lambda at, i=i: cos_sin_pi(at)[i]))(t)
        for transform in (jax.grad, jax.jacfwd)
        for i in (0, 1)
    ]
    for i, expected in enumerate([-np.pi * sine, np.pi * cosine] * 2):
        np.testing.assert_allclose(slopes[i], expected, rtol=4e-7, atol=4e-7)
