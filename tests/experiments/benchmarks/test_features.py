"""The benchmark of random features: its command, its numbers and its targets."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.__main__ import main as experiments
from experiments.benchmarks import features, kernel_error, memory

TINY = replace(features.QUICK, rows=64, dim=4, width=8, repeats=1, angles=1000)
TINY = replace(TINY, kernel_rows=12, columns=(8,), seeds=2)
METHODS = (("trig", True), ("RBFSampler", False), ("Nystroem", False))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real command on little data and with three methods."""
    monkeypatch.setattr(features, "QUICK", TINY)
    monkeypatch.setattr(kernel_error, "METHODS", METHODS)
    monkeypatch.setattr(kernel_error, "DATA", ("sphere",))
    monkeypatch.setattr(features.crt, "MECHANISMS", {"oprf": features.crt.OPRF})


@pytest.mark.usefixtures("tiny")
def test_command_writes_numbers_manifest_and_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench-features", "--quick", "--quiet", "--out", str(tmp_path)]
    assert experiments([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.json")}
    assert set(written) == {
        f"bench_features.quick{end}.json" for end in ("", ".manifest", ".timing")
    }
    numbers = json.loads(written["bench_features.quick.json"])
    assert printed["numbers"] == numbers and printed["missed"] == []
    assert all(0 < row["mean"] < 10 for row in numbers["kernel_errors"])
    assert "seconds" not in written["bench_features.quick.json"]
    assert experiments(command) == 0
    assert "× RBFSampler" in capsys.readouterr().out
    assert (tmp_path / "bench_features.quick.json").read_text("utf-8") == written[
        "bench_features.quick.json"
    ]


@pytest.mark.parametrize(("options", "preset"), [([], "laptop"), (["--quick"], "quick")])
def test_results_are_named_by_their_preset(
    options: list[str], preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "measure", lambda *_: ({}, {}))
    monkeypatch.setattr(features, "missed", lambda _: [])
    assert features.main([*options, "--json", "--out", str(tmp_path)]) == 0
    assert (tmp_path / f"bench_features.{preset}.json").exists()


def test_results_that_cannot_be_written_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "measure", lambda *_: ({}, {}))
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert features.main(["--quick", "--out", str(blocked)]) == 3
    assert "cannot be" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "size", "count"), [(1e-7, 10, 0), (3e-7, 10, 1), (float("nan"), 10, 1), (0, 11, 1)]
)
def test_missed_targets_are_told(error: float, size: int, count: int) -> None:
    numbers = {"cosine_error": error, "memory": {"trig": {"bytes": size, "limit": 10}}}
    assert len(features.missed(numbers)) == count


def test_every_mechanism_and_both_peers_are_compared() -> None:
    names = {name for name, _ in kernel_error.METHODS}
    assert names == {*features.crt.MECHANISMS, "RBFSampler", "Nystroem"}


@pytest.mark.parametrize("data", kernel_error.DATA)
def test_points_have_mean_squared_norm_one(data: str) -> None:
    x = kernel_error.points(data, 50)
    assert x.dtype == np.float32 and len(x) == 50
    assert np.mean(np.sum(x.astype(float) ** 2, axis=1)) == pytest.approx(1, rel=1e-6)


def test_prediction_for_rbf_sampler_is_its_variance() -> None:
    """1 + K⁴/2 - K², by quadrature over ω (Gauss–Hermite) and b (trapezoids, exact here)."""
    x = np.array([[0.0], [0.7]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    phases = 2 * np.pi * np.arange(8) / 8
    angles = nodes[:, None, None] * x[:, 0] + phases[:, None]
    values = 2 * np.cos(angles[..., :, None]) * np.cos(angles[..., None, :])
    mean, square = (
        np.einsum("w,wbij->ij", weights, values**power) / (8 * weights.sum()) for power in (1, 2)
    )
    exact = kernel_error.exact_kernel(x)
    np.testing.assert_allclose(mean, exact, rtol=1e-13)
    fitted = kernel_error.transformer("RBFSampler", False, 5, 0)
    direct = np.sqrt(np.sum(square - mean**2) / 5) / np.linalg.norm(exact)
    assert kernel_error.predicted(x, fitted, 5) == pytest.approx(direct, rel=1e-12)


def test_prediction_counts_pairs_once() -> None:
    x = kernel_error.points("sphere", 10)
    fitted = kernel_error.transformer("trig", False, 8, 0).fit(x)
    exact = kernel_error.exact_kernel(x)
    direct = np.sqrt(np.sum((1 - exact**2) ** 2 / 2) / 4) / np.linalg.norm(exact)
    assert kernel_error.predicted(x, fitted, 8) == pytest.approx(direct, rel=1e-9)


def test_relative_error_of_nothing_is_one() -> None:
    assert kernel_error.relative_error(np.zeros((3, 3)), np.eye(3)) == 1


def test_memory_does_not_grow_with_the_rows() -> None:
    small, large = (memory.operator_memory("oprf", rows, 8, 64, 2) for rows in (10_000, 40_000))
    # Beside the chunks there is one scale per row.
    assert 0 < large["bytes"] - small["bytes"] <= 2 * 4 * 30_000
    assert large["bytes"] < large["kernel_matrix"] / 1000
