"""A ViT learns the same on one device and on eight, and on two machines of two devices.

Devices must be asked for before JAX starts, so each test runs processes of its own.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]

COMMON = """
import sys, warnings
warnings.simplefilter("error")
from pathlib import Path
from dataclasses import replace
import jax, numpy as np
from experiments.data import Origin
from experiments.training import train
from experiments.vision import configs
from experiments.vision.presets import PRESETS

folder = Path(sys.argv[1])
data = Origin("fashion_mnist", "digits", "0")
small = replace(PRESETS["smoke"], depth=1, steps=STEPS, crop=1.0, test_examples=20)
run = configs.classification(small, data, "scratch", "favor++", 0)

def losses(run, name, devices=None):
    rows = train(run, folder / name, devices=devices, quiet=True).history
    return np.array([row["loss"] for row in rows if "loss" in row]), rows[-1]["test"]["loss"]
"""

EIGHT = """
one, test = losses(run, "one", jax.devices()[:1])
eight, also = losses(run, "eight")
assert len(one) == STEPS and jax.device_count() == 8
np.testing.assert_allclose(eight, one, rtol=1e-4)
np.testing.assert_allclose(also, test, rtol=1e-4)
# The comparison notices the loss of one device's examples.
from experiments.training import inputs
whole = inputs.spread
def lost(over, batch):
    batch["image"][-2:] = 0
    return whole(over, batch)
inputs.spread = lost
wrong, _ = losses(replace(run, steps=5, checkpoint_every=9, evaluate_every=9), "wrong")
assert np.abs(wrong / one[:5] - 1).max() > 1e-4
print("equal")
"""

TWO = """
address, number = sys.argv[2], int(sys.argv[3])
jax.distributed.initialize(address, num_processes=2, process_id=number)
assert jax.process_count() == 2 and jax.device_count() == 4
found, _ = losses(run, "two")
print(*found)
"""


ONE = """
found, _ = losses(run, "one")
print(*found)
"""


ARGUMENTS = ("{address}", "{number}")

LINE = """
import os, sys
from pathlib import Path
import jax
from experiments.training import loop, train
from tests.experiments.training.line import Line

address, number, last = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
jax.distributed.initialize(address, num_processes=2, process_id=number)
spread, calls = loop.inputs.spread, []
def counted(*arguments):
    calls.append(1)
    return os._exit(7) if len(calls) == last else spread(*arguments)
loop.inputs.spread = counted
train(Line(), Path(sys.argv[1]), quiet=True)
"""


def environment(devices: int) -> dict[str, str]:
    flags = f"--xla_force_host_platform_device_count={devices}"
    return os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}


def script(steps: int, text: str) -> list[str]:
    return [sys.executable, "-c", f"STEPS = {steps}\n{COMMON}{text}"]


def test_eight_devices_agree_with_one(tmp_path: Path) -> None:
    run = subprocess.run(
        [*script(50, EIGHT), str(tmp_path)],
        env=environment(8),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.stdout == "equal\n", run.stderr[-3000:]


def together(
    command: list[str], *more: str, devices: int, codes: tuple[int, ...] = (0, 0)
) -> list[tuple[str, str]]:
    """What two processes say that are told of each other: the address and the number of each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = [
        subprocess.Popen(
            [
                *command,
                *(each.format(address=address, number=number) for each in more or ARGUMENTS),
            ],
            env=environment(devices),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=600) for process in started]
    finally:
        for process in started:
            process.kill()
    assert tuple(process.returncode for process in started) == codes, outputs[0][1][-3000:]
    return outputs


@pytest.mark.slow
def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    alone = subprocess.run(
        [*script(6, ONE), str(tmp_path)],
        env=environment(1),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    expected = [float(each) for each in alone.stdout.split()]
    assert len(expected) == 6, alone.stderr[-3000:]
    outputs = together([*script(6, TWO), str(tmp_path)], devices=2)
    texts = [out.strip().splitlines()[-1:] for out, _ in outputs]
    assert texts[0] and texts[0] == texts[1], outputs[0][1][-3000:]
    found = [float(each) for each in texts[0][0].split()]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.slow
def test_two_processes_that_are_stopped_go_on_together(tmp_path: Path) -> None:
    """In one folder, from the checkpoint before, to the metrics of two that nobody stopped."""

    def run(name: str, last: int, code: int) -> bytes:
        command = [sys.executable, "-c", LINE, str(tmp_path / name)]
        together(command, *ARGUMENTS, str(last), devices=1, codes=(code, code))
        return (tmp_path / name / "metrics.jsonl").read_bytes()

    whole = run("whole", 0, 0)
    assert len(whole.splitlines()) == 15
    # Four steps and the two batches of a test, then two steps that are lost.
    assert run("stopped", 8, 7) == b"".join(whole.splitlines(keepends=True)[:5])
    assert run("stopped", 0, 0) == whole


@pytest.mark.slow
def test_the_study_on_two_hosts_finds_what_it_finds_on_one(tmp_path: Path) -> None:
    """The first of them writes; the second says nothing."""
    parts = ("pretrain", "uptrain", "swap", "errors")
    found = {}
    for name in ("one", "two"):
        out = tmp_path / name
        command = [sys.executable, "-m", "experiments", "vision", "--preset", "smoke", "--quiet"]
        command = ["env", f"CRT_RUNS={out / 'runs'}", *command, "--out", str(out), "--only", *parts]
        if name == "one":
            subprocess.run(
                [*command, "--jobs", "1"], env=environment(1), cwd=ROOT, check=True, timeout=600
            )
        else:
            _, second = together(command, "--hosts", "{address}", "2", "{number}", devices=1)
            assert second[0] == ""
        found[name] = json.loads((out / "vision.smoke.json").read_text())
        assert len((out / "units" / "vision.smoke.jsonl").read_text().splitlines()) == 6
    one, two = found.values()
    assert two["pretraining"]["loss"] == pytest.approx(one["pretraining"]["loss"], rel=1e-4)
    for mine, other in zip(one["errors"], two["errors"], strict=True):
        assert other["output_predicted"] == pytest.approx(mine["output_predicted"], rel=1e-2)
