"""The command line of the verification room."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from verification.__main__ import CHECKS, FAILED, PASSED, USAGE, main

ROOT = Path(__file__).parents[2]


def test_one_formula_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "rho_star", "--budget", "quick", "--jobs", "1", "--quiet"]) == PASSED
    printed = capsys.readouterr()
    assert "rho_star  float32" in printed.out
    assert "2 passed, 0 failed" in printed.out
    assert printed.err == ""


def test_json_and_seed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--only", "gerf_c", "--budget", "quick", "--jobs", "1", "--seed", "7", "--json"]
    assert main(arguments) == PASSED
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert report["seed"] == 7 and report["passed"]
    assert [row["dtype"] for row in report["formulas"]] == ["float32", "float64"]
    assert "[2/2] gerf_c" in printed.err


def test_unknown_names_give_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "rho_start"]) == USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "verification: there is no check or formula 'rho_start'; --list shows what there is"
    ]


@pytest.mark.parametrize(("option", "value"), [("--seed", "-1"), ("--jobs", "0"), ("--jobs", "x")])
def test_wrong_numbers_are_wrong_usage(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([f"{option}={value}"])
    assert stopped.value.code == USAGE
    assert f"{value!r} is not a whole number" in capsys.readouterr().err


def test_list_names_checks_and_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == PASSED
    names = capsys.readouterr().out.split()
    assert set(CHECKS) < set(names) and "utility" in names


def test_a_failure_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from verification import __main__ as command
    from verification.accuracy import Accuracy

    bad = Accuracy("rho_star", "float32", 1, 2.0, "z = 1", False)
    monkeypatch.setattr(command, "check_accuracy", lambda *_: [bad])
    assert main(["--only", "rho_star", "--quiet"]) == FAILED


def test_help_documents_exit_codes() -> None:
    command = [sys.executable, "-m", "verification", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "exit codes" in done.stdout and "--budget" in done.stdout
