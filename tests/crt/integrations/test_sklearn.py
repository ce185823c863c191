"""The scikit-learn estimators: scikit-learn's own checks, the kernel they estimate, their use."""

import importlib.util
import sys
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import crt
from crt.integrations import feature_map
from crt.integrations import sklearn as integration
from crt.integrations.sklearn import KernelClassifier, KernelRegressor, RandomFeatures

NAMES = tuple(crt.MECHANISMS)
ROWS = 37


def normal(rows: int = ROWS, dim: int = 3, scale: float = 0.5) -> np.ndarray:
    return scale * np.random.default_rng(0).standard_normal((rows, dim))


def product_error(columns: np.ndarray, fitted: RandomFeatures, x: np.ndarray) -> float:
    """Largest |φ(x)·φ(y) - K̂| in units of its rounding.

    A sum of M products rounds by M·eps·Σ|terms|; each feature is an exponential of a logarithm,
    below 16 here, that rounds by at most 4·16·eps.
    """
    points = fitted.map_.stretch * x
    with jax.enable_x64(True):
        estimate = crt.estimate_kernel(fitted.mechanism_, fitted.map_.omega, points, points)
    sizes = np.abs(columns) @ np.abs(columns).T
    unit = (columns.shape[1] + 2 * 64) * np.finfo(float).eps * sizes
    return float(np.max(np.abs(columns @ columns.T - np.asarray(estimate)) / unit))


# scikit-learn passes wrong types on purpose.
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("estimator", [RandomFeatures(), KernelClassifier(), KernelRegressor()])
def test_scikit_learn_accepts_the_estimator(estimator: Any) -> None:
    results = check_estimator(estimator, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 40


@pytest.mark.parametrize("name", NAMES)
def test_columns_multiply_to_the_estimate(name: str) -> None:
    x = normal()
    fitted = RandomFeatures(name, gamma=0.3, n_components=24, random_state=1).fit(x)
    columns = fitted.transform(x)
    assert columns.shape == (ROWS, 24) and np.linalg.norm(columns) > 1
    assert product_error(columns, fitted, x) <= 1
    assert product_error(np.roll(columns, 1, axis=0), fitted, x) > 1e6
    assert product_error(0 * columns + 1e-3, fitted, x) > 1e6


def test_both_signs_of_a_gerf_have_a_real_map() -> None:
    x = normal()
    for mechanism, count in ((crt.GERF(0.01, -1), 12), (crt.GERF(-0.1, 1), 24)):
        fitted = RandomFeatures(mechanism, n_components=24, random_state=1).fit(x)
        assert len(fitted.map_.omega) == count
        assert product_error(fitted.transform(x), fitted, x) <= 1


@pytest.mark.parametrize("mechanism", ["trig", crt.GERF(0.01, -1)])
@pytest.mark.parametrize("width", [1, 7])
def test_odd_numbers_of_columns_are_unbiased(mechanism: Any, width: int) -> None:
    """Over the phases b and b + ½ the last column averages to half a pair, for every b."""
    x = normal()
    fitted = RandomFeatures(mechanism, n_components=width, random_state=3).fit(x)
    one, phases = fitted.map_, fitted.map_.phases
    other = replace(one, phases=np.append(phases[:-1], phases[-1] + 0.5))
    assert 0 < phases[-1] < 2 and not phases[:-1].any()
    average = sum(each(x) @ each(x).T for each in (one, other)) / 2
    weights = np.append(np.full(width // 2, 2 / width), 1 / width)
    with jax.enable_x64(True):
        f1, f2 = (fitted.mechanism_.features(one.stretch * x, one.omega, side) for side in "xy")
    expected = np.real(np.asarray(f1) * weights @ np.asarray(f2).T)
    np.testing.assert_allclose(average, expected, rtol=0, atol=1000 * np.finfo(float).eps)
    assert np.abs(one(x) @ one(x).T - expected).max() > 1e-3


def test_gamma_follows_scikit_learn() -> None:
    """With the rates of one pair OptPoisRF has no variance: every draw gives the kernel itself."""
    x = np.array([[0.3, 0.5, 0.2], [0.7, 0.1, 0.4]])
    gamma = 0.8
    mechanism = crt.OptPoisRF(2 * gamma * x[0] * x[1])
    columns = RandomFeatures(mechanism, gamma=gamma, n_components=5).fit_transform(x)
    exact = rbf_kernel(x, gamma=gamma)[0, 1]
    assert columns[0] @ columns[1] == pytest.approx(exact, rel=200 * np.finfo(float).eps)
    assert abs(exact - rbf_kernel(x, gamma=2 * gamma)[0, 1]) > 0.1


def test_gamma_scale_is_that_of_scikit_learn() -> None:
    x = normal()
    assert RandomFeatures(gamma="scale").fit(x).gamma_ == pytest.approx(1 / (3 * x.var()))
    assert RandomFeatures(gamma="scale").fit(np.ones((4, 2))).gamma_ == 1


def test_dtypes_are_kept_and_results_writable() -> None:
    x = normal()
    for name in ("trig", "gerf", "oprf", "geom+"):
        fitted = RandomFeatures(name, random_state=0).fit(x)
        wide, narrow = fitted.transform(x), fitted.transform(x.astype(np.float32))
        assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)
        assert narrow.flags.writeable
        # Columns of float32 differ by roundings of logarithms below 32.
        close = 100 * 32 * np.finfo(np.float32).eps * np.abs(wide).max()
        np.testing.assert_allclose(narrow, wide, rtol=0, atol=close)


def test_blocks_give_what_one_block_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    x = normal(rows=101)
    fitted = RandomFeatures(n_components=10, random_state=0).fit(x)
    whole = fitted.transform(x)
    monkeypatch.setattr(feature_map, "BLOCK", 160)
    # The sum over coordinates may be taken in another order: angles differ by their rounding.
    np.testing.assert_allclose(fitted.transform(x), whole, rtol=0, atol=1e-13)
    assert np.abs(whole).min() > 1e-13


def test_names_of_columns() -> None:
    fitted = RandomFeatures(n_components=3).fit(normal())
    assert list(fitted.get_feature_names_out()) == [f"randomfeatures{i}" for i in range(3)]


def test_pandas_output() -> None:
    pytest.importorskip("pandas")
    frame: Any = RandomFeatures(n_components=3).set_output(transform="pandas").fit(normal())
    assert list(frame.transform(normal()).columns) == [f"randomfeatures{i}" for i in range(3)]


def test_instances_survive_clone() -> None:
    estimator = RandomFeatures(crt.OPRF(0.5), n_components=8, random_state=0)
    first, second = (clone(estimator).fit_transform(normal()) for _ in range(2))
    assert np.array_equal(first, second) and first.any()


class Scrambled(RandomFeatures):
    """A broken map: the columns of a row belong to another row."""

    def transform(self, X: Any) -> np.ndarray:
        return np.roll(super().transform(X), 1, axis=0)


@pytest.mark.parametrize("name", ["trig", "oprf"])
def test_pipeline_with_grid_search_learns_digits(name: str) -> None:
    pixels, labels = load_digits(return_X_y=True)
    parts = train_test_split(pixels / 16, labels, random_state=0, test_size=0.5)
    grid = {"features__gamma": [0.02, 0.1]}
    scores = []
    for kind in (RandomFeatures, Scrambled):
        features = kind(name, n_components=300, orthogonal=True, random_state=0)
        pipeline = Pipeline([("features", features), ("ridge", RidgeClassifier())])
        search = GridSearchCV(pipeline, grid, cv=2).fit(parts[0], parts[2])
        scores.append(search.score(parts[1], parts[3]))
    good, broken = scores
    assert good > 0.85 and broken < 0.3


@pytest.mark.parametrize("name", ["trig", "oprf", "pois", "geom+"])
def test_classifier_learns_iris(name: str) -> None:
    x, y = load_iris(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(x, y, random_state=0, stratify=y)
    model = KernelClassifier(name, gamma=0.3, num_features=512, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(train_x, train_y)
    assert pipeline.score(test_x, test_y) > 0.7
    assert clone(pipeline).fit(train_x, (train_y + 1) % 3).score(test_x, test_y) < 0.3


def test_classifier_agrees_with_the_functions() -> None:
    x, y = load_iris(return_X_y=True)
    x = x.astype(np.float32)
    for mechanism in ("oprf", "geom", crt.GERF(0.01 + 0.02j, -1)):
        model = KernelClassifier(mechanism, gamma=0.5, num_features=64, random_state=0).fit(x, y)
        omega = model.omega_.astype(np.float32)
        direct = crt.classify(model.mechanism_, omega, x, x, y, 3)
        # Both sum in float32 with different paddings; a tie within rounding may fall either way.
        assert np.mean(model.predict(x) == np.asarray(direct)) > 0.98


def test_probabilities_exist_for_positive_features_alone() -> None:
    x, y = load_iris(return_X_y=True)
    for name in ("oprf", "geom+", "trig"):
        model = KernelClassifier(name, random_state=0).fit(x, y)
        if name != "trig":
            chances: Any = model.predict_proba(x)
            assert chances.min() >= 0
            np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=8 * np.finfo(float).eps)
            assert np.array_equal(chances.argmax(axis=1), model.predict(x))
        else:
            assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        KernelClassifier("trig").predict_proba  # noqa: B018
    assert "positive" in str(caught.value.__cause__ or caught.value)


def test_regressor_agrees_with_the_function() -> None:
    x = normal()
    targets = np.stack([np.sin(3 * x[:, 0]), 1e3 + x[:, 1]], axis=1)
    model = KernelRegressor(gamma=2.0, num_features=64, random_state=0).fit(x, targets)
    points = 2.0 * x
    with jax.enable_x64(True):
        direct = crt.regress(model.mechanism_, model.omega_, points, points, targets)
    assert np.ptp(np.asarray(direct), axis=0).min() > 0.1
    # Weighted means of numbers near 1e3: sums of 64 · 37 positive terms.
    tolerance = 64 * ROWS * np.finfo(float).eps * 1e3
    np.testing.assert_allclose(model.predict(x), direct, rtol=0, atol=tolerance)


def test_regressor_is_right_where_the_kernel_underflows() -> None:
    x = np.array([[-1.0], [1.0]])
    model = KernelRegressor("pos", gamma=0.5, num_features=64, random_state=0).fit(x, [3.0, 5.0])
    far = model.predict(np.array([[-100.0], [100.0]]))
    assert np.all((far >= 3) & (far <= 5)) and far[0] < 3.1 and far[1] > 4.9


@pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor])
def test_the_data_are_not_kept(kind: Any) -> None:
    rows = 1049
    x = normal(rows=rows)
    model = kind(num_features=16).fit(x, (x[:, 0] > 0).astype(int))
    leaves = [leaf for value in vars(model).values() for leaf in jax.tree.leaves(value)]
    arrays = [leaf for leaf in leaves if hasattr(leaf, "shape")]
    assert arrays and all(rows not in array.shape for array in arrays)
    assert sum(array.size for array in arrays) < 200


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mechanism": "cosine"}, "mechanism is 'cosine'; accepted are 'trig'"),
        ({"mechanism": 3}, "mechanism is 3; it must be a name or a mechanism"),
        ({"mechanism": crt.GERF(0.01 + 0.02j, -1)}, "not conjugate"),
        ({"mechanism": crt.OptPoisRF(np.ones(5))}, "3 coordinates"),
        ({"gamma": -1.0}, "gamma is -1.0; it must be 'scale' or a positive number"),
        ({"gamma": "auto"}, "gamma is 'auto'"),
        ({"gamma": np.ones(3)}, "gamma is a ndarray; it must be 'scale' or a positive number"),
        ({"n_components": 0}, "n_components is 0; it must be an integer of at least 1"),
        ({"n_components": 2.5}, "n_components is 2.5"),
        ({"mechanism": "pois", "orthogonal": True}, "orthogonal is True"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        RandomFeatures(**options).fit(normal())


@pytest.mark.parametrize("name", ["gerf", "pois"])
def test_parameters_that_overflow_are_named(name: str) -> None:
    x = 1e30 * normal().astype(np.float32)
    with pytest.raises(ValueError, match=f"X has norms for which the parameters of '{name}'"):
        RandomFeatures(name).fit(x)


@pytest.mark.usefixtures("unchecked")
def test_wrong_number_of_features_is_named() -> None:
    with pytest.raises(ValueError, match="num_features is 0"):
        KernelRegressor(num_features=0).fit(normal(), normal()[:, 0])


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    path = integration.__file__
    assert path is not None
    spec = importlib.util.spec_from_file_location("without_sklearn", path)
    assert spec is not None and spec.loader is not None
    with pytest.raises(ImportError, match=r"chefs-random-tables\[sklearn\]"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
