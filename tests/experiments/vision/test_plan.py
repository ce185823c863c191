"""The paper's runs on paper: what is configured, what is counted, and a small mesh."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.vision import paper, plan
from experiments.vision.plan import main


def test_the_runs_are_those_of_the_tables() -> None:
    scratch, tuned = paper.scratch("favor+"), paper.finetuning("favor++")
    assert (scratch.batch, scratch.optimizer.rate, scratch.optimizer.weight_decay) == (
        4096, 1e-4, 0.3
    )  # fmt: skip
    assert scratch.ema == 0.9999 and scratch.drop == 0.2 and scratch.pretraining is None
    assert (tuned.batch, tuned.optimizer.rate, tuned.drop) == (1024, 1e-3, 0.1)
    for each in (scratch, tuned):
        assert (each.smoothing, each.mixup, each.cutmix) == (0.1, 0.8, 1.0)
        assert each.optimizer.layer_decay == 0.75 and each.shape.tokens == paper.TOKENS
    before = tuned.pretraining
    assert before is not None and before.optimizer.beta2 == 0.95 and before.batch == 4096
    # 40 epochs of warm-up in steps of 4096 images.
    assert before.optimizer.warmup == 40 * 1_281_167 // 4096 == 12511


def test_sizes_are_held_against_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan.settings()["verdict"] == "reproduced"
    monkeypatch.setattr(plan, "TABLES", plan.TABLES | {"tiny": (4, 12, 192)})
    assert plan.settings()["ours"] == 5 and plan.settings()["verdict"] == "not reproduced"


def test_costs_cross_where_the_formula_says() -> None:
    """2L²H = 2LM(2H+1) at L = M(2 + 1/H): 258 tokens at M = 128, H = 64."""
    for row in plan.costs():
        assert (row["softmax"] > row["favor++"]) == (row["tokens"] > 258)


def test_activations_grow_with_the_depth() -> None:
    config = {"width": 1024, "heads": 16, "depth": 24, "features": 256, "attention": "favor++"}
    result = {"batch": 4096, "devices": 64}
    one, two = (plan.activations(config | {"depth": depth}, result) for depth in (23, 24))
    assert two - one == 64 * 196 * 1024 * 2


@pytest.mark.slow
def test_a_small_mesh(tmp_path: Path) -> None:
    options = ["--preset", "smoke", "--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(options) == 0
    (row,) = json.loads((tmp_path / "vision-plan.smoke.json").read_text())["rows"]
    assert row["devices"] == row["batch"] == 4 and row["tpu_bytes"] > 0
    preset = plan.PRESETS["smoke"]
    shape = replace(paper.LARGE, width=preset.width, depth=preset.depth, heads=preset.heads)
    # Forward, again for remat, and twice backward; attention, norms and the head are the rest.
    weights = 12 * shape.width**2 * shape.depth + shape.pixels * shape.width
    assert 6 < row["flops"] / (row["batch"] * shape.tokens * weights) < 60
