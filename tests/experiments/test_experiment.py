"""The command line that experiments share, on a small experiment made for the purpose."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from experiments import experiment
from experiments.experiment import Experiment, main
from verification.runs import Finished, Unit


@dataclass(frozen=True)
class Size:
    seeds: tuple[int, ...]


def cube(config: Mapping[str, Any]) -> float:
    if config["shape"] == "broken":
        raise KeyboardInterrupt
    return config["seed"] ** 3 + (config["shape"] == "ball")


def units(preset: Size, origins: experiment.Origins) -> list[Unit]:
    return [
        Unit(
            f"{shape} {seed}", {"shape": shape, "seed": seed, "data": origins["wifi"].sha256}, cube
        )
        for shape in ("box", "ball")
        for seed in preset.seeds
    ]


def gather(preset: Size, finished: Sequence[Finished]) -> dict[str, Any]:
    return {"values": {each.label: each.result for each in finished}}


SMALL = Experiment(
    name="cubes",
    about="third powers",
    presets={"smoke": Size((1,)), "laptop": Size((1, 2)), "paper": Size((1, 2, 3))},
    data=("wifi",),
    parts=("shape",),
    units=units,
    gather=gather,
    show=lambda numbers: f"{len(numbers['values'])} values",
    rooms=("paper_figures",),
)

pytestmark = pytest.mark.usefixtures("offline")


def run(tmp_path: Path, *more: str) -> int:
    return main(SMALL, ["--quiet", "--jobs", "1", "--out", str(tmp_path), *more])


def test_numbers_manifest_timing_and_units_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path) == 0
    said = capsys.readouterr()
    assert said.out == "4 values\n"
    assert said.err == (
        "No download is possible: scikit-learn's own sets stand in, wine for wifi.\n"
    )
    numbers = json.loads((tmp_path / "cubes.laptop.json").read_text())
    assert numbers["values"] == {"box 1": 1, "box 2": 8, "ball 1": 2, "ball 2": 9}
    about = json.loads((tmp_path / "cubes.laptop.manifest.json").read_text())
    assert about["data"]["wifi"]["stand_in"] == "wine" and about["config"]["seeds"] == [1, 2]
    assert numbers["data"] == about["data"] and numbers["preset"] == "laptop"
    assert set(json.loads((tmp_path / "cubes.laptop.timing.json").read_text())["units"]) == set(
        numbers["values"]
    )
    assert len((tmp_path / "units" / "cubes.laptop.jsonl").read_text().splitlines()) == 4


def never(config: Mapping[str, Any]) -> None:
    raise AssertionError(f"{config} was run again")


def test_a_second_run_takes_what_is_finished_and_writes_the_same_bytes(tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    before = (tmp_path / "cubes.laptop.json").read_bytes()

    def idle(preset: Size, origins: experiment.Origins) -> list[Unit]:
        return [replace(unit, work=never) for unit in units(preset, origins)]

    options = ["--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(replace(SMALL, units=idle), options) == 0
    assert (tmp_path / "cubes.laptop.json").read_bytes() == before


def clock(folder: Path) -> tuple[float, int]:
    about = json.loads((folder / "cubes.laptop.manifest.json").read_text())
    return about["seconds"], about["resumed"]


def test_the_manifest_tells_the_clock_of_the_run_that_did_the_work(tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    path = tmp_path / "cubes.laptop.manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seconds": 99.0}))
    assert run(tmp_path) == 0
    assert clock(tmp_path) == (99.0, 0)
    assert run(tmp_path, "--seeds", "1", "7") == 0
    assert clock(tmp_path)[0] < 99 and clock(tmp_path)[1] == 2
    path.write_text("damaged")
    assert run(tmp_path) == 0
    assert clock(tmp_path)[1] == 4


def test_other_code_is_other_units(tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    options = ["--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(replace(SMALL, rooms=("verification/runs.py",)), options) == 0
    assert len((tmp_path / "units" / "cubes.laptop.jsonl").read_text().splitlines()) == 8


def test_parts_and_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--only", "ball", "--seeds", "4", "5", "--json") == 0
    assert json.loads(capsys.readouterr().out)["values"] == {"ball 4": 65, "ball 5": 126}


def test_a_part_is_not_written_over_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "ROOT", tmp_path)
    assert main(SMALL, ["--quiet", "--jobs", "1", "--only", "box"]) == 0
    assert not (tmp_path / "results" / "cubes.laptop.json").exists()
    assert (tmp_path / "results" / "units" / "cubes.laptop.jsonl").exists()
    assert main(SMALL, ["--quiet", "--jobs", "1"]) == 0
    assert (tmp_path / "results" / "cubes.laptop.json").exists()


def test_an_unknown_part_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--only", "cone") == 2
    assert capsys.readouterr().err == "cubes: there is no part 'cone'; known are ball, box\n"


def test_an_unknown_preset_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(tmp_path, "--preset", "desktop")
    said = capsys.readouterr().err
    assert said.startswith("cubes: argument --preset: invalid choice: 'desktop' (choose from")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "least"),
    [
        *(("--jobs", value, 1) for value in ("0", "-3", "two")),
        *(("--seeds", value, 0) for value in ("-1", "1.5")),
    ],
)
def test_numbers_out_of_range_are_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, least: int
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(tmp_path, option, value)
    assert capsys.readouterr().err == (
        f"cubes: argument {option}: {value!r} is no whole number from {least} on\n"
    )


def test_a_seed_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--seeds", "0", "4", "0") == 2
    assert capsys.readouterr().err == (
        "cubes: --seeds names 0 more than once; a seed counts once\n"
    )


def test_help_tells_the_default_preset_and_the_values_of_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(SMALL, ["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "whichever part it is of (shape: box, ball)" in said and "(default: laptop)" in said


def test_the_paper_preset_takes_no_stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--preset", "paper") == 3
    assert "The paper preset needs the set itself." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "units").write_text("in the way")
    assert run(tmp_path) == 3
    said = capsys.readouterr().err
    assert "cannot be written: " in said and said.count("\n") == 1


def test_a_full_disk_is_one_sentence_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(tmp_path) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    capsys.readouterr()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run(tmp_path, "--seeds", "3") == 3
    said = capsys.readouterr().err
    assert "no space left on device; 4 finished units are kept" in said and said.count("\n") == 1
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    # A line may have reached the ledger before the disk said that it is full.
    assert all(after[path].startswith(content) for path, content in before.items())


def test_an_interrupt_keeps_what_is_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(preset: Size, origins: experiment.Origins) -> list[Unit]:
        return [*units(preset, origins), Unit("broken", {"shape": "broken", "seed": 0}, cube)]

    options = ["--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(replace(SMALL, units=stop), options) == 130
    assert "finished units are kept" in capsys.readouterr().err
    assert len((tmp_path / "units" / "cubes.laptop.jsonl").read_text().splitlines()) == 4


def test_of_many_processes_one_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--jobs", "1", "--out", str(tmp_path)]
    assert main(replace(SMALL, begin=lambda options: False), options) == 0
    assert list(tmp_path.iterdir()) == [] and capsys.readouterr() == ("", "")
    assert main(SMALL, options) == 0
    before = (tmp_path / "units" / "cubes.laptop.jsonl").read_bytes()
    (tmp_path / "units" / "cubes.laptop.jsonl").write_bytes(before + b"damaged")
    assert main(replace(SMALL, begin=lambda options: False), options) == 0
    assert (tmp_path / "units" / "cubes.laptop.jsonl").read_bytes() == before + b"damaged"
