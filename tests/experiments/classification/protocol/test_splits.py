"""Splits: the paper's sizes, no row twice, and scales that no other row than training moves."""

import numpy as np
import pytest

from experiments.classification.protocol.splits import SCALINGS, sizes, split
from experiments.data import Column, Table, load_table
from experiments.data.origins import Origin

PRINTED = {
    "abalone": 3758,
    "banknote": 1233,
    "car": 1554,
    "yeast": 1334,
    "cmc": 1324,
    "nursery": 11664,
    "wifi": 1799,
    "chess": 25249,
}


def made(rows: int = 101) -> Table:
    """A table whose first column numbers the rows."""
    columns = (
        Column("row", np.arange(rows, dtype=float)),
        Column("same", np.full(rows, 7.0)),
        Column("kind", np.arange(rows) % 3, ("a", "b", "c")),
    )
    return Table(Origin("made", None, ""), columns, np.arange(rows) % 2, ("0", "1"), rows)


@pytest.mark.usefixtures("real_data")
def test_training_rows_are_the_paper_s() -> None:
    for name, printed in PRINTED.items():
        assert sizes(load_table(name).lines - 1)[0] == printed


@pytest.mark.parametrize("scaling", SCALINGS)
def test_every_row_is_in_one_part(scaling: str) -> None:
    parts = split(made(), 3, scaling, "ordinal")
    assert [len(part.labels) for part in parts[:3]] == [90, 6, 5]
    if scaling == "raw":
        rows = np.concatenate([part.x[:, 0] for part in parts[:3]])
        assert sorted(rows) == list(range(101))
        labels = np.concatenate([part.labels for part in parts[:3]])
        assert np.array_equal(labels, rows % 2)


def test_the_seed_fixes_the_split_whatever_the_preparation() -> None:
    one = [split(made(), 5, scaling, "one-hot") for scaling in SCALINGS]
    other = split(made(), 6, "raw", "one-hot")
    for parts in one[1:]:
        assert np.array_equal(parts.test.labels, one[0].test.labels)
        assert np.array_equal(parts.test.x.argsort(0)[:, 0], one[0].test.x.argsort(0)[:, 0])
    assert not np.array_equal(other.test.x, one[0].test.x)
    assert one[0].train.x.shape[1] == 5


def test_scales_come_from_the_training_rows_alone() -> None:
    standard = split(made(), 0, "standard", "ordinal")
    assert np.allclose(standard.train.x.mean(0), [0, 0, 0], atol=1e-6)
    assert np.allclose(standard.train.x.std(0), [1, 0, 1], atol=1e-6)
    unit = split(made(), 0, "min-max", "ordinal")
    assert np.array_equal(unit.train.x.min(0), [0, 0, 0])
    assert np.array_equal(unit.train.x.max(0), [1, 0, 1])
    raw = split(made(), 0, "raw", "ordinal")
    low, span = raw.train.x.min(0), np.ptp(raw.train.x, 0)
    assert np.allclose(unit.test.x[:, 0], (raw.test.x[:, 0] - low[0]) / span[0], atol=1e-6)
