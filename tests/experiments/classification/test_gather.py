"""Numbers from finished units: tuning, intervals, verdicts, and parts that are missing."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments.classification.accuracies import half_widths, outcome, rows
from experiments.classification.evidence import shares
from experiments.classification.gather import gather, show
from experiments.classification.presets import PRESETS
from experiments.classification.printed import ACCURACY, AVERAGE
from experiments.classification.protocol.work import SIGMAS
from tests.experiments.classification import made
from verification.runs import plain

SIZE = PRESETS["paper"]


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """The numbers of a whole study."""
    return gather(SIZE, made.study())


def test_the_test_rows_do_not_choose_sigma() -> None:
    counts = {"validation": [2, 8, 8, 1], "test": [8, 4, 6, 8], "squares": [32, 10, 18, 32]}
    found = outcome(counts, draws=2, rows=4)
    assert found == pytest.approx((SIGMAS[1], 50.0, 25.0))


def test_intervals() -> None:
    values = [80.0, 82.0, 84.0]
    sure, new = half_widths(values, 0.0)
    low, high = stats.t.interval(0.95, 2, 82.0, stats.sem(values))
    assert (82 - sure, 82 + sure) == pytest.approx((low, high))
    assert new == pytest.approx(sure * 2) and half_widths(values, 0.1)[0] > sure
    assert all(np.isnan(half_widths([80.0], 0.1)))


def test_a_further_split_lies_in_its_interval_as_often_as_promised() -> None:
    """Within five standard errors of 0.95."""
    draws = np.random.default_rng(1).normal(size=(2000, 11))
    inside = [abs(d[10] - d[:10].mean()) < half_widths(d[:10].tolist(), 0.1)[1] for d in draws]
    assert np.mean(inside) == pytest.approx(0.95, abs=5 * (0.95 * 0.05 / 2000) ** 0.5)


def test_averages_of_the_printed_table_are_the_printed_averages() -> None:
    """A check of the transcription."""
    for method, printed in AVERAGE.items():
        mean = np.mean([ACCURACY[name][method] for name in ACCURACY])
        assert mean == pytest.approx(printed, abs=0.051)


def test_a_whole_study(whole: dict[str, Any]) -> None:
    numbers = whole
    assert len(numbers["accuracy"]) == 8 * (10 + 4 + 2)
    assert {row["claim"] for row in numbers["verdicts"]} == {"tab-uci", "tab-ucistd"}
    assert len(numbers["verdicts"]) == 8 + 2 + 2 and all(r["verdict"] for r in numbers["verdicts"])
    assert numbers["ranks"]["sets"] == 8 and len(numbers["against"]) == 7
    assert {row["scaling"] for row in numbers["preparations"]} == {"raw", "standard"}
    assert len(numbers["convergence"]) == 4 and len(numbers["shares"]["sets"]) == 8
    assert json.dumps(plain(numbers), allow_nan=False)
    assert "95.8" in show(numbers) and "optpois" in show(numbers)


def test_the_verdict_follows_the_numbers(whole: dict[str, Any]) -> None:
    """Averages within the paper's interval are reproduced, others are not."""
    verdicts = {row["item"]: row for row in whole["verdicts"]}
    oprf = verdicts["average accuracy of oprf over the eight sets, %"]
    assert oprf["ours"] == pytest.approx(65.8, abs=0.5) and oprf["verdict"] == "not reproduced"
    spread = verdicts["spread of trig over draws, mean over sets, %"]
    assert spread["ours"] > 0.05 and spread["verdict"] == "not reproduced"


def test_one_lead_has_one_interval() -> None:
    """The ranking and the verdict on OPRF's place tell the same numbers, whatever the sizes."""
    units = made.study()
    for unit in units:
        if unit.config["part"] == "table":
            unit.result["sizes"]["train"] = 200
            # Of its own on each split, or the interval would have no width.
            unit.result["methods"]["oprf"] = made.counts(5, 7 * unit.config["split"] % 5)
    whole = gather(SIZE, units)
    item = "place of oprf among the eight by average accuracy"
    note = next(row["note"] for row in whole["verdicts"] if row["item"] == item)
    rival = next(each for each in whole["against"] if note.startswith(f"{each['method']} has"))
    assert rival["confidence"] > 0.1
    assert f": {rival['difference']:+.2f} ± {rival['confidence']:.2f} (" in note


def test_remarks_are_made_of_the_numbers(whole: dict[str, Any]) -> None:
    """A reading that is never constant is not said to be so; one that always is, is."""
    item = "average accuracy of trig over the eight sets, %"
    units = made.study()
    for unit in units:
        if unit.config["part"] == "table":
            counts = unit.result["methods"]["trig-unconjugated"]
            counts["squares"] = [total**2 // made.DRAWS for total in counts["test"]]
    found = [
        next(row["note"] for row in numbers["verdicts"] if row["item"] == item)
        for numbers in (whole, gather(SIZE, units))
    ]
    assert "a constant predictor on 0 % of splits" in found[0]
    assert "a constant predictor on 100 % of splits" in found[1]
    inside = sum(row["low"] <= row["printed"] <= row["high"] for row in whole["shares"]["sets"])
    assert 0 < inside < 8 and f"in {inside} of 8 sets" in found[0]


@pytest.mark.parametrize("part", ["table", "preparation", "convergence", "shares"])
def test_a_part_alone(part: str) -> None:
    units = [unit for unit in made.study(("wifi",)) if unit.config["part"] == part]
    numbers = gather(SIZE, units)
    assert numbers["verdicts"] == [] and isinstance(show(numbers), str)


def test_stand_ins_are_told_and_not_judged() -> None:
    units = made.study()
    config = {**units[0].config, "origin": {"name": "wifi", "stand_in": "wine", "sha256": ""}}
    numbers = gather(SIZE, [replace(units[0], config=config), *units[1:]])
    assert {row["verdict"] for row in numbers["verdicts"]} == {None}
    assert numbers["preparations"] == [] and numbers["shares"]["sets"] == []


def test_one_split_has_no_interval_and_no_verdict() -> None:
    row = rows([made.split_unit("table", "wifi", 0)])[0]
    assert np.isnan(row["confidence"]) and len(row["splits"]) == 1
    whole = [unit for unit in made.study() if unit.config.get("split", 0) == 0]
    assert gather(SIZE, whole)["verdicts"] == []


def test_shares_rule_out_what_cannot_be() -> None:
    unit = made.shares_unit("wifi")
    printed = round(ACCURACY["wifi"]["trig"] * 20 / 100)
    (row,) = shares([unit])["sets"]
    assert row["printed"] == printed == 3 and row["p"] < 0.02
    assert (row["test"], row["whole"], row["whole_by_rows"], row["coarse"]) == (
        20,
        False,
        False,
        True,
    )
    unit.result["right"] = [0, 1, 5, 9, 5, 1]
    assert shares([unit])["sets"][0]["p"] > 0.5
    assert row["consistent"] == ["1", "2", "3", "4"]
    unit.result["classes"] = [1, 1, 199, 199]
    assert shares([unit])["sets"][0]["consistent"] == []
