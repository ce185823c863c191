"""Log variances over all L² pairs of two sets, for every mechanism; nothing leaves log space.

Every pair's log variance is computed in float32 by the shipped formulas, which do not cancel; sums
over pairs are float64. Real features count as M = 2, half the variance, because a complex one has
two real parts (the paper's convention).
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.nn import logsumexp

import crt
from crt.formulas import orthogonal_weight
from crt.mechanisms.positive_shift import EPSILON
from crt.statistics import Statistics, collect
from experiments.variance import paper_optimisers
from experiments.variance.regimes import DIM, pairs

EVERY = 8
"""Every eighth row of x stands for all where two parameters or two kinds of projections of one
mechanism are compared: the gain's series costs as much as everything else."""


@partial(jax.jit, static_argnames=("cls",))
def fit(cls: type[crt.Mechanism], statistics: Statistics) -> crt.Mechanism:
    """The mechanism with the optimal parameters."""
    return cls.from_statistics(statistics)


@jax.jit
def moments(mechanism: crt.Mechanism, x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Of log Var X over all pairs: mean and standard deviation; and the log of the mean of Var X.

    O(n·m·d) time, O(md) memory.
    """

    def row(point: Array) -> tuple[Array, Array, Array]:
        logs = mechanism.log_variance(point, y).astype(jnp.float64)
        mean = jnp.mean(logs)
        return mean, jnp.mean((logs - mean) ** 2), logsumexp(logs)

    mean, spread, total = lax.map(row, x)
    # Rows have equally many pairs: the variance is that within rows plus that of their means.
    count = math.log(x.shape[0] * y.shape[0])
    return jnp.mean(mean), jnp.sqrt(jnp.mean(spread) + jnp.var(mean)), logsumexp(total) - count


@jax.jit
def orthogonal_ratio(mechanism: crt.Mechanism, x: Array, y: Array) -> Array:
    """Mean of log(Var K̂_ort/Var K̂_iid) over pairs at M = d: log(1 - (d-1)·G/Var X)."""
    share = DIM * orthogonal_weight(DIM, DIM)

    def row(point: Array) -> Array:
        gain, sign = mechanism.log_orthogonal_gain(point, y)
        lost = share * sign * jnp.exp(gain - mechanism.log_variance(point, y))
        return jnp.mean(jnp.log1p(-lost.astype(jnp.float64)))

    return jnp.mean(lax.map(row, x))


def halved(cls: type[crt.Mechanism]) -> float:
    """What is taken off the log variance of real features."""
    return 0.0 if cls.complex_features else math.log(2)


def row_of(mechanism: crt.Mechanism, x: Array, y: Array) -> dict[str, Any]:
    """The entries of one mechanism on one pair of sets."""
    mean, spread, log_mean = (float(each) for each in moments(mechanism, x, y))
    half = halved(type(mechanism))
    row = {"mean": mean - half, "std": spread, "log_mean": log_mean - half}
    if not mechanism.discrete:
        row["orthogonal"] = float(orthogonal_ratio(mechanism, x[::EVERY], y))
    return row


def variances(config: Mapping[str, Any]) -> dict[str, Any]:
    """A unit: one regime, scale and seed, all mechanisms, and both kinds of optimisers."""
    with jax.enable_x64(True):
        x, y = map(
            jnp.asarray,
            pairs(*(config[key] for key in ("regime", "sigma", "rows", "seed", "images"))),
        )
        statistics = collect(x, y)
        fitted = {name: fit(cls, statistics) for name, cls in crt.MECHANISMS.items()}
        return {
            "mechanisms": {name: row_of(each, x, y) for name, each in fitted.items()},
            "optimisers": optimisers(fitted, statistics, x[::EVERY], y),
        }


def optimisers(
    fitted: Mapping[str, crt.Mechanism], statistics: Statistics, x: Array, y: Array
) -> dict[str, Any]:
    """Parameters by the paper's optimisers beside ours, and the means of their log variances."""
    found = paper_optimisers.gerf(statistics)
    low = statistics.low()
    shifted = statistics.positive(low, EPSILON)
    others = {
        "gerf": crt.GERF(np.complex64(found.at), np.float32(found.s)),
        "geom": crt.GeomRF(_chance(statistics)),
        "geom+": crt.GeomRFPlus(_chance(shifted), low),
    }
    rows = {}
    for name, other in others.items():
        ours = fitted[name]
        half = halved(type(ours))
        rows[name] = {
            "ours": _parameters(ours),
            "paper": _parameters(other),
            "ours_mean": float(moments(ours, x, y)[0]) - half,
            "paper_mean": float(moments(other, x, y)[0]) - half,
        }
    return rows


def _chance(statistics: Statistics) -> np.float32:
    return np.float32(paper_optimisers.chance(statistics).at.real)


def _parameters(mechanism: crt.Mechanism) -> dict[str, float]:
    """Scalars of a mechanism by name, a complex one as its two parts."""
    found = {}
    for name, value in vars(mechanism).items():
        if np.ndim(value) == 0:
            found[name] = float(np.real(value))
            if np.iscomplexobj(value):
                found[f"Im {name}"] = float(np.imag(value))
    return found
