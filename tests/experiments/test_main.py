"""The command line of the experiments."""

import importlib
from pathlib import Path

import pytest

from experiments.__main__ import EXPERIMENTS, main
from experiments.data import origins


def test_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_tells_exit_codes(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments or ["-h"]) == 0
    assert "exit codes" in capsys.readouterr().out


def test_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench-nothing"]) == 2
    assert "'bench-nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(importlib.import_module(EXPERIMENTS[name][0]).main)
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.usefixtures("offline")
def test_stand_ins_are_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data"]) == 0
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "digits for mnist" in said and "wine for wifi" in said


@pytest.mark.usefixtures("real_data")
def test_real_data_are_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data"]) == 0
    assert capsys.readouterr().out == "Data: every set is at hand and whole.\n"


def test_a_missing_folder_of_data_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CRT_DATA", str(tmp_path))
    origins.origin.cache_clear()
    assert main(["data"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "abalone.data cannot be read: no such file" in said
