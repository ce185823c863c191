"""Kernel estimates against the quadratic evaluation of the same estimator, in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import crt
from crt.mechanisms.base import Mechanism
from tests.crt import cases

EPS = np.finfo(float).eps
FEATURES = 12


def scene(name: str, kernel: str = "gaussian"):
    omega = cases.projections(name, FEATURES)
    mean, size, unit = cases.products(name, cases.X, cases.Y, omega, kernel)
    return cases.MECHANISMS[name], omega, mean, EPS * unit * size


@pytest.mark.parametrize("kernel", crt.kernels.KERNELS)
@pytest.mark.parametrize("name", cases.MECHANISMS)
def test_entries_and_operator(name: str, kernel: str) -> None:
    mechanism, omega, mean, bound = scene(name, kernel)
    # Sums over l rows add l roundings relative to the summed sizes.
    wide = bound @ abs(cases.C) * len(cases.Y)
    with jax.enable_x64(True):
        entries = np.asarray(crt.estimate_kernel(mechanism, omega, cases.X, cases.Y, kernel=kernel))
        logs, sign = crt.log_estimate_kernel(mechanism, omega, cases.X, cases.Y, kernel=kernel)
        # 3 divides neither 4 rows nor 5.
        applied = crt.apply_kernel(
            mechanism, omega, cases.X, cases.Y, cases.C, kernel=kernel, chunk=3
        )
    assert (abs(entries - mean) <= bound).all() and (entries != 0).any()
    assert (abs(np.exp(np.asarray(logs)) * np.asarray(sign) - mean) <= bound).all()
    assert (abs(np.asarray(applied) - mean @ cases.C) <= wide).all()
    assert (abs(np.asarray(applied) - 1.001 * mean @ cases.C) > wide).any()


@pytest.mark.parametrize("name", ["trig", "gerf, complex, s = -1", "oprf", "optpois", "geom+"])
def test_regression_and_classes(name: str) -> None:
    mechanism, omega, mean, bound = scene(name)
    total, slack = mean.sum(1, keepdims=True), bound.sum(1, keepdims=True) * len(cases.Y)
    expected = mean @ cases.C / total
    wide = (bound @ abs(cases.C) * len(cases.Y) + abs(expected) * slack) / (abs(total) - slack)
    labels = np.array([0, 2, 1, 0])
    scores = mean @ np.eye(3)[labels]
    with jax.enable_x64(True):
        regressed = crt.regress(mechanism, omega, cases.X, cases.Y, cases.C, chunk=3)
        classes = crt.classify(mechanism, omega, cases.X, cases.Y, labels, 3, chunk=2)
    assert (abs(np.asarray(regressed) - expected) <= wide).all()
    np.testing.assert_array_equal(classes, scores.argmax(1))
    assert np.count_nonzero(np.asarray(regressed)) == regressed.size


@pytest.mark.parametrize("mechanism", [crt.PoisRF(60.0), crt.GeomRF(0.02)])
def test_where_all_features_vanish_the_first_class_is_the_answer(mechanism: Mechanism) -> None:
    """No row has label 0, yet it is the answer at a coordinate 0 whose counts are positive."""
    omega = mechanism.sample(jax.random.key(0), 8, 2)
    x, y = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    vanishes = np.asarray(omega)[:, 0] > 0
    classes = crt.classify(mechanism, omega[vanishes], x, y, np.array([1, 1]), 2)
    assert vanishes.any() and np.asarray(classes).tolist() == [0, 1]


def test_regression_of_positive_features_is_a_weighted_mean_even_where_all_underflows() -> None:
    mechanism = crt.OPRF(0.5)
    omega = mechanism.sample(jax.random.key(0), 16, 2)
    x, y = np.array([[300.0, 0.0]]), np.array([[200.0, 0.0], [-200.0, 0.0]])
    value = np.asarray(crt.regress(mechanism, omega, x, y, np.array([[1.0], [5.0]])))
    assert (value >= 1).all() and (value <= 5).all()
    assert (np.asarray(crt.apply_kernel(mechanism, omega, x, y, np.ones((2, 1)))) == 0).all()


def test_regression_returns_the_plain_mean_where_no_feature_is_left() -> None:
    omega = np.ones((4, 2))
    zero = np.zeros((1, 2))
    mean = crt.regress(crt.PoisRF(1.0), omega, zero, np.ones((3, 2)), np.array([[1.0], [2], [6]]))
    np.testing.assert_array_equal(mean, [[3.0]])


@pytest.mark.parametrize("name", ["gerf, complex", "pois", "oprf"])
def test_leading_axes(name: str) -> None:
    mechanism, omega = cases.MECHANISMS[name], cases.projections(name, FEATURES)
    x = np.stack([[cases.X, 2 * cases.X, -cases.X]] * 2)
    y = np.stack([[cases.Y, -cases.Y, 0.3 * cases.Y]] * 2)
    c = np.stack([[cases.C, 2 * cases.C, -cases.C]] * 2)
    with jax.enable_x64(True):
        entries = crt.estimate_kernel(mechanism, omega, x, y)
        applied = crt.apply_kernel(mechanism, omega, x, y, c)
        assert entries.shape == (2, 3, 5, 4) and applied.shape == (2, 3, 5, 2)
        for i in range(3):
            _, size, unit = cases.products(name, x[1, i], y[1, i], omega)
            each = crt.estimate_kernel(mechanism, omega, x[1, i], y[1, i])
            assert (abs(np.asarray(entries[1, i] - each)) <= EPS * unit * size).all()
            bound = EPS * unit * size @ abs(c[1, i]) * len(cases.Y)
            product = np.asarray(each) @ c[1, i]
            assert (abs(np.asarray(applied[1, i]) - product) <= bound).all()


@pytest.mark.parametrize("name", ["trig", "geom", "pos"])
def test_summaries_merge(name: str) -> None:
    mechanism, omega, mean, bound = scene(name)
    with jax.enable_x64(True):
        parts = [
            crt.summarise(mechanism, omega, cases.Y[rows], cases.C[rows])
            for rows in (slice(0, 1), slice(1, 4))
        ]
        nothing = crt.Summary(jnp.full_like(parts[0].log_scale, -jnp.inf), 0 * parts[0].sums)
        merged = nothing.merge(parts[0]).merge(parts[1]).merge(nothing)
        values = np.asarray(crt.read(mechanism, omega, cases.X, merged))
        none = np.asarray(crt.read(mechanism, omega, cases.X, nothing))
        alone = np.asarray(crt.read(mechanism, omega, cases.X, parts[0]))
    wide = bound @ abs(cases.C) * len(cases.Y)
    assert (abs(values - mean @ cases.C) <= wide).all()
    assert (abs(alone - mean @ cases.C) > wide).any() and (none == 0).all()


def test_labels_may_be_held_by_a_traced_function() -> None:
    mechanism, omega = crt.PosRF(), cases.projections("pos", FEATURES)
    labels, wrong = jnp.array([0, 2, 1, 0]), jnp.array([0, 3, 1, 0])

    def classes(x, labels=labels):
        return crt.classify(mechanism, omega, x, cases.Y, labels, 3)

    np.testing.assert_array_equal(jax.jit(classes)(cases.X), classes(cases.X))
    with pytest.raises(ValueError, match="labels must lie in 0"):
        jax.jit(lambda x: classes(x, wrong))(cases.X)


def test_a_wide_summary_is_read_in_its_own_precision() -> None:
    mechanism, omega, mean, bound = scene("oprf")
    wide = bound @ abs(cases.C) * len(cases.Y)
    with jax.enable_x64(True):
        summary = crt.summarise(mechanism, omega, cases.Y, cases.C)
        narrow = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), summary)
        x = jnp.asarray(cases.X, jnp.float32)
        sums, log_scale = crt.read_scaled(mechanism, jnp.asarray(omega, jnp.float32), x, summary)
        assert sums.dtype == log_scale.dtype == jnp.float64
        both = narrow.merge(summary)
        assert both.sums.dtype == jnp.float64
        values = np.asarray(crt.read(mechanism, omega, cases.X, both))
    # One of the two halves was rounded to float32.
    assert (abs(values - 2 * mean @ cases.C) <= wide * np.finfo("f4").eps / EPS).all()
    assert (values != 0).all()


def test_output_dtype_is_the_input_dtype() -> None:
    mechanism = crt.OPRF(0.6)
    omega = mechanism.sample(jax.random.key(0), 8, cases.DIM)
    for dtype in (jnp.bfloat16, jnp.float16, jnp.float32):
        x, y, c = (jnp.asarray(each, dtype) for each in (cases.X, cases.Y, cases.C))
        assert crt.apply_kernel(mechanism, omega, x, y, c).dtype == dtype
        assert crt.regress(mechanism, omega, x, y, c).dtype == dtype
        assert crt.estimate_kernel(mechanism, omega, x, y).dtype == dtype
