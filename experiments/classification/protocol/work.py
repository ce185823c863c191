"""The units of the study: one table divided once, and all methods on it."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from experiments.classification.protocol.accuracy import Counts, by_features, by_kernel, majority
from experiments.classification.protocol.methods import METHODS
from experiments.classification.protocol.splits import Split, sizes, split
from experiments.data import Origin, Table, load_table

SIGMAS = tuple(float(sigma) for sigma in np.logspace(-2, 2, 10))
"""The paper's grid."""


def _table(config: Mapping[str, Any]) -> Table:
    return load_table(config["set"], Origin(**config["origin"]))


def _keys(config: Mapping[str, Any]) -> jax.Array:
    """One key for each draw of ω, the same for every method."""
    return jax.random.split(jax.random.key(config["split"]), config["draws"])


def _summary(counts: Counts) -> dict[str, list[int]]:
    """For every σ, over draws: all right answers, and for the test the sum of their squares."""
    validation, test = counts
    totals = {"validation": validation.sum(-1), "test": test.sum(-1), "squares": (test**2).sum(-1)}
    return {name: values.tolist() for name, values in totals.items()}


def evaluate(config: Mapping[str, Any]) -> dict[str, Any]:
    """Right answers of the methods on one split: integers, from which every number follows."""
    parts = split(_table(config), config["split"], config["scaling"], config["encoding"])
    keys = _keys(config)
    found = {
        name: _summary(by_features(METHODS[name], parts, SIGMAS, keys).astype(int))
        for name in config["methods"]
    }
    return {
        "sizes": _sizes(parts),
        "majority": majority(parts),
        "exact": _summary(by_kernel(parts, SIGMAS)),
        "methods": found,
    }


def _sizes(parts: Split) -> dict[str, int]:
    named = {"train": parts.train, "validation": parts.validation, "test": parts.test}
    return {name: len(part.labels) for name, part in named.items()} | {
        "dim": parts.train.x.shape[1]
    }


def converge(config: Mapping[str, Any]) -> dict[str, Any]:
    """Right answers on the test rows by the number of features, at the exact kernel's best σ."""
    parts = split(_table(config), config["split"], config["scaling"], config["encoding"])
    exact = by_kernel(parts, SIGMAS)
    best = int(np.argmax(exact[0, :, 0]))
    found: dict[str, Sequence[int]] = {}
    for name in config["methods"]:
        method = METHODS[name]._replace(num_features=config["features"])
        counts = by_features(method, parts, [SIGMAS[best]], _keys(config))
        found[name] = counts[1, 0].tolist()
    return {
        "sizes": _sizes(parts),
        "sigma": SIGMAS[best],
        "exact": int(exact[1, best, 0]),
        "test": found,
    }


def shares(config: Mapping[str, Any]) -> dict[str, Any]:
    """Right answers of the majority class on the test rows of many random splits.

    A split is a draw without replacement: the counts of classes in the training rows, then in the
    test rows, are multivariate hypergeometric.
    """
    table = _table(config)
    train, test = sizes(table.lines - 1)
    classes = np.bincount(table.labels, minlength=len(table.classes))
    rng = np.random.default_rng(config["split"])
    trained = rng.multivariate_hypergeometric(classes, train, size=config["draws"])
    tested = np.stack([rng.multivariate_hypergeometric(classes - own, test) for own in trained])
    right = np.take_along_axis(tested, trained.argmax(-1)[:, None], -1)[:, 0]
    return {
        "rows": len(table),
        "lines": table.lines,
        "train": train,
        "test": test,
        "classes": classes.tolist(),
        "right": np.bincount(right).tolist(),
    }
