"""A run killed at random points ends with the bytes of one that was never disturbed."""

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


def kill_repeatedly(
    module: list[str], name: str, folder: Path, kills: int, forget: Path | None = None
) -> None:
    """Compare the numbers of a disturbed and an undisturbed run; the seed of the kills is told.

    `forget` is a folder of what the undisturbed run keeps beside its results.
    """
    start = time.monotonic()
    subprocess.run(command(module, folder / "whole"), cwd=ROOT, check=True, capture_output=True)
    length = time.monotonic() - start
    if forget is not None:
        shutil.rmtree(forget)
    seed = secrets.randbits(32)
    draw, survived = np.random.default_rng(seed), 0
    for _ in range(kills):
        process = subprocess.Popen(
            command(module, folder / "killed"), cwd=ROOT, stdout=subprocess.DEVNULL
        )
        time.sleep(draw.uniform(0, length))
        survived += process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command(module, folder / "killed"), cwd=ROOT, check=True, capture_output=True)
    whole, again = ((folder / each / f"{name}.smoke.json") for each in ("whole", "killed"))
    assert again.read_bytes() == whole.read_bytes(), f"kills by seed {seed}, {survived} too late"
    scratch = [path for path in (folder / "killed").rglob(".*") if path.is_file()]
    assert len(scratch) <= kills, "a killed write may leave its scratch file, no more"


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow, id="many kills")])
def test_a_killed_run_ends_with_the_same_bytes(tmp_path: Path, kills: int) -> None:
    kill_repeatedly(["tests.experiments.killed"], "killed", tmp_path, kills)


@pytest.mark.slow
def test_a_killed_variance_study_ends_with_the_same_bytes(tmp_path: Path) -> None:
    kill_repeatedly(["experiments", "variance"], "variance", tmp_path, 3)
