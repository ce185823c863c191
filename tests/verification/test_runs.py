"""Units are kept, taken up again, and written whole or not at all."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verification import runs
from verification.runs import (
    Ledger,
    RunError,
    Unit,
    digest,
    fingerprint,
    run_units,
    unit_of,
    write_json,
)

ROOT = Path(__file__).parents[2]


def square(config: Mapping[str, Any]) -> dict[str, float]:
    """The work of the test units."""
    if config.get("fail"):
        raise RuntimeError("planted")
    return {"square": config["k"] ** 2}


def units(count: int, **more: Any) -> list[Unit]:
    return [Unit(f"unit {k}", {"k": k, **more}, square) for k in range(count)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_and_are_kept(tmp_path: Path, jobs: int) -> None:
    path = tmp_path / "units" / "a.jsonl"
    done = run_units(units(5), Ledger(path), jobs=jobs, quiet=True)
    assert [each.result["square"] for each in done] == [0, 1, 4, 9, 16]
    assert len(path.read_text().splitlines()) == 5
    again = Ledger(path)
    assert set(again.finished) == {unit.name for unit in units(5)}


def test_finished_units_are_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_units(units(3), Ledger(path), quiet=True)

    def never(config: Mapping[str, Any]) -> None:
        raise AssertionError(f"{config} was run again")

    later = [Unit(unit.label, unit.config, never) for unit in units(3)]
    assert [d.result["square"] for d in run_units(later, Ledger(path), quiet=True)] == [0, 1, 4]


def test_no_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="jobs is 0, and at least one process is needed"):
        run_units(units(2), Ledger(tmp_path / "a.jsonl"), jobs=0, quiet=True)


def backwards(config: Mapping[str, Any]) -> dict[str, int]:
    return {"b": 1, "a": 2}


def test_a_fresh_result_has_the_order_of_a_stored_one(tmp_path: Path) -> None:
    unit = Unit("unit", {"z": 0, "k": 0}, backwards)
    fresh, stored = (run_units([unit], Ledger(tmp_path / "a.jsonl"), quiet=True)[0] for _ in "12")
    assert str(fresh) == str(stored) and list(fresh.result) == ["a", "b"]


def test_another_configuration_is_another_unit(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_units(units(2), Ledger(path), quiet=True)
    run_units(units(2, seed=1), Ledger(path), quiet=True)
    assert len(Ledger(path).finished) == 4
    assert Ledger(path).value("seed", k=1) == 1
    assert Ledger(path).value("seed", k=7) is None


def test_a_complete_run_forgets_its_own_units_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_units(units(3, seed=1), Ledger(path), quiet=True)
    mine = Ledger(path)
    run_units(units(2), mine, quiet=True)
    run_units(units(1, seed=2), Ledger(path), quiet=True)
    mine.forget(units(2))
    left = {unit.name for unit in (*units(3, seed=1), *units(1, seed=2))}
    assert set(Ledger(path).finished) == left
    mine.forget([*units(3, seed=1), *units(1, seed=2)])
    assert not path.exists() and not mine.finished
    mine.forget(units(2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_unit_that_raises_loses_nothing_that_is_finished(tmp_path: Path, jobs: int) -> None:
    path = tmp_path / "a.jsonl"
    bad = Unit("bad", {"k": 9, "fail": True}, square)
    with pytest.raises(RuntimeError, match="planted"):
        run_units([*units(3), bad], Ledger(path), jobs=jobs, quiet=True)
    if jobs == 1:
        assert len(Ledger(path).finished) == 3


class Unsent(Exception):
    """It cannot be made again from its sentence."""

    def __init__(self, step: int, loss: float):
        super().__init__(f"the loss is {loss} at step {step}")


def unsent(config: Mapping[str, Any]) -> None:
    raise Unsent(3, 0.5)


def test_an_error_that_cannot_be_sent_is_said(tmp_path: Path) -> None:
    bad = [Unit("a", {"k": 1}, unsent), Unit("b", {"k": 2}, unsent)]
    with pytest.raises(RunError, match=r"^[ab]: the loss is 0\.5 at step 3$"):
        run_units(bad, Ledger(tmp_path / "a.jsonl"), jobs=2, quiet=True)


def process(config: Mapping[str, Any]) -> dict[str, int]:
    return {"process": os.getpid()}


def test_units_that_are_to_be_alone_run_here_and_last(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first = Unit("alone", {"k": 0}, process, alone=True)
    done = run_units(
        [first, *(Unit("shared", {"k": k}, process) for k in (1, 2))],
        Ledger(path),
        jobs=2,
        quiet=True,
    )
    assert done[0].result["process"] == os.getpid()
    assert os.getpid() not in [each.result["process"] for each in done[1:]]
    kept = [json.loads(line)["label"] for line in path.read_text().splitlines()]
    assert kept == ["shared", "shared", "alone"]
    assert first.name == Unit("alone", {"k": 0}, process).name


def test_quiet_says_nothing_of_finished_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        run_units(units(2), Ledger(tmp_path / "a.jsonl"), quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-7],
        lambda text: text.replace('"square": 1', '"square": 1, '),
        lambda text: text.replace('"k": 1', '"k": 5'),
        lambda text: text.replace('"square": 1', '"square": 7'),
        lambda text: text.replace('"unit 1"', '"unit 2"'),
        lambda text: text.replace('"seconds": 0', '"seconds": 8'),
        lambda text: text.replace('"checksum"', '"checksun"'),
        lambda text: "not json\n" + text,
        lambda text: "[]\n7\n" + text,
        lambda text: text + "\x00\xff",
    ],
    ids=[
        *("cut short", "broken line", "another configuration", "a digit of a result", "a label"),
        *("seconds", "no checksum", "foreign line", "foreign JSON", "trailing bytes"),
    ],
)
def test_damaged_lines_are_put_aside_and_run_again(
    tmp_path: Path, damage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    run_units(units(3), Ledger(path), quiet=True)
    broken = damage(path.read_text())
    path.write_text(broken)
    done = run_units(units(3), Ledger(path), quiet=False)
    assert [each.result["square"] for each in done] == [0, 1, 4]
    assert (tmp_path / "a.damaged").read_text() == broken
    said = capsys.readouterr().err
    assert "damaged line of" in said or "damaged lines of" in said
    assert ("1 damaged line " in said) == ("1 damaged" in said) and "put aside in a.damaged" in said
    assert Ledger(path).damaged == 0 and len(Ledger(path).finished) == 3


def test_a_digit_flipped_in_a_result_is_told_and_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    run_units([Unit("third", {"k": 3}, third)], Ledger(path), quiet=True)
    before = path.read_text()
    path.write_text(before.replace("0.333", "0.343"))
    (done,) = run_units([Unit("third", {"k": 3}, third)], Ledger(path), quiet=True)
    assert done.result == 1 / 3
    assert capsys.readouterr().err == f"1 damaged line of {path} put aside in a.damaged\n"


def third(config: Mapping[str, Any]) -> float:
    return 1 / config["k"]


@pytest.mark.parametrize("path", sorted((ROOT / "results" / "units").glob("*.jsonl")))
def test_the_units_that_are_kept_are_whole(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert all(map(unit_of, lines)) and len(Ledger(path, writes=False).finished) == len(lines)


def add_many(path: str, first: int) -> None:
    """Twenty units in a ledger of their own process, each time read anew."""
    for k in range(first, first + 20):
        run_units([Unit(str(k), {"k": k}, square)], Ledger(Path(path)), quiet=True)


def test_runs_at_the_same_time_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        work = [pool.submit(add_many, str(path), first) for first in (0, 20)]
        while not all(each.done() for each in work):
            passing = Ledger(path)
            run_units(units(1, gone=True), passing, quiet=True)
            passing.forget(units(1, gone=True))
        assert [each.result() for each in work] == [None, None]
    assert {done.config["k"] for done in Ledger(path).finished.values()} == set(range(40))
    assert not path.with_suffix(".damaged").exists()


def test_a_file_system_without_locks_is_left_to_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    run_units(units(2), Ledger(tmp_path / "a.jsonl"), quiet=True)
    assert len(Ledger(tmp_path / "a.jsonl").finished) == 2


def test_write_json_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "a.json"
    write_json(path, {"b": np.float64(1.5), "a": [np.int64(2), float("inf")]})
    before = path.read_bytes()
    assert json.loads(before) == {"a": [2, "inf"], "b": 1.5}

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"a\.json cannot be written: no space left on device"):
        write_json(path, {"c": 1})
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["a.json"]


def test_a_full_disk_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    run_units(units(2), Ledger(path), quiet=True)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="no space left on device; 2 finished units are kept"):
        run_units(units(3), Ledger(path), quiet=True)
    monkeypatch.undo()
    assert len(run_units(units(3), Ledger(path), quiet=True)) == 3


def test_a_folder_in_place_of_the_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(RunError, match=r"a\.json cannot be written"):
        write_json(tmp_path / "a.json", {})


SCRIPT = """
import sys, time
from pathlib import Path
from verification.runs import Ledger, Unit, run_units, write_json

def slow(config):
    time.sleep(0.02)
    return {"square": config["k"] ** 2}

if __name__ == "__main__":
    units = [Unit(str(k), {"k": k}, slow) for k in range(30)]
    done = run_units(units, Ledger(Path(sys.argv[1]) / "a.jsonl"), quiet=True)
    write_json(Path(sys.argv[1]) / "a.json", [each.result for each in done])
"""


def test_a_killed_run_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(tmp_path)]
    ledger = tmp_path / "a.jsonl"
    for wanted in (3, 11, 20):
        process = subprocess.Popen(command, env=environment)
        while not ledger.exists() or ledger.read_bytes().count(b"\n") < wanted:
            assert process.poll() is None, "the run ended before it was killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, env=environment, check=True)
    expected = [{"square": k**2} for k in range(30)]
    assert json.loads((tmp_path / "a.json").read_text()) == expected
    assert len(ledger.read_text().splitlines()) == 30


def test_digest_ignores_order_and_sees_values() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_fingerprint_sees_every_change(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "a.py").write_text("x = 1\n")
    first = fingerprint(room)
    (room / "a.py").write_text("x = 2\n")
    second = fingerprint(room)
    (room / "b.py").write_text("")
    assert len({first, second, fingerprint(room), fingerprint(room / "a.py")}) == 4


@pytest.mark.parametrize("folder", [["--out", "/a/b"], ["--out=/a/b"], ["--out"]])
def test_commands_leave_out_the_folder(monkeypatch: pytest.MonkeyPatch, folder: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["name", "--seed", "3", *folder])
    assert runs.manifest({}, 1.0)["command"].endswith(" --seed 3")


def test_manifest_says_how_and_names_no_folder() -> None:
    made = runs.manifest({"seed": 3}, 1.25, data={"a": "b"})
    assert made["config"] == {"seed": 3} and made["data"] == {"a": "b"}
    assert made["versions"]["jax"] and made["machine"]["cpu"] and made["revision"]
    assert str(ROOT) not in json.dumps(made)
