"""scikit-learn estimators: random features as a transformer, and kernel smoothing on top of them.

All three take a mechanism by name (fitted to the data) or as an instance (used as it is) and the
Gaussian kernel in scikit-learn's convention, K(x, y) = exp(-γ‖x-y‖²).
"""

from functools import partial
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils import Tags, check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "crt.integrations.sklearn needs scikit-learn, which comes with the extra 'sklearn': "
        "pip install 'chefs-random-tables[sklearn]'."
    ) from error

from crt import errors
from crt.estimate import read_scaled, summarise
from crt.integrations.feature_map import FeatureMap, draw, padded
from crt.mechanisms import MECHANISMS, OPRF, GeomRFPlus, Mechanism, PoisRFPlus, PosRF

DTYPES = (np.float64, np.float32)
POSITIVE = (PosRF, OPRF, PoisRFPlus, GeomRFPlus)


def _width_of(gamma: float | int | str, x: np.ndarray) -> float:
    """γ; "scale" is 1/(d·Var X), 1 for constant data."""
    if isinstance(gamma, str) and gamma == "scale":
        variance = float(x.var(dtype=np.float64))
        return 1 / (x.shape[1] * variance) if variance > 0 else 1.0
    number = isinstance(gamma, Real) and not isinstance(gamma, bool)
    if not number or not 0 < float(gamma) < np.inf:
        given = repr(gamma) if number or isinstance(gamma, str) else f"a {type(gamma).__name__}"
        raise ValueError(f"gamma is {given}; it must be 'scale' or a positive number.")
    return float(gamma)


def _fit_mechanism(mechanism: str | Mechanism, points: np.ndarray) -> Mechanism:
    """An instance as it is; a name with the parameters optimal for these points, as NumPy arrays.

    JAX arrays would tie a fitted estimator to a device.
    """
    if isinstance(mechanism, Mechanism):
        mechanism.check_dim(points.shape[1])
        return mechanism
    if not isinstance(mechanism, str):
        raise ValueError(f"mechanism is {mechanism!r}; it must be a name or a mechanism.")
    errors.one_of("mechanism", mechanism, MECHANISMS)
    rows = padded(points)
    mask = np.arange(len(rows)) < len(points)
    fitted = jax.tree.map(np.asarray, _fitted(rows, mask, mechanism))
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fitted)):
        raise ValueError(
            f"X has norms for which the parameters of {mechanism!r} overflow in {points.dtype}; "
            "the entries of X, or gamma, must be smaller."
        )
    return fitted


@partial(jax.jit, static_argnames=("name",))
def _fitted(rows: jax.Array, mask: jax.Array, name: str) -> Mechanism:
    """One compiled program for all statistics; the values were checked by scikit-learn."""
    return MECHANISMS[name].fit(rows, rows, x_mask=mask, y_mask=mask)


def _key(random_state: Any) -> jax.Array:
    """A JAX key from scikit-learn's kind of seed."""
    return jax.random.key(check_random_state(random_state).randint(2**31 - 1))


class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Columns φ(x) with φ(x)·φ(y) ≈ exp(-γ‖x-y‖²); takes the place of `RBFSampler`.

    mechanism     a name of `crt.MECHANISMS` or an instance. TrigRF and a GERF with s = -1 give
                  cosines, then sines; the others one real column per projection. A GERF with
                  complex A is refused: f1 and f2 are not conjugate, so no single real map exists.
    gamma         γ > 0, or "scale": 1/(d·Var X).
    n_components  number of columns of the result; the factor 1/√M is inside them.
    orthogonal    orthogonal projections, for mechanisms that are not discrete.

    float32 and float64 are kept. Fitted: `mechanism_`, `gamma_`, `map_` (projections `map_.omega`,
    before the stretch by √(2γ)). `transform` costs O(n·d·n_components); sparse input is not taken.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> RandomFeatures("oprf", gamma=0.5, n_components=64, random_state=0).fit_transform(X).shape
    (5, 64)
    """

    def __init__(
        self,
        mechanism: str | Mechanism = "trig",
        *,
        gamma: float | int | str = 1.0,
        n_components=100,
        orthogonal=False,
        random_state=None,
    ):
        self.mechanism = mechanism
        self.gamma = gamma
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.random_state = random_state

    def fit(self, X, y=None):
        """Fits the parameters of the mechanism to the rows of X and draws the projections."""
        errors.whole("n_components", self.n_components)
        X = validate_data(self, X, dtype=DTYPES)
        self.gamma_ = _width_of(self.gamma, X)
        stretch = (2 * self.gamma_) ** 0.5
        with jax.enable_x64(X.dtype == np.float64):
            self.mechanism_ = _fit_mechanism(self.mechanism, X * X.dtype.type(stretch))
        self.map_ = FeatureMap.draw(
            self.mechanism_,
            _key(self.random_state),
            X.shape[1],
            int(self.n_components),
            stretch=stretch,
            orthogonal=self.orthogonal,
        )
        self._n_features_out = self.map_.width
        return self

    def transform(self, X):
        """φ of every row, (n, n_components)."""
        check_is_fitted(self)
        return self.map_(validate_data(self, X, dtype=DTYPES, reset=False))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KernelSmoother(BaseEstimator):
    """What classifier and regressor share: sums of values against M random features.

    Of the training data only the summary is kept, O(M·columns) numbers. Both sides of the kernel
    enter by their own feature, so every mechanism is taken, explicit complex A included.
    """

    def __init__(
        self,
        mechanism: str | Mechanism = "oprf",
        *,
        gamma: float | int | str = "scale",
        num_features=256,
        orthogonal=False,
        random_state=None,
    ):
        self.mechanism = mechanism
        self.gamma = gamma
        self.num_features = num_features
        self.orthogonal = orthogonal
        self.random_state = random_state

    def _summarise(self, X: np.ndarray, values: np.ndarray) -> None:
        """Keeps Σ_j f2(ω, x_j) values_j for M new projections ω. O(n·M·(d+columns))."""
        errors.whole("num_features", self.num_features)
        self.gamma_ = _width_of(self.gamma, X)
        points = X * X.dtype.type((2 * self.gamma_) ** 0.5)
        with jax.enable_x64(X.dtype == np.float64):
            mechanism = _fit_mechanism(self.mechanism, points)
        key, count = _key(self.random_state), int(self.num_features)
        self.mechanism_ = mechanism
        self.omega_ = draw(mechanism, key, count, X.shape[1], self.orthogonal)
        with jax.enable_x64(X.dtype == np.float64):
            omega, rows = self.omega_.astype(X.dtype), padded(points)
            # Rows of the padding repeat a point with value 0: neither sums nor scales change.
            weights = np.zeros((len(rows), values.shape[1]), X.dtype)
            weights[: len(values)] = values
            summary = summarise(mechanism, omega, rows, weights)
            self.summary_ = jax.tree.map(np.asarray, summary)

    def _sums(self, X) -> np.ndarray:
        """Σ_j K̂(x, x_j) values_j for every row of X, each row on a scale of its own. O(n·M·d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=DTYPES, reset=False)
        points = X * X.dtype.type((2 * self.gamma_) ** 0.5)
        with jax.enable_x64(X.dtype == np.float64):
            omega = self.omega_.astype(X.dtype)
            summary = jax.tree.map(lambda leaf: jnp.asarray(leaf, X.dtype), self.summary_)
            sums, _ = read_scaled(self.mechanism_, omega, padded(points), summary)
            return np.asarray(sums)[: len(X)]


def _is_positive(classifier: "KernelClassifier") -> bool:
    """Whether no score can be negative; an AttributeError says why not."""
    chosen = classifier.mechanism
    kind = MECHANISMS.get(chosen) if isinstance(chosen, str) else type(chosen)
    if kind in POSITIVE:
        return True
    raise AttributeError(
        f"predict_proba needs features that are positive, and mechanism is {chosen!r}; "
        "'pos', 'oprf', 'pois+' and 'geom+' have them, decision_function takes every mechanism."
    )


class KernelClassifier(ClassifierMixin, KernelSmoother):
    """Nadaraya–Watson classifier: the class with the largest Σ_{j in class} K̂(x, x_j).

    mechanism, gamma, orthogonal as for `RandomFeatures`; num_features is the number of projections
    M. Training costs O(n·M·(d+classes)), and O(M·classes) numbers are kept.

    `decision_function` divides the scores by the sum of their absolute values, so that rows can be
    compared. `predict_proba` exists for the mechanisms whose features are positive alone: there the
    scores are weights of a mean, elsewhere a score may be negative and is no probability.
    """

    def fit(self, X, y):
        """Sums the features of each class."""
        X, y = validate_data(self, X, y, dtype=DTYPES)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        one_hot = np.eye(len(self.classes_), dtype=X.dtype)[index]
        self.shares_ = one_hot.mean(axis=0, dtype=np.float64)
        self._summarise(X, one_hot)
        return self

    def _scores(self, X) -> np.ndarray:
        """Scores over the sum of their sizes, (n, classes); the classes' shares where all are 0."""
        scores = self._sums(X)
        total = np.abs(scores).sum(axis=1, keepdims=True)
        shares = self.shares_.astype(scores.dtype)
        return np.where(total > 0, scores / np.where(total > 0, total, 1), shares)

    def decision_function(self, X):
        """Relative scores (n, classes); for two classes the second's less the first's, (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """The class of the largest score."""
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    @available_if(_is_positive)
    def predict_proba(self, X):
        """Each class's share of the weights K̂(x, x_j), (n, classes)."""
        return self._scores(X)


class KernelRegressor(RegressorMixin, KernelSmoother):
    """Nadaraya–Watson regression: Σ_j K̂(x, x_j) y_j / Σ_j K̂(x, x_j).

    mechanism, gamma, orthogonal as for `RandomFeatures`; num_features is the number of projections
    M. Training costs O(n·M·(d+outputs)), and O(M·outputs) numbers are kept.

    With positive features (pos, oprf, pois+, geom+) a prediction is a weighted mean of the y_j.
    Others may have negative weights, and predictions far off where the denominator is near 0.
    """

    def fit(self, X, y):
        """Sums the features against the targets, centred so that large ones keep their digits."""
        X, y = validate_data(self, X, y, dtype=DTYPES, multi_output=True, y_numeric=True)
        self.mean_ = np.mean(y, axis=0, dtype=np.float64)
        centred = (y - self.mean_).reshape(len(X), -1)
        self._summarise(X, np.column_stack([centred, np.ones(len(X))]))
        return self

    def predict(self, X):
        """Weighted means of the targets, (n,) or (n, outputs); their mean where all weights are 0.

        Adding the mean back is exact algebra: the weights of a prediction sum to 1.
        """
        sums = self._sums(X)
        total = sums[:, -1:]
        centred = np.where(total == 0, 0, sums[:, :-1] / np.where(total == 0, 1, total))
        return centred.reshape(len(sums), *self.mean_.shape) + self.mean_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # R² < 0.5 on ten coordinates of which one matters: so has the exact kernel (0.27).
        tags.regressor_tags.poor_score = True
        return tags
