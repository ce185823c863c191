"""What a run over a million tokens writes, and what it says when it is killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.long import million_tokens
from experiments.long.million_tokens import CHUNK, main

FOUND: dict[str, Any] = {
    "tokens": CHUNK,
    "finite": True,
    "dtype": "bfloat16",
    "rms_of_the_last_outputs": 0.5,
    "seconds_to_compile": 1.0,
    "seconds": 2.0,
    "bytes": int(5.61 * 2**30),
}


def answer(monkeypatch: pytest.MonkeyPatch, code: int = 0, **change: Any) -> None:
    """Every process answers at once, with what a run would print."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[0] == sys.executable and command[-1] == str(CHUNK)
        return subprocess.CompletedProcess(command, code, json.dumps(FOUND | change))

    monkeypatch.setattr(million_tokens, "subprocess", SimpleNamespace(run=run, PIPE=-1))


def test_numbers_manifest_and_timing_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch)
    assert main(["--length", str(CHUNK), "--out", str(tmp_path)]) == 0
    assert "5.61 GiB at most" in capsys.readouterr().out
    text = (tmp_path / "million_tokens.laptop.json").read_text()
    assert "seconds" not in text
    rows = json.loads(text)["rows"]
    assert [row["kind"] for row in rows] == ["bidirectional", "causal"]
    assert all(row["ru_maxrss_gib"] == 5.7 and row["length"] == CHUNK for row in rows)
    assert all(row["finite"] is True for row in rows)
    about = json.loads((tmp_path / "million_tokens.laptop.manifest.json").read_text())
    assert about["config"]["length"] == CHUNK and "versions" in about
    timing = json.loads((tmp_path / "million_tokens.laptop.timing.json").read_text())
    assert timing["runs"]["causal"]["seconds"] == 2.0


def test_another_length_does_not_replace_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch)
    monkeypatch.setattr(million_tokens, "ROOT", tmp_path)
    assert main(["--length", str(CHUNK), "--quiet"]) == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [{"finite": False}, {"bytes": 9 * 2**30}])
def test_a_missed_target_is_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    answer(monkeypatch, **change)
    assert main(["--length", str(CHUNK), "--quiet", "--out", str(tmp_path)]) == 1


@pytest.mark.parametrize(
    ("code", "sentence"), [(-signal.SIGKILL, "killed by signal 9"), (1, "ended with exit code 1")]
)
def test_a_killed_run_is_one_sentence(
    code: int,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer(monkeypatch, code)
    assert main(["--length", str(CHUNK), "--out", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and sentence in said
    assert not list(tmp_path.iterdir())
