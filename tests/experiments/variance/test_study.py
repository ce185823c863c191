"""The variance study: its units, how draws are pooled, and its verdicts."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crt
from experiments.__main__ import main
from experiments.data import Origin
from experiments.variance import claims, study
from experiments.variance.presets import PRESETS
from experiments.variance.regimes import REGIMES
from verification.runs import Finished

HERE = Origin("mnist", None, "0" * 64)
ORIGINS = dict.fromkeys(study.EXPERIMENT.data, HERE)


@pytest.mark.parametrize("preset", PRESETS)
def test_units_differ_and_cover_everything(preset: str) -> None:
    size = PRESETS[preset]
    units = study.units(size, ORIGINS)
    assert len({unit.name for unit in units}) == len({unit.label for unit in units}) == len(units)
    found = {unit.config.get("regime") for unit in units if unit.config["kind"] == "variances"}
    assert found == set(REGIMES)
    errors = {unit.config["mechanism"] for unit in units if unit.config["kind"] == "errors"}
    assert errors == set(crt.MECHANISMS)


def test_the_paper_preset_is_the_papers() -> None:
    size = PRESETS["paper"]
    assert size.sigmas == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert size.rows == 1024 and len(size.seeds) == 5


def test_a_stand_in_is_not_resized() -> None:
    digits = {name: Origin("mnist", "digits", "0" * 64) for name in ORIGINS}
    variants = [u for u in study.units(PRESETS["laptop"], digits) if u.config["kind"] == "variants"]
    assert variants and all(unit.config["variant"].startswith("L = ") for unit in variants)


def finished(seed: int, logs: np.ndarray, **more: Any) -> Finished:
    row = {
        "mean": float(logs.mean()),
        "std": float(logs.std()),
        "log_mean": math.log(np.mean(np.exp(logs))),
    }
    config = {"kind": "variances", "regime": "normal", "sigma": 1.0, "seed": seed, "images": {}}
    return Finished("", config | more, {"mechanisms": {"trig": row}, "optimisers": {}}, 1.0)


def test_draws_are_pooled_as_if_they_were_one() -> None:
    logs = np.random.default_rng(0).normal(size=(3, 50))
    (row,) = study.gather(
        PRESETS["smoke"], [finished(seed, each) for seed, each in enumerate(logs)]
    )["variances"]
    assert row["draws"] == 3 and row["mean"] == pytest.approx(logs.mean(), rel=1e-12)
    assert row["std"] == pytest.approx(logs.std(), rel=1e-12)
    assert row["log_mean"] == pytest.approx(math.log(np.mean(np.exp(logs))), rel=1e-12)


def test_mechanisms_come_in_the_order_of_the_registry() -> None:
    unit = finished(0, np.zeros(2))
    row = unit.result["mechanisms"]["trig"]
    unit.result["mechanisms"] = dict.fromkeys(sorted(crt.MECHANISMS), row)
    unit.result["optimisers"] = {"geom": {}, "gerf": {}}
    found = study.gather(PRESETS["smoke"], [unit])
    assert [each["mechanism"] for each in found["variances"]] == list(crt.MECHANISMS)
    assert [each["mechanism"] for each in found["optimisers"]] == ["gerf", "geom"]


def rows(means: dict[str, float], regime: str) -> list[dict[str, Any]]:
    return [
        {"regime": regime, "mechanism": name, "sigma": 1.0, "mean": mean, "log_mean": 2 * mean}
        for name, mean in means.items()
    ]


def test_verdicts_follow_the_numbers() -> None:
    found = claims.judge(rows({"trig": -0.7, "gerf": -81.0, "pos": 0.0, "oprf": -74.9}, "normal"),
                         None, ())  # fmt: skip
    assert [row["verdict"] for row in found] == ["reproduced", "not reproduced"]
    assert found[0]["ours"] == pytest.approx(80.3) and found[0]["paper"] == "> 80"
    assert found[0]["other"] == pytest.approx(160.6)


def tried(**values: float) -> list[dict[str, Any]]:
    return [
        {"regime": "normal", "variant": name, "oprf / pos": value} for name, value in values.items()
    ]


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        (tried(), "falls with L."),
        (tried(few=70.04, many=61.0), "No choice tried exceeds 75: they give 61.0 to 70.0."),
        (
            tried(few=80.0, some=70.0, many=61.0),
            "Above 75 come, of the choices tried, “few” (80.0); the others give 61.0 to 70.0.",
        ),
        (tried(few=80.0, some=-0.01, many=0.02), "“few” (80.0); the others give 0.0."),
        (tried(few=80.0), "Above 75 come, of the choices tried, “few” (80.0)."),
    ],
)
def test_a_note_claims_no_more_than_the_variants_show(
    variants: list[dict[str, Any]], said: str
) -> None:
    (row,) = claims.judge(rows({"pos": 0.0, "oprf": -74.9}, "normal"), None, (), variants)
    assert row["note"].endswith(said)
    (row,) = claims.judge(rows({"pos": 0.0, "oprf": -75.1}, "normal"), None, (), variants)
    assert row["note"] == ""


def test_a_stand_in_is_not_judged() -> None:
    (row,) = claims.judge(rows({"pos": 0.0, "oprf": -9.0}, "mnist"), None, ["mnist"])
    assert row["verdict"] is None and row["ours"] == 9.0


@pytest.mark.parametrize(("value", "verdict"), [(-61.2, "reproduced"), (-59.0, "not reproduced")])
def test_figure_one_is_judged(value: float, verdict: str) -> None:
    shown = {"curves": {"utility": {"64": [0.0, value]}}, "methods": [{"name": "trig"}] * 8}
    found = claims.judge([], shown, ())
    assert [row["verdict"] for row in found] == [verdict, "drawn"]


def test_costs_are_timing_and_not_numbers() -> None:
    cost = Finished("", {"kind": "cost"}, {"trig": {"64": 1.5}}, 1.0)
    assert study.costs([cost]) == {"milliseconds": {"trig": {"64": 1.5}}}
    assert "1.5" not in str(study.gather(PRESETS["smoke"], [cost]))
    assert study.costs([]) == {}


@pytest.mark.usefixtures("offline")
def test_a_part_runs_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["variance", "--preset", "smoke", "--only", "methods", "--quiet", "--out"]
    assert main([*command, str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "-61.22  reproduced" in said.out and "digits for mnist" in said.err
    assert (tmp_path / "variance.smoke.json").exists()
