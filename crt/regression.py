"""Nadaraya–Watson regression and classification with estimated kernels, linear in the data."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int, Real

from crt import errors
from crt.estimate import CHUNK, checked, checked_values, read_scaled, summarise
from crt.mechanisms.base import Mechanism


def _one_hot(labels: ArrayLike, num_classes: int, y: Array) -> Float[Array, "*batch l classes"]:
    errors.whole("num_classes", num_classes)
    classes = errors.array_of("labels", labels, "integers")
    if not jnp.issubdtype(classes.dtype, jnp.integer) or classes.shape[-1:] != y.shape[-2:-1]:
        raise ValueError(
            f"labels has dtype {classes.dtype} and shape {classes.shape}; it must hold one integer "
            f"for each of the {y.shape[-2]} rows of y."
        )
    if errors.is_concrete(classes):
        # In NumPy: a function that is traced may hold concrete labels.
        known = np.asarray(classes)
        if not ((known >= 0) & (known < num_classes)).all():
            raise ValueError(f"labels must lie in 0, ..., num_classes - 1 = {num_classes - 1}.")
    one_hot = jax.nn.one_hot(classes, num_classes)
    errors.same_batch("labels", one_hot, "y", y)
    return one_hot


def regress(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    y: Real[ArrayLike, "*batch l d"],
    c: Real[ArrayLike, "*batch l k"],
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> Float[Array, "*batch n k"]:
    """Nadaraya–Watson regression: Σ_j K̂(x_i, y_j) c_j / Σ_j K̂(x_i, y_j), (n, k). O((n+l)M(d+k)).

    With positive features (pos, oprf, pois+, geom+) a weighted mean of the c_j. Others may have
    negative weights, and a denominator near 0; where it is exactly 0 the plain mean is returned.
    """
    projections, points, others = checked(mechanism, omega, kernel, chunk, x=x, y=y)
    values = checked_values(c, others)
    ones = jnp.ones((*values.shape[:-1], 1), values.dtype)
    both = jnp.concatenate([values, ones], axis=-1)
    summary = summarise(mechanism, projections, others, both, kernel=kernel, chunk=chunk)
    sums, _ = read_scaled(mechanism, projections, points, summary, kernel=kernel, chunk=chunk)
    numerator, denominator = sums[..., :-1], sums[..., -1:]
    empty = denominator == 0
    plain = jnp.mean(values, axis=-2, keepdims=True).astype(sums.dtype)
    ratio = numerator / jnp.where(empty, 1, denominator)
    return jnp.where(empty, plain, ratio).astype(points.dtype)


def classify(
    mechanism: Mechanism,
    omega: Real[ArrayLike, "m d"],
    x: Real[ArrayLike, "*batch n d"],
    y: Real[ArrayLike, "*batch l d"],
    labels: Int[ArrayLike, "*batch l"],
    num_classes: int,
    *,
    kernel: str = "gaussian",
    chunk: int = CHUNK,
) -> Int[Array, "*batch n"]:
    """Nadaraya–Watson classification: the class with the largest Σ_{j in class} K̂(x_i, y_j), (n,).

    The common denominator is left out, so no positivity is needed. Of classes with equal sums the
    first wins. Where all features of a row vanish, as those of pois and geom do at a coordinate 0
    whose counts are all positive, every sum is 0 and the answer is class 0. O((n+l)M(d+classes)).
    """
    projections, points, others = checked(mechanism, omega, kernel, chunk, x=x, y=y)
    one_hot = _one_hot(labels, num_classes, others)
    summary = summarise(mechanism, projections, others, one_hot, kernel=kernel, chunk=chunk)
    scores, _ = read_scaled(mechanism, projections, points, summary, kernel=kernel, chunk=chunk)
    return jnp.argmax(scores, axis=-1)
