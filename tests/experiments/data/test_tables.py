"""The real tables against known counts, and what a damaged or absent file leads to."""

import numpy as np
import pytest

from experiments.data import DataError, Origin, load_table, one_hot, ordinal, origin, stand_in_line
from experiments.data.sheets import SHEETS, Sheet
from experiments.data.tables import parse

# Rows, columns, width of the one-hot encoding, the paper's training rows, classes by size.
COUNTS = {
    "abalone": (4177, 8, 10, 3758, [689, 634, 568]),
    "banknote": (1372, 4, 4, 1233, [762, 610]),
    "car": (1728, 6, 21, 1554, [1210, 384, 69, 65]),
    "yeast": (1484, 8, 8, 1334, [463, 429, 244, 163, 51, 44, 35, 30, 20, 5]),
    "cmc": (1473, 9, 24, 1324, [629, 511, 333]),
    "nursery": (12960, 8, 27, 11664, [4320, 4266, 4044, 328, 2]),
    "wifi": (2000, 7, 7, 1799, [500] * 4),
    "chess": (28056, 6, 23, 25249, [4553, 4194, 3597]),
}
HERE = Origin("test", None, "")


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_the_known_ones(name: str) -> None:
    rows, columns, width, train, sizes = COUNTS[name]
    table = load_table(name)
    assert len(table) == rows and len(table.columns) == columns
    assert all(len(column.values) == rows for column in table.columns)
    assert int(0.9 * (table.lines - 1)) == train
    found = np.sort(np.bincount(table.labels, minlength=len(table.classes)))[::-1]
    assert found[: len(sizes)].tolist() == sizes and found.min() > 0
    assert ordinal(table).shape == (rows, columns) and one_hot(table).shape == (rows, width)


@pytest.mark.usefixtures("real_data")
def test_encodings_of_the_first_cars() -> None:
    """vhigh, vhigh, 2 doors, 2 persons, small, low; then safety med, then high."""
    table = load_table("car")
    assert ordinal(table)[:3].tolist() == [[0, 0, 0, 0, 0, level] for level in range(3)]
    places = np.flatnonzero(one_hot(table)[1])
    assert places.tolist() == [0, 4, 8, 12, 15, 19]
    assert table.classes[table.labels[0]] == "unacc"


@pytest.mark.usefixtures("real_data")
def test_every_level_is_used() -> None:
    for name in SHEETS:
        for column in load_table(name).columns:
            if column.categorical:
                assert set(column.values.tolist()) == set(range(len(column.levels))), column.name


SHEET = Sheet({"size": (), "kind": ("a", "b")}, ("no", "yes"))


def test_rows_are_read_as_they_are() -> None:
    table = parse("1.5,b,yes\r\n-2,a,no\n\n", SHEET, HERE)
    assert ordinal(table).tolist() == [[1.5, 1], [-2, 0]]
    assert one_hot(table).tolist() == [[1.5, 0, 1], [-2, 1, 0]]
    assert table.labels.tolist() == [1, 0] and table.lines == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("1,a\n", "3 are expected"), ("", "3 are expected"), ("1,c,no\n", "column kind holds 'c'")],
)
def test_a_wrong_row_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        parse(text, SHEET, HERE)


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(DataError, match=r"there is no table 'mnist'; known are abalone, "):
        load_table("mnist")


@pytest.mark.usefixtures("offline")
def test_a_stand_in_is_a_table_too() -> None:
    table = load_table("banknote")
    assert table.origin.stand_in == "breast_cancer" and len(table.origin.sha256) == 64
    assert ordinal(table).shape == (569, 30) and len(table.classes) == 2
    said = stand_in_line([origin("banknote"), origin("wifi")])
    assert said.endswith("stand in, breast_cancer for banknote, wine for wifi.")
