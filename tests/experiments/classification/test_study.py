"""The study from its command line: without data, with damaged data, and twice."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from experiments.classification import study
from experiments.classification.presets import PRESETS
from experiments.classification.protocol import work
from experiments.data import Origin, origin
from experiments.data.catalogue import FILES
from experiments.data.origins import origin as cached
from verification.runs import Ledger, plain

RESULTS = Path(__file__).parents[3] / "results"
OPTIONS = ["--preset", "smoke", "--quiet"]


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


def test_the_committed_numbers_are_of_the_preset() -> None:
    """Configuration and units, the latter by label: their names follow the code."""
    about = json.loads((RESULTS / "classification.paper.manifest.json").read_text("utf-8"))
    assert about["config"] == plain(asdict(PRESETS["paper"]) | {"only": None})
    ledger = Ledger(RESULTS / "units" / "classification.paper.jsonl", writes=False)
    config = next(iter(ledger.finished.values())).config
    real = Origin(**config["origin"] | {"stand_in": None})
    wanted = study.units(PRESETS["paper"], dict.fromkeys(study.SETS, real))
    assert {unit.label for unit in wanted} <= {each.label for each in ledger.finished.values()}
    # The planted error: one more split, which was never run.
    more = replace(PRESETS["paper"], seeds=(*PRESETS["paper"].seeds, 99))
    wanted = study.units(more, dict.fromkeys(study.SETS, real))
    assert not {unit.label for unit in wanted} <= {each.label for each in ledger.finished.values()}


@pytest.mark.usefixtures("offline")
def test_a_stand_in_is_said_and_the_numbers_are_the_same_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Features and all, here and in two processes of their own."""
    texts = []
    for jobs in ("1", "2"):
        chosen = ["--only", "convergence", "shares", "--jobs", jobs, "--out", str(tmp_path / jobs)]
        assert study.main([*OPTIONS, *chosen]) == 0
        texts.append((tmp_path / jobs / "classification.smoke.json").read_bytes())
    assert texts[0] == texts[1]
    assert len(json.loads(texts[0])["convergence"]) == len(study.CONVERGING)
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
