"""Relative error ‖K̂ - K‖_F/‖K‖_F of kernel matrices at equal columns, measured and predicted."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem, RBFSampler

import crt
from crt.integrations.sklearn import RandomFeatures

DATA = ("gaussian", "sphere", "digits")
DIM = 16
GAMMA = 0.5
PEERS = ("RBFSampler", "Nystroem")
METHODS = (
    *((name, False) for name in crt.MECHANISMS),
    *((name, True) for name, kind in crt.MECHANISMS.items() if not kind.discrete),
    *((name, False) for name in PEERS),
)
"""Name and whether the projections are orthogonal."""


def points(data: str, rows: int) -> np.ndarray:
    """Rows of mean squared norm 1, float32: N(0, I/d), the unit sphere, or centred digits."""
    draw = np.random.default_rng(7)
    if data == "digits":
        pixels = load_digits().data
        x = draw.permutation(pixels)[:rows] - pixels.mean(axis=0)
    else:
        x = draw.standard_normal((rows, DIM))
    if data == "sphere":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.sqrt(np.mean(np.sum(x**2, axis=1)))).astype(np.float32)


def transformer(method: str, orthogonal: bool, columns: int, seed: int) -> Any:
    """An estimator with `columns` output columns."""
    shared = {"gamma": GAMMA, "n_components": columns, "random_state": seed}
    if method in PEERS:
        return {"RBFSampler": RBFSampler, "Nystroem": Nystroem}[method](**shared)
    return RandomFeatures(method, orthogonal=orthogonal, **shared)


def relative_error(estimate: np.ndarray, exact: np.ndarray) -> float:
    """‖K̂ - K‖_F/‖K‖_F in float64."""
    return float(np.linalg.norm(estimate - exact) / np.linalg.norm(exact))


def exact_kernel(x: np.ndarray) -> np.ndarray:
    """exp(-γ‖x-y‖²) in float64, for γ = ½."""
    with jax.enable_x64(True):
        return np.asarray(crt.kernels.gaussian(x.astype(np.float64), x.astype(np.float64)))


def predicted(x: np.ndarray, fitted: Any, columns: int) -> float | None:
    """(Σ Var K̂/Σ K²)^{1/2} from exact variances; None for Nystroem, which is not random features.

    A pair of a cosine and a sine is one feature of two columns. A column of RBFSampler,
    √2 cos(ω·x + b), has variance 1 + K⁴/2 - K² in the product.
    """
    exact = exact_kernel(x)
    if isinstance(fitted, Nystroem):
        return None
    if isinstance(fitted, RBFSampler):
        variance = (1 + exact**4 / 2 - exact**2) / columns
    else:
        variance = _variances(x, fitted)
    return float(np.sqrt(variance.sum()) / np.linalg.norm(exact))


def _variances(x: np.ndarray, fitted: RandomFeatures) -> np.ndarray:
    """Var K̂ of all pairs, row by row in float64, so that no (n, n, d) array is made."""
    mechanism, count = fitted.mechanism_, len(fitted.map_.omega)
    with jax.enable_x64(True):
        y = jnp.asarray(x, jnp.float64)

        @jax.jit
        def row(each: jax.Array) -> jax.Array:
            return mechanism.estimator_variance(each, y, count, fitted.orthogonal)

        return np.stack([np.asarray(row(each)) for each in y])


def measure(config: Mapping[str, Any]) -> dict[str, Any]:
    """Errors of one method on one data set, for every seed, and what the variances predict."""
    x = points(config["data"], config["rows"])
    exact = exact_kernel(x)
    errors = []
    fitted = None
    for seed in range(config["seeds"]):
        fitted = transformer(config["method"], config["orthogonal"], config["columns"], seed)
        columns = fitted.fit_transform(x).astype(np.float64)
        errors.append(relative_error(columns @ columns.T, exact))
    return {
        "errors": errors,
        "mean": float(np.mean(errors)),
        "predicted": predicted(x, fitted, config["columns"]),
    }
