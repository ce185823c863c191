"""The smoke preset from end to end, on digits that stand in, run once for all tests."""

import json
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from experiments.__main__ import main
from experiments.vision.weights import folder
from tests.experiments.test_killed import kill_repeatedly

pytestmark = pytest.mark.usefixtures("usual_promotion")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of its results."""
    out = tmp_path_factory.mktemp("vision")
    with pytest.MonkeyPatch.context() as patch, jax.numpy_dtype_promotion("standard"):
        patch.setenv("CRT_RUNS", str(out / "runs"))
        options = ["--preset", "smoke", "--quiet", "--jobs", "1", "--out", str(out)]
        assert main(["vision", *options]) == 0
        yield out


@pytest.fixture
def numbers(smoke: Path) -> dict:
    return json.loads((smoke / "vision.smoke.json").read_text())


def test_every_part_leaves_numbers(numbers: dict) -> None:
    found = {(row["start"], row["attention"]) for row in numbers["accuracy"]}
    assert ("uptrain", "favor+") in found and ("long", "elu") in found and len(found) == 4
    assert all(0 <= row["mean"] <= 100 for row in numbers["accuracy"])
    assert numbers["pretraining"]["loss"] > 0 and len(numbers["memory"]) == 1


def test_a_swap_changes_no_weight(numbers: dict) -> None:
    assert numbers["swap"]["changed"] is False
    assert {row["attention"] for row in numbers["swap"]["rows"]} == {"favor+", "favor++"}


def test_no_run_diverges_and_all_windows_are_finite(numbers: dict) -> None:
    for row in numbers["stability"]:
        assert row["diverged"] is None
        assert all(isinstance(v, int | float) for each in row["windows"] for v in each.values())


def test_errors_are_predicted_and_observed(numbers: dict) -> None:
    for row in numbers["errors"]:
        assert row["output_predicted"] > 0 and row["output_observed"] > 0
    # First order holds where errors are small: 8 features are too few for FAVOR+ here.
    mean = {
        name: sum(r["output_predicted"] for r in numbers["errors"] if r["estimate"] == name)
        for name in ("favor+", "favor++")
    }
    assert mean["favor++"] < mean["favor+"]


def test_times_are_apart_from_the_numbers(smoke: Path) -> None:
    timing = json.loads((smoke / "vision.smoke.timing.json").read_text())
    assert set(timing["speed"][0]["steps"]) == {"softmax", "favor+", "favor++"}
    assert "seconds" not in (smoke / "vision.smoke.json").read_text()


def test_a_finished_study_is_taken_from_its_ledger(smoke: Path) -> None:
    before = (smoke / "vision.smoke.json").read_bytes()
    options = ["--preset", "smoke", "--quiet", "--jobs", "1", "--out", str(smoke)]
    assert main(["vision", *options]) == 0
    assert (smoke / "vision.smoke.json").read_bytes() == before


def test_runs_are_kept_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRT_RUNS", "elsewhere")
    assert folder() == Path("elsewhere")
    monkeypatch.delenv("CRT_RUNS")
    assert folder().parts[-2:] == ("build", "runs")


@pytest.mark.slow
def test_a_killed_study_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints of the undisturbed study would help the other one: its runs are put aside."""
    monkeypatch.setenv("CRT_RUNS", str(tmp_path / "runs"))
    module = ["experiments", "vision"]
    kill_repeatedly(module, "vision", tmp_path, 3, forget=tmp_path / "runs")
