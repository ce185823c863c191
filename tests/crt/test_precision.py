"""float32 against float64 of the same draw, within the bounds the numerics promise."""

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt

EPS = np.finfo("f4").eps
FEATURES = 32


def scene(name: str, d: int, radius: float, seed: int):
    """Float32 data of norms up to `radius`, a fitted mechanism, and its projections."""
    draw = np.random.default_rng(seed)
    x, y = draw.normal(size=(2, 5, d))
    lengths = radius * draw.uniform(0.1, 1, size=(2, 5, 1))
    x, y = (
        jnp.asarray(length * points / np.linalg.norm(points, axis=-1, keepdims=True), "f4")
        for length, points in zip(lengths, (x, y), strict=True)
    )
    mechanism = crt.MECHANISMS[name].fit(x, y)
    return mechanism, mechanism.sample(jax.random.key(seed), FEATURES, d), x, y


def both(mechanism, omega, x, y):
    """log|K̂|, sign and log of the mean |f1·f2|, in float64, of one draw."""
    with jax.enable_x64(True):
        wide = [
            jax.tree.map(lambda leaf: np.asarray(leaf, "f8"), each)
            for each in (mechanism, omega, x, y)
        ]
        logs, sign = (np.asarray(each) for each in crt.log_estimate_kernel(*wide))
        x_logs, _ = wide[0].log_features(wide[2], wide[1], "x")
        y_logs, _ = wide[0].log_features(wide[3], wide[1], "y")
        terms = np.asarray(x_logs)[:, None] + np.asarray(y_logs)
    sizes = np.logaddexp.reduce(terms, axis=-1) - np.log(FEATURES)
    return logs, sign, sizes


@pytest.mark.parametrize("d", [2, 64])
@pytest.mark.parametrize("name", crt.MECHANISMS)
def test_points_in_the_unit_ball(name: str, d: int) -> None:
    mechanism, omega, x, y = scene(name, d, 1.0, d)
    logs, sign, sizes = both(mechanism, omega, x, y)
    single = np.asarray(crt.estimate_kernel(mechanism, omega, x, y), "f8")
    bound = 1e-5 * np.exp(sizes)
    assert (abs(single - sign * np.exp(logs)) <= bound).all() and (abs(single) > bound).any()
    values = np.asarray(crt.apply_kernel(mechanism, omega, x, y, jnp.ones((5, 1))), "f8")[:, 0]
    assert (abs(values - (sign * np.exp(logs)).sum(1)) <= bound.sum(1)).all()


@pytest.mark.parametrize("radius", [30.0, 1e4])
@pytest.mark.parametrize("name", crt.MECHANISMS)
def test_far_points(name: str, radius: float) -> None:
    """Positive features: the log of each estimate. Others: relative to the mean of |f1·f2|."""
    mechanism, omega, x, y = scene(name, 3, radius, 1)
    logs, sign, sizes = both(mechanism, omega, x, y)
    single, single_sign = (
        np.asarray(each, "f8") for each in crt.log_estimate_kernel(mechanism, omega, x, y)
    )
    squares = [np.sum(np.asarray(each, "f8") ** 2, -1) for each in (x, y, omega)]
    bound = 16 * EPS * (1 + squares[0][:, None] + squares[1] + squares[2].max())
    assert not np.isnan(single).any() and not np.isnan(single_sign).any()
    if mechanism.complex_features or mechanism.signed_features:
        gap = abs(single_sign * np.exp(single - sizes) - sign * np.exp(logs - sizes))
        assert (gap <= np.expm1(np.minimum(bound, 50))).all()
    else:
        assert (abs(single - logs) <= bound).all()


@hypothesis.given(
    scale=st.floats(-6, 4).map(lambda power: 10.0**power),
    seed=st.integers(0, 2**16),
    zeros=st.booleans(),
)
@hypothesis.settings(max_examples=15)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_never_nan(dtype: str, scale: float, seed: int, zeros: bool) -> None:
    draw = np.random.default_rng(seed)
    x, y = (scale * draw.uniform(-1, 1, size=(4, 2)) for _ in range(2))
    if zeros:
        x[:2], y[0] = 0, 0
    x, y = jnp.asarray(x, dtype), jnp.asarray(y, dtype)
    for value in everything(x, y):
        assert not np.isnan(np.asarray(value, "f4")).any()


@jax.jit
def everything(x, y):
    """Entries, logs, operator and regression of a real, a signed and a complex mechanism."""
    results = []
    for name in ("oprf", "geom", "gerf", "pois+"):
        mechanism = crt.MECHANISMS[name].fit(x, y)
        omega = mechanism.sample(jax.random.key(0), 8, 2)
        results += [*crt.log_estimate_kernel(mechanism, omega, x, y)]
        results += [crt.regress(mechanism, omega, x, y, y)]
    return results
