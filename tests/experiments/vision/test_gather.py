"""What is made of finished units: rows, verdicts, and the same from a part of them."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.vision import claims, gather, study
from experiments.vision.presets import PRESETS
from tests.experiments.vision import made

LAPTOP = PRESETS["laptop"]


@pytest.mark.parametrize("preset", ["smoke", "laptop"])
def test_units_differ_and_cover_everything(preset: str) -> None:
    units = made.units(preset)
    assert len({unit.name for unit in units}) == len({unit.label for unit in units}) == len(units)
    parts = {unit.config["part"] for unit in units}
    assert parts == {"pretrain", "scratch", "uptrain", "long", "swap", "errors", "speed"}


def test_the_laptop_runs_are_those_of_the_plan() -> None:
    runs = [u.config for u in made.units() if u.config["part"] in gather.STARTS]
    count = {
        (start, name): sum((c["part"], c["attention"]) == (start, name) for c in runs)
        for start in gather.STARTS
        for name in made.LEVELS
    }
    for start in ("scratch", "uptrain"):
        assert [count[start, name] for name in made.LEVELS] == [3, 3, 3, 1, 1]
    assert [count["long", name] for name in made.LEVELS] == [1, 1, 1, 0, 0]
    assert all((c["run"]["shape"]["side"] // 4) ** 2 == 49 for c in runs)


def test_numbers_of_all_units() -> None:
    numbers = study.numbers(LAPTOP, made.everything())
    rows = {(row["start"], row["attention"]): row for row in numbers["accuracy"]}
    assert rows["scratch", "favor++"]["mean"] == pytest.approx(86.1)
    assert rows["scratch", "favor++"]["std"] == pytest.approx(0.1)
    assert rows["scratch", "elu"]["std"] is None and rows["long", "softmax"]["tokens"] == 196
    assert [row["verdict"] for row in numbers["verdicts"]] == ["reproduced"] * 4
    assert not numbers["swap"]["changed"] and numbers["swap"]["softmax"] == pytest.approx(88)
    assert len(numbers["errors"]) == 2 * 21 and len(numbers["memory"]) == 5


def test_numbers_of_a_part_of_the_units() -> None:
    done = made.everything()
    for count in (0, 1, 3, 8, 20):
        numbers = study.numbers(LAPTOP, done[:count])
        assert len(numbers["stability"]) <= count
    assert study.numbers(LAPTOP, [])["verdicts"] == [] and study.times([]) == {}


def test_a_diverged_run_is_counted_and_not_averaged() -> None:
    done = made.everything()
    place = next(i for i, d in enumerate(done) if d.label == "scratch, FAVOR+, seed 1")
    done[place] = replace(done[place], result={"diverged": 17})
    numbers = study.numbers(LAPTOP, done)
    rows = {(row["start"], row["attention"]): row for row in numbers["accuracy"]}
    assert rows["scratch", "favor+"]["seeds"] == [0, 2]
    assert "1 runs with FAVOR+ and 0 with FAVOR++ diverged" in numbers["verdicts"][-1]["note"]


def test_a_difference_within_its_uncertainty_is_no_reproduction() -> None:
    accuracy = [
        {"start": "scratch", "attention": name, "values": values, "mean": float(np.mean(values))}
        | {"tokens": 49}
        for name, values in (("favor++", [84.0, 86.0, 88.0]), ("favor+", [83.0, 85.0, 87.0]))
    ]
    (row,) = claims.judge(LAPTOP, accuracy, [])
    assert row["ours"] == 1 and row["verdict"] == "not reproduced"
    # Equal variances 4 of 3 seeds: 4 degrees of freedom, t = 2.776, (4/3 + 4/3)^{1/2} = 1.633.
    assert claims.welch([84.0, 86.0, 88.0], [83.0, 85.0, 87.0]) == pytest.approx(4.534, abs=1e-3)


def test_verdicts_on_speed() -> None:
    found = study.times(made.everything())
    assert [row["verdict"] for row in found["verdicts"]] == ["reproduced", "reproduced"]
    assert found["verdicts"][0]["ours"] == pytest.approx(1.1)
    assert "at 1936 tokens" in found["verdicts"][1]["item"]
    slow = [row | {"favor": {"median": 2.0}} for row in found["speed"]]
    assert claims.judge_speed(slow)[0]["verdict"] == "not reproduced"


def test_what_is_shown() -> None:
    said = study.show(study.numbers(LAPTOP, made.everything()))
    assert "FAVOR++ above FAVOR+, uptrained" in said and "86.10%" in said
