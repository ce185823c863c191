"""Which preparation, which cells are constant: from made-up units with known answers."""

from typing import Any

import numpy as np
import pytest

from experiments.classification.evidence import (
    UNTUNED,
    WORDS_ONE_HOT,
    _whole,
    by_chance,
    constants,
    first_class,
    preparations,
    readings,
)
from experiments.classification.presets import CATEGORICAL, SETS, WORDS
from experiments.classification.printed import ACCURACY, SMALL, SPREAD
from experiments.classification.protocol.methods import PAPER
from tests.experiments.classification import made
from verification.runs import Finished

Key = tuple[str, str]


def flat(right: int, place: int = 0) -> dict[str, list[int]]:
    """Every draw has the same right answers; validation likes σ number `place` best."""
    draws, count = made.DRAWS, 10
    return {
        "validation": [draws * (1 + (k == place)) for k in range(count)],
        "test": [draws * right] * count,
        "squares": [draws * right**2] * count,
    }


def prepared(name: str, encoding: str, scaling: str = "standard", seed: int = 0) -> Finished:
    return made.split_unit("preparation", name, seed, scaling, encoding)


def all_prepared() -> list[Finished]:
    return [
        prepared(name, encoding)
        for name in SETS
        for encoding in ("ordinal", "one-hot")[: 1 + (name in CATEGORICAL)]
    ]


def by_key(rows: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    return {(row["scaling"], row["encoding"]): row for row in rows}


def test_the_preparation_in_use_is_compared() -> None:
    """One-hot for words and numbers for cmc: a row of its own, and the one that is marked."""
    units = all_prepared()
    for unit in units:
        if unit.config["set"] == "cmc" and unit.config["encoding"] == "one-hot":
            unit.result["methods"] = {name: flat(0) for name in unit.result["methods"]}
    found = by_key(preparations(units))
    assert set(found) == {("standard", e) for e in ("ordinal", "one-hot", WORDS_ONE_HOT)}
    assert [key for key, row in found.items() if row["used"]] == [("standard", WORDS_ONE_HOT)]
    mixed, ordinal = found["standard", WORDS_ONE_HOT], found["standard", "ordinal"]
    assert mixed["sets"]["cmc"] == ordinal["sets"]["cmc"]
    assert found["standard", "one-hot"]["sets"]["cmc"] == pytest.approx(
        sum(v for m, v in ACCURACY["cmc"].items() if m != "trig") / 7
    )


def test_words_are_taken_from_the_one_hot_units() -> None:
    units = all_prepared()
    for unit in units:
        if unit.config["encoding"] == "one-hot":
            unit.result["methods"] = {name: flat(made.TEST) for name in unit.result["methods"]}
    mixed = by_key(preparations(units))["standard", WORDS_ONE_HOT]["sets"]
    for name in WORDS:
        printed = [value for method, value in ACCURACY[name].items() if method != "trig"]
        assert mixed[name] == pytest.approx(100 - sum(printed) / 7)


def test_without_words_numbers_are_what_is_used() -> None:
    units = [prepared(name, "ordinal", s) for name in ("wifi", "cmc") for s in ("raw", "standard")]
    found = by_key(preparations(units))
    assert {key: row["used"] for key, row in found.items()} == {
        ("raw", "ordinal"): False,
        ("standard", "ordinal"): True,
    }


def test_a_preparation_is_judged_by_the_cells_that_are_printed_constant() -> None:
    """Constant just where the paper's spread is below 0.05, under one-hot words alone."""
    units = all_prepared()
    for unit in units:
        name, encoding = unit.config["set"], unit.config["encoding"]
        if encoding == "one-hot" or name == "yeast":
            for method in PAPER:
                if SPREAD[name][method] <= SMALL:
                    unit.result["methods"][method] = flat(unit.result["majority"][1])
    found = by_key(preparations(units))
    told = {encoding: row["constant"] for (_, encoding), row in found.items()}
    assert told == {"ordinal": 0.25, "one-hot": 1.0, WORDS_ONE_HOT: 1.0}
    assert {row["varying"] for row in found.values()} == {0.0}


def printed_but(name: str, seed: int, method: str, right: int) -> Finished:
    """A unit with the printed accuracies to a whole row, and so many more right for one method."""
    unit = prepared(name, "ordinal", seed=seed)
    for each, value in ACCURACY[name].items():
        more = right if each == method else 0
        unit.result["methods"][each] = flat(round(value * made.TEST / 100) + more)
    return unit


def test_distances_are_told_by_split_and_without_gerf() -> None:
    """Twenty points too much for GERF on one split of two, and as much too little on the other."""
    units = [printed_but("wifi", seed, "gerf", right) for seed, right in ((0, 40), (1, -40))]
    (row,) = preparations(units)
    rounding = 0.25
    assert row["splits"] == pytest.approx([20 / 7, 20 / 7], abs=rounding)
    assert row["accuracy"] < rounding and row["without_gerf"] < rounding
    assert row["draws"] == made.DRAWS and row["sets"] == {"wifi": row["accuracy"]}
    (row,) = preparations(units[:1])
    assert row["accuracy"] == row["splits"][0] > 20 / 7 - rounding > rounding > row["without_gerf"]


def test_chance_is_the_distance_of_a_split_from_others_by_set() -> None:
    """Uniform on ±a: the mean distance from the mean of three others is a·c, the same c."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "set": name,
            "method": method,
            "splits": rng.uniform(-size, size, 2000).tolist(),
            "spreads": rng.uniform(-1, 1, 2000).tolist(),
        }
        for name, size in (("wifi", 1.0), ("car", 4.0))
        for method in ("pos", "oprf")
    ]
    found = by_chance([*rows, rows[0] | {"method": "trig", "splits": [0.0, 99.0] * 2}], 3)
    draws = rng.uniform(-1, 1, (100_000, 4))
    unit = np.abs(draws[:, 0] - draws[:, 1:].mean(-1)).mean()
    # The distance has a standard deviation below 1/2, and 4000 of them, in fours that overlap.
    error = 5 * 0.5 * (4 / 4000) ** 0.5
    assert found["sets"]["wifi"] == pytest.approx(unit, abs=error)
    assert found["sets"]["car"] == pytest.approx(4 * unit, abs=4 * error)
    assert found["accuracy"] == pytest.approx(np.mean(list(found["sets"].values())))
    assert found["spread"] == pytest.approx(unit, abs=error)
    assert by_chance(rows, 2000) == {}


def test_whole_counts() -> None:
    """15.2 % is 15 of 99 and no count of 100; of 1402 every tenth of a percent is one."""
    assert _whole(15.2, 99) and not _whole(15.2, 100) and not _whole(15.1, 99)
    assert all(_whole(tenth / 10, 1402) for tenth in range(1001))
    assert _whole(12.5, 8) and _whole(0.1, 800) and _whole(0.2, 800), "0.125 may go either way"


def test_every_cell_that_is_printed_constant_is_told() -> None:
    units = [prepared("car", "one-hot", seed=seed) for seed in range(3)]
    units[0].result["methods"]["geom"] = flat(units[0].result["majority"][1])
    units[1].result["methods"]["geom"] = flat(units[1].result["majority"][1] - 1)
    rows = {row["method"]: row for row in constants(units)}
    assert set(rows) == {"trig", "pois", "geom", "pois+", "trig-unconjugated"}
    assert (rows["geom"]["splits"], rows["geom"]["constant"], rows["geom"]["commonest"]) == (
        3,
        2,
        1,
    )
    assert rows["pois"]["constant"] == 0
    cells = {(row["set"], row["method"]) for row in constants(all_prepared())}
    assert {cell for cell in cells if "trig" not in cell[1]} == {
        *(("car", method) for method in ("pois", "geom", "pois+")),
        ("yeast", "pois+"),
    }


def test_constant_columns_above_the_smallest_sigma_may_be_the_first_class() -> None:
    unit = prepared("yeast", "ordinal")
    unit.result["methods"]["pois"] = flat(20, place=9)
    unit.result["methods"]["geom"] = flat(20, place=0)
    (row,) = first_class([unit])
    assert (row["outcomes"], row["constant"], row["above"]) == (8, 2, 1)


def test_readings_keep_preparations_and_parts_apart() -> None:
    units = [
        made.split_unit("table", "wifi", 0),
        *(prepared("wifi", "ordinal", seed=seed) for seed in (0, 1)),
        prepared("wifi", "ordinal", "raw"),
    ]
    trig = [row for row in readings(units) if row["reading"] == "trig"]
    assert [(row["part"], row["scaling"], len(row["sigmas"])) for row in trig] == [
        ("table", "standard", 1),
        ("preparation", "standard", 2),
        ("preparation", "raw", 1),
    ]


def test_untuned_is_the_smallest_sigma() -> None:
    unit = prepared("wifi", "ordinal")
    unit.result["methods"]["trig"]["test"][0] = made.DRAWS * 20
    unit.result["methods"]["trig"]["squares"][0] = made.DRAWS * 20**2
    rows = {row["reading"]: row for row in readings([unit])}
    assert rows[UNTUNED]["accuracy"] == 100 * 20 / made.TEST and rows[UNTUNED]["constant"] == 1
