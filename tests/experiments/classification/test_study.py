"""The study from its command line: without data, with damaged data, and twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiments.classification import study
from experiments.classification.presets import PRESETS
from experiments.classification.protocol import work
from experiments.data import origin
from experiments.data.catalogue import FILES
from experiments.data.origins import origin as cached

OPTIONS = ["--preset", "smoke", "--quiet", "--jobs", "1"]


def units(preset: str) -> list[Mapping[str, Any]]:
    origins = {name: origin(name) for name in study.SETS}
    return [unit.config for unit in study.units(PRESETS[preset], origins)]


@pytest.mark.usefixtures("real_data")
def test_the_paper_preset_is_the_paper_s_protocol() -> None:
    table = [config for config in units("paper") if config["part"] == "table"]
    assert {config["set"] for config in table} == set(study.SETS) and len(table) == 8 * 10
    for config in table:
        assert config["draws"] == 50 and set(study.PAPER) < set(config["methods"])
    assert len(work.SIGMAS) == 10 and (work.SIGMAS[0], work.SIGMAS[-1]) == (0.01, 100.0)
    words = {config["set"] for config in table if config["encoding"] == "one-hot"}
    assert words == {"abalone", "car", "nursery", "chess"}
    prepared = [c for c in units("paper") if c["part"] == "preparation"]
    assert len({(c["set"], c["scaling"], c["encoding"]) for c in prepared}) == 8 * 3 + 5 * 3


@pytest.mark.usefixtures("offline")
def test_a_stand_in_is_said_and_the_numbers_are_the_same_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for place in ("one", "two"):
        out = tmp_path / place
        assert study.main([*OPTIONS, "--only", "shares", "--out", str(out)]) == 0
        texts.append((out / "classification.smoke.json").read_bytes())
    assert texts[0] == texts[1]
    assert "breast_cancer for banknote" in capsys.readouterr().err


@pytest.mark.usefixtures("offline")
def test_a_unit_gives_the_same_counts_twice() -> None:
    config = {"set": "yeast", "split": 1, "draws": 3, "origin": vars(origin("yeast")),
              "scaling": "standard", "encoding": "ordinal", "methods": ["pos"]}  # fmt: skip
    assert work.evaluate(config) == work.evaluate(config)
    assert work.evaluate(config) != work.evaluate(config | {"split": 2})


def test_a_damaged_file_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uci").mkdir()
    for name in study.SETS:
        (tmp_path / FILES[name][0].path).write_text("1,2,3\n")
    monkeypatch.setenv("CRT_DATA", str(tmp_path))
    cached.cache_clear()
    assert study.main([*OPTIONS, "--out", str(tmp_path / "results")]) == 3
    said = capsys.readouterr().err
    assert said.startswith("classification: ") and said.count("\n") == 1
    cached.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("real_data")
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    """The whole smoke preset, killed after its first unit, against a run in one go."""
    command = [sys.executable, "-m", "experiments", "classification", *OPTIONS, "--out"]
    killed = subprocess.Popen([*command, str(tmp_path / "killed")])
    ledger = tmp_path / "killed" / "units" / "classification.smoke.jsonl"
    while not ledger.exists():
        assert killed.poll() is None
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    for place in ("killed", "whole"):
        subprocess.run([*command, str(tmp_path / place)], check=True)
    texts = [(tmp_path / p / "classification.smoke.json").read_bytes() for p in ("killed", "whole")]
    assert texts[0] == texts[1] and json.loads(texts[0])["preset"] == "smoke"
