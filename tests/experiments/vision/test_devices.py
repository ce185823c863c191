"""A ViT learns the same on one device and on eight, and on two machines of two devices.

Devices must be asked for before JAX starts, so each test runs processes of its own.
"""

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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = [
        subprocess.Popen(
            [*script(6, TWO), str(tmp_path), address, str(number)],
            env=environment(2),
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
    texts = [out.strip().splitlines()[-1:] for out, _ in outputs]
    assert texts[0] and texts[0] == texts[1], outputs[0][1][-3000:]
    found = [float(each) for each in texts[0][0].split()]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
