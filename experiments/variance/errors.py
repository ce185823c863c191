"""Error of kernel matrices on real data: what exact variances predict, and what draws show."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import crt
from experiments.data import Origin, load_images, load_table, ordinal, shrink
from experiments.variance.regimes import SIDE

NORM = 1.0
"""Root mean square of a row's length: the kernel is then neither 0 nor 1 throughout."""


def points(name: str, rows: int, origin: Mapping[str, Any]) -> np.ndarray:
    """Rows of a real set, float32, of mean squared length 1.

    Images are made 8×8; columns of a table are standardised, categories by their place.
    """
    source = Origin(**origin)
    if name in ("mnist", "fashion_mnist"):
        pixels = load_images(name, given=source).pixels
        every = shrink(pixels[:: len(pixels) // rows][:rows], SIDE).reshape(rows, -1)
    else:
        table = ordinal(load_table(name, source))
        spread = table.std(axis=0)
        table = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1)
        every = table[:: len(table) // rows][:rows]
    return (NORM * every / np.sqrt(np.mean(np.sum(every**2, axis=1)))).astype(np.float32)


@partial(jax.jit, static_argnames=("counts", "orthogonal"))
def predicted(
    mechanism: crt.Mechanism, x: Array, counts: tuple[int, ...], orthogonal: bool
) -> Array:
    """Σ Var K̂ over all pairs of the rows of x, for every number of features."""

    def row(point: Array) -> Array:
        variances = [mechanism.estimator_variance(point, x, m, orthogonal) for m in counts]
        return jnp.sum(jnp.stack(variances).astype(jnp.float64), axis=1)

    return jnp.sum(lax.map(row, x), axis=0)


@partial(jax.jit, static_argnames=("count", "orthogonal"))
def features(
    mechanism: crt.Mechanism, x: Array, key: Array, count: int, orthogonal: bool
) -> tuple[Array, Array]:
    """Features of both sides, (n, M) each, of one draw of projections."""
    omega = mechanism.sample(key, count, x.shape[1], orthogonal, dtype=jnp.float32)
    return mechanism.features(x, omega, "x"), mechanism.features(x, omega, "y")


def errors(
    one: np.ndarray, other: np.ndarray, exact: np.ndarray, counts: tuple[int, ...]
) -> list[float]:
    """‖K̂ - K‖_F/‖K‖_F of the first M features, for every M; sums in float64.

    The first M rows of projections are projections of the same kind, blocks of d included.
    """
    found = []
    for count in counts:
        x, y = (each[:, :count].astype(np.complex128) for each in (one, other))
        estimate = np.real(x @ y.T) / count
        found.append(float(np.linalg.norm(estimate - exact) / np.linalg.norm(exact)))
    return found


def measure(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A unit: one data set, mechanism and kind of projections, every number of features.

    The observed error is the root mean square over draws, the quantity that is predicted; `low` and
    `high` are the least and the largest of them.
    """
    counts, orthogonal = tuple(config["features"]), config["orthogonal"]
    with jax.enable_x64(True):
        x = jnp.asarray(points(config["set"], config["rows"], config["origin"]))
        exact = np.asarray(crt.kernels.gaussian(x.astype(jnp.float64), x.astype(jnp.float64)))
        mechanism = crt.MECHANISMS[config["mechanism"]].fit(x, x)
        keys = jax.random.split(jax.random.key(config["seed"]), config["draws"])
        drawn = [features(mechanism, x, key, max(counts), orthogonal) for key in keys]
        seen = np.array(
            [errors(np.asarray(one), np.asarray(other), exact, counts) for one, other in drawn]
        )
        guess = np.sqrt(np.asarray(predicted(mechanism, x, counts, orthogonal)) / np.sum(exact**2))
    return [
        {
            "features": count,
            "predicted": float(guess[k]),
            "observed": float(np.sqrt(np.mean(seen[:, k] ** 2))),
            "low": float(seen[:, k].min()),
            "high": float(seen[:, k].max()),
        }
        for k, count in enumerate(counts)
    ]
