"""Compiled entries of the shipped code, for checks that call it at many points.

Methods are looked up when a call is traced: a fault planted in them is seen.
"""

from functools import partial

import jax
from jax import Array

import crt
from crt import statistics
from crt.mechanisms import Mechanism


@partial(jax.jit, static_argnames=("side", "kernel"))
def log_features(
    mechanism: Mechanism, points: Array, omega: Array, side: str, kernel: str
) -> tuple[Array, Array]:
    """log|f| and the phase, (…, L, M)."""
    return mechanism.log_features(points, omega, side, kernel=kernel)


@partial(jax.jit, static_argnames="kernel")
def log_second_moment(mechanism: Mechanism, x: Array, y: Array, kernel: str = "gaussian") -> Array:
    """log E X², elementwise."""
    return mechanism.log_second_moment(x, y, kernel=kernel)


@partial(jax.jit, static_argnames=("draws", "orthogonal", "kernel"))
def estimator_variance(
    mechanism: Mechanism, x: Array, y: Array, draws: int, orthogonal: bool, kernel: str
) -> Array:
    """Var of the mean of `draws` products, elementwise."""
    return mechanism.estimator_variance(x, y, draws, orthogonal, kernel=kernel)


@partial(jax.jit, static_argnames="name")
def fit(name: str, x: Array, y: Array) -> Mechanism:
    """The mechanism of this name, fitted."""
    return crt.MECHANISMS[name].fit(x, y)


@jax.jit
def collect(x: Array, y: Array, x_mask: Array, y_mask: Array) -> statistics.Statistics:
    """The statistics of the rows that the masks leave."""
    return statistics.collect(x, y, x_mask=x_mask, y_mask=y_mask)
