"""The command line of the experiments."""

import importlib

import pytest

from experiments.__main__ import EXPERIMENTS, main


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
