"""Tables as matrices. Scaling is left to whoever knows the training rows."""

import numpy as np

from experiments.data.tables import Column, Table


def ordinal(table: Table) -> np.ndarray:
    """(n, columns) float64: numbers as they are, a category as its place 0, 1, … in its levels."""
    return np.column_stack([column.values for column in table.columns]).astype(np.float64)


def one_hot(table: Table) -> np.ndarray:
    """(n, width) float64: numbers as they are, a category as one 0/1 column for each level."""
    return np.concatenate([_expand(column) for column in table.columns], axis=1)


def _expand(column: Column) -> np.ndarray:
    if not column.categorical:
        return column.values[:, None]
    return np.eye(len(column.levels))[column.values]
