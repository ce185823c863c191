"""The command line of the verification room."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verification import plan
from verification.__main__ import (
    FAILED,
    INTERRUPTED,
    PASSED,
    STOPPED,
    USAGE,
    main,
    own_name,
    parser,
)
from verification.checks import Check, Outcome, Setting
from verification.runs import Ledger, Unit

ROOT = Path(__file__).parents[2]
QUICK = ["--budget", "quick", "--jobs", "1"]


def test_one_formula_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "rho_star", *QUICK, "--out", str(tmp_path)]) == PASSED
    printed = capsys.readouterr()
    assert "rho_star  float32" in printed.out
    assert "2 passed, 0 failed" in printed.out
    assert "[2/2] rho_star float64" in printed.err


def test_json_seed_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--only", "gerf_c", *QUICK, "--seed", "7", "--json", "--quiet"]
    first, second = tmp_path / "a", tmp_path / "b"
    for out in (first, second):
        assert main([*arguments, "--out", str(out)]) == PASSED
        printed = capsys.readouterr()
        assert printed.err == ""
        report = json.loads(printed.out)
        assert report["seed"] == 7 and report["passed"]
        assert [row["dtype"] for row in report["formulas"]] == ["float32", "float64"]
        assert report["only"] == ["gerf_c"]
    names = sorted(path.name for path in first.iterdir() if path.is_file())
    kinds = ("", ".manifest", ".timing")
    assert names == sorted(f"verification.part{kind}.json" for kind in kinds)
    assert json.loads((first / names[1]).read_text())["config"]["only"] == ["gerf_c"]
    assert (first / names[0]).read_bytes() == (second / names[0]).read_bytes()
    assert not list((first / "units").iterdir()), "a complete run leaves no unfinished work"


def test_unknown_names_give_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "rho_start"]) == USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    sentence = "there is no check, claim or formula 'rho_start'; --list shows them"
    assert printed.err == f"verification: {sentence}\n"


def test_a_claim_without_checks_is_no_run_that_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "rho_star", "tab-glue", *QUICK]) == USAGE
    sentence = "no check is attached to 'tab-glue' (not yet run)"
    assert capsys.readouterr().err == f"verification: {sentence}\n"


def test_a_reader_that_stops_is_no_error() -> None:
    command = [sys.executable, "-m", "verification", "--list"]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == PASSED


FAILING = """
import sys
from verification import plan, report
from verification.__main__ import main
from tests.verification.test_main import check
checks = {"planted": check("planted", False, True)}
plan.load_checks = report.load_checks = lambda: checks
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_that_stops_does_not_make_a_failure_pass(tmp_path: Path, more: list[str]) -> None:
    given = ["--only", "planted", *QUICK, "--quiet", "--out", str(tmp_path), *more]
    command = [sys.executable, "-c", FAILING, *given]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == FAILED


def test_an_unwritable_folder_gives_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "results"
    assert main(["--only", "gerf_c", *QUICK, "--quiet", "--out", str(out)]) == STOPPED
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1 and "cannot be written: not a directory" in printed.err
    assert "finished units" not in printed.err, "nothing is computed for such a folder"


@pytest.mark.parametrize(
    ("option", "value"), [("--seed", "-1"), ("--seed", "٣"), ("--jobs", "0"), ("--jobs", "x")]
)
def test_wrong_numbers_are_wrong_usage(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([f"{option}={value}"])
    assert stopped.value.code == USAGE
    assert f"{value!r} is not a whole number" in capsys.readouterr().err


def test_list_names_groups_claims_checks_and_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == PASSED
    names = capsys.readouterr().out.splitlines()
    assert {*plan.groups(), "thm-tails-iid", "utility"} < set(names)


def outcome(passed: bool) -> Outcome:
    return Outcome(passed, observed=1.0, predicted=1.0, allowed=0.1, samples=3)


def check(name: str, passes: bool, notices: bool) -> Check:
    return Check(
        name,
        ("thm-gerf",),
        "montecarlo",
        "a planted check",
        lambda setting: outcome(passes),
        (("a fault", lambda setting: outcome(not notices)),),
        module="montecarlo",
    )


@pytest.mark.parametrize(
    ("passes", "notices", "code"), [(True, True, 0), (False, True, 1), (True, False, 1)]
)
def test_failures_and_unnoticed_faults_are_the_exit_code(
    passes: bool,
    notices: bool,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from verification import report

    checks = {"planted": check("planted", passes, notices)}
    for module in (plan, report):
        monkeypatch.setattr(module, "load_checks", lambda: checks)
    arguments = ["--only", "planted", "--budget", "standard", "--jobs", "1"]
    assert main([*arguments, "--out", str(tmp_path)]) == code == (PASSED, FAILED)[code]
    captured = capsys.readouterr()
    printed = captured.out
    assert "planted: 1 for 1 ± 0.1" in captured.err, "results run along"
    assert f"{plan.FALSE_ALARM:g}, 1e-09 for each check" in printed
    assert ("FAILED" in printed) == (not passes)
    assert ("NOT NOTICED: a fault" in printed) == (not notices)


@pytest.mark.parametrize(
    ("kind", "fault", "efforts"),
    [
        ("certificate", "an own fault", [1.0, 4.0]),
        ("montecarlo", "raw-qr", [1.0, 4.0]),
        ("montecarlo", "twice the detectable error", [4.0]),
    ],
)
def test_a_fault_is_looked_at_in_the_smallest_run_first(
    kind: Any, fault: str, efforts: list[float]
) -> None:
    for needed in efforts:
        seen: list[float] = []

        def faulty(setting: Setting, needed: float = needed, seen: list[float] = seen) -> Outcome:
            seen.append(setting.effort)
            return outcome(setting.effort < needed)

        made = Check("a", ("thm-gerf",), kind, "a check", faulty, ((fault, faulty),))
        assert plan.notices(made, fault, Setting(1, 1e-9, 4.0))
        assert seen == [effort for effort in efforts if effort <= needed]


def test_a_check_that_raises_has_failed_and_says_where() -> None:
    def broken(setting: Setting) -> Outcome:
        raise ZeroDivisionError("planted")

    seen = plan.attempt(broken, Setting(1, 1e-9))
    assert not seen.passed
    assert seen.note.startswith("raised ZeroDivisionError: planted (test_main.py, line ")
    made = Check("a", ("thm-gerf",), "certificate", "a check", broken, (("a fault", broken),))
    assert not plan.notices(made, "a fault", Setting(1, 1e-9))


def test_every_check_has_its_share_of_the_false_alarms() -> None:
    units = plan.plan(None, plan.BUDGETS["quick"], 1)
    shares = [u.config["false_alarm"] for u in units if u.config["kind"] == "check"]
    assert sum(shares) <= plan.FALSE_ALARM * (1 + 1e-9) and min(shares) > 0


def test_seeds_differ_between_checks_and_runs() -> None:
    seeds = {plan.seed_of(seed, name) for seed in range(4) for name in ("a", "b")}
    assert len(seeds) == 8
    settings = {Setting(seed, 1e-9) for seed in seeds}
    assert len(settings) == 8


def kept(out: Path) -> list[dict[str, Any]]:
    """The finished units of all unfinished runs."""
    lines = [path.read_text().splitlines() for path in sorted((out / "units").glob("*.jsonl"))]
    return [json.loads(line) for each in lines for line in each]


def test_a_killed_run_is_taken_up_again(tmp_path: Path) -> None:
    names = ["gerf_c", "rho_star", "a_star", "b_of_rho"]
    command = [sys.executable, "-m", "verification", "--only", *names, *QUICK, "--json"]
    command += ["--out", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=-3)
    while len(list(tmp_path.glob("units/*.jsonl"))) < 1 or len(kept(tmp_path)) < 2:
        assert process.poll() is None, "the run ended before it was killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = kept(tmp_path)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"{len(before)} of 8 units are finished already" in done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["seed"] == before[0]["config"]["seed"] and len(report["formulas"]) == 8
    assert kept(tmp_path) == []


@pytest.mark.parametrize("seed", [[], ["--seed", "5"]])
def test_a_part_leaves_an_interrupted_whole_run_alone(
    seed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def some(wanted: list[str] | None, budget: plan.Budget, seed: int) -> list[Unit]:
        """A whole run of two formulas; the last unit is interrupted once."""
        units = planned(wanted or ["gerf_c", "rho_star"], budget, seed)
        return units if wanted or resumed else [*units[:3], replace(units[3], work=interrupt)]

    planned, resumed = plan.plan, False
    monkeypatch.setattr(plan, "plan", some)
    command = [*QUICK, "--out", str(tmp_path), "--json", *seed]
    assert main(command) == INTERRUPTED
    assert capsys.readouterr().err.endswith(
        "verification: interrupted; finished work is kept, the same command goes on\n"
    )
    before = kept(tmp_path)
    assert len(before) == 3

    part = ["--only", "gerf_c", *QUICK, "--json", "--out", str(tmp_path)]
    assert main(part) == PASSED and kept(tmp_path) == before
    printed = capsys.readouterr()
    assert "finished already" not in printed.err
    assert json.loads(printed.out)["seed"] != before[0]["config"]["seed"]

    resumed = True
    assert main(command) == PASSED and kept(tmp_path) == []
    printed = capsys.readouterr()
    assert "3 of 4 units are finished already" in printed.err
    assert json.loads(printed.out)["seed"] == before[0]["config"]["seed"]


def interrupt(config: Mapping[str, Any]) -> None:
    raise KeyboardInterrupt


def test_every_command_has_a_ledger_of_its_own() -> None:
    commands = [[], ["--seed", "5"], ["--only", "a"], ["--only", "b"], ["--only", "a", "b"]]
    commands += [["--only", "a", "--seed", "5"], ["--budget", "full"]]
    ledgers = {own_name(parser().parse_args(command)) for command in commands}
    assert len(ledgers) == len(commands)
    same = [["--only", "b", "a", "--quiet"], ["--json", "--only", "a", "b", "b", "--jobs", "3"]]
    assert len({own_name(parser().parse_args(command)) for command in same}) == 1


def test_a_digit_flipped_in_finished_work_is_told_and_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--only", "gerf_c", *QUICK, "--seed", "7", "--quiet", "--out", str(tmp_path)]
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "forget", lambda ledger, units: None)
        assert main(command) == PASSED
    (ledger,) = (tmp_path / "units").glob("*.jsonl")
    whole = (tmp_path / "verification.part.json").read_bytes()
    ledger.write_text(ledger.read_text().replace('"points": 1', '"points": 2', 1))
    capsys.readouterr()
    assert main(command) == PASSED
    said = f"1 damaged line of {ledger} put aside in {ledger.stem}.damaged\n"
    assert capsys.readouterr().err == said
    assert (tmp_path / "verification.part.json").read_bytes() == whole


def test_help_documents_exit_codes() -> None:
    command = [sys.executable, "-m", "verification", "--help"]
    environment = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment
    )
    assert "exit codes" in done.stdout and "--budget" in done.stdout
