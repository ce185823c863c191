"""Tables as points: encoded, divided into 90 % / 5 % / 5 %, and scaled by the training rows."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from experiments.data import Table, one_hot, ordinal

ENCODINGS: Mapping[str, Callable[[Table], np.ndarray]] = {"ordinal": ordinal, "one-hot": one_hot}


class Part(NamedTuple):
    """Points as float32, and the codes of their classes."""

    x: Float[np.ndarray, "n d"]
    labels: Int[np.ndarray, " n"]


class Split(NamedTuple):
    """Three disjoint parts of a table."""

    train: Part
    validation: Part
    test: Part
    num_classes: int


def sizes(count: int) -> tuple[int, int]:
    """Rows for training and for the test, ⌊0.9·count⌋ and ⌊0.05·count⌋; the rest validates."""
    return 9 * count // 10, count // 20


def _raw(train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(train.shape[1]), np.ones(train.shape[1])


def _standard(train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return train.mean(0), train.std(0)


def _minmax(train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return train.min(0), np.ptp(train, 0)


SCALINGS: Mapping[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "raw": _raw,
    "standard": _standard,
    "min-max": _minmax,
}
"""From the training rows: what is subtracted from a column, and what it is divided by."""


def split(table: Table, seed: int, scaling: str, encoding: str) -> Split:
    """The table in a random order that the seed fixes, cut in three.

    The sizes are the paper's: fractions of (lines of the file - 1). A row more than that, which the
    paper loses, is used for validation.
    """
    order = np.random.default_rng(seed).permutation(len(table))
    train, test = sizes(table.lines - 1)
    x = ENCODINGS[encoding](table)
    centre, scale = SCALINGS[scaling](x[order[:train]])
    # A column that is constant in the training rows is left as it is.
    x = ((x - centre) / np.where(scale > 0, scale, 1)).astype(np.float32)
    cuts = np.split(order, [train, len(table) - test])
    parts = [Part(x[rows], table.labels[rows].astype(np.int32)) for rows in cuts]
    return Split(*parts, num_classes=len(table.classes))
