"""The smoke preset from end to end, on digits that stand in, run once for all tests."""

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from experiments.__main__ import main
from experiments.experiment import ROOT
from experiments.training import Config, ConfigError, Diverged, Trained, TrainingError
from experiments.vision import errors, fresh, gather, learning, speed, study, swap, weights
from experiments.vision.weights import folder
from tests.experiments.test_killed import kill_repeatedly
from tests.experiments.training.test_loop import damage
from tests.experiments.vision import made

WHOLE = Trained(
    None, [{"step": 1, "loss": 1.0, "gradient_norm": 1.0}, {"step": 1, "test": {"loss": 1.0}}]
)

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
    assert found == {("scratch", "softmax"), ("uptrain", "favor++"), ("long", "elu")}
    assert all(0 <= row["mean"] <= 100 for row in numbers["accuracy"])
    assert numbers["pretraining"]["loss"] > 0 and len(numbers["memory"]) == 1


def test_a_swap_changes_no_weight(numbers: dict) -> None:
    assert numbers["swap"]["changed"] == 0 < numbers["swap"]["weights"]
    assert {row["attention"] for row in numbers["swap"]["rows"]} == {"favor+", "favor++"}


def test_no_run_diverges_and_all_windows_are_finite(numbers: dict) -> None:
    for row in numbers["stability"]:
        assert row["diverged"] is None
        assert all(isinstance(v, int | float) for each in row["windows"] for v in each.values())


def test_errors_are_predicted_and_observed(numbers: dict) -> None:
    for row in numbers["errors"]:
        assert row["output_predicted"] > 0 and row["output_observed"] > 0
        assert 0 < row["output_fresh"] != row["output_observed"]
        assert 0 < row["kernel_fresh"] != row["kernel_observed"]
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


@pytest.mark.parametrize(
    ("options", "shown"),
    [(["--jobs", "1"], True), (["--jobs", "1", "--quiet"], False), (["--jobs", "2"], False)],
)
def test_a_run_shows_its_own_progress_where_it_is_the_only_one(
    options: list[str], shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(weights, "train", lambda *_, quiet: asked.append(quiet) or WHOLE)
    preset = ["--preset", "smoke", "--out", str(tmp_path), "--only", "pretrain"]
    assert main(["vision", *preset, *options]) == 0
    assert asked == [not shown]


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        (["here:1"], "--hosts takes nothing, or HOST:PORT, how many hosts, and which this is"),
        (["here:1", "2", "x"], "--hosts takes nothing, or HOST:PORT"),
        (["here:1", "2", "2"], "--hosts says number 2 of 2; numbers are 0 to 1"),
    ],
)
def test_hosts_that_make_no_sense_are_one_sentence(
    hosts: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--preset", "smoke", "--out", str(tmp_path), "--hosts", *hosts]
    assert main(["vision", *options]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"vision: {sentence}") and said.count("\n") == 1


def test_hosts_are_told_as_jax_wants_them() -> None:
    assert study.meeting([]) == {}
    assert study.meeting(["here:1", "2", "1"]) == {
        "coordinator_address": "here:1",
        "num_processes": 2,
        "process_id": 1,
    }


@pytest.mark.parametrize("error", [ConfigError("no such setting"), TrainingError("no folder")])
def test_what_cannot_be_trained_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    def fail(config: Config) -> NoReturn:
        raise error

    monkeypatch.setattr(learning, "trained", fail)
    options = ["--preset", "smoke", "--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["vision", *options, "--only", "pretrain"]) == 3
    assert capsys.readouterr().err == f"vision: {error}\n"


@pytest.mark.parametrize("work", [errors.unit, fresh.unit, swap.unit])
def test_a_diverged_run_stops_no_study(work, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(config: Config) -> NoReturn:
        raise Diverged(3, "loss", math.nan)

    (unit, *_) = [each for each in made.units("smoke") if each.work is work]
    monkeypatch.setattr(sys.modules[work.__module__], "trained", diverge)
    done = replace(made.finished(unit), result=work(unit.config))
    assert gather.errors([done]) == [] and gather.swaps([done]) is None


def test_a_damaged_checkpoint_is_told_of(
    smoke: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(smoke / "runs", tmp_path / "runs")
    monkeypatch.setenv("CRT_RUNS", str(tmp_path / "runs"))
    ledger = (smoke / "units" / "vision.smoke.jsonl").read_text().splitlines()
    (entry,) = [each for each in map(json.loads, ledger) if each["config"]["part"] == "pretrain"]
    (run,) = [
        path.parent
        for path in (tmp_path / "runs").glob("*/config.json")
        if json.loads(path.read_text()) == entry["config"]["run"]
    ]
    damage(run, 4, "removed")
    assert learning.pretrain(entry["config"])["test"] == entry["result"]["test"]
    assert "is damaged" in (said := capsys.readouterr().err) and "goes on from step 2" in said


def test_a_changed_weight_is_noticed() -> None:
    one, other = (nnx.Linear(3, 2, rngs=nnx.Rngs(0)) for _ in range(2))
    assert swap.changed_weights(one, other) == 0
    other.kernel[...] = other.kernel[...].at[2, 1].add(1e-6)
    assert swap.changed_weights(one, other) == 1
    # Equal as numbers, and yet others.
    for model, zero in ((one, 0.0), (other, -0.0)):
        model.kernel[...] = model.kernel[...].at[0].set(zero)
    assert swap.changed_weights(one, other) == 3


def test_all_memory_of_a_function_is_counted() -> None:
    numbers = jnp.zeros(1000, jnp.float32)

    def compiled(function: Callable, *donated: int) -> dict[str, int]:
        return speed.memory(jax.jit(function, donate_argnums=donated).lower(numbers).compile())

    apart, in_place = compiled(lambda x: x + 1), compiled(lambda x: x + 1, 0)
    assert apart["all"] == apart["temporary"] + 8000
    assert in_place["all"] == in_place["temporary"] + 4000
    inner = compiled(lambda x: jnp.sort(x)[::7])
    assert inner["temporary"] >= 4000 and inner["all"] == inner["temporary"] + 4000 + 4 * 143


@pytest.fixture(scope="module")
def committed() -> dict:
    path = ROOT / "results" / "vision.laptop.json"
    if not path.exists():
        pytest.skip("the laptop preset has no results here")
    return json.loads(path.read_text())


def test_softmax_learns_enough(committed: dict) -> None:
    """The accuracy that is reported: the mean over seeds, of each start."""
    rows = committed["accuracy"]
    softmax = [row for row in rows if (row["attention"], row["tokens"]) == ("softmax", 49)]
    assert {row["start"] for row in softmax} == {"scratch", "uptrain"}
    assert all(len(row["values"]) == 3 and row["mean"] >= 85 for row in softmax)


def infinite(value: Any) -> list[Any]:
    """Numbers that are not finite, which results hold as their names."""
    if isinstance(value, dict | list):
        each = value.values() if isinstance(value, dict) else value
        return [bad for part in each for bad in infinite(part)]
    return [value] if value in ("nan", "inf", "-inf") else []


def test_every_committed_number_is_finite(committed: dict) -> None:
    assert infinite({"a": [1.0, "nan", {"b": "-inf"}, "infinite"]}) == ["nan", "-inf"]
    assert infinite(committed) == []
    assert all(row["diverged"] is None for row in committed["stability"])


@pytest.mark.slow
def test_a_killed_study_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints of the undisturbed study would help the other one: its runs are put aside."""
    monkeypatch.setenv("CRT_RUNS", str(tmp_path / "runs"))
    module = ["experiments", "vision"]
    kill_repeatedly(module, "vision", tmp_path, 3, forget=tmp_path / "runs")
