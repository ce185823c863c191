"""Features against the paper's definitions, point by point, in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from tests.crt import cases

EPS, EPS32 = float(np.finfo(float).eps), float(np.finfo("f4").eps)


def by_logarithms(
    mechanism: crt.Mechanism, points: np.ndarray, omega: np.ndarray, side: str, kernel: str
) -> np.ndarray:
    log_abs, phase = mechanism.log_features(points, omega, side, kernel=kernel)
    return np.exp(np.asarray(log_abs)) * np.asarray(phase)


@pytest.mark.parametrize("kernel", crt.kernels.KERNELS)
@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_features_are_those_of_the_paper(name: str, kernel: str) -> None:
    mechanism, omega = cases.MECHANISMS[name], cases.projections(name, 16)
    with jax.enable_x64(True):
        for side, points in (("x", cases.X), ("y", cases.Y)):
            expected, unit = cases.features(name, points, omega, side, kernel)
            bound = EPS * unit * abs(expected)
            plain = np.asarray(mechanism.features(points, omega, side, kernel=kernel))
            by_logs = by_logarithms(mechanism, points, omega, side, kernel)
            assert (abs(plain - expected) <= bound).all()
            assert (abs(by_logs - expected) <= bound).all()
            assert np.count_nonzero(plain) >= plain.size / 4


@pytest.mark.parametrize("name", ["gerf, complex", "geom", "pois+"])
def test_a_wrong_side_sign_or_parameter_would_be_seen(name: str) -> None:
    mechanism, omega = cases.MECHANISMS[name], cases.projections(name, 16)
    expected, unit = cases.features(name, cases.Y, omega, "y")
    bound = EPS * unit * abs(expected)
    changed = jax.tree.map(lambda leaf: leaf * (1 + 1e-9), mechanism)
    with jax.enable_x64(True):
        wrong = [changed.features(cases.Y, omega, "y"), mechanism.features(-cases.Y, omega, "y")]
        for features in wrong:
            assert (abs(np.asarray(features) - expected) > bound).any()


def test_vanishing_powers() -> None:
    mechanism = crt.PoisRF(1.0)
    omega = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [2.0, 1.0]])
    point = np.array([[0.0, -2.0]])
    log_abs, sign = mechanism.log_features(point, omega, kernel="softmax")
    np.testing.assert_array_equal(np.isneginf(log_abs), [[False, True, False, True]])
    np.testing.assert_array_equal(np.asarray(sign)[0, [0, 2]], [1, -1])
    features = np.asarray(mechanism.features(point, omega, kernel="softmax"))
    # Two coordinates with e^{1/2} each; x³ = -8.
    np.testing.assert_allclose(features, [[np.e, 0, -8 * np.e, 0]], rtol=8 * EPS32)


@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_leading_axes_and_dtypes(name: str) -> None:
    mechanism, omega = cases.MECHANISMS[name], cases.projections(name, 6)
    stack = np.stack([cases.X, -cases.X, 0.5 * cases.X])
    stacked = mechanism.features(stack, omega, "y")
    for each, points in zip(stacked, stack, strict=True):
        expected, unit = cases.features(name, points, omega, "y")
        assert (abs(np.asarray(each) - expected) <= EPS32 * unit * abs(expected)).all()
    for dtype in (jnp.bfloat16, jnp.float16):
        half = jnp.asarray(cases.X, dtype)
        log_abs, phase = mechanism.log_features(half, omega)
        assert log_abs.dtype == jnp.float32
        assert phase.dtype == (jnp.complex64 if mechanism.complex_features else jnp.float32)
        assert mechanism.features(half, omega).dtype in (dtype, jnp.complex64)


def test_new_points_below_the_shift_are_clamped() -> None:
    mechanism = cases.MECHANISMS["pois+"]
    below = np.array([[-9.0, 0.0, 0.0]])
    at = np.array([[-0.6, 0.0, 0.0]])
    omega = cases.projections("pois+", 8)
    np.testing.assert_array_equal(mechanism.features(below, omega), mechanism.features(at, omega))
    assert (np.asarray(mechanism.positive(below)) > 0).all()


def test_sampling_kinds() -> None:
    key = jax.random.key(3)
    for mechanism in cases.MECHANISMS.values():
        omega = np.asarray(mechanism.sample(key, 500, cases.DIM))
        assert omega.shape == (500, cases.DIM) and omega.dtype == np.float32
        assert np.isfinite(omega).all() and omega.std() > 0
        if mechanism.discrete:
            np.testing.assert_array_equal(omega, np.floor(omega))
            assert omega.min() == 0
