"""Runs that are stopped go on as if nothing had happened; what cannot go on says why."""

import json
import math
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from experiments.experiment import ROOT
from experiments.training import Diverged, TrainingError, train
from experiments.training import loop as loop_module
from experiments.training import step as steps
from experiments.training.checkpoints import Checkpoints
from tests.experiments.training.line import Line

pytestmark = pytest.mark.usefixtures("usual_promotion")


def weights(model: nnx.Module) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(nnx.state(model, nnx.Param))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    with jax.numpy_dtype_promotion("standard"):
        train(Line(), folder, quiet=True)
    return folder


class Stop(Exception):
    pass


def stop_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The machine goes away at the given call for a batch."""
    calls, spread = [0], loop_module.inputs.spread

    def counted(*arguments):
        calls[0] += 1
        if calls[0] == number:
            raise Stop
        return spread(*arguments)

    monkeypatch.setattr(loop_module.inputs, "spread", counted)


def test_it_learns_and_tells_how(whole: Path) -> None:
    rows = [json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    tests = [row["test"]["error"] for row in rows if "test" in row]
    assert len(losses) == 12 and len(tests) == 3
    assert losses[-1] < losses[0] / 2 and tests[-1] < tests[0]
    assert set(rows[0]) == {"step", "loss", "gradient_norm", "learning_rate"}
    assert (whole / "curves.svg").read_text().startswith("<?xml")


def test_a_finished_run_is_taken_as_it_is(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (whole / "metrics.jsonl").read_bytes()
    stop_at(monkeypatch, 1)
    done = train(Line(), whole, quiet=True)
    assert (whole / "metrics.jsonl").read_bytes() == before
    assert done.history[-1]["step"] == 12


@pytest.mark.parametrize("number", [2, 7, 12])
def test_a_stopped_run_ends_with_the_same_bits(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patch:
        stop_at(patch, number)
        with pytest.raises(Stop):
            train(Line(), tmp_path, quiet=True)
    done = train(Line(), tmp_path, quiet=True)
    assert (tmp_path / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    for one, other in zip(weights(done.model), weights(train(Line(), whole).model), strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_order_of_the_data_is_noticed(whole: Path, tmp_path: Path) -> None:
    """The comparison of metrics above sees what it should."""
    train(replace(Line(), seed=1), tmp_path, quiet=True)
    assert (tmp_path / "metrics.jsonl").read_bytes() != (whole / "metrics.jsonl").read_bytes()


def damage(folder: Path, step: int, kind: str) -> None:
    place = folder / "checkpoints" / str(step) / "state"
    files = [path for path in place.rglob("*") if path.is_file() and path.stat().st_size > 200]
    if kind == "removed":
        shutil.rmtree(place)
    for path in files if kind == "flipped" else ():
        content = bytearray(path.read_bytes())
        for at in range(0, len(content), 64):
            content[at] ^= 1
        path.write_bytes(bytes(content))


@pytest.mark.parametrize("kind", ["removed", "flipped"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    damage(folder, 12, kind)
    train(Line(), folder)
    said = capsys.readouterr().err
    assert f"checkpoint 12 in {folder / 'checkpoints'} is damaged" in said
    assert "the run goes on from step 8" in said
    assert (folder / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_wrong_numbers_in_a_checkpoint_are_noticed(
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A checkpoint that can be read but holds other numbers than were saved."""
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    right = Checkpoints._read

    def altered(self, step, like):
        monkeypatch.setattr("experiments.training.checkpoints.checksum", lambda state: "other")
        try:
            return right(self, step, like)
        finally:
            monkeypatch.undo()

    monkeypatch.setattr(Checkpoints, "_read", altered)
    done = train(Line(), folder, quiet=True)
    assert done.history[-1]["step"] == 12
    said = capsys.readouterr().err
    assert "is damaged (its checksum differs); the run goes on from step 8" in said


def test_the_moving_average_is_what_is_shown(whole: Path, tmp_path: Path) -> None:
    """It changes no loss of the training, and everything that is evaluated."""
    averaged, last = train(Line(), whole), train(replace(Line(), ema=None), tmp_path)
    for one, other in zip(averaged.history, last.history, strict=True):
        assert (one == other) == ("loss" in one)
    assert not np.array_equal(weights(averaged.model)[0], weights(last.model)[0])


def test_a_step_moves_the_average_by_its_share() -> None:
    config = replace(Line(), ema=0.75)
    graph, _ = steps.outline(config)
    batch = jax.tree.map(jnp.asarray, config.source("train").load(np.arange(8)))
    # The first step has the rate 0.
    before, _ = steps.update(config, graph, steps.first(config), batch)
    state, _ = steps.update(config, graph, before, batch)
    assert steps.shown(state) is state["ema"]
    moved = jax.tree.map(lambda a, p: 0.75 * a + 0.25 * p, before["ema"], state["params"])
    for one, other in zip(jax.tree.leaves(moved), jax.tree.leaves(state["ema"]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    moves = jax.tree.map(lambda a, b: np.abs(a - b).max(), before["ema"], state["ema"])
    assert max(jax.tree.leaves(moves)) > 0


def test_no_whole_checkpoint_is_one_sentence(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    for step in (8, 12):
        damage(folder, step, "removed")
    with pytest.raises(TrainingError, match="no checkpoint is left, so remove the folder"):
        train(Line(), folder, quiet=True)


def test_metrics_that_are_lost_are_one_sentence(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    lines = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(lines[:5]))
    with pytest.raises(TrainingError, match="ends before step 12; remove its folder"):
        train(Line(), folder, quiet=True)


def test_a_folder_holds_one_configuration(whole: Path) -> None:
    with pytest.raises(TrainingError, match="holds a run of another configuration"):
        train(replace(Line(), seed=3), whole, quiet=True)


def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(Diverged, match="the loss is nan at step 1") as caught:
        train(replace(Line(), explode=1), tmp_path, quiet=True)
    assert caught.value.step == 1


def test_a_divergence_can_be_sent_between_processes() -> None:
    sent = pickle.loads(pickle.dumps(Diverged(3, "loss", math.inf)))
    assert sent.step == 3 and str(sent) == "the loss is inf at step 3; the run was stopped there"


@dataclass(frozen=True, kw_only=True)
class Steep(Line):
    """A finite loss whose gradient is not, from the first step on."""

    def loss(self, model: Any, batch: Any, key: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sqrt(jnp.abs(model.bias[...] - model.bias[...])))


@dataclass(frozen=True, kw_only=True)
class Untold(Line):
    """A measure that is no number."""

    def measures(self, model: Any, batch: Any) -> dict[str, jax.Array]:
        return {"error": jnp.log(-jnp.abs(batch["y"]) - 1)}


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (Steep(), "the gradient norm is nan at step 1"),
        (Untold(), "the test error is nan at step 4"),
    ],
)
def test_whatever_is_no_number_ends_the_run(tmp_path: Path, config: Line, sentence: str) -> None:
    with pytest.raises(Diverged, match=sentence):
        train(config, tmp_path, quiet=True)
    assert not (tmp_path / "metrics.jsonl").exists()


SLOW = """
import sys, time
from dataclasses import dataclass
from pathlib import Path
from experiments.training import train
from tests.experiments.training.line import Line, Points

class SlowPoints(Points):
    def load(self, indices):
        time.sleep(0.05)
        return super().load(indices)

@dataclass(frozen=True, kw_only=True)
class SlowLine(Line):
    steps: int = 40

    def source(self, split):
        return SlowPoints(40, 1)

train(SlowLine(), Path(sys.argv[1]), quiet=True)
"""


def reached(folder: Path) -> int:
    """The step of the last checkpoint, 0 if there is none."""
    names = (path.name for path in (folder / "checkpoints").glob("*"))
    return max((int(name) for name in names if name.isdecimal()), default=0)


@pytest.mark.slow
def test_a_run_killed_between_checkpoints_ends_with_the_same_bits(tmp_path: Path) -> None:
    one, other = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-c", SLOW]
    subprocess.run([*command, str(one)], cwd=ROOT, check=True)
    seed = secrets.randbits(32)
    draw = np.random.default_rng(seed)
    for enough in (4, 12, 24):
        process = subprocess.Popen([*command, str(other)], cwd=ROOT)
        while reached(other) < enough:
            assert process.poll() is None, "the run ended before it was killed"
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.4))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert enough <= reached(other) < 40
    subprocess.run([*command, str(other)], cwd=ROOT, check=True)
    same = (other / "metrics.jsonl").read_bytes() == (one / "metrics.jsonl").read_bytes()
    assert same, f"kills by seed {seed}"
