"""A run killed at random points ends with the bytes of one that was never disturbed."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def command(module: list[str], out: Path) -> list[str]:
    options = ["--preset", "smoke", "--jobs", "1", "--quiet", "--out", str(out)]
    return [sys.executable, "-m", *module, *options]


def lines(ledger: Path) -> int:
    """Finished units that a ledger holds."""
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def kill(process: subprocess.Popen, ledger: Path, enough: int, pause: float) -> None:
    """Kill a run a moment after its ledger has enough lines, or when the run is over."""
    while lines(ledger) < enough and process.poll() is None:
        time.sleep(0.002)
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.wait()


def kill_repeatedly(
    module: list[str], name: str, folder: Path, kills: int, forget: Path | None = None
) -> None:
    """Compare the numbers of a disturbed and an undisturbed run; the seed of the kills is told.

    Each run is killed after a random number of the units that are left, at a random time of the
    next. Once all are finished, the kill falls anywhere: while it starts, gathers or writes.
    `forget` is a folder of what the undisturbed run keeps beside its results. Nor do the others
    find its compiled programs: their kills are timed by its pace.
    """
    alone = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    start = time.monotonic()
    subprocess.run(
        command(module, folder / "whole"), cwd=ROOT, env=alone, check=True, capture_output=True
    )
    length = time.monotonic() - start
    if forget is not None:
        shutil.rmtree(forget)
    ledger = Path("units", f"{name}.smoke.jsonl")
    total, killed = lines(folder / "whole" / ledger), folder / "killed" / ledger
    seed = secrets.randbits(32)
    draw, left = np.random.default_rng(seed), []
    for k in range(kills):
        process = subprocess.Popen(
            command(module, folder / "killed"), cwd=ROOT, env=alone, stdout=subprocess.DEVNULL
        )
        done = lines(killed)
        more = int(draw.integers(1, max(1, (total - done) // (kills - k + 1)), endpoint=True))
        pause = draw.uniform(0, length / total if done < total else length)
        kill(process, killed, min(done + more, total), pause)
        left.append(lines(killed))
    assert any(0 < each < total for each in left), f"no kill by seed {seed} hit the work: {left}"
    subprocess.run(
        command(module, folder / "killed"), cwd=ROOT, env=alone, check=True, capture_output=True
    )
    one, other = ((folder / each / f"{name}.smoke.json") for each in ("whole", "killed"))
    assert other.read_bytes() == one.read_bytes(), f"kills by seed {seed} left {left} of {total}"
    scratch = [path for path in (folder / "killed").rglob(".*") if path.is_file()]
    assert len(scratch) <= kills, "a killed write may leave its scratch file, no more"


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow, id="many kills")])
def test_a_killed_run_ends_with_the_same_bytes(tmp_path: Path, kills: int) -> None:
    kill_repeatedly(["tests.experiments.killed"], "killed", tmp_path, kills)


@pytest.mark.slow
def test_a_killed_variance_study_ends_with_the_same_bytes(tmp_path: Path) -> None:
    kill_repeatedly(["experiments", "variance"], "variance", tmp_path, 3)


@pytest.mark.slow
@pytest.mark.usefixtures("real_data")
def test_a_killed_classification_ends_with_the_same_bytes(tmp_path: Path) -> None:
    kill_repeatedly(["experiments", "classification"], "classification", tmp_path, 3)
