"""The benchmark of attention: its peers agree, its command runs, its targets are told."""

import json
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.__main__ import main as experiments
from experiments.benchmarks import attention, attention_error, attention_times
from experiments.benchmarks import attention_peers as peers

TINY = replace(
    attention.PRESETS["smoke"],
    lengths=(24,),
    heads=1,
    dim=4,
    features=8,
    rounds=3,
    product=8,
    memory_length=24,
    sigmas=(0.5,),
    dims=(4,),
    error_features=(8,),
    tokens=12,
)


def test_peers_estimate_the_same() -> None:
    """FAVOR+ of the library, the textbook's and the scan are one estimator in three ways."""
    given = peers.inputs(40, 2, 8, 16)
    arrays = (given.q, given.k, given.v, given.omega)
    for is_causal, other in ((False, peers.textbook), (True, peers.token_scan)):
        ours, theirs = peers.favor("pos", given, is_causal)(*arrays), other(*arrays)
        apart = jnp.sqrt(jnp.mean((ours - theirs) ** 2) / jnp.mean(theirs**2))
        assert float(apart) <= 1e-5


def test_torch_peers_estimate_the_same() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("performer_pytorch")
    given = peers.inputs(40, 2, 8, 16)
    found = peers.torch_tasks(given, False, False)
    exact = peers.exact(False)(given.q, given.k, given.v, given.omega)
    sdpa, performer = (
        found[n]().numpy().swapaxes(1, 2) for n in ("torch SDPA", "performer-pytorch")
    )
    np.testing.assert_allclose(sdpa, exact, atol=1e-5)
    ours = peers.favor("pos", given, False)(given.q, given.k, given.v, given.omega)
    # It adds 1e-4 to every feature, so it is near and no nearer.
    apart = performer - np.asarray(ours)
    assert 1e-5 < np.sqrt(np.mean(apart**2) / np.mean(np.asarray(ours) ** 2)) < 0.5


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real command on little data, without PyTorch and without MiniLM."""
    monkeypatch.setitem(attention.PRESETS, "smoke", TINY)
    monkeypatch.setattr(peers, "torch_tasks", lambda *_: {})
    monkeypatch.setattr(attention, "absent", lambda: ["no queries and keys of MiniLM: a test"])


@pytest.mark.usefixtures("tiny")
def test_command_writes_times_and_errors_and_goes_on_after_a_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["bench-attention", "--preset", "smoke", "--quiet", "--out", str(tmp_path)]

    def stopped(config: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(attention_error, "gaussian", stopped)
        assert experiments(command) == 130
    assert "finished units are kept" in capsys.readouterr().err
    ledger = tmp_path / "units" / "bench_attention.smoke.jsonl"
    assert len(ledger.read_text("utf-8").splitlines()) == 5
    monkeypatch.setattr(attention_times, "measure", stopped)
    assert experiments([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads((tmp_path / "bench_attention.smoke.json").read_text("utf-8"))
    assert printed["times"] == written and len(written["times"]) == 4
    assert all("FAVOR++" in row["seconds"] for row in written["times"])
    errors = json.loads((tmp_path / "attention_error.smoke.json").read_text("utf-8"))
    assert set(errors["gaussian"][0]) >= {"FAVOR", "FAVOR+", "FAVOR++", "uniform"}
    manifest = json.loads((tmp_path / "bench_attention.smoke.manifest.json").read_text("utf-8"))
    assert manifest["left_out"] == ["no queries and keys of MiniLM: a test"]
    assert not ledger.exists()
    assert "exact attention is faster" in attention.report(written, errors)


def row(length: int, is_causal: bool = False, gradients: bool = False, **seconds: float) -> dict:
    return {
        "length": length,
        "is_causal": is_causal,
        "gradients": gradients,
        "product_share": 0.5,
        "seconds": {name.replace("_", " "): each for name, each in seconds.items()},
    }


def test_targets() -> None:
    own = {"FAVOR++": 1.0, "FAVOR+": 1.0, "textbook FAVOR+": 1.9, "performer-pytorch": 3.0}
    forward = row(4096) | {"seconds": own}
    long = row(16384) | {"seconds": {name: 4 * each for name, each in own.items()}}
    memory = {"FAVOR++": 1, "textbook FAVOR+": 10}
    found = {each["target"]: each for each in attention_times.targets([forward, long], memory)}
    assert found["forward, textbook over FAVOR++"]["met"] is False
    assert found["forward, performer over FAVOR++"]["measured"] == 3
    assert found["forward, exponent in L"]["measured"] == pytest.approx(1.0)
    assert found["temporary memory, FAVOR++ over textbook"]["met"] is True
    assert found["causal with gradients, scan over FAVOR++"]["met"] is None
    assert "fit of ρ" in found["forward, FAVOR++ over FAVOR+"]["bottleneck"]
    assert "exponentials" in found["forward, textbook over FAVOR++"]["bottleneck"]
    assert "block" in found["temporary memory, FAVOR++ over textbook"]["bottleneck"]


def test_where_exact_attention_is_faster() -> None:
    times = {"FAVOR++": 1.0, "torch SDPA": 0.5}, {"FAVOR++": 1.0, "exact, JAX": 2.0}
    rows = [row(1024, gradients=bool(i)) | {"seconds": each} for i, each in enumerate(times)]
    assert attention_times.exact_wins(rows) == [
        "forward: up to L = 1024, exact attention is faster at L = 1024 (torch SDPA, 2.0 ×)",
        "with gradients: up to L = 1024, exact attention is faster at none",
    ]


def test_errors_of_large_inputs_are_those_of_no_use() -> None:
    """At σ = 8 attention picks one key of many; features know no more of it than a mean does."""
    config = {"dim": 8, "features": 512, "sigma": 0.5, "tokens": 64, "seeds": 3}
    small = attention_error.gaussian(config)
    assert small["FAVOR++"] < small["uniform"] < 1
    large = attention_error.gaussian(config | {"sigma": 8.0})
    assert large["FAVOR++"] > 0.5 and large["uniform"] > 0.9
