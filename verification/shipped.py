"""Compiled entries of the shipped code, for checks that call it at many points.

Methods are looked up when a call is traced: a fault planted in them is seen.
"""

from functools import partial

import jax
from jax import Array

import crt
from crt.mechanisms import Mechanism


@partial(jax.jit, static_argnames=("side", "kernel"))
def log_features(
    mechanism: Mechanism, points: Array, omega: Array, side: str, kernel: str
) -> tuple[Array, Array]:
    """log|f| and the phase, (…, L, M)."""
    return mechanism.log_features(points, omega, side, kernel=kernel)


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
