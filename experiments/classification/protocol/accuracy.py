"""Right answers of a method on the validation and test rows, for every σ and every draw."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Float, Int

from crt import formulas, projections
from crt.mechanisms.base import Mechanism
from crt.regression import classify
from experiments.classification.protocol.methods import Method
from experiments.classification.protocol.splits import Split

CHUNK = 256
"""Rows whose features are held at a time: with M = 128 they stay in a core's cache."""

Counts = Int[np.ndarray, "part sigma seed"]


@partial(jax.jit, static_argnames=("features", "dim"))
def _gaussian(keys: Array, features: int, dim: int) -> Float[Array, "seed m d"]:
    return lax.map(lambda key: projections.orthogonal(key, features, dim), keys)


@partial(jax.jit, static_argnames=("features", "dim"))
def _counts(mechanism: Mechanism, keys: Array, features: int, dim: int) -> Float[Array, "seed m d"]:
    return lax.map(lambda key: mechanism.sample(key, features, dim), keys)


def _draws(method: Method, mechanism: Mechanism, keys: Array, dim: int) -> Float[Array, "seed m d"]:
    """Projections for every key. Gaussian ones depend on no parameter, so all σ share them."""
    if method.orthogonal:
        return _gaussian(keys, method.num_features, dim)
    return _counts(mechanism, keys, method.num_features, dim)


@partial(jax.jit, static_argnames=("mechanism",))
def _fitted(mechanism: type[Mechanism], y: Float[Array, "l d"]) -> Mechanism:
    return mechanism.fit(y, y)


@partial(jax.jit, static_argnames=("classes", "validation"))
def _right(
    mechanism: Mechanism,
    omegas: Float[Array, "seed m d"],
    y: Float[Array, "l d"],
    y_labels: Int[Array, " l"],
    x: Float[Array, "n d"],
    labels: Int[Array, " n"],
    classes: int,
    validation: int,
) -> Int[Array, "seed 2"]:
    # One draw at a time: all draws at once would leave the cache.
    def once(omega: Array) -> Array:
        predicted = classify(mechanism, omega, x, y, y_labels, classes, chunk=CHUNK)
        right = predicted == labels
        return jnp.stack([jnp.sum(right[:validation]), jnp.sum(right[validation:])])

    return lax.map(once, omegas)


def by_features(method: Method, split: Split, sigmas: Sequence[float], keys: Array) -> Counts:
    """Right answers of `crt.classify`, (2, sigmas, draws): first validation, then test.

    The parameters are fitted to the training rows, for both sides: no other row is looked at. All σ
    share the keys, and so do all methods. What depends on fewer shapes is compiled by itself.
    """
    train, train_labels = map(jnp.asarray, split.train)
    x = jnp.concatenate([split.validation.x, split.test.x])
    labels = jnp.concatenate([split.validation.labels, split.test.labels])
    counts = []
    for sigma in np.asarray(sigmas, np.float32):
        y = sigma * train
        mechanism = _fitted(method.mechanism, y)
        omegas = _draws(method, mechanism, keys, train.shape[1])
        sizes = split.num_classes, len(split.validation.x)
        counts.append(_right(mechanism, omegas, y, train_labels, sigma * x, labels, *sizes))
    return np.moveaxis(np.asarray(counts), -1, 0)


@partial(jax.jit, static_argnames=("classes",))
def _exact_classes(
    train: Float[Array, "l d"],
    train_labels: Int[Array, " l"],
    x: Float[Array, "n d"],
    sigmas: Float[Array, " sigma"],
    classes: int,
) -> Int[Array, "n sigma"]:
    one_hot = jax.nn.one_hot(train_labels, classes)

    def row(point: Array) -> Array:
        logs = formulas.log_gaussian_kernel(point, train)
        # Relative to the nearest row: the largest weight is 1 whatever σ is.
        weights = jnp.exp(sigmas[:, None] ** 2 * (logs - jnp.max(logs)))
        return jnp.argmax(jnp.matmul(weights, one_hot, precision=lax.Precision.HIGHEST), axis=-1)

    return lax.map(row, x)


def by_kernel(split: Split, sigmas: Sequence[float]) -> Counts:
    """Right answers of the exact kernel, (2, sigmas, 1), in log space: O(nLd)."""
    train = [jnp.asarray(each) for each in split.train]
    chosen = jnp.asarray(np.asarray(sigmas, np.float32))
    return np.stack(
        [
            [
                np.sum(np.asarray(column) == part.labels, keepdims=True)
                for column in _exact_classes(*train, part.x, chosen, classes=split.num_classes).T
            ]
            for part in (split.validation, split.test)
        ]
    )


def majority(split: Split) -> list[int]:
    """Right answers of the commonest class of the training rows, on validation and test."""
    commonest = np.argmax(np.bincount(split.train.labels))
    return [int(np.sum(part.labels == commonest)) for part in (split.validation, split.test)]
